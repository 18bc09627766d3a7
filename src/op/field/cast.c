/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c: converts the values of a field to another dtype. */
#include "base/type.h"
#include "op/declaration.h"
#include "op/field/expr_run.h"

struct cast {
    int dtype;
    const char *field;
};

static const struct stk_param params[] = {
    STK_CHOICE_ROW(cast, dtype, stk__dtype_names, 0, STK_REQUIRED, "the new dtype"),
    STK_TEXT_ROW(cast, field, NULL, STK_TAKES_NONE,
                 "the field; none: the only array of numbers, else the only number"),
    STK_ROWS_END,
};

struct state {
    const struct stk__expr_program *program; /* NULL: it has that dtype already */
    int field;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct cast *cast = inf->params;
    const struct stk__expr_program *program;
    int field = stk__expr_pick(inf, cast->field, err);
    if (field < 0)
        return err ? err->code : STK_TYPE;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    if (inf->in[0]->field[field].dtype == cast->dtype) {
        stk_infer_pass(inf);
        inf->reads = 0;
        inf->never_fails = true;
        *state = (struct state){ .field = field };
        inf->state = state;
        return STK_OK;
    }
    int rc = stk__expr_for_field(inf->in[0], field, cast->dtype, NULL, inf->arena, &program, err);
    if (rc)
        return rc;
    bool was_byte = inf->in[0]->field[field].dtype == STK_U8;
    stk__expr_infer(inf, program);
    if (was_byte && stk__dtype_kind(cast->dtype) == 'f')
        inf->out->field[field].flags |= STK_FIELD_255;
    *state = (struct state){ program, field };
    inf->state = state;
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    return state->program ? stk__expr_run(state->program, rows, rows->out) : STK_OK;
}

static bool finish(const void *call, const void *given, struct stk__op_finish *out)
{
    const struct cast *cast = call;
    const struct state *state = given;
    out->kind = STK__FINISH_CAST;
    out->field = state->field;
    out->dtype = cast->dtype;
    return true;
}

static const char doc[] =
    "Floats become integers by truncation towards zero; what is too large or too small\n"
    "becomes the greatest or least integer, NaN becomes 0. Integers wrap around in narrower\n"
    "integers. Floats round to nearest even; float16 and bfloat16 are reached through\n"
    "float32. Bools are 0 and 1, and every value but 0 is true.\n"
    "\n"
    "    range(10).cast(float32)\n";

const struct stk__op stk__op_cast = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "cast", 1, "Convert a field to another dtype.", doc, params, sizeof(struct cast) },
    .flags = STK__OP_KEEPS_CLASSES,
    .infer = infer,
    .finish = finish,
    .row = { .run = run },
};
