/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c: part of an array, a list or a string of bytes along one dimension. */
#include "base/error.h"
#include "op/field/array_field.h"
#include "op/order/order.h"

#include <string.h>

struct slice {
    int64_t start, stop, step, axis;
    const char *field, *into;
};

static const struct stk_param params[] = {
    STK_INT_ROW(slice, start, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "the first that is taken; negative: counted from the end"),
    STK_INT_ROW(slice, stop, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "the first that is not taken any more"),
    STK_INT_ROW(slice, step, 1, STK__INT_LO, STK__INT_HI, 0,
                "every so many; negative: in reverse order"),
    STK_INT_ROW(slice, axis, 0, -STK_MAX_RANK, STK_MAX_RANK - 1, 0,
                "the dimension; negative: counted from the last"),
    STK_TEXT_ROW(slice, field, NULL, STK_TAKES_NONE,
                 "field with the arrays, lists or bytes; none: the only one there is"),
    STK_TEXT_ROW(slice, into, NULL, STK_TAKES_NONE,
                 "name of the new field; none: it replaces what it was cut from"),
    STK_ROWS_END,
};

struct state {
    int from, to, axis;
    size_t value_bytes;
};

/* What is taken of a dimension. */
struct cut {
    int64_t first, n;
};

static int64_t limit(int64_t place, int64_t len, int64_t lowest, int64_t highest)
{
    if (place < 0)
        place = place < -len ? lowest : place + len;
    return place < lowest ? lowest : place > highest ? highest : place;
}

/* Python's slice(start, stop, step).indices(len). */
static struct cut cut_of(const struct slice *p, int64_t len)
{
    int64_t lowest = p->step < 0 ? -1 : 0, highest = p->step < 0 ? len - 1 : len;
    int64_t first = p->step < 0 ? highest : lowest, end = p->step < 0 ? lowest : highest;
    if (p->start != STK_NONE)
        first = limit(p->start, len, lowest, highest);
    if (p->stop != STK_NONE)
        end = limit(p->stop, len, lowest, highest);
    int64_t distance = p->step < 0 ? first - end : end - first;
    int64_t stride = p->step < 0 ? -p->step : p->step;
    return (struct cut){ first, distance <= 0 ? 0 : (distance - 1) / stride + 1 };
}

/* ---- types ---- */

static bool is_sliceable(const struct stk_field *field)
{
    if (field->kind == STK_BYTES)
        return !(field->flags & STK_FIELD_PACKED);
    return stk__is_array(field) && field->rank > 0;
}

static int set_type(const struct slice *p, struct state *state, struct stk_field *field,
                    struct stk_error *err)
{
    int rank = field->kind == STK_BYTES ? 1 : field->rank;
    if (p->axis < -rank || p->axis >= rank)
        return stk_fail(err, STK_VALUE, "the axis %lld is not one of the %d of the field '%s'",
                        (long long)p->axis, rank, field->name);
    state->axis = (int)(p->axis < 0 ? p->axis + rank : p->axis);
    state->value_bytes = stk_dtype_bytes(field->dtype);
    if (field->kind == STK_BYTES) {
        field->flags &= (uint8_t)~STK_FIELD_PATH;
        return STK_OK;
    }
    int64_t *dim = &field->shape[state->axis];
    if (*dim < 0)
        return STK_OK;
    struct cut cut = cut_of(p, *dim);
    if (!cut.n)
        return stk_fail(err, STK_VALUE, "takes nothing of the %lld along the axis %d of '%s'",
                        (long long)*dim, state->axis, field->name);
    *dim = cut.n;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct slice *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    if (!p->step)
        return stk_fail(err, STK_VALUE, "the step cannot be 0");
    state->from =
        stk_infer_pick(inf, p->field, is_sliceable, "a field with arrays, lists or bytes", err);
    if (state->from < 0)
        return err->code;
    stk_infer_pass(inf);
    struct stk_field made = inf->in[0]->field[state->from];
    int code = set_type(p, state, &made, err);
    return code ? code : stk__result_put(inf, state->from, p->into, made, &state->to, err);
}

/* ---- rows ---- */

