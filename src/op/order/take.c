/* SPDX-License-Identifier: Apache-2.0 */
/* take.c: the first elements. */
#include "op/order/order.h"

#include <stdlib.h>

struct take {
    int64_t count;
};

struct taking {
    int64_t wanted, taken; /* wanted < 0: everything */
};

static const struct stk_param params[] = {
    STK_INT_ROW(take, count, 0, STK__INT_LO, STK__INT_HI, STK_REQUIRED,
                "how many elements at most; -1 means all"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct take *p = inf->params;
    int64_t in = inf->in_count[0];
    if (p->count < 0 || in == STK_UNKNOWN_COUNT)
        *out = in;
    else
        *out = in == STK_INFINITE_COUNT ? p->count : stk__min_count(in, p->count);
    return *out < 0 ? STK_OK : stk__check_count((uint64_t)*out, err);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    return stk__infer_order(inf, count, err);
}

static bool passes_all(const void *given, int64_t in_count)
{
    const struct take *p = given;
    return p->count < 0 || (in_count >= 0 && p->count >= in_count);
}

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    const struct take *p = b->params;
    struct taking *t = calloc(1, sizeof *t);
    if (!t)
        return stk_fail(err, STK_MEMORY, "out of memory");
    t->wanted = p->count;
    *run = t;
    return STK_OK;
}

static void next_epoch(void *run, uint64_t path)
{
    struct taking *t = run;
    (void)path;
    t->taken = 0;
}

static bool is_closed(const void *run)
{
    const struct taking *t = run;
    return t->wanted >= 0 && t->taken >= t->wanted;
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct taking *t = run;
    if (is_closed(t))
        return n;
    int m = (int)stk__min_count(n, out->cap - out->n);
    if (t->wanted >= 0)
        m = (int)stk__min_count(m, t->wanted - t->taken);
    stk__chunk_append(out, in, from, m);
    t->taken += m;
    return m;
}

const struct stk__op stk__op_take = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "take", 1, "Keep the first elements.",
              "Yields at most `count` elements and asks for no more than it needs. A negative "
              "count means everything, as in tf.data. Elements that turn out to be bad count "
              "too: with on_error=skip fewer may arrive.\n"
              "\n"
              "    range(100).shuffle().take(10)\n"
              "    files('train/*/*.jpg').take(1000).decode()",
              params, sizeof(struct take) },
    .flags = STK__OP_ADDRESSES,
    .infer = infer,
    .passes_all = passes_all,
    .order = { .count = count, .at = stk__order_same },
    .serial = { .begin = begin,
                .end = free,
                .next_epoch = next_epoch,
                .step = step,
                .is_closed = is_closed },
};
