/* SPDX-License-Identifier: Apache-2.0 */
/* concat_fields.c: several fields as one, one behind the other along a dimension. */
#include "base/error.h"
#include "base/type.h"
#include "op/field/array_field.h"

#include <string.h>

struct concat_fields {
    struct stk_texts fields;
    const char *into;
    int64_t axis;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(concat_fields, fields, 1, STK_MAX_FIELDS, STK_REQUIRED,
                  "names of the fields, in their order"),
    STK_TEXT_ROW(concat_fields, into, NULL, STK_REQUIRED, "name of the new field"),
    STK_INT_ROW(concat_fields, axis, 0, -STK_MAX_RANK, STK_MAX_RANK - 1, 0,
                "the dimension along which they follow each other; negative: counted from the "
                "last"),
    STK_ROWS_END,
};

struct state {
    int n, from[STK_MAX_FIELDS], to;
    int axis, rank;
    size_t value_bytes;
    bool is_fixed; /* all fields, and so the result */
};

/* ---- types ---- */

/* A field as it is joined: a number counts as a vector with one entry. */
static struct stk_field part_of(const struct stk_field *field)
{
    struct stk_field part = *field;
    if (!part.rank)
        part.shape[part.rank++] = 1;
    return part;
}

/* Dimensions that differ between rows are compared when they are there. */
static bool may_join(const struct stk_field *a, const struct stk_field *b, int axis)
{
    for (int d = 0; d < a->rank; d++)
        if (d != axis && a->shape[d] >= 0 && b->shape[d] >= 0 && a->shape[d] != b->shape[d])
            return false;
    return a->rank == b->rank && a->dtype == b->dtype;
}

static int refuse(const struct stk_field *a, const struct stk_field *b, struct stk_error *err)
{
    struct stk__text first = { 0 }, other = { 0 };
    stk__field_text(a, &first);
    stk__field_text(b, &other);
    int code =
        stk_fail(err, STK_TYPE, "'%s' is %s and '%s' is %s: they do not fit together", a->name,
                 first.data ? first.data : "", b->name, other.data ? other.data : "");
    stk__text_free(&first);
    stk__text_free(&other);
    return code;
}

/* Adds a field behind those that are joined already. */
static int join_type(struct stk_field *made, const struct stk_field *part, int axis,
                     struct stk_error *err)
{
    if (!may_join(made, part, axis))
        return refuse(made, part, err);
    for (int d = 0; d < made->rank; d++) {
        if (d == axis)
            made->shape[d] =
                made->shape[d] < 0 || part->shape[d] < 0 ? -1 : made->shape[d] + part->shape[d];
        else if (made->shape[d] < 0)
            made->shape[d] = part->shape[d];
    }
    made->flags &= part->flags;
    if (part->kind == STK_RAGGED)
        made->kind = STK_RAGGED;
    return stk__array_check_size(made, err);
}

/* Lists stay lists where only their length differs; else dimensions that differ make it shaped. */
static void set_kind(struct stk_field *made)
{
    bool is_fixed = true, is_list = made->shape[0] < 0;
    for (int d = 0; d < made->rank; d++) {
        is_fixed &= made->shape[d] >= 0;
        is_list &= d == 0 || made->shape[d] >= 0;
    }
    if (made->kind == STK_RAGGED && is_list)
        return;
    made->kind = is_fixed ? STK_FIXED : STK_SHAPED;
}

static int join_types(const struct concat_fields *p, const struct stk_infer *inf,
                      struct state *state, struct stk_field *made, struct stk_error *err)
{
    for (int i = 0; i < p->fields.n; i++) {
        int f = stk_infer_pick(inf, p->fields.item[i], stk__is_array,
                               "a field of numbers (text_join is for texts)", err);
        if (f < 0)
            return err->code;
        const struct stk_field part = part_of(&inf->in[0]->field[f]);
        state->from[i] = f;
        if (!i) {
            *made = part;
            state->rank = part.rank;
            state->axis = (int)(p->axis < 0 ? p->axis + part.rank : p->axis);
            if (state->axis < 0 || state->axis >= part.rank)
                return stk_fail(err, STK_VALUE,
                                "the axis %lld is not one of the %d of the field '%s'",
                                (long long)p->axis, part.rank, part.name);
            continue;
        }
        int code = join_type(made, &part, state->axis, err);
        if (code)
            return code;
    }
    set_kind(made);
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    enum { TYPICAL_LIST = 512 };
    const struct concat_fields *p = inf->params;
    struct stk_field made;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    int code = join_types(p, inf, state, &made, err);
    if (code)
        return code;
    stk_infer_pass(inf);
    state->n = p->fields.n;
    state->value_bytes = stk_dtype_bytes(made.dtype);
    state->is_fixed = made.kind == STK_FIXED;
    for (int i = 0; i < state->n; i++)
        state->is_fixed &= inf->in[0]->field[state->from[i]].kind == STK_FIXED;
    inf->scratch_bytes = made.kind == STK_FIXED ? 0 : TYPICAL_LIST;
    return stk__result_put(inf, -1, p->into, made, &state->to, err);
}

