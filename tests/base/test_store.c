/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c: rows that are kept by their numbers: found again as they were, within what may be
 * taken, by several threads at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory/store.h"

/* ---- leave ---- */

struct purse {
    atomic_size_t left, n_asked;
};

static bool take(void *ctx, size_t bytes)
{
    struct purse *purse = ctx;
    atomic_fetch_add(&purse->n_asked, 1);
    size_t left = atomic_load(&purse->left);
    while (left >= bytes && !atomic_compare_exchange_weak(&purse->left, &left, left - bytes))
        ;
    return left >= bytes;
}

static struct purse endless = { .left = SIZE_MAX / 2 };
static const struct stk__leave no_limit = { take, &endless };

/* ---- rows that can be told by their number ---- */

enum { MAX_TEXT = 20000 };

static const struct stk_type type = {
    3,
    { { .name = "x", .kind = STK_FIXED, .dtype = STK_I64 },
      { .name = "s", .kind = STK_BYTES, .dtype = STK_U8 },
      { .name = "m", .kind = STK_SHAPED, .dtype = STK_U8, .rank = 2, .shape = { -1, -1 } } }
};

static size_t text_bytes(uint64_t number)
{
    uint64_t word = stk__hash_mix(number, 7);
    return word % 16 == 0 ? word % MAX_TEXT : word % 90;
}

/* Writes row `number` to row 0 of a chunk; its bytes lie in `bytes`. */
static void make(struct stk__chunk *chunk, uint64_t number, uint8_t *bytes)
{
    size_t n = text_bytes(number);
    memset(bytes, (int)(number & 255), n + 6);
    memcpy(chunk->column[0].data, &number, sizeof number);
    chunk->column[1].span[0] = (struct stk_span){ bytes, n, NULL };
    chunk->column[2].span[0] = (struct stk_span){ bytes + n, 6, NULL };
    chunk->column[2].dims[0] = 2;
    chunk->column[2].dims[1] = 3;
    chunk->key[0] = (struct stk__key){ number, ~number };
    chunk->address[0] = (struct stk__address){ number * 2, number };
}

static bool keep(struct stk__store *store, uint64_t number, const struct stk__leave *leave)
{
    static _Thread_local uint8_t bytes[MAX_TEXT + 64];
    struct stk__chunk *chunk = stk__chunk_new(&type, 1, STK__KEYS);
    assert_non_null(chunk);
    make(chunk, number, bytes);
    const struct stk__row_ref row = { .column = chunk->column,
                                      .key = chunk->key,
                                      .address = chunk->address };
    bool is_kept = stk__store_keep(store, number, &row, leave);
    stk__chunk_free(chunk);
    return is_kept;
}

static void check(struct stk__store *store, uint64_t number)
{
    struct stk__stored at;
    uint64_t x;
    assert_int_equal(stk__store_find(store, number, 1, &at), 1);
    const struct stk_column *c = at.page->column;
    memcpy(&x, c[0].data + (size_t)at.row * c[0].stride, sizeof x);
    assert_int_equal(x, number);
    const struct stk_span *s = &c[1].span[at.row], *m = &c[2].span[at.row];
    assert_int_equal(s->bytes, text_bytes(number));
    for (size_t i = 0; i < s->bytes; i++)
        assert_int_equal(s->data[i], number & 255);
    assert_true(m->bytes == 6 && m->data[5] == (number & 255));
    assert_true(c[2].dims[2 * at.row] == 2 && c[2].dims[2 * at.row + 1] == 3);
    assert_int_equal(at.page->mask[at.row], STK_LIVE);
    if (at.page->key)
        assert_true(at.page->key[at.row].lo == ~number);
    if (at.page->address)
        assert_true(at.page->address[at.row].where == number * 2);
}

