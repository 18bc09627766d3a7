/* SPDX-License-Identifier: Apache-2.0 */
/* shuffle.c: a random order: of everything by a keyed permutation, or through a buffer as
 * tf.data's.
 *
 * The buffer is kept full: a row that comes in when `cap` rows are held takes the place of the one
 * that is drawn. Draw d of a pass is a pure function of the pass's key and d, so the order does not
 * depend on how rows arrive in chunks.
 *
 * While a pass drains the next one fills the places that come free. So that its rows lie in the order
 * they came in once it is its turn, every other pass counts places from the end of the buffer:
 *
 *      | 0 1 2 … n |  free  | m … 2 1 0 |
 *        this pass            the next
 */
#include "base/rng.h"
#include "base/rows/held_rows.h"
#include "kernel/kernel.h"
#include "op/order/order.h"

#include <stdlib.h>

struct shuffle {
    int64_t buffer_size, seed;
    bool reshuffle_each_iteration;
};

static const struct stk_param params[] = {
    STK_INT_ROW(shuffle, buffer_size, STK_NONE, 1, INT32_MAX, STK_TAKES_NONE | STK_TAKES_AUTO,
                "elements held to draw from; none shuffles everything; auto everything where it "
                "can, else what fits in 64 MB"),
    STK_INT_ROW(shuffle, seed, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "mixed with the run's seed; none is 0"),
    STK_BOOL_ROW(shuffle, reshuffle_each_iteration, true, 0, "another order in every epoch"),
    STK_ROWS_END,
};

static enum stk__op_mode mode(const void *given)
{
    const struct shuffle *p = given;
    return p->buffer_size == STK_NONE   ? STK__MODE_ORDER
           : p->buffer_size == STK_AUTO ? STK__MODE_EITHER
                                        : STK__MODE_SERIAL;
}

static bool is_global(const struct stk_infer *inf)
{
    const struct shuffle *p = inf->params;
    return p->buffer_size == STK_NONE ||
           (p->buffer_size == STK_AUTO && inf->inside->in_class == STK__INDEXED);
}

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    *out = inf->in_count[0];
    if (!is_global(inf) || *out >= 0)
        return STK_OK;
    if (*out != STK_INFINITE_COUNT && inf->inside->stream_op)
        return stk_fail(err, STK_VALUE,
                        "a global shuffle needs an input of known length, and this one is of "
                        "unknown length (%s: %s); give buffer_size, as in shuffle(10000)",
                        inf->inside->stream_op, inf->inside->stream_why);
    return stk_fail(err, STK_VALUE,
                    "a global shuffle needs an input of known length, and this one is %s; give "
                    "buffer_size, as in shuffle(10000)",
                    *out == STK_INFINITE_COUNT ? "endless" : "of unknown length");
}

/* What auto stands for: a function of the types alone, so that the order is the same on every machine,
 * under every budget and after a resume. Texts and images of any size count as 16 KB, places as
 * nothing. */
static int64_t auto_size(const struct stk_infer *inf)
{
    const size_t most_bytes = (size_t)64 << 20, unknown_bytes = (size_t)16 << 10;
    const size_t least = 256, most = 65536;
    size_t bytes = 0;
    for (int f = 0; inf->inside->in_class == STK__STREAM && f < inf->in[0]->n_fields; f++) {
        const struct stk_field *field = &inf->in[0]->field[f];
        bytes += field->kind == STK_FIXED ? stk_field_bytes(field) : unknown_bytes;
    }
    size_t fit = most_bytes / (bytes + 1);
    return (int64_t)(fit < least ? least : fit > most ? most : fit);
}

/* State: rows to hold. A run that gets fewer than that holds no more than those. */
static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct shuffle *p = inf->params;
    int code = stk__infer_order(inf, count, err);
    if (code || is_global(inf))
        return code;
    int64_t *cap = stk_arena_alloc(inf->arena, sizeof *cap);
    if (!cap)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *cap = p->buffer_size == STK_AUTO ? auto_size(inf) : p->buffer_size;
    inf->state = cap;
    return STK_OK;
}

