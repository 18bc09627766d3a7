/* SPDX-License-Identifier: Apache-2.0 */
/* assert_cardinality.c: a length for what has none before it is read, checked at its end. */
#include "base/rows/chunk.h"
#include "op/order/order.h"

#include <stdio.h>
#include <stdlib.h>

enum { ENDLESS = -1, UNKNOWN = -2 }; /* as TensorFlow numbers them */

struct assert_cardinality {
    int64_t count;
};

static const struct stk_param params[] = {
    STK_INT_ROW(assert_cardinality, count, 0, UNKNOWN, STK__MAX_COUNT, STK_REQUIRED,
                "how many elements there are; -1: endless; -2: nobody knows, nothing is checked"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct assert_cardinality *p = inf->params;
    (void)err;
    *out = inf->in_count[0];
    if (*out == STK_UNKNOWN_COUNT && p->count != UNKNOWN)
        *out = p->count == ENDLESS ? STK_INFINITE_COUNT : p->count;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct assert_cardinality *p = inf->params;
    int64_t in = inf->in_count[0];
    int64_t known = in == STK_INFINITE_COUNT ? ENDLESS : in;
    bool is_wrong = in != STK_UNKNOWN_COUNT && p->count != UNKNOWN && p->count != known;
    if (is_wrong && known == ENDLESS)
        return stk_fail(err, STK_VALUE, "the input is endless, and has not %lld elements",
                        (long long)p->count);
    if (is_wrong)
        return stk_fail(err, STK_VALUE,
                        "the input has %lld elements, not %lld; what shard() leaves of them is "
                        "known by itself",
                        (long long)in, (long long)p->count);
    return stk__infer_order(inf, count, err);
}

static bool passes_all(const void *given, int64_t in_count)
{
    const struct assert_cardinality *p = given;
    return p->count == UNKNOWN || (in_count >= 0 && p->count == in_count);
}

struct counting {
    int64_t wanted, n;
    bool is_told;              /* that it is wrong, in this epoch */
    struct stk__address where; /* of the last row; of the first one there would be */
    struct stk__key key;
};

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    const struct assert_cardinality *p = b->params;
    struct counting *c = calloc(1, sizeof *c);
    if (!c)
        return stk_fail(err, STK_MEMORY, "out of memory");
    c->wanted = p->count;
    *run = c;
    return STK_OK;
}

static void next_epoch(void *run, uint64_t path)
{
    struct counting *c = run;
    c->n = 0;
    c->is_told = false;
    c->where = (struct stk__address){ 0, path };
}

static bool is_closed(const void *run)
{
    return ((const struct counting *)run)->is_told;
}

/* A row that ends the run, whatever on_error says. */
static void tell(struct counting *c, struct stk__chunk *out, const char *text)
{
    out->address[out->n] = c->where;
    if (out->key)
        out->key[out->n] = c->key;
    stk__chunk_fault(out, out->n, STK_STATE, "assert_cardinality", text);
    out->n++;
    c->is_told = true;
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct counting *c = run;
    char text[128];
    if (c->is_told)
        return n;
    int m = (int)stk__min_count(n, out->cap - out->n);
    if (c->wanted >= 0)
        m = (int)stk__min_count(m, c->wanted - c->n);
    stk__chunk_append(out, in, from, m);
    c->n += m;
    int last = from + (m < n ? m : n - 1);
    c->where = in->address[last];
    if (in->key)
        c->key = in->key[last];
    if (m == n || out->n == out->cap)
        return m;
    snprintf(text, sizeof text, "%lld elements were promised, but the input has more",
             (long long)c->wanted);
    tell(c, out, text);
    return n;
}

static bool flush(void *run, struct stk__chunk *out)
{
    struct counting *c = run;
    char text[128];
    if (c->is_told || c->wanted == UNKNOWN || c->n == c->wanted)
        return true;
    if (out->n == out->cap)
        return false;
    if (c->wanted == ENDLESS)
        snprintf(text, sizeof text,
                 "an endless input was promised, but it ends after %lld elements", (long long)c->n);
    else
        snprintf(text, sizeof text, "%lld elements were promised, but the input has only %lld",
                 (long long)c->wanted, (long long)c->n);
    tell(c, out, text);
    return true;
}

const struct stk__op stk__op_assert_cardinality = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "assert_cardinality", 1, "Say how many elements there are where nobody knows.",
              "Behind a filter, an unbatch or a stream the length is unknown. This gives it one, "
              "so "
              "that len, progress and the length of what follows are known. The elements are "
              "counted as they come: the run ends with an error, whatever on_error says, if there "
              "are more or, at the end of an epoch, fewer. Where the length is known already it "
              "must be this one, and nothing is done.\n"
              "\n"
              "    range(10).filter('x % 2 == 0').assert_cardinality(5).batch(2)\n"
              "    range(10).repeat().filter('x > 4').assert_cardinality(-1).take(3)\n"
              "\n"
              "Bad elements count. It gives no positions: a global shuffle still needs an input "
              "that can be read at random. As in tf.data, -1 is endless and -2 unknown.",
              params, sizeof(struct assert_cardinality) },
    .infer = infer,
    .passes_all = passes_all,
    .order = { .count = count, .at = stk__order_same },
    .serial = { .begin = begin,
                .end = free,
                .next_epoch = next_epoch,
                .step = step,
                .flush = flush,
                .is_closed = is_closed,
                .is_whole = true },
};