static void test_rows_come_back(void **state)
{
    static const int parts[] = { 0, STK__KEYS, STK__NO_ADDRESSES, STK__KEYS | STK__NO_ADDRESSES };
    (void)state;
    for (int mode = 0; mode < 8; mode++) {
        struct stk__store *store = stk__store_new(&type, parts[mode % 4], mode & 4);
        for (uint64_t i = 0; i < 3000; i++) {
            uint64_t number = mode & 4 ? stk__hash_mix(i, 3) >> 8 : i * 7 % 3000;
            assert_false(stk__store_has(store, number));
            assert_true(keep(store, number, &no_limit));
            assert_true(stk__store_has(store, number));
            assert_false(keep(store, number, &no_limit)); /* it is there */
        }
        for (uint64_t i = 0; i < 3000; i++)
            check(store, mode & 4 ? stk__hash_mix(i, 3) >> 8 : i);
        assert_false(stk__store_has(store, 3001));
        assert_int_equal(stk__store_size(store).rows, 3000);
        stk__store_free(store);
    }
    stk__store_free(NULL);
}

static void test_runs_are_found(void **state)
{
    struct stk__store *store = stk__store_new(&type, 0, false);
    struct stk__stored at;
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        if (i != 50)
            assert_true(keep(store, i, &no_limit));
    int n = stk__store_find(store, 10, 1000, &at);
    assert_true(n >= 1 && n <= 40);
    for (uint64_t i = 10; i < 50; i += (uint64_t)n) {
        n = stk__store_find(store, i, 1000, &at);
        assert_true(n >= 1 && i + (uint64_t)n <= 50);
    }
    assert_int_equal(stk__store_find(store, 50, 5, &at), 0);
    assert_int_equal(stk__store_find(store, 5000, 5, &at), 0);
    stk__store_free(store);
}

/* Whoever got a row's bytes may keep them. */
static void test_bytes_outlive_the_store(void **state)
{
    struct stk__store *store = stk__store_new(&type, 0, false);
    struct stk__stored at;
    struct stk_span span[2] = { { 0 } };
    (void)state;
    assert_true(keep(store, 5, &no_limit) && stk__store_find(store, 5, 1, &at));
    stk__spans_copy(&span[0], &at.page->column[1].span[at.row], 1);
    stk__spans_copy(&span[1], &at.page->column[2].span[at.row], 1);
    stk__store_free(store);
    for (size_t i = 0; i < span[0].bytes; i++)
        assert_int_equal(span[0].data[i], 5);
    unsigned sum = 0;
    for (size_t i = 0; i < 64; i++)
        sum += span[1].data[i]; /* readable past its end */
    assert_true(sum >= 6 * 5);
    stk__spans_drop(span, 2);
}

static void test_bad_rows(void **state)
{
    struct stk__store *store = stk__store_new(&type, STK__NO_ADDRESSES, false);
    struct stk__fault *list = NULL, fault = { .code = STK_DATA, .op = "decode", .text = "why" };
    struct stk__stored at;
    (void)state;
    const struct stk__row_ref row = { .is_bad = true, .fault = &fault };
    assert_true(stk__store_keep(store, 9, &row, &no_limit));
    assert_int_equal(stk__store_find(store, 9, 1, &at), 1);
    assert_int_equal(at.page->mask[at.row], STK_BAD);
    stk__store_add_fault(store, at, 3, &list);
    const struct stk__fault *found = stk__fault_find(list, 3);
    assert_true(found && found->code == STK_DATA && !strcmp(found->text, "why"));
    assert_string_equal(found->op, "decode");
    stk__faults_free(list);
    stk__store_free(store);
}

/* Keeps what fits, says what it took, and never lets go of a row. */
static void test_limit(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 400000; limit = limit * 3 / 2 + 1000) {
        struct purse purse = { .left = limit };
        const struct stk__leave leave = { take, &purse };
        struct stk__store *store = stk__store_new(&type, STK__KEYS, false);
        uint64_t n_kept = 0;
        for (uint64_t i = 0; i < 500; i++)
            n_kept += keep(store, i, &leave);
        const struct stk__store_size size = stk__store_size(store);
        assert_int_equal(size.rows, n_kept);
        assert_int_equal(size.bytes, limit - atomic_load(&purse.left));
        for (uint64_t i = 0; i < 500; i++)
            if (stk__store_has(store, i)) {
                check(store, i);
                n_kept--;
            }
        assert_int_equal(n_kept, 0);
        atomic_store(&purse.left, SIZE_MAX / 2); /* there is more now */
        for (uint64_t i = 0; i < 500; i++)
            keep(store, i, &leave);
        for (uint64_t i = 0; i < 500; i++)
            check(store, i);
        stk__store_free(store);
    }
}