static uint64_t pass_key(const struct shuffle *p, uint64_t op_seed, uint64_t path)
{
    uint64_t seed = stk__hash_mix(op_seed, stk__user_seed(p->seed));
    return stk__hash_mix(seed, p->reshuffle_each_iteration ? path : 0);
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    const struct shuffle *p = run->params;
    stk__permute_fn permute = stk__kernels()->permute;
    (void)input;
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && path[end] == path[i];)
            end++;
        uint64_t key = pass_key(p, run->seed, path[i]);
        permute(position + i, end - i, (uint64_t)run->in_count[0], key);
    }
}

static bool passes_all(const void *given, int64_t in_count)
{
    (void)in_count;
    return ((const struct shuffle *)given)->buffer_size == 1;
}

struct buffer {
    const struct shuffle *params;
    struct stk__serial_start host;
    struct stk__chunk *held;
    struct stk__held_rows rows; /* of `held` */
    struct stk__pool *pool;
    uint64_t key, draws;
    int n, cap;
    bool is_reversed; /* this pass counts places from the end */
    bool is_turning;  /* it drains, and the next one fills: */
    int n_next;
};

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    struct buffer *s = calloc(1, sizeof *s);
    if (!s)
        return stk_fail(err, STK_MEMORY, "out of memory");
    s->params = b->params;
    s->host = *b;
    s->cap = b->held_rows ? (int)b->held_rows : 1;
    s->held = b->chunk_new(b->ctx, s->cap);
    if (!s->held) {
        int cap = s->cap;
        free(s);
        return stk_fail(err, STK_MEMORY, "no memory for a buffer of %d elements", cap);
    }
    s->pool = stk__pool_ref(b->pool);
    stk__held_rows_begin(&s->rows, s->held, s->pool);
    *run = s;
    return STK_OK;
}

static void end(void *run)
{
    struct buffer *s = run;
    stk__held_rows_end(&s->rows);
    s->host.chunk_free(s->host.ctx, s->held);
    stk__pool_unref(s->pool);
    free(s);
}

static void next_epoch(void *run, uint64_t path)
{
    struct buffer *s = run;
    if (!s->is_turning) {
        stk__held_rows_clear(&s->rows);
        s->n_next = 0;
    }
    s->is_reversed ^= s->is_turning;
    s->is_turning = false;
    s->n = s->n_next;
    s->n_next = 0;
    s->draws = 0;
    s->key = pass_key(s->params, s->host.seed, path);
}

static void turn(void *run)
{
    ((struct buffer *)run)->is_turning = true;
}

static int place_of(const struct buffer *s, int row)
{
    return s->is_reversed ? s->cap - 1 - row : row;
}

/* True when rows are nothing but their addresses: no columns, keys or faults to carry along. */
static bool is_bare(const struct buffer *s, const struct stk__chunk *other)
{
    return other->type->n_fields == 0 && !other->key && !s->held->key && !other->n_bad &&
           !s->held->n_bad;
}

static int draw(struct buffer *s)
{
    return (int)stk__below(stk__hash_mix(s->key, s->draws++), (uint64_t)s->n);
}

/* Moves a held row to `out`; its place is empty afterwards. */
static void emit(struct buffer *s, int place, struct stk__chunk *out)
{
    stk__chunk_append(out, s->held, place, 1);
    stk__chunk_drop(s->held, place, 1);
    stk__held_rows_leave(&s->rows, out, out->n - 1, 1);
}

static void move_last(struct buffer *s, int place, int last)
{
    stk__chunk_copy(s->held, place, s->held, last, 1);
    stk__chunk_drop(s->held, last, 1);
}

/* Draws n times from a full buffer, in blocks. No draw depends on what another one loads, so the
 * processor has many of them under way. */
static void exchange(struct buffer *s, const struct stk__chunk *in, int from, int n,
                     struct stk__chunk *out)
{
    enum { BLOCK = 512 };
    int place[BLOCK];
    for (int i = 0, m; i < n; i += m) {
        m = n - i < BLOCK ? n - i : BLOCK;
        for (int k = 0; k < m; k++)
            place[k] = place_of(s, draw(s));
        stk__chunk_exchange(s->held, place, in, from + i, m, out);
        stk__held_rows_leave(&s->rows, out, out->n - m, m);
        for (int k = 0; k < m; k++)
            stk__held_rows_put(&s->rows, place[k], 1);
    }
}

