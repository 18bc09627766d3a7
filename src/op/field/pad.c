/* SPDX-License-Identifier: Apache-2.0 */
/* pad.c: arrays and lists of any size as arrays of one size. */
#include "base/error.h"
#include "op/dtype_value.h"
#include "op/field/array_field.h"

#include <float.h>
#include <math.h>

struct pad {
    struct stk_numbers shape;
    double value;
    const char *field, *into;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(pad, shape, NULL, 1, STK_MAX_RANK - 1, STK_REQUIRED,
                    "dimensions of the result"),
    STK_REAL_ROW(pad, value, 0, -DBL_MAX, DBL_MAX, 0, "what is put behind the values there are"),
    STK_TEXT_ROW(pad, field, NULL, STK_TAKES_NONE,
                 "field with the arrays or lists; none: the only one there is"),
    STK_TEXT_ROW(pad, into, NULL, STK_TAKES_NONE,
                 "name of the new field; none: it replaces the arrays"),
    STK_ROWS_END,
};

struct state {
    int from, to;
    size_t n_values, value_bytes;
    uint64_t filler; /* the first value_bytes of it */
};

static bool is_list(const struct stk_field *field)
{
    return stk__is_array(field) && field->rank > 0;
}

static int set_shape(const struct pad *p, struct stk_field *field, struct stk_error *err)
{
    char is[96];
    if (p->shape.n != field->rank)
        return stk_fail(err, STK_TYPE, "the field '%s' has %d dimensions, but the shape has %d",
                        field->name, field->rank, p->shape.n);
    for (int d = 0; d < field->rank; d++) {
        double dim = p->shape.item[d];
        if (!(dim >= 1 && dim <= INT32_MAX) || dim != floor(dim))
            return stk_fail(err, STK_VALUE, "the dimensions of a shape are whole numbers from 1");
        if (field->shape[d] > dim)
            return stk_fail(err, STK_VALUE, "the field '%s' is %s, which is larger than the shape",
                            field->name, stk__dims_text(field->shape, field->rank, is, sizeof is));
    }
    for (int d = 0; d < field->rank; d++)
        field->shape[d] = (int64_t)p->shape.item[d];
    field->kind = STK_FIXED;
    field->flags = 0;
    return stk__array_check_size(field, err);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct pad *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    state->from = stk_infer_pick(inf, p->field, is_list, "a field with arrays or lists", err);
    if (state->from < 0)
        return err->code;
    stk_infer_pass(inf);
    struct stk_field made = inf->in[0]->field[state->from];
    int code = set_shape(p, &made, err);
    if (code)
        return code;
    if (!stk__dtype_has(made.dtype, p->value))
        return stk_fail(err, STK_VALUE, "%s cannot be %.17g", stk_dtype_name(made.dtype), p->value);
    state->value_bytes = stk_dtype_bytes(made.dtype);
    state->n_values = stk_field_bytes(&made) / state->value_bytes;
    stk__dtype_put(made.dtype, p->value, &state->filler);
    return stk__result_put(inf, state->from, p->into, made, &state->to, err);
}

/* Marks the row bad if it does not fit. */
static bool check_fit(struct stk_rows *rows, int row, const struct stk__array_value *in,
                      const int64_t *shape)
{
    char is[128], wanted[128];
    for (int d = 0; d < in->rank; d++) {
        if (in->dim[d] <= shape[d])
            continue;
        stk_rows_fail(rows, row, STK_DATA, "the field '%s' is %s, which is larger than %s",
                      rows->in_type->field[((const struct state *)rows->state)->from].name,
                      stk__dims_text(in->dim, in->rank, is, sizeof is),
                      stk__dims_text(shape, in->rank, wanted, sizeof wanted));
        return false;
    }
    return true;
}

/* Rows that all have the same shape, which fits. */
static int run_fixed(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    const struct stk_field *in = &rows->in_type->field[state->from];
    const int64_t *shape = rows->out_type->field[state->to].shape;
    for (int i = 0; i < rows->n; i++)
        if (rows->mask[i] == STK_LIVE)
            stk__fill_values(stk__array_put(rows, state->to, i, shape), &state->filler,
                             state->value_bytes, state->n_values);
    stk__box_copy_rows(
        rows, stk__box_make(in->rank, state->value_bytes, in->shape, in->shape, shape),
        (struct stk__box_place){ state->from, 0 }, (struct stk__box_place){ state->to, 0 });
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    const int64_t *shape = rows->out_type->field[state->to].shape;
    if (rows->in_type->field[state->from].kind == STK_FIXED)
        return run_fixed(rows);
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__array_value in = stk__array_get(rows, state->from, i);
        if (!check_fit(rows, i, &in, shape))
            continue;
        uint8_t *dst = stk__array_put(rows, state->to, i, shape);
        stk__fill_values(dst, &state->filler, state->value_bytes, state->n_values);
        stk__box_copy(stk__box_make(in.rank, state->value_bytes, in.dim, in.dim, shape), dst,
                      in.data);
    }
    return STK_OK;
}

static const char doc[] =
    "Arrays and lists become arrays of one shape, which can be batched: their values come first "
    "along every dimension, `value` fills the rest. An element that is larger than the shape in "
    "some dimension is bad; `slice` cuts it first.\n"
    "\n"
    "    values({words: [[1, 2, 3], [4], []]}).pad([4])\n"
    "    values({words: [[1, 2, 3], [4], []]}).slice(0, 2).pad([2], value=-1)\n"
    "    values({m: [[[1, 2], [3, 4]]]}).pad([3, 4], into=padded)";

const struct stk__op stk__op_pad = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "pad", 1, "Fill arrays and lists up to one shape.", doc, params, sizeof(struct pad) },
    .infer = infer,
    .row = { .run = run },
};