static void test_prefix(void **state)
{
    struct stk__store *store = stk__store_new(&type, 0, false);
    (void)state;
    assert_int_equal(stk__store_prefix(store), 0);
    for (uint64_t i = 0; i < 70; i++) {
        assert_true(keep(store, i, &no_limit));
        assert_int_equal(stk__store_prefix(store), i + 1);
    }
    assert_false(stk__store_is_whole(store));
    stk__store_set_whole(store);
    assert_true(stk__store_is_whole(store));
    stk__store_free(store);
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_SHARED = 2000 };

struct worker {
    struct stk__store *store;
    uint64_t seed;
    pthread_t thread;
};

static void *use(void *arg)
{
    struct worker *w = arg;
    for (uint64_t i = 0; i < N_SHARED; i++) {
        uint64_t number = stk__hash_mix(i, w->seed) % N_SHARED;
        if (stk__store_has(w->store, number))
            check(w->store, number);
        else
            keep(w->store, number, &no_limit);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct stk__store *store = stk__store_new(&type, STK__KEYS, false);
    struct worker w[N_THREADS];
    (void)state;
    for (int i = 0; i < N_THREADS; i++) {
        w[i] = (struct worker){ .store = store, .seed = (uint64_t)i };
        assert_int_equal(pthread_create(&w[i].thread, NULL, use, &w[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(w[i].thread, NULL);
    uint64_t n = 0;
    for (uint64_t i = 0; i < N_SHARED; i++)
        if (stk__store_has(store, i)) {
            check(store, i);
            n++;
        }
    assert_int_equal(stk__store_size(store).rows, n);
    stk__store_free(store);
}

/* Where its rows came from is copied with an element, and asked for: the run that made it takes its memory along. */
static void test_traces_are_the_stores(void **state)
{
    enum { N = 6000 };
    struct stk__pool *pool = stk__pool_new();
    struct stk__chunk *chunk = stk__chunk_new(&type, 1, STK__KEYS | STK__TRACE);
    struct stk__store *store = stk__store_new(&type, STK__KEYS | STK__TRACE, false);
    struct stk_buffer *b = stk__buffer_new(pool, N * sizeof(struct stk__address));
    uint8_t bytes[MAX_TEXT + 64];
    struct stk__stored at;
    (void)state;
    make(chunk, 5, bytes);
    memset(b->data, 7, N * sizeof(struct stk__address));
    chunk->trace[0] = (struct stk_span){ b->data, N * sizeof(struct stk__address), b };
    const struct stk__row_ref row = {
        .column = chunk->column, .key = chunk->key, .address = chunk->address, .trace = chunk->trace
    };
    assert_true(stk__store_keep(store, 5, &row, &no_limit));
    assert_true(stk__store_size(store).bytes >= N * sizeof(struct stk__address));
    stk__chunk_free(chunk);
    stk__pool_limit(pool, 0);
    assert_int_equal(stk__pool_bytes(pool), 0);
    stk__pool_unref(pool);
    assert_int_equal(stk__store_find(store, 5, 1, &at), 1);
    const struct stk_span *trace = &at.page->trace[at.row];
    assert_int_equal(trace->bytes, N * sizeof(struct stk__address));
    for (size_t i = 0; i < trace->bytes; i++)
        assert_int_equal(trace->data[i], 7);
    stk__store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_come_back), cmocka_unit_test(test_traces_are_the_stores),
        cmocka_unit_test(test_runs_are_found), cmocka_unit_test(test_bytes_outlive_the_store),
        cmocka_unit_test(test_bad_rows),       cmocka_unit_test(test_limit),
        cmocka_unit_test(test_prefix),         cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