/* A run of whole entries of what is not fixed stays where it is. */
static void keep_run(struct stk_rows *rows, int row, const struct stk__array_value *in,
                     struct cut cut)
{
    const struct state *state = rows->state;
    const struct stk_span *src = &rows->in[state->from].span[row];
    struct stk_column *out = &rows->out[state->to];
    size_t entry_bytes = state->value_bytes;
    for (int d = 1; d < in->rank; d++)
        entry_bytes *= (size_t)in->dim[d];
    out->span[row] = (struct stk_span){ .bytes = (size_t)cut.n * entry_bytes, .owner = src->owner };
    out->span[row].data = src->data ? src->data + (size_t)cut.first * entry_bytes : NULL;
    for (int d = 0; out->dims && d < in->rank; d++)
        out->dims[row * in->rank + d] = (int32_t)(d ? in->dim[d] : cut.n);
}

/* Which values of an array of these dimensions are copied; *at is where they begin, in bytes. */
static struct stk__box box_of(const struct stk_rows *rows, const struct stk__array_value *in,
                              struct cut cut, int64_t *at)
{
    const struct slice *p = rows->params;
    const struct state *state = rows->state;
    int64_t dim[STK_MAX_RANK];
    memcpy(dim, in->dim, sizeof dim);
    dim[state->axis] = cut.n;
    struct stk__box box = stk__box_make(in->rank, state->value_bytes, dim, in->dim, dim);
    *at = cut.first * box.src_step[state->axis];
    /* One entry has no neighbour, and its step might be too large to multiply. */
    if (cut.n > 1)
        box.src_step[state->axis] *= p->step;
    return box;
}

static int copy_part(struct stk_rows *rows, int row, const struct stk__array_value *in,
                     struct cut cut)
{
    const struct state *state = rows->state;
    int64_t at;
    struct stk__box box = box_of(rows, in, cut, &at);
    uint8_t *dst = stk__array_put(rows, state->to, row, box.dim);
    if (!dst)
        return STK_MEMORY;
    if (cut.n)
        stk__box_copy(box, dst, in->data + at);
    return STK_OK;
}

static int run_fixed(struct stk_rows *rows)
{
    const struct slice *p = rows->params;
    const struct state *state = rows->state;
    const struct stk_field *field = &rows->in_type->field[state->from];
    struct stk__array_value in = { .rank = field->rank };
    memcpy(in.dim, field->shape, sizeof in.dim);
    int64_t at;
    struct stk__box box = box_of(rows, &in, cut_of(p, in.dim[state->axis]), &at);
    stk__box_copy_rows(rows, box, (struct stk__box_place){ state->from, at },
                       (struct stk__box_place){ state->to, 0 });
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct slice *p = rows->params;
    const struct state *state = rows->state;
    bool is_run = !state->axis && p->step == 1;
    if (rows->in_type->field[state->from].kind == STK_FIXED)
        return run_fixed(rows);
    int code = STK_OK;
    for (int i = 0; i < rows->n && !code; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__array_value in = stk__array_get(rows, state->from, i);
        struct cut cut = cut_of(p, in.dim[state->axis]);
        if (is_run)
            keep_run(rows, i, &in, cut);
        else
            code = copy_part(rows, i, &in, cut);
    }
    return code;
}

static const char doc[] =
    "The rules are those of Python's `x[start:stop:step]`, along the dimension `axis`: numbers "
    "below 0 count from the end, none stands for either end, what lies outside is left out, and a "
    "negative step goes backwards. A string of bytes has one dimension. Lists and bytes may become "
    "empty; a dimension that is the same in all elements may not. A run of a list or of bytes is "
    "not copied.\n"
    "\n"
    "    values({v: [[1, 2, 3, 4], [5, 6, 7, 8]]}).slice(1, 3)\n"
    "    values({words: [[1, 2, 3], [4], []]}).slice(-2)\n"
    "    values({name: ['anna', 'bo']}).slice(0, 1, into=initial)\n"
    "    image_folder('train').decode().slice(step=-1, axis=2, field=image)";

const struct stk__op stk__op_slice = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "slice", 1, "Take part of arrays, lists or bytes along a dimension.", doc, params,
              sizeof(struct slice) },
    .infer = infer,
    .row = { .run = run },
};
