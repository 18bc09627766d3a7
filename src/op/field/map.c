/* SPDX-License-Identifier: Apache-2.0 */
/* map.c: new field values by an expression. */
#include "op/declaration.h"
#include "op/field/expr_run.h"

#include <stdio.h>
#include <string.h>

struct map {
    const char *expression;
};

static const struct stk_param rows[] = {
    STK_TEXT_ROW(map, expression, NULL, STK_REQUIRED, "statements such as 'y = x / 255'"),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct map *map = inf->params;
    const struct stk__expr_program *program;
    int rc =
        stk__expr_compile(map->expression, inf->in[0], STK__EXPR_MAP, inf->arena, &program, err);
    if (!rc)
        stk__expr_infer(inf, program);
    return rc;
}

/* A constant is typed by what it meets in its own program, so it must not meet anything else. */
static bool has_constant(const struct stk__expr_program *program)
{
    bool found = false;
    for (int i = 0; i < program->n_outputs; i++)
        found |= program->reg[program->output[i].reg].source == STK__EXPR_CONST;
    for (int i = 0; i < program->n_instrs; i++) {
        const struct stk__expr_instr *instr = &program->instr[i];
        found |= program->reg[instr->dst].source == STK__EXPR_OUT && instr->b < 0 &&
                 instr->code <= STK__EXPR_EXPAND &&
                 program->reg[instr->a].source == STK__EXPR_CONST;
    }
    return found;
}

static bool assigns(const char *text)
{
    text += strspn(text, " \t\r\n;");
    text += strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    text += strspn(text, " \t\r");
    return text[0] == '=' && text[1] != '=';
}

/* Statements see the results of those before; an expression alone becomes one. */
static int join(const void *params, const void *state, const struct stk_type *in, const void *upper,
                struct stk_arena *arena, void **new_params)
{
    const char *text[2] = { ((const struct map *)params)->expression,
                            ((const struct map *)upper)->expression };
    const char *name = in->field[0].name;
    if (has_constant(state))
        return STK_OK;
    size_t size = strlen(text[0]) + strlen(text[1]) + 2 * strlen(name) + 16, len = 0;
    struct map *both = stk_arena_alloc(arena, sizeof *both);
    char *joined = stk_arena_alloc(arena, size);
    if (!both || !joined)
        return STK_MEMORY;
    for (int i = 0; i < 2; i++) {
        const char *between = i ? "; " : "";
        bool is_whole = assigns(text[i]);
        len +=
            (size_t)snprintf(joined + len, size - len, "%s%s%s%s%s", between, is_whole ? "" : name,
                             is_whole ? "" : " = (", text[i], is_whole ? "" : ")");
    }
    both->expression = joined;
    *new_params = both;
    return STK_OK;
}

static const char doc[] =
    "Statements are separated by ';' or newlines and see the results of those before.\n"
    "Assigning to a field replaces it, a new name is appended. Where elements have one field,\n"
    "an expression alone replaces it.\n"
    "\n"
    "    range(10).map('x + 1')\n"
    "    range(10).map('y = x / 255; z = where(y > 0.02, y, 0)')\n"
    "\n"
    "Operators are Python's: `+ - * / // % **`, comparisons, `and or not` on bools, `& | ^ ~\n"
    "<< >>` on integers. Functions: `where(c, x, y)`, `abs`, `min(x, y)`, `max(x, y)`,\n"
    "`clip(x, lo, hi)`, `sqrt exp log sin cos tanh floor ceil`, `round` (half to even),\n"
    "`cast(x, float32)` or `float32(x)`. Over the whole element: `sum` (integers to 64 bits),\n"
    "`mean any all amin amax`. `x[2]` takes from the first dimension. `len(f)` is the length\n"
    "of a bytes or ragged field; `==` and `!=` compare bytes with 'text'.\n"
    "\n"
    "Literals take the type of what they meet. Integer / integer is float32. Types widen\n"
    "within unsigned, signed and float; anything else wants a cast, and the message says\n"
    "which. Integers wrap; `//` and `%` by zero make the element bad; shifts count modulo the\n"
    "width; casts from float truncate and saturate; float16 and bfloat16 compute in float32.\n"
    "Shapes must be equal, or one side a single value or a vector along the last dimension.\n";

const struct stk__op stk__op_map = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "map", 1, "Compute fields by an expression.", doc, rows, sizeof(struct map) },
    .infer = infer,
    .join = join,
    .row = { .run = stk__expr_run_state },
};
