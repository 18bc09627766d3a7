/* SPDX-License-Identifier: Apache-2.0 */
/* test_chunk.c: buffers and their pools, packed rows, chunks with all that their rows have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory/arena.h"
#include "base/memory/pages.h"
#include "base/rows/blob.h"
#include "base/rows/chunk.h"

/* ---- buffers ---- */

/* Writes all of a buffer and reads the 64 bytes behind it, so that a sanitizer sees whether it
 * is ours. */
static void use(struct stk_buffer *b, uint8_t value)
{
    unsigned sum = 0;
    assert_non_null(b);
    assert_int_equal((uintptr_t)b->data % 64, 0);
    memset(b->data, value, b->capacity);
    for (size_t i = 0; i < 64; i++)
        sum += b->data[b->capacity + i];
    assert_int_equal(sum, 0);
}

static void test_buffer_classes(void **state)
{
    struct stk__pool *pool = stk__pool_new();
    (void)state;
    for (int shift = 0; shift <= 22; shift++) {
        for (int quarter = 0; quarter < 4; quarter++) {
            for (int near = -1; near <= 1; near++) {
                size_t bytes = ((size_t)1 << shift) + ((size_t)quarter << shift) / 4 + (size_t)near;
                struct stk_buffer *b = stk__buffer_new(pool, bytes);
                use(b, 7);
                assert_true(b->bytes == bytes && b->capacity >= bytes && b->memory == STK_HEAP);
                assert_true(b->capacity <= 256 || b->capacity - bytes <= bytes / 4);
                stk__buffer_unref(b);
            }
        }
    }
    assert_null(stk__buffer_new(pool, ((size_t)1 << 46) + 1));
    assert_null(stk__buffer_new(pool, SIZE_MAX));
    stk__pool_unref(pool);
    stk__pool_unref(NULL);
    stk__buffer_unref(NULL);
}

static void test_buffer_reuse(void **state)
{
    struct stk__pool *pool = stk__pool_new();
    struct stk_buffer *a = stk__buffer_new(pool, 50000), *b = stk__buffer_new(pool, 50000);
    (void)state;
    assert_true(stk__pool_bytes(pool) >= a->capacity + b->capacity);
    assert_ptr_equal(stk__buffer_ref(a), a);
    stk__buffer_unref(a);
    struct stk_buffer *c = stk__buffer_new(pool, 50000); /* a is still held once */
    assert_true(c != a && c != b);
    stk__buffer_unref(a);
    struct stk_buffer *other = stk__buffer_new(pool, 500000), *again = stk__buffer_new(pool, 49999);
    assert_ptr_not_equal(other, a);
    assert_ptr_equal(again, a);
    assert_true(again->bytes == 49999 && atomic_load(&again->refs) == 1);
    stk__buffer_unref(again);
    stk__buffer_unref(other);
    stk__buffer_unref(b);
    stk__buffer_unref(c);
    stk__pool_limit(pool, 0);
    assert_int_equal(stk__pool_bytes(pool), 0);
    stk__pool_unref(pool);
}

/* Large buffers are kept one by one. */
static void test_large_buffers_are_kept(void **state)
{
    struct stk__pool *pool = stk__pool_new();
    struct stk_buffer *a = stk__buffer_new(pool, 100000), *b = stk__buffer_new(pool, 100000);
    (void)state;
    size_t each = stk__memory_bytes(a->capacity);
    assert_int_equal(stk__pool_bytes(pool), 2 * each);
    stk__buffer_unref(a);
    assert_int_equal(stk__pool_bytes(pool), 2 * each);
    stk__pool_limit(pool, each);
    assert_int_equal(stk__pool_bytes(pool), 2 * each);
    stk__buffer_unref(b); /* the limit holds from now on */
    assert_int_equal(stk__pool_bytes(pool), each);
    stk__pool_trim(pool, 1);
    assert_int_equal(stk__pool_bytes(pool), 0);
    assert_int_equal(stk__pool_peak(pool), 2 * each);
    stk__pool_unref(pool);
}

