/* SPDX-License-Identifier: Apache-2.0 */
/* skip.c: all but the first elements. */
#include "op/order/order.h"

#include <stdlib.h>

struct skip {
    int64_t count;
};

struct skipping {
    int64_t wanted, skipped; /* wanted < 0: nothing is left */
};

static const struct stk_param params[] = {
    STK_INT_ROW(skip, count, 0, STK__INT_LO, STK__INT_HI, STK_REQUIRED,
                "how many elements to leave out; -1 leaves out all"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct skip *p = inf->params;
    int64_t in = inf->in_count[0];
    (void)err;
    if (p->count < 0)
        *out = 0;
    else if (in < 0)
        *out = in;
    else
        *out = in > p->count ? in - p->count : 0;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    return stk__infer_order(inf, count, err);
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    const struct skip *p = run->params;
    (void)path, (void)input;
    for (int i = 0; i < n; i++)
        position[i] += (uint64_t)p->count;
}

static bool passes_all(const void *given, int64_t in_count)
{
    (void)in_count;
    return ((const struct skip *)given)->count == 0;
}

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    const struct skip *p = b->params;
    struct skipping *s = calloc(1, sizeof *s);
    if (!s)
        return stk_fail(err, STK_MEMORY, "out of memory");
    s->wanted = p->count;
    *run = s;
    return STK_OK;
}

static void next_epoch(void *run, uint64_t path)
{
    struct skipping *s = run;
    (void)path;
    s->skipped = 0;
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct skipping *s = run;
    if (s->wanted < 0)
        return n;
    int left_out = (int)stk__min_count(n, s->wanted - s->skipped);
    int m = (int)stk__min_count(n - left_out, out->cap - out->n);
    stk__chunk_append(out, in, from + left_out, m);
    s->skipped += left_out;
    return left_out + m;
}

static bool is_closed(const void *run)
{
    return ((const struct skipping *)run)->wanted < 0;
}

const struct stk__op stk__op_skip = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "skip", 1, "Leave out the first elements.",
              "Leaves out the first `count` elements; a negative count leaves nothing, as in "
              "tf.data. Where the input can be read at random, what is skipped is never read.\n"
              "\n"
              "    range(100).skip(90)\n"
              "    lines('table.csv').skip(1)",
              params, sizeof(struct skip) },
    .flags = STK__OP_ADDRESSES,
    .infer = infer,
    .passes_all = passes_all,
    .order = { .count = count, .at = at },
    .serial = { .begin = begin,
                .end = free,
                .next_epoch = next_epoch,
                .step = step,
                .is_closed = is_closed },
};
