/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: helpers of the ops that choose and order rows. */
#include "op/order.h"

#include "base/type.h"

#include <string.h>

int stk__infer_order(struct stk_infer *inf,
                     int (*count)(const struct stk_infer *, int64_t *, struct stk_error *),
                     struct stk_error *err)
{
    stk_infer_pass(inf);
    return count(inf, &inf->count, err);
}

static bool is_same_type(const struct stk_type *a, const struct stk_type *b)
{
    if (a->n_fields != b->n_fields)
        return false;
    for (int f = 0; f < a->n_fields; f++) {
        const struct stk_field *x = &a->field[f], *y = &b->field[f];
        if (strcmp(x->name, y->name) || x->kind != y->kind || x->dtype != y->dtype ||
            x->rank != y->rank || memcmp(x->shape, y->shape, x->rank * sizeof *x->shape) ||
            (x->flags ^ y->flags) & (STK_FIELD_PACKED | STK_FIELD_LISTS))
            return false;
    }
    return true;
}

static int fail_types(const struct stk_infer *inf, int first_input, int i, struct stk_error *err)
{
    struct stk__text first = { 0 }, other = { 0 };
    stk__type_text(inf->in[first_input], &first);
    stk__type_text(inf->in[i], &other);
    int code =
        stk_fail(err, STK_TYPE,
                 "input %d has %s, but the first has %s; select, rename or cast "
                 "to make them the same",
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
    for (int i = first + 1; i < inf->n_inputs; i++) {
        if (!is_same_type(inf->in[first], inf->in[i]))
            return fail_types(inf, first, i, err);
        for (int f = 0; f < inf->out->n_fields; f++)
            inf->out->field[f].flags &= inf->in[i]->field[f].flags;
    }
    return STK_OK;
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

void stk__order_same(const struct stk_order_run *run, int n, uint64_t *position, uint64_t *path,
                     uint8_t *input)
{
    (void)run, (void)n, (void)position, (void)path, (void)input;
}

int stk__rows_untouched(struct stk_rows *rows)
{
    (void)rows;
    return STK_OK;
}

void stk__chunk_append(struct stk_chunk *out, const struct stk_chunk *in, int from, int n)
{
    stk_chunk_copy(out, out->n, in, from, n);
    out->n += n;
}