/* One small buffer among many keeps the pages of its neighbours: they count, and are used again. Where a
 * sanitizer has the pieces there are no neighbours. */
static void test_small_buffers_share_pages(void **state)
{
    enum { N = 100 };
    struct stk__pool *pool = stk__pool_new();
    struct stk_buffer *b[N];
    (void)state;
    stk__pool_limit(pool, 0);
    for (int i = 0; i < N; i++)
        b[i] = stk__buffer_new(pool, 10000);
    size_t all = stk__pool_bytes(pool);
    assert_true(all >= N * b[0]->capacity);
    for (int i = 0; i < N; i++)
        if (i % 10)
            stk__buffer_unref(b[i]);
    size_t left = stk__pool_bytes(pool);
    assert_true(left <= all);
    for (int i = 0; i < N; i++)
        if (i % 10)
            b[i] =
                stk__buffer_new(pool, i % 20 == 1 ? 9000 : 10000); /* a piece too large will do */
    assert_true(stk__pool_bytes(pool) <= all);
    for (int i = 0; i < N; i++)
        stk__buffer_unref(b[i]);
    assert_int_equal(stk__pool_bytes(pool), 0);
    stk__pool_unref(pool);
}

static void test_buffer_outlives_pool(void **state)
{
    struct stk__pool *pool = stk__pool_new();
    struct stk_buffer *small = stk__buffer_new(pool, 100), *large = stk__buffer_new(pool, 3 << 20);
    struct stk_buffer *kept = stk__buffer_new(pool, 100);
    (void)state;
    stk__buffer_unref(kept);
    use(small, 1);
    stk__pool_unref(pool);
    use(large, 2);
    assert_int_equal(small->data[99], 1);
    stk__buffer_unref(small);
    assert_int_equal(large->data[1000], 2);
    stk__buffer_unref(large); /* and with it the pool and what it kept */
}

static void count_release(void *context)
{
    ++*(int *)context;
}

static void test_foreign_buffer(void **state)
{
    int n_released = 0;
    uint8_t bytes[4] = { 1, 2, 3, 4 };
    struct stk_buffer *b = calloc(1, sizeof *b);
    (void)state;
    *b = (struct stk_buffer){ .memory = STK_FOREIGN,
                              .data = bytes,
                              .bytes = 4,
                              .capacity = 4,
                              .release = count_release,
                              .context = &n_released };
    atomic_init(&b->refs, 1);
    stk__buffer_ref(b);
    stk__buffer_unref(b);
    assert_int_equal(n_released, 0);
    stk__buffer_unref(b);
    assert_int_equal(n_released, 1);
}

enum { N_THREADS = 4, N_ROUNDS = 4000, N_HELD = 8 };

struct churn {
    struct stk__pool *pool;
    uint64_t seed;
    int n_wrong;
};

/* Every buffer is marked with who holds it: two holders of one would see the other's mark. */
static void *churn_main(void *arg)
{
    struct churn *churn = arg;
    struct stk_buffer *held[N_HELD] = { 0 };
    for (uint64_t i = 0; i < N_ROUNDS; i++) {
        uint64_t word = stk__hash_mix(churn->seed, i);
        struct stk_buffer **slot = &held[word % N_HELD];
        uint64_t mark;
        if (*slot) {
            memcpy(&mark, (*slot)->data, sizeof mark);
            churn->n_wrong += mark != churn->seed || atomic_load(&(*slot)->refs) != 1;
            stk__buffer_unref(*slot);
        }
        *slot = stk__buffer_new(churn->pool, 8 + (word >> 8) % 4000);
        memcpy((*slot)->data, &churn->seed, sizeof churn->seed);
    }
    for (int i = 0; i < N_HELD; i++)
        stk__buffer_unref(held[i]);
    return NULL;
}

