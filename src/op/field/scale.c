/* SPDX-License-Identifier: Apache-2.0 */
/* scale.c: multiplies and adds. */
#include "base/type.h"
#include "op/declaration.h"
#include "op/field/expr_run.h"

#include <float.h>

struct scale {
    double factor, offset;
    const char *field;
    int dtype;
};

static const struct stk_param params[] = {
    STK_REAL_ROW(scale, factor, 1, -DBL_MAX, DBL_MAX, STK_REQUIRED, "multiplier"),
    STK_REAL_ROW(scale, offset, 0, -DBL_MAX, DBL_MAX, 0, "added after multiplying"),
    STK_TEXT_ROW(scale, field, NULL, STK_TAKES_NONE,
                 "the field; none: the only array of numbers, else the only number"),
    STK_CHOICE_ROW(scale, dtype, stk__dtype_names, STK_F32, 0, "dtype of the result"),
    STK_ROWS_END,
};

struct state {
    const struct stk__expr_program *program;
    int field;
    float factor, offset;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct scale *scale = inf->params;
    const double constants[2] = { scale->factor, scale->offset };
    const struct stk__expr_program *program;
    int field = stk__expr_pick(inf, scale->field, err);
    if (field < 0)
        return err ? err->code : STK_TYPE;
    int rc =
        stk__expr_for_field(inf->in[0], field, scale->dtype, constants, inf->arena, &program, err);
    if (rc)
        return rc;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    stk__expr_infer(inf, program);
    *state = (struct state){ program, field, (float)scale->factor, (float)scale->offset };
    inf->state = state;
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    return stk__expr_run(state->program, rows, rows->out);
}

static bool finish(const void *call, const void *given, struct stk__op_finish *out)
{
    const struct scale *scale = call;
    const struct state *state = given;
    out->kind = STK__FINISH_AFFINE;
    out->field = state->field;
    out->channels = 1;
    out->mul = &state->factor;
    out->add = &state->offset;
    return scale->dtype == STK_F32;
}

static const char doc[] =
    "y = x * factor + offset in float32, rounded after the multiplication and after the\n"
    "addition, then converted to dtype as cast does.\n"
    "\n"
    "    range(10).scale(1/255)\n"
    "    range(10).scale(2, -1)\n";

const struct stk__op stk__op_scale = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "scale", 1, "Multiply by a factor and add an offset.", doc, params,
              sizeof(struct scale) },
    .infer = infer,
    .finish = finish,
    .row = { .run = run },
};
