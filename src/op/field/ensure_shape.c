/* SPDX-License-Identifier: Apache-2.0 */
/* ensure_shape.c: the dimensions that the arrays of a field are known to have. It checks them and says so;
 * values stay as they are. Also put in before ops that join inputs of different shapes (stk__infer_same). */
#include "base/error.h"
#include "base/type.h"
#include "lang/value.h"
#include "op/field/array_field.h"

#include <string.h>

struct ensure_shape {
    const struct stk_value *shape;
    const char *field;
    bool ragged;
};

static const struct stk_param params[] = {
    STK__VALUE_ROW(ensure_shape, shape, STK_REQUIRED,
                   "dimensions, as in [none, none, 3]; none where elements differ"),
    STK_TEXT_ROW(ensure_shape, field, NULL, STK_TAKES_NONE,
                 "field with the arrays or lists; none: the only one there is"),
    STK_BOOL_ROW(ensure_shape, ragged, false, 0,
                 "the result are lists, which batches hold as ragged fields; the first dimension "
                 "is none, the others are known"),
    STK_ROWS_END,
};

struct state {
    int field;
};

static bool is_open(const struct stk_value *item)
{
    bool is_none = item->kind == STK__WORD && !strcmp(item->text, "none");
    return is_none || (item->kind == STK__INT && item->integer == -1);
}

static int read_dim(const struct stk_value *item, int64_t *dim, struct stk_error *err)
{
    bool is_known = item->kind == STK__INT && item->integer >= 0 && item->integer <= INT32_MAX;
    if (!is_known && !is_open(item))
        return stk__fail_at(err, STK_VALUE, item->at, item->len,
                            "a shape has whole numbers, and none for what differs");
    *dim = is_known ? item->integer : -1;
    return STK_OK;
}

/* Whether arrays that are so can be as `wanted`. */
static int check_type(const struct stk_field *field, const struct stk_field *wanted,
                      struct stk_error *err)
{
    bool can_be = true;
    for (int d = 0; d < field->rank; d++)
        can_be &=
            field->shape[d] < 0 || wanted->shape[d] < 0 || field->shape[d] == wanted->shape[d];
    if (can_be)
        return STK_OK;
    struct stk__text is = { 0 }, never = { 0 };
    stk__field_text(field, &is);
    stk__field_text(wanted, &never);
    int code = stk_fail(err, STK_TYPE, "the field '%s' is %s, which is never %s", field->name,
                        is.data ? is.data : "?", never.data ? never.data : "?");
    stk__text_free(&is);
    stk__text_free(&never);
    return code;
}

static int set_kind(const struct ensure_shape *p, struct stk_field *field, struct stk_error *err)
{
    int n_open = 0;
    for (int d = 0; d < field->rank; d++)
        n_open += field->shape[d] < 0;
    field->kind = n_open ? STK_SHAPED : STK_FIXED;
    if (!p->ragged)
        return STK_OK;
    if (n_open != 1 || field->shape[0] >= 0)
        return stk__fail_at(err, STK_VALUE, p->shape->at, p->shape->len,
                            "the shape of lists has none first and numbers behind it");
    field->kind = STK_RAGGED;
    return STK_OK;
}

static int set_shape(const struct ensure_shape *p, struct stk_field *field, struct stk_error *err)
{
    const struct stk_value *shape = p->shape;
    int code = STK_OK;
    if (shape->kind != STK__LIST || shape->n_items != field->rank)
        return stk__fail_at(err, STK_VALUE, shape->at, shape->len,
                            "the shape of field '%s' is a list of %d", field->name, field->rank);
    for (int d = 0; d < field->rank && !code; d++)
        code = read_dim(shape->item[d], &field->shape[d], err);
    if (!code)
        code = set_kind(p, field, err);
    return code ? code : stk__array_check_size(field, err);
}

