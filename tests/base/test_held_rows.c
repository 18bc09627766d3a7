/* SPDX-License-Identifier: Apache-2.0 */
/* test_held_rows.c: rows that are drawn by chance come out as they went in, and take about their own
 * bytes while they are held, however large the blocks are that they came in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/hash.h"
#include "base/rows/held_rows.h"

static const struct stk_type type = { 1, { { .name = "s", .kind = STK_BYTES, .dtype = STK_U8 } } };

static size_t bytes_of(uint64_t number, size_t most)
{
    return (size_t)(stk__hash_mix(number, 3) % (most + 1));
}

/* A chunk of rows that lie in one block. */
static struct stk__chunk *make_rows(struct stk__pool *pool, uint64_t first, int n, size_t most)
{
    struct stk__chunk *chunk = stk__chunk_new(&type, n, 0);
    struct stk_buffer *block = stk__buffer_new(pool, (size_t)n * most);
    assert_non_null(chunk);
    assert_non_null(block);
    uint8_t *at = block->data;
    for (int i = 0; i < n; i++) {
        uint64_t number = first + (uint64_t)i;
        size_t bytes = bytes_of(number, most);
        memset(at, (int)(number & 255), bytes);
        chunk->address[i] = (struct stk__address){ number, 0 };
        chunk->column[0].span[i] = (struct stk_span){ at, bytes, stk__buffer_ref(block) };
        at += bytes;
    }
    chunk->n = n;
    stk__buffer_unref(block);
    return chunk;
}

static void check_row(const struct stk__chunk *chunk, int row, size_t most)
{
    uint64_t number = chunk->address[row].where;
    const struct stk_span *span = &chunk->column[0].span[row];
    assert_int_equal(span->bytes, bytes_of(number, most));
    for (size_t i = 0; i < span->bytes; i++)
        assert_int_equal(span->data[i], number & 255);
}

struct drawing {
    struct stk__held_rows rows;
    struct stk__chunk *held, *out;
    struct stk__pool *pool;
    uint64_t n_drawn;
    size_t most;
};

/* One row leaves, and row `from` of `in` takes its place. */
static void draw(struct drawing *d, const struct stk__chunk *in, int from)
{
    int place = (int)(stk__hash_mix(d->n_drawn++, 9) % (uint64_t)d->held->cap);
    stk__chunk_exchange(d->held, &place, in, from, 1, d->out);
    stk__held_rows_leave(&d->rows, d->out, d->out->n - 1, 1);
    stk__held_rows_put(&d->rows, place, 1);
    check_row(d->out, d->out->n - 1, d->most);
    if (d->out->n == d->out->cap)
        stk__chunk_clear(d->out);
}

/* The most bytes that the pool had while rows were drawn. */
static size_t draw_all(int cap, int in_a_block, size_t most, int n_blocks)
{
    struct drawing d = { .pool = stk__pool_new(), .most = most };
    size_t peak = 0;
    uint64_t number = 0;
    stk__pool_limit(d.pool, 0);
    d.held = make_rows(d.pool, number, cap, most);
    d.out = stk__chunk_new(&type, 32, 0);
    stk__held_rows_begin(&d.rows, d.held, d.pool);
    stk__held_rows_put(&d.rows, 0, cap);
    for (int b = 0; b < n_blocks; b++) {
        number += (uint64_t)(b ? in_a_block : cap);
        struct stk__chunk *in = make_rows(d.pool, number, in_a_block, most);
        for (int i = 0; i < in_a_block; i++)
            draw(&d, in, i);
        stk__chunk_free(in);
        size_t bytes = stk__pool_bytes(d.pool);
        peak = bytes > peak ? bytes : peak;
    }
    for (int i = 0; i < cap; i++)
        check_row(d.held, i, most);
    stk__chunk_free(d.out);
    stk__held_rows_end(&d.rows);
    assert_int_equal(stk__pool_bytes(d.pool), 0); /* no block is forgotten */
    stk__chunk_free(d.held);
    stk__pool_unref(d.pool);
    return peak;
}

static size_t held_bytes(int cap, size_t most)
{
    return (size_t)cap * most / 2;
}

static void test_small_rows(void **state)
{
    (void)state;
    assert_true(draw_all(20000, 1000, 200, 200) < held_bytes(20000, 200) * 3 / 2);
}

static void test_large_rows(void **state)
{
    (void)state;
    assert_true(draw_all(200, 20, 60000, 100) < held_bytes(200, 60000) * 3 / 2);
}

/* Rows of a few bytes: a buffer of them is not worth copying, and all the same right. */
static void test_little(void **state)
{
    (void)state;
    draw_all(10, 100, 40, 20);
}

/* Sizes at the limits of all cells. */
static void test_cells(void **state)
{
    struct stk__pool *pool = stk__pool_new();
    struct stk__cells cells = { .pool = pool };
    (void)state;
    for (size_t bytes = 1; bytes <= STK__LARGEST_CELL; bytes++) {
        uint8_t *a = stk__cells_take(&cells, bytes), *b = stk__cells_take(&cells, bytes);
        assert_non_null(a);
        assert_non_null(b);
        assert_int_equal((uintptr_t)a % 16, 0);
        assert_true(a + bytes <= b || b + bytes <= a);
        memset(a, 1, bytes);
        memset(b, 2, bytes);
        assert_int_equal(a[0] + a[bytes - 1], 2);
        stk__cells_give(&cells, a, bytes);
        assert_ptr_equal(stk__cells_take(&cells, bytes), a);
        stk__cells_give(&cells, a, bytes);
        stk__cells_give(&cells, b, bytes);
    }
    stk__cells_clear(&cells);
    stk__pool_limit(pool, 0);
    assert_int_equal(stk__pool_bytes(pool), 0);
    stk__pool_unref(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_small_rows),
                                        cmocka_unit_test(test_large_rows),
                                        cmocka_unit_test(test_little),
                                        cmocka_unit_test(test_cells) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