/* Takes rows of this pass or, while it drains, of the next. */
static int fill(struct buffer *s, const struct stk__chunk *in, int from, int n)
{
    int *n_filled = s->is_turning ? &s->n_next : &s->n;
    bool is_reversed = s->is_reversed ^ s->is_turning;
    int m = (int)stk__min_count(n, s->cap - s->n - s->n_next);
    int first = is_reversed ? s->cap - *n_filled - m : *n_filled;
    if (!is_reversed)
        stk__chunk_copy(s->held, first, in, from, m);
    for (int i = 0; is_reversed && i < m; i++)
        stk__chunk_copy(s->held, first + i, in, from + m - 1 - i, 1);
    stk__held_rows_put(&s->rows, first, m);
    *n_filled += m;
    return m;
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct buffer *s = run;
    int used = s->n + s->n_next < s->cap ? fill(s, in, from, n) : 0;
    if (s->is_turning)
        return used;
    int m = (int)stk__min_count(n - used, out->cap - out->n);
    if (stk__chunk_can_exchange(s->held, in, out)) {
        exchange(s, in, from + used, m, out);
        return used + m;
    }
    for (int i = 0; i < m; i++) {
        int pick = place_of(s, draw(s));
        emit(s, pick, out);
        stk__chunk_copy(s->held, pick, in, from + used + i, 1);
        stk__held_rows_put(&s->rows, pick, 1);
    }
    return used + m;
}

static bool flush(void *run, struct stk__chunk *out)
{
    struct buffer *s = run;
    while (s->n && out->n < out->cap) {
        int pick = place_of(s, draw(s)), last = place_of(s, --s->n);
        if (is_bare(s, out)) {
            out->address[out->n++] = s->held->address[pick];
            s->held->address[pick] = s->held->address[last];
            continue;
        }
        emit(s, pick, out);
        if (pick != last)
            move_last(s, pick, last);
    }
    return s->n == 0;
}

static uint64_t held_rows(const void *state)
{
    const int64_t *cap = state;
    return (uint64_t)*cap;
}

const struct stk__op stk__op_shuffle = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "shuffle", 1, "Put the elements in a random order.",
              "Without a buffer size all elements are permuted: any element can come anywhere, "
              "nothing is held in memory and nothing is waited for. That needs an input that can "
              "be read at random and has a known length.\n"
              "\n"
              "With a buffer size it works as in tf.data, on any input: that many elements are "
              "held, one of them is drawn, and the next element takes its place. Where the input "
              "can be read at random only places are held, not data.\n"
              "\n"
              "auto shuffles everything where it can. Otherwise it chooses a buffer by the types "
              "of "
              "the elements alone: what fits in 64 MB, 256 to 65536 of them, where texts and "
              "images "
              "count as 16 KB each and places as nothing. So the order is the same on every "
              "machine "
              "and with every memory budget; `stoker plan` shows the number.\n"
              "\n"
              "    image_folder('train').shuffle().decode()\n"
              "    lines('words.txt').shuffle(10000, seed=7)\n"
              "    range(100).filter('x % 3 == 0').shuffle(auto)\n"
              "    range(100).shuffle(reshuffle_each_iteration=false).repeat(2)\n"
              "\n"
              "The order is a function of the run's seed, `seed`, the place of the call in the "
              "chain and, unless reshuffle_each_iteration is false, the epoch. It does not "
              "depend on the number of workers. Without any seed it is the same in every run.",
              params, sizeof(struct shuffle) },
    .flags = STK__OP_ADDRESSES | STK__OP_SHUFFLES,
    .mode = mode,
    .infer = infer,
    .passes_all = passes_all,
    .order = { .count = count, .at = at },
    .serial = { .begin = begin,
                .end = end,
                .next_epoch = next_epoch,
                .step = step,
                .flush = flush,
                .turn = turn,
                .held_rows = held_rows },
};
