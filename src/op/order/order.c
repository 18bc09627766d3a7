/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: helpers of the ops that choose and order rows. */
#include "op/order/order.h"

#include "base/type.h"
#include "op/implied.h"

#include <string.h>

int stk__infer_order(struct stk_infer *inf,
                     int (*count)(const struct stk_infer *, int64_t *, struct stk_error *),
                     struct stk_error *err)
{
    stk_infer_pass(inf);
    return count(inf, &inf->count, err);
}

/* ---- the type of inputs that follow each other ---- */

/* A list of any length: where one input has such, the others have, too. */
static bool join_lists(struct stk_field *out, const struct stk_field *in)
{
    for (int d = 1; d < out->rank; d++)
        if (out->shape[d] < 0 || out->shape[d] != in->shape[d])
            return false;
    out->kind = STK_RAGGED;
    out->shape[0] = -1;
    return true;
}

static bool join_arrays(struct stk_field *out, const struct stk_field *in)
{
    if (out->rank != in->rank)
        return false;
    if (out->kind == STK_RAGGED || in->kind == STK_RAGGED)
        return join_lists(out, in);
    for (int d = 0; d < out->rank; d++) {
        out->shape[d] = out->shape[d] == in->shape[d] ? out->shape[d] : -1;
        out->kind = out->shape[d] < 0 ? STK_SHAPED : out->kind;
    }
    return true;
}

static bool has_same_shape(const struct stk_field *a, const struct stk_field *b)
{
    return a->kind == b->kind && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, a->rank * sizeof *a->shape);
}

/* Makes `out` what is true of both; false: nothing can be. */
static bool join_field(struct stk_field *out, const struct stk_field *in)
{
    const uint8_t many = STK_FIELD_PACKED | STK_FIELD_LISTS;
    uint8_t flags = out->flags;
    if (strcmp(out->name, in->name) || out->dtype != in->dtype || (flags ^ in->flags) & many)
        return false;
    out->flags &= in->flags;
    if (has_same_shape(out, in))
        return true;
    if (out->kind == STK_BYTES && in->kind == STK_BYTES && out->rank < 2 && in->rank < 2) {
        out->rank = 0; /* lists of texts, not equally long */
        return true;
    }
    if (flags & many || out->kind == STK_BYTES || in->kind == STK_BYTES)
        return false;
    return join_arrays(out, in);
}

static bool join_type(struct stk_type *out, const struct stk_type *in)
{
    bool can = out->n_fields == in->n_fields;
    for (int f = 0; can && f < out->n_fields; f++)
        can = join_field(&out->field[f], &in->field[f]);
    return can;
}

/* Rows of one size are no rows with a size each: asks for the first field where that has to change. */
static int ask_for_shape(struct stk_infer *inf, int first, struct stk_error *err)
{
    for (int i = first; i < inf->n_inputs; i++)
        for (int f = 0; f < inf->out->n_fields; f++)
            if (inf->in[i]->field[f].kind != inf->out->field[f].kind)
                return stk__imply_shape(inf, i, &inf->out->field[f], err);
    return STK_OK;
}

static int fail_types(const struct stk_infer *inf, int first_input, int i, struct stk_error *err)
{
    struct stk__text first = { 0 }, other = { 0 };
    stk__type_text(inf->in[first_input], &first);
    stk__type_text(inf->in[i], &other);
    int code = stk_fail(
        err, STK_TYPE,
        "input %d has %s, but the first has %s; select, rename or cast (arrays of texts must have "
        "one shape) to make them the same: only dimensions may differ",
        i - first_input + 1, other.data ? other.data : "?", first.data ? first.data : "?");
    stk__text_free(&first);
    stk__text_free(&other);
    return code;
}

int stk__infer_same(struct stk_infer *inf, int first, struct stk_error *err)
{
    int n_before = 0;
    for (int i = 0; i < first; i++)
        n_before += inf->in[i]->n_fields;
    *inf->out = *inf->in[first];
    for (int f = 0; f < inf->out->n_fields; f++)
        inf->from[f] = n_before + f;
    for (int i = first + 1; i < inf->n_inputs; i++)
        if (!join_type(inf->out, inf->in[i]))
            return fail_types(inf, first, i, err);
    return ask_for_shape(inf, first, err);
}

int stk__sum_counts(const struct stk_infer *inf, int first, int64_t *out, struct stk_error *err)
{
    bool is_infinite = false, is_unknown = false;
    uint64_t sum = 0;
    for (int i = first; i < inf->n_inputs; i++) {
        is_infinite |= inf->in_count[i] == STK_INFINITE_COUNT;
        is_unknown |= inf->in_count[i] == STK_UNKNOWN_COUNT;
        sum += (uint64_t)(inf->in_count[i] > 0 ? inf->in_count[i] : 0);
    }
    *out = is_infinite ? STK_INFINITE_COUNT : is_unknown ? STK_UNKNOWN_COUNT : (int64_t)sum;
    return *out < 0 ? STK_OK : stk__check_count(sum, err);
}

int stk__check_count(uint64_t count, struct stk_error *err)
{
    if (count <= (uint64_t)STK__MAX_COUNT)
        return STK_OK;
    return stk_fail(err, STK_VALUE, "%llu elements are too many; at most 2^56 can be numbered",
                    (unsigned long long)count);
}

void stk__order_same(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
                     uint8_t *input)
{
    (void)run, (void)n, (void)position, (void)path, (void)input;
}

int stk__rows_untouched(struct stk_rows *rows)
{
    (void)rows;
    return STK_OK;
}

void stk__chunk_append(struct stk__chunk *out, const struct stk__chunk *in, int from, int n)
{
    stk__chunk_copy(out, out->n, in, from, n);
    out->n += n;
}