static void test_buffers_on_threads(void **state)
{
    struct churn churn[N_THREADS];
    pthread_t thread[N_THREADS];
    struct stk__pool *pool = stk__pool_new();
    struct stk_buffer *last = stk__buffer_new(pool, 1);
    (void)state;
    for (int i = 0; i < N_THREADS; i++) {
        churn[i] = (struct churn){ pool, 1000 + (uint64_t)i, 0 };
        assert_int_equal(pthread_create(&thread[i], NULL, churn_main, &churn[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(churn[i].n_wrong, 0);
    }
    assert_true(stk__pool_bytes(pool) <= last->capacity + N_THREADS * N_HELD * 13u * 5120);
    stk__pool_limit(pool, 0);
    assert_true(stk__pool_bytes(pool) <= 256 << 10); /* the region of the last one */
    stk__pool_unref(pool);
    stk__buffer_unref(last);
}

/* ---- packed rows ---- */

static void test_blob(void **state)
{
    uint8_t text[] = "onethree";
    float reals[] = { 1, 2, 3, 4, 5, 6 };
    struct stk__pool *pool = stk__pool_new();
    const struct stk_span words[] = { { text, 3, NULL }, { NULL, 0, NULL }, { text + 3, 5, NULL } };
    const struct stk_span lists[] = { { (uint8_t *)reals, 16, NULL },
                                      { (uint8_t *)(reals + 4), 8, NULL } };
    const struct stk_field bytes = { .kind = STK_BYTES, .dtype = STK_U8 };
    const struct stk_field pairs = {
        .kind = STK_RAGGED, .dtype = STK_F32, .rank = 2, .shape = { -1, 2 }
    };
    (void)state;
    assert_int_equal(stk__blob_unit(&bytes), 1);
    assert_int_equal(stk__blob_unit(&pairs), 8);
    struct stk_buffer *b = stk__buffer_new(pool, stk__blob_bytes(words, 1, 3));
    stk__blob_write(words, 1, 3, 1, b->data);
    struct stk__blob blob = stk__blob_open(b->data);
    assert_int_equal(blob.n, 3);
    assert_memory_equal(blob.splits, ((int64_t[]){ 0, 3, 3, 8 }), 4 * sizeof(int64_t));
    assert_memory_equal(blob.data, "onethree", 8);
    assert_int_equal((uintptr_t)blob.data % 64, 0);
    stk__buffer_unref(b);
    b = stk__buffer_new(pool, stk__blob_bytes(lists, 1, 2));
    stk__blob_write(lists, 1, 2, 8, b->data);
    blob = stk__blob_open(b->data);
    assert_memory_equal(blob.splits, ((int64_t[]){ 0, 2, 3 }), 3 * sizeof(int64_t));
    assert_memory_equal(blob.data, reals, sizeof reals);
    stk__buffer_unref(b);
    b = stk__buffer_new(pool, stk__blob_bytes(words, 2, 2));
    stk__blob_write(words, 2, 2, 1, b->data); /* every other one */
    blob = stk__blob_open(b->data);
    assert_memory_equal(blob.splits, ((int64_t[]){ 0, 3, 8 }), 3 * sizeof(int64_t));
    assert_memory_equal(blob.data, "onethree", 8);
    stk__buffer_unref(b);
    b = stk__buffer_new(pool, stk__blob_bytes(NULL, 1, 0));
    stk__blob_write(NULL, 1, 0, 8, b->data);
    blob = stk__blob_open(b->data);
    assert_true(blob.n == 0 && blob.splits[0] == 0);
    stk__buffer_unref(b);
    stk__pool_unref(pool);
}

/* ---- chunks ---- */

/* One field of each kind. */
static const struct stk_type type = {
    4,
    { { .name = "x", .kind = STK_FIXED, .dtype = STK_I64 },
      { .name = "image", .kind = STK_SHAPED, .dtype = STK_U8, .rank = 2, .shape = { -1, -1 } },
      { .name = "name", .kind = STK_BYTES, .dtype = STK_U8 },
      { .name = "list", .kind = STK_RAGGED, .dtype = STK_I32, .rank = 1, .shape = { -1 } } }
};
enum { X, IMAGE, NAME, LIST, CAP = 16 };

static struct stk__pool *pool;

static int begin(void **state)
{
    (void)state;
    pool = stk__pool_new();
    return pool ? 0 : -1;
}

/* Leak checking is the sanitizer's; here only what must be back in the pool is counted. */
static int finish(void **state)
{
    (void)state;
    stk__pool_limit(pool, 0);
    size_t lost = stk__pool_bytes(pool);
    stk__pool_unref(pool);
    return lost ? -1 : 0;
}

static void set_span(struct stk_span *span, const void *data, size_t bytes)
{
    struct stk_buffer *b = stk__buffer_new(pool, bytes);
    memcpy(b->data, data, bytes);
    *span = (struct stk_span){ b->data, bytes, b };
}

/* Row `row` gets everything a row with this number has. */
static void put_row(struct stk__chunk *c, int row, int number)
{
    char name[32];
    int32_t list[3] = { number, number + 1, number + 2 };
    uint8_t image[64];
    int64_t x = number;
    memcpy(c->column[X].data + (size_t)row * c->column[X].stride, &x, sizeof x);
    int height = number % 7 + 1;
    memset(image, number, sizeof image);
    set_span(&c->column[IMAGE].span[row], image, (size_t)height * 2);
    c->column[IMAGE].dims[2 * row] = height;
    c->column[IMAGE].dims[2 * row + 1] = 2;
    snprintf(name, sizeof name, "row %d", number);
    set_span(&c->column[NAME].span[row], name, strlen(name));
    set_span(&c->column[LIST].span[row], list, sizeof list);
    c->address[row] = (struct stk__address){ (uint64_t)number, (uint64_t)number * 3 };
    if (c->key)
        c->key[row] = stk__key_make(1, 2, (uint64_t)number);
    if (c->trace)
        set_span(&c->trace[row], &c->address[row], sizeof *c->address);
}

static struct stk__chunk *chunk_of(int parts, int first, int n)
{
    struct stk__chunk *c = stk__chunk_new(&type, CAP, parts);
    assert_non_null(c);
    for (int i = 0; i < n; i++)
        put_row(c, i, first + i);
    c->n = n;
    return c;
}

static void check_row(const struct stk__chunk *c, int row, int number)
{
    char name[32];
    int64_t x;
    const struct stk_span *text = &c->column[NAME].span[row], *list = &c->column[LIST].span[row];
    memcpy(&x, c->column[X].data + (size_t)row * c->column[X].stride, sizeof x);
    assert_int_equal(x, number);
    assert_int_equal(c->column[IMAGE].dims[2 * row], number % 7 + 1);
    assert_int_equal(c->column[IMAGE].span[row].data[1], (uint8_t)number);
    snprintf(name, sizeof name, "row %d", number);
    assert_int_equal(text->bytes, strlen(name));
    assert_memory_equal(text->data, name, text->bytes);
    assert_true(list->bytes == 12 && *(const int32_t *)(const void *)list->data == number);
    assert_int_equal(c->address[row].where, number);
    struct stk__key key = stk__key_make(1, 2, (uint64_t)number);
    if (c->key)
        assert_true(c->key[row].hi == key.hi && c->key[row].lo == key.lo);
    if (c->trace)
        assert_int_equal(((const struct stk__address *)(const void *)c->trace[row].data)->where,
                         number);
}

static void test_chunk_layout(void **state)
{
    (void)state;
    for (int parts = 0; parts <= (STK__KEYS | STK__TRACE); parts++) {
        struct stk__chunk *c = stk__chunk_new(&type, CAP, parts);
        assert_true(c->cap == CAP && c->n == 0 && c->n_bad == 0 && !c->faults);
        assert_int_equal(c->key != NULL, (parts & STK__KEYS) != 0);
        assert_int_equal(c->trace != NULL, (parts & STK__TRACE) != 0);
        for (int f = 0; f < type.n_fields; f++) {
            const void *at = f == X ? (void *)c->column[f].data : (void *)c->column[f].span;
            assert_int_equal((uintptr_t)at % 64, 0);
        }
        const uint8_t *tail = c->column[X].data + CAP * 8;
        unsigned sum = 0;
        for (int i = 0; i < 64; i++)
            sum += tail[i] & 0u; /* readable */
        assert_int_equal(sum, 0);
        assert_true(stk__chunk_bytes(&type, CAP, parts) > CAP * 8);
        stk__chunk_free(c);
    }
    stk__chunk_free(NULL);
    static const struct stk_type none;
    struct stk__chunk *bare = stk__chunk_new(&none, 1000, 0);
    bare->address[999] = (struct stk__address){ 1, 1 };
    stk__chunk_free(bare);
}

static void test_chunk_copy(void **state)
{
    struct stk__chunk *a = chunk_of(STK__KEYS | STK__TRACE, 0, 10);
    struct stk__chunk *b = chunk_of(STK__KEYS | STK__TRACE, 100, 10);
    (void)state;
    stk__chunk_copy(b, 2, a, 5, 4);
    stk__chunk_copy(b, 0, a, 0, 0);
    for (int i = 0; i < 10; i++)
        check_row(b, i, i >= 2 && i < 6 ? 5 + i - 2 : 100 + i);
    assert_int_equal(atomic_load(&a->column[NAME].span[5].owner->refs), 2);
    assert_int_equal(atomic_load(&a->trace[5].owner->refs), 2);
    stk__chunk_free(a);
    for (int i = 2; i < 6; i++)
        check_row(b, i, 5 + i - 2); /* holds what it needs */
    stk__chunk_copy(b, 1, b, 4, 3); /* within one chunk: moved */
    check_row(b, 1, 7);
    check_row(b, 2, 8);
    check_row(b, 3, 106);
    assert_null(b->column[NAME].span[4].owner);
    stk__chunk_clear(b);
    assert_true(b->n == 0 && !b->column[NAME].span[0].data && !b->trace[0].data);
    stk__chunk_free(b);
}

static void check_fault(const struct stk__chunk *c, int row, int code, const char *text)
{
    const struct stk__fault *fault = stk__chunk_find_fault(c, row);
    assert_int_equal(c->mask[row], STK_BAD);
    assert_non_null(fault);
    assert_int_equal(fault->code, code);
    assert_string_equal(fault->op, "op");
    assert_string_equal(fault->text, text);
}

static void test_faults_travel(void **state)
{
    struct stk__chunk *a = chunk_of(0, 0, 8), *b = chunk_of(0, 50, 8);
    (void)state;
    stk__chunk_fault(a, 2, STK_DATA, "op", "first");
    stk__chunk_fault(a, 2, STK_IO, "op", "second");
    stk__chunk_fault(a, 5, STK_IO, "op", "five");
    assert_int_equal(a->n_bad, 2);
    check_fault(a, 2, STK_DATA, "first"); /* the first cause counts */
    assert_null(stk__chunk_find_fault(a, 3));
    a->mask[3] = STK_DEAD;
    stk__chunk_fault(b, 1, STK_DATA, "op", "old");
    stk__chunk_fault(b, 7, STK_DATA, "op", "stays");
    stk__chunk_copy(b, 0, a, 1, 5); /* rows 1..5: 2 and 5 are bad, 3 is dead */
    assert_int_equal(b->n_bad, 3);
    check_fault(b, 1, STK_DATA, "first");
    check_fault(b, 4, STK_IO, "five");
    check_fault(b, 7, STK_DATA, "stays");
    assert_int_equal(b->mask[2], STK_DEAD);
    assert_int_equal(b->mask[0], STK_LIVE);
    stk__chunk_copy(b, 1, a, 6, 1); /* a good row takes the place of a bad one */
    assert_true(b->n_bad == 2 && b->mask[1] == STK_LIVE && !stk__chunk_find_fault(b, 1));
    a->mask[7] = STK_BAD;
    a->n_bad++;
    stk__chunk_copy(b, 3, a, 7, 1); /* bad without a fault: there was no memory for it */
    assert_int_equal(stk__chunk_find_fault(b, 3)->code, STK_MEMORY);
    stk__chunk_clear(b);
    assert_true(!b->faults && !b->n_bad && b->mask[4] == STK_LIVE);
    stk__chunk_free(a);
    stk__chunk_free(b);
}

static void test_compact(void **state)
{
    struct stk__chunk *c = chunk_of(STK__KEYS | STK__TRACE, 0, 12);
    static const int dead[] = { 0, 3, 4, 11 }, left[] = { 1, 2, 5, 6, 7, 8, 9, 10 };
    (void)state;
    for (size_t i = 0; i < sizeof dead / sizeof *dead; i++)
        c->mask[dead[i]] = STK_DEAD;
    stk__chunk_fault(c, 6, STK_DATA, "op", "six");
    stk__chunk_fault(c, 10, STK_DATA, "op", "ten");
    int n = stk__chunk_compact(c, 12);
    assert_int_equal(n, 8);
    for (int i = 0; i < n; i++) {
        check_row(c, i, left[i]);
        assert_int_equal(c->mask[i], left[i] == 6 || left[i] == 10 ? STK_BAD : STK_LIVE);
    }
    check_fault(c, 3, STK_DATA, "six");
    check_fault(c, 7, STK_DATA, "ten");
    for (int i = n; i < CAP; i++)
        assert_int_equal(c->mask[i], STK_LIVE);
    assert_int_equal(c->n_bad, 2);
    stk__chunk_free(c);
    c = chunk_of(0, 0, 3);
    memset(c->mask, STK_DEAD, 3);
    assert_int_equal(stk__chunk_compact(c, 3), 0);
    assert_int_equal(stk__chunk_compact(c, 0), 0);
    stk__chunk_free(c);
}

static void test_own(void **state)
{
    struct stk__chunk *c = stk__chunk_new(&type, CAP, 0);
    uint8_t scratch[3][100];
    (void)state;
    for (int i = 0; i < 3; i++) {
        memset(scratch[i], 'a' + i, sizeof scratch[i]);
        c->column[NAME].span[i] = (struct stk_span){ scratch[i], 10 * (size_t)i, NULL };
        c->column[IMAGE].span[i] = (struct stk_span){ scratch[i], 100, NULL };
    }
    set_span(&c->column[LIST].span[1], scratch[0], 8);
    const struct stk_buffer *owned = c->column[LIST].span[1].owner;
    assert_true(stk__chunk_own(c, 0, 3, NULL, pool));
    memset(scratch, 0, sizeof scratch); /* what was scratch is gone */
    for (int i = 0; i < 3; i++) {
        assert_true(!i || c->column[NAME].span[i].owner);
        assert_int_equal(c->column[IMAGE].span[i].data[99], 'a' + i);
        assert_int_equal((uintptr_t)c->column[IMAGE].span[i].data % 64, 0);
        for (int k = 0; k < 10 * i; k++)
            assert_int_equal(c->column[NAME].span[i].data[k], 'a' + i);
    }
    assert_ptr_equal(c->column[LIST].span[1].owner, owned);
    assert_true(stk__chunk_own(c, 0, 3, NULL, pool)); /* nothing is left to do */
    assert_int_equal(atomic_load(&owned->refs), 1);
    stk__chunk_free(c);
}

/* A row that fills a block of scratch takes it along; what lies beside it is copied. */
static void test_own_blocks(void **state)
{
    const size_t large = (size_t)6 << 20;
    struct stk__chunk *c = stk__chunk_new(&type, CAP, 0);
    struct stk_arena scratch;
    (void)state;
    stk__arena_init(&scratch, 1024);
    size_t before = stk__pool_bytes(pool);
    for (int i = 0; i < 2; i++) {
        uint8_t *image = stk__arena_take(&scratch, large), *name = stk__arena_take(&scratch, 10);
        memset(image, 'a' + i, large);
        memset(name, 'k' + i, 10);
        c->column[IMAGE].span[i] = (struct stk_span){ image, large, NULL };
        c->column[NAME].span[i] = (struct stk_span){ name, 10, NULL };
    }
    c->column[LIST].span[0] = c->column[IMAGE].span[0]; /* the same bytes in another field */
    const uint8_t *image = c->column[IMAGE].span[1].data;
    assert_true(stk__chunk_own(c, 0, 2, &scratch, pool));
    assert_ptr_equal(c->column[IMAGE].span[1].data, image);
    assert_true(stk__pool_bytes(pool) - before >= 3 * large);
    stk__arena_reset(&scratch);
    memset(stk__arena_take(&scratch, large), 0, large);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(c->column[IMAGE].span[i].data[large - 1], 'a' + i);
        assert_int_equal(c->column[NAME].span[i].data[9], 'k' + i);
    }
    assert_int_equal(c->column[LIST].span[0].data[large - 1], 'a');
    stk__chunk_free(c);
    stk__pool_trim(pool, SIZE_MAX);
    assert_true(stk__pool_bytes(pool) - before < large);
    stk__arena_free(&scratch);
}

/* zip: the fields of two chunks side by side. */
static void test_join(void **state)
{
    static const struct stk_type one = { 1,
                                         { { .name = "y", .kind = STK_BYTES, .dtype = STK_U8 } } };
    struct stk_type both = {
        5, { type.field[0], type.field[1], type.field[2], type.field[3], one.field[0] }
    };
    struct stk__chunk *a = chunk_of(STK__KEYS | STK__TRACE, 0, 8),
                      *b = stk__chunk_new(&one, CAP, STK__KEYS);
    struct stk__chunk *c = stk__chunk_new(&both, CAP, STK__KEYS | STK__TRACE);
    (void)state;
    for (int i = 0; i < 8; i++) {
        set_span(&b->column[0].span[i], "y", 1);
        b->key[i] = stk__key_make(9, 9, (uint64_t)i);
        b->address[i] = (struct stk__address){ 1000, 0 };
    }
    stk__chunk_fault(a, 1, STK_DATA, "op", "left");
    stk__chunk_fault(b, 1, STK_DATA, "op", "right");
    stk__chunk_fault(b, 4, STK_IO, "op", "right");
    stk__chunk_join(c, 2, 0, a, 0, 6);
    stk__chunk_join(c, 2, 4, b, 0, 6);
    for (int i = 0; i < 6; i++) {
        struct stk__key joined = stk__key_join(a->key[i], b->key[i]);
        assert_true(c->key[2 + i].hi == joined.hi && c->key[2 + i].lo == joined.lo);
        assert_memory_equal(c->column[4].span[2 + i].data, "y", 1);
        c->key[2 + i] = a->key[i];
        check_row(c, 2 + i, i);
        assert_int_equal(c->mask[2 + i], i == 1 || i == 4 ? STK_BAD : STK_LIVE);
    }
    check_fault(c, 3, STK_DATA, "left");
    check_fault(c, 6, STK_IO, "right");
    assert_int_equal(c->n_bad, 2);
    stk__chunk_free(a);
    stk__chunk_free(b);
    stk__chunk_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffer_classes),
        cmocka_unit_test(test_buffer_reuse),
        cmocka_unit_test(test_large_buffers_are_kept),
        cmocka_unit_test(test_small_buffers_share_pages),
        cmocka_unit_test(test_buffer_outlives_pool),
        cmocka_unit_test(test_foreign_buffer),
        cmocka_unit_test(test_buffers_on_threads),
        cmocka_unit_test(test_blob),
        cmocka_unit_test(test_chunk_layout),
        cmocka_unit_test_setup_teardown(test_chunk_copy, begin, finish),
        cmocka_unit_test_setup_teardown(test_faults_travel, begin, finish),
        cmocka_unit_test_setup_teardown(test_compact, begin, finish),
        cmocka_unit_test_setup_teardown(test_own, begin, finish),
        cmocka_unit_test_setup_teardown(test_own_blocks, begin, finish),
        cmocka_unit_test_setup_teardown(test_join, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