/* Whether every array that is so is as `wanted`. */
static bool is_always(const struct stk_field *field, const struct stk_field *wanted)
{
    bool is = true;
    for (int d = 0; d < field->rank; d++)
        is &= wanted->shape[d] < 0 || field->shape[d] == wanted->shape[d];
    return is;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct ensure_shape *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    state->field = stk_infer_pick(inf, p->field, stk__is_array, "a field with arrays", err);
    if (state->field < 0)
        return err->code;
    stk_infer_pass(inf);
    const struct stk_field *in = &inf->in[0]->field[state->field];
    struct stk_field *out = &inf->out->field[state->field];
    int code = set_shape(p, out, err);
    if (!code)
        code = check_type(in, out, err);
    inf->from[state->field] = -1;
    inf->reads = UINT32_C(1) << state->field;
    inf->never_fails = !code && is_always(in, out);
    inf->is_optional = true;
    inf->scratch_bytes = in->kind == STK_FIXED && out->kind != STK_FIXED ? stk_field_bytes(in) : 0;
    return code;
}

/* Marks the row bad if it has other dimensions. */
static bool check_row(struct stk_rows *rows, int row, const struct stk__array_value *in,
                      const struct stk_field *wanted)
{
    bool fits = true;
    for (int d = 0; d < in->rank; d++)
        fits &= wanted->shape[d] < 0 || in->dim[d] == wanted->shape[d];
    if (fits)
        return true;
    char is[128];
    struct stk__text text = { 0 };
    stk__field_text(wanted, &text);
    stk_rows_fail(rows, row, STK_DATA, "the field '%s' is %s here, but %s is wanted", wanted->name,
                  stk__dims_text(in->dim, in->rank, is, sizeof is), text.data ? text.data : "?");
    stk__text_free(&text);
    return false;
}

/* Bytes that are on their own already stay where they are. */
static bool keep_span(struct stk_rows *rows, int f, int row, const struct stk__array_value *in)
{
    const struct stk_field *out = &rows->out_type->field[f];
    if (rows->in_type->field[f].kind == STK_FIXED || out->kind == STK_FIXED)
        return false;
    rows->out[f].span[row] = rows->in[f].span[row];
    for (int d = 0; out->kind == STK_SHAPED && d < in->rank; d++)
        rows->out[f].dims[(size_t)row * out->rank + (size_t)d] = (int32_t)in->dim[d];
    return true;
}

static int run(struct stk_rows *rows)
{
    const int f = ((const struct state *)rows->state)->field;
    const struct stk_field *wanted = &rows->out_type->field[f];
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        const struct stk__array_value in = stk__array_get(rows, f, i);
        if (!check_row(rows, i, &in, wanted) || keep_span(rows, f, i, &in))
            continue;
        uint8_t *dst = stk__array_put(rows, f, i, in.dim);
        size_t bytes = stk__array_values(&in) * stk_dtype_bytes(wanted->dtype);
        if (!dst)
            return STK_MEMORY;
        if (bytes)
            memcpy(dst, in.data, bytes);
    }
    return STK_OK;
}

static const char doc[] =
    "The arrays of a field are known to have this shape from here on, as with tf.ensure_shape; an "
    "element that has another one is bad. Where all dimensions are known, elements can be batched "
    "and all that follows knows the shape before anything is read.\n"
    "\n"
    "    values({words: [[1, 2], [3, 4]]}).ensure_shape([2])\n"
    "    files('train/*/*.jpg').decode().ensure_shape([none, none, 3]).resize(64, 64)\n"
    "\n"
    "Other than in TensorFlow, none is also taken for a dimension that is known: it may differ "
    "from then on. `concatenate`, `sample_from` and `choose_from` have this op put in where the "
    "shapes of their inputs differ.";

const struct stk__op stk__op_ensure_shape = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "ensure_shape", 1, "Say which shape arrays have, and check it.", doc, params,
              sizeof(struct ensure_shape) },
    .infer = infer,
    .row = { .run = run },
};