/* ---- rows ---- */

static struct stk__array_value get_part(const struct stk_rows *rows, int field, int row)
{
    struct stk__array_value part = stk__array_get(rows, field, row);
    if (!part.rank)
        part.dim[part.rank++] = 1;
    return part;
}

/* The dimensions of the row's result; false, with the row marked, if its parts do not fit. */
static bool measure(struct stk_rows *rows, int row, int64_t *dim)
{
    const struct state *state = rows->state;
    char first[128], other[128];
    for (int k = 0; k < state->n; k++) {
        struct stk__array_value part = get_part(rows, state->from[k], row);
        if (!k) {
            memcpy(dim, part.dim, sizeof part.dim);
            continue;
        }
        for (int d = 0; d < part.rank; d++) {
            if (d == state->axis || dim[d] == part.dim[d])
                continue;
            struct stk__array_value begin = get_part(rows, state->from[0], row);
            stk_rows_fail(rows, row, STK_DATA, "'%s' is %s and '%s' is %s",
                          rows->in_type->field[state->from[0]].name,
                          stk__dims_text(begin.dim, begin.rank, first, sizeof first),
                          rows->in_type->field[state->from[k]].name,
                          stk__dims_text(part.dim, part.rank, other, sizeof other));
            return false;
        }
        dim[state->axis] += part.dim[state->axis];
    }
    return true;
}

static void copy_parts(struct stk_rows *rows, int row, const int64_t *dim, uint8_t *dst)
{
    const struct state *state = rows->state;
    for (int k = 0; k < state->n; k++) {
        struct stk__array_value part = get_part(rows, state->from[k], row);
        struct stk__box box =
            stk__box_make(state->rank, state->value_bytes, part.dim, part.dim, dim);
        stk__box_copy(box, dst, part.data);
        dst += part.dim[state->axis] * box.dst_step[state->axis];
    }
}

/* All dimensions are known: the same box of every row, field by field. */
static int run_fixed(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    const int64_t *dim = rows->out_type->field[state->to].shape;
    struct stk__box_place to = { state->to, 0 };
    for (int k = 0; k < state->n; k++) {
        const struct stk_field part = part_of(&rows->in_type->field[state->from[k]]);
        struct stk__box box =
            stk__box_make(state->rank, state->value_bytes, part.shape, part.shape, dim);
        stk__box_copy_rows(rows, box, (struct stk__box_place){ state->from[k], 0 }, to);
        to.at += part.shape[state->axis] * box.dst_step[state->axis];
    }
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    int64_t dim[STK_MAX_RANK];
    if (state->is_fixed)
        return run_fixed(rows);
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE || !measure(rows, i, dim))
            continue;
        uint8_t *dst = stk__array_put(rows, state->to, i, dim);
        if (!dst)
            return STK_MEMORY;
        copy_parts(rows, i, dim, dst);
    }
    return STK_OK;
}

static const char doc[] =
    "The values of the fields follow each other along the dimension `axis`, as tf.concat puts "
    "them; "
    "all other dimensions must be equal. Single numbers are stacked, as vectors with one entry "
    "each. All fields have one dtype; `cast` brings them to it. They stay, and the new field comes "
    "last, unless it has the name of one that is there.\n"
    "\n"
    "    values({a: [1, 2], b: [3, 4]}).concat_fields([a, b], into=pair)\n"
    "    values({v: [[1, 2], [3, 4]], w: [[5], [6]]}).concat_fields([v, w], into=v)\n"
    "    values({l: [[1], []], m: [[2, 3], [4]]}).concat_fields([l, m], into=all)\n"
    "\n"
    "Lists of different lengths give lists. An element whose fields differ in another dimension is "
    "bad.";

const struct stk__op stk__op_concat_fields = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "concat_fields", 1, "Put the values of several fields behind each other.", doc,
              params, sizeof(struct concat_fields) },
    .infer = infer,
    .row = { .run = run },
};
