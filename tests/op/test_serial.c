/* SPDX-License-Identifier: Apache-2.0 */
/* test_serial.c: the same ops as pumps: rows in pieces of any size give what the order tables
 * say. */
#include "op_call.h"

struct host {
    const struct stk_type *type;
    bool has_keys;
};

static struct stk__chunk *host_chunk(void *ctx, int cap)
{
    struct host *host = ctx;
    return stk__chunk_new(host->type, cap, host->has_keys);
}

static void host_free(void *ctx, struct stk__chunk *chunk)
{
    (void)ctx;
    stk__chunk_free(chunk);
}

/* What is in the rows, and how they are handed over. */
struct feed {
    const struct stk_type *type;
    bool has_keys;
    int bad_every; /* 0: no bad rows */
    int max_in, max_out;
};

static const struct feed feeds[] = {
    { &no_fields, false, 0, 7, 3 }, { &no_fields, false, 0, 64, 1 }, { &no_fields, true, 0, 5, 9 },
    { &no_fields, false, 6, 9, 4 }, { &pairs, false, 0, 6, 2 },      { &pairs, true, 5, 4, 5 },
    { &numbers, false, 0, 50, 50 },
};
enum { N_FEEDS = sizeof feeds / sizeof *feeds };

static bool is_bad(const struct feed *feed, uint64_t row)
{
    return feed->bad_every && row % (uint64_t)feed->bad_every == 1;
}

static struct stk__chunk *make_rows(const struct feed *feed, struct stk__pool *pool, uint64_t first,
                                    int n)
{
    struct stk__chunk *chunk = stk__chunk_new(feed->type, n, feed->has_keys);
    assert_non_null(chunk);
    for (int i = 0; i < n; i++) {
        uint64_t row = first + (uint64_t)i;
        chunk->address[i] = (struct stk__address){ row, 17 };
        if (chunk->key)
            chunk->key[i] = stk__key_make(1, 2, row);
        if (feed->type->n_fields > 0)
            memcpy(chunk->column[0].data + (size_t)i * chunk->column[0].stride, &row, sizeof row);
        if (feed->type->n_fields > 1) {
            struct stk_buffer *buffer = stk__buffer_new(pool, sizeof row);
            memcpy(buffer->data, &row, sizeof row);
            chunk->column[1].span[i] = (struct stk_span){ buffer->data, sizeof row, buffer };
        }
        if (is_bad(feed, row))
            stk__chunk_fault(chunk, i, STK_DATA, NULL, "bad");
    }
    chunk->n = n;
    return chunk;
}

/* Every part of a row agrees with its address. */
static uint64_t check_row(const struct feed *feed, const struct stk__chunk *chunk, int i)
{
    uint64_t row = chunk->address[i].where, value;
    assert_int_equal(chunk->address[i].path, 17);
    assert_int_equal(chunk->mask[i], is_bad(feed, row) ? STK_BAD : STK_LIVE);
    assert_int_equal(stk__chunk_find_fault(chunk, i) != NULL, is_bad(feed, row));
    if (chunk->key)
        assert_true(chunk->key[i].lo == stk__key_make(1, 2, row).lo);
    if (feed->type->n_fields > 0) {
        memcpy(&value, chunk->column[0].data + (size_t)i * chunk->column[0].stride, sizeof value);
        assert_int_equal(value, row);
    }
    if (feed->type->n_fields > 1) {
        memcpy(&value, chunk->column[1].span[i].data, sizeof value);
        assert_int_equal(value, row);
    }
    return row;
}

/* Looks at the rows of `out` and gives it back empty. */
static void collect(const struct feed *feed, struct stk__chunk *out, uint64_t *rows, int *n)
{
    int n_bad = 0;
    assert_true(out->n <= out->cap);
    for (int i = 0; i < out->n; i++) {
        rows[*n] = check_row(feed, out, i);
        n_bad += is_bad(feed, rows[(*n)++]);
    }
    assert_int_equal(out->n_bad, n_bad);
    stk__chunk_clear(out);
}

