/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: helpers of the ops that choose and order rows. */
#include "op/order.h"

int stk__infer_order(struct stk_infer *inf,
                     int (*count)(const struct stk_infer *, int64_t *, struct stk_error *),
                     struct stk_error *err)
{
    stk_infer_pass(inf);
    return count(inf, &inf->count, err);
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