struct pump {
    struct op_call call;
    const struct feed *feed;
    struct host host;
    struct stk__pool *pool;
    void *run;
};

static size_t held_rows_of(const struct op_call *call, int64_t in_count)
{
    uint64_t (*held_rows)(const void *state) = call->op->serial.held_rows;
    uint64_t rows = held_rows ? held_rows(call->state) : 0;
    return in_count >= 0 && rows > (uint64_t)in_count ? (size_t)in_count : rows;
}

static void pump_begin(struct pump *p, const char *text, const struct feed *feed, int64_t in_count,
                       uint64_t seed)
{
    *p = (struct pump){ .feed = feed,
                        .host = { feed->type, feed->has_keys },
                        .pool = stk__pool_new() };
    p->call = open_over(text, feed->type, in_count);
    struct stk__serial_start begin = { .params = p->call.params,
                                       .state = p->call.state,
                                       .seed = seed,
                                       .held_rows = held_rows_of(&p->call, in_count),
                                       .chunk_new = host_chunk,
                                       .chunk_free = host_free,
                                       .pool = p->pool,
                                       .ctx = &p->host };
    assert_int_equal(p->call.op->serial.begin(&begin, &p->run, &p->call.err), STK_OK);
}

static void pump_end(struct pump *p)
{
    p->call.op->serial.end(p->run);
    stk__pool_unref(p->pool);
    op_call_close(&p->call);
}

/* Sends n_rows through one epoch in pieces of random size; returns how many came out. With
 * `give_up` the epoch is left before the flush. */
static int pump_epoch(struct pump *p, int n_rows, uint64_t path, bool give_up, uint64_t *rows)
{
    const struct stk__serial_table *serial = &p->call.op->serial;
    int n = 0, fed = 0;
    serial->next_epoch(p->run, path);
    while (fed < n_rows && !(serial->is_closed && serial->is_closed(p->run))) {
        int n_in = 1 + (int)random_below((uint64_t)p->feed->max_in);
        n_in = n_in < n_rows - fed ? n_in : n_rows - fed;
        struct stk__chunk *in = make_rows(p->feed, p->pool, (uint64_t)fed, n_in);
        struct stk__chunk *out = stk__chunk_new(p->feed->type, p->feed->max_out, p->feed->has_keys);
        for (int used = 0; used < n_in;) {
            int got = serial->step(p->run, in, used, n_in - used, out);
            assert_in_range(got, 0, n_in - used);
            assert_true(got > 0 || out->n == out->cap);
            used += got;
            collect(p->feed, out, rows, &n);
        }
        fed += n_in;
        stk__chunk_free(in);
        stk__chunk_free(out);
    }
    struct stk__chunk *out = stk__chunk_new(p->feed->type, p->feed->max_out, p->feed->has_keys);
    for (bool is_done = give_up; !is_done;) {
        is_done = !serial->flush || serial->flush(p->run, out);
        assert_true(is_done || out->n == out->cap);
        collect(p->feed, out, rows, &n);
    }
    stk__chunk_free(out);
    return n;
}

static void serial_equals_order(void **state)
{
    const char *const texts[] = { "take(0)",     "take(1)",      "take(7)",     "take(1000)",
                                  "take(-1)",    "skip(0)",      "skip(1)",     "skip(9)",
                                  "skip(1000)",  "skip(-1)",     "shard(1, 0)", "shard(3, 0)",
                                  "shard(3, 2)", "shard(50, 49)" };
    const int sizes[] = { 0, 1, 2, 9, 60 };
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (int f = 0; f < N_FEEDS; f++)
            for (size_t s = 0; s < 5; s++) {
                struct pump p;
                uint64_t rows[MAX_ROWS], expected[MAX_ROWS], path[MAX_ROWS];
                int64_t n = order_of(texts[t], sizes[s], 0, 0, expected, path);
                pump_begin(&p, texts[t], &feeds[f], sizes[s], 0);
                for (int epoch = 0; epoch < 2; epoch++) {
                    assert_int_equal(pump_epoch(&p, sizes[s], 0, false, rows), n);
                    assert_memory_equal(rows, expected, (size_t)n * sizeof *rows);
                }
                pump_end(&p);
            }
}

/* The buffer as its definition says it; rows are numbers here. */
static void draw_naively(int n_rows, int buffer_size, uint64_t key, uint64_t *out)
{
    uint64_t held[MAX_ROWS], draws = 0;
    int n = 0, n_out = 0;
    for (int row = 0; row < n_rows; row++) {
        if (n < buffer_size) {
            held[n++] = (uint64_t)row;
            continue;
        }
        uint64_t pick = stk__below(stk__hash_mix(key, draws++), (uint64_t)n);
        out[n_out++] = held[pick];
        held[pick] = (uint64_t)row;
    }
    while (n) {
        uint64_t pick = stk__below(stk__hash_mix(key, draws++), (uint64_t)n);
        out[n_out++] = held[pick];
        held[pick] = held[--n];
    }
}

static void buffer_shuffle(void **state)
{
    const int sizes[] = { 0, 1, 2, 5, 40, 200 }, buffers[] = { 1, 2, 5, 39, 40, 41, 1000000 };
    (void)state;
    for (size_t s = 0; s < 6; s++)
        for (size_t b = 0; b < 7; b++)
            for (int f = 0; f < N_FEEDS; f++) {
                struct pump p;
                char text[80];
                uint64_t rows[MAX_ROWS], expected[MAX_ROWS];
                snprintf(text, sizeof text, "shuffle(%d, %d, %s)", buffers[b], f,
                         f % 2 ? "false" : "true");
                pump_begin(&p, text, &feeds[f], sizes[s], 23);
                for (uint64_t epoch = 0; epoch < 3; epoch++) {
                    uint64_t key =
                        stk__hash_mix(stk__hash_mix(23, (uint64_t)f), f % 2 ? 0 : 100 + epoch);
                    draw_naively(sizes[s], buffers[b], key, expected);
                    assert_int_equal(pump_epoch(&p, sizes[s], 100 + epoch, false, rows), sizes[s]);
                    assert_memory_equal(rows, expected, (size_t)sizes[s] * sizeof *rows);
                    if (epoch == 0)
                        pump_epoch(&p, sizes[s], 5, true, rows);
                }
                pump_end(&p);
            }
}

static void shuffle_chooses_its_mode(void **state)
{
    struct op_call c = open_over("shuffle()", &numbers, 5);
    (void)state;
    assert_int_equal(c.op->mode(c.params), STK__MODE_ORDER);
    op_call_close(&c);
    c = open_over("shuffle(8)", &numbers, 5);
    assert_int_equal(c.op->mode(c.params), STK__MODE_SERIAL);
    assert_int_equal(c.op->serial.held_rows(c.params), 8);
    op_call_close(&c);
}

static struct stk__chunk *no_chunk(void *ctx, int cap)
{
    (void)ctx, (void)cap;
    return NULL;
}

static void shuffle_without_memory(void **state)
{
    struct op_call c = open_over("shuffle(8)", &numbers, 50);
    void *run = NULL;
    struct stk__serial_start begin = {
        .params = c.params, .state = c.state, .chunk_new = no_chunk, .held_rows = 8
    };
    (void)state;
    assert_int_equal(c.op->serial.begin(&begin, &run, &c.err), STK_MEMORY);
    assert_message(&c, "8 elements");
    op_call_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_equals_order),
        cmocka_unit_test(buffer_shuffle),
        cmocka_unit_test(shuffle_chooses_its_mode),
        cmocka_unit_test(shuffle_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
