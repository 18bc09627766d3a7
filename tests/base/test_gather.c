/* SPDX-License-Identifier: Apache-2.0 */
/* test_gather.c: stacking, packing and padding of rows, against the obvious way to do it. */
#include "base/memory/slab.h"
#include "base/rows/blob.h"
#include "base/rows/gather.h"
#include "op_call.h"

enum { MAX_VALUES = 4096, N_TRIALS = 2000 };

/* A shaped column of random boxes of uint16. */
struct boxes {
    struct stk_column column;
    struct stk_span span[8];
    int32_t dims[8 * 3];
    uint16_t data[8][64];
};

static void make_boxes(struct boxes *b, int rank)
{
    b->column = (struct stk_column){ .span = b->span, .dims = b->dims, .rank = rank };
    for (int i = 0; i < 8; i++) {
        size_t n = 1;
        for (int d = 0; d < rank; d++)
            n *= (size_t)(b->dims[i * rank + d] = (int32_t)random_below(4));
        for (size_t k = 0; k < n; k++)
            b->data[i][k] = (uint16_t)random_below(1 << 16);
        b->span[i] = (struct stk_span){ (uint8_t *)b->data[i], n * sizeof(uint16_t), NULL };
    }
}

/* Entry `at` of the box that row lies in; the place is counted through. */
static uint16_t entry(const struct stk__gather *g, const struct boxes *b, int row,
                      const int32_t *box, size_t at)
{
    const int32_t *dims = b->dims + row * g->field.rank;
    size_t place[3] = { 0 }, from = 0;
    for (int d = g->field.rank; d-- > 0; at /= (size_t)box[d])
        place[d] = at % (size_t)box[d];
    for (int d = 0; d < g->field.rank; d++) {
        if (place[d] >= (size_t)dims[d])
            return (uint16_t)g->value;
        from = from * (size_t)dims[d] + place[d];
    }
    return b->data[row][from];
}

static struct stk__gather make_padding(int rank)
{
    struct stk__gather g = { .kind = STK__PAD, .value = random_below(1 << 16) };
    g.field = (struct stk_field){ .name = "x", .kind = STK_SHAPED, .dtype = STK_U16 };
    g.field.rank = (uint8_t)rank;
    for (int d = 0; d < rank; d++) {
        g.field.shape[d] = -1;
        g.box[d] = random_below(2) ? -1 : 3 + (int64_t)random_below(3);
    }
    return g;
}

static void check_padding(const struct stk__gather *g, const struct boxes *b,
                          const struct stk__picked *rows)
{
    static uint16_t out[MAX_VALUES];
    int32_t box[STK_MAX_RANK];
    size_t bytes, n = 1;
    int differs;
    assert_int_equal(stk__gather_measure(g, rows, &bytes, box, &differs), STK_OK);
    for (int d = 0; d < g->field.rank; d++) {
        int32_t largest = 0;
        for (int i = 0; i < rows->n; i++) {
            int32_t dim = b->dims[(rows->first + i * rows->step) * g->field.rank + d];
            largest = dim > largest ? dim : largest;
        }
        assert_int_equal(box[d], g->box[d] < 0 ? largest : g->box[d]);
        n *= (size_t)box[d];
    }
    assert_int_equal(bytes, (size_t)rows->n * n * sizeof *out);
    assert_true(bytes < sizeof out);
    out[bytes / sizeof *out] = 4711;
    stk__gather_write(g, rows, box, (uint8_t *)out);
    for (int i = 0; i < rows->n; i++)
        for (size_t k = 0; k < n; k++)
            assert_int_equal(out[(size_t)i * n + k],
                             entry(g, b, rows->first + i * rows->step, box, k));
    assert_int_equal(out[bytes / sizeof *out], 4711);
}

static void test_padding(void **state)
{
    static struct boxes b;
    (void)state;
    for (int trial = 0; trial < N_TRIALS; trial++) {
        int rank = 1 + (int)random_below(3), step = 1 + (int)random_below(3);
        make_boxes(&b, rank);
        const struct stk__gather g = make_padding(rank);
        int n = (int)random_below((uint64_t)((7 + step) / step)) + 1;
        int room = 7 - (n - 1) * step;
        if (room < 0)
            continue;
        const struct stk__picked rows = { &b.column, (int)random_below((uint64_t)room + 1), step,
                                          n };
        check_padding(&g, &b, &rows);
    }
}

static void test_boxes_too_large_to_count(void **state)
{
    struct stk__gather g = { .kind = STK__PAD,
                             .field = { .kind = STK_SHAPED, .dtype = STK_F64, .rank = 3 },
                             .box = { INT32_MAX, INT32_MAX, INT32_MAX } };
    const struct stk__picked none = { .step = 1, .n = 0 }, one = { .step = 1, .n = 1 };
    int32_t dims[3], box[STK_MAX_RANK];
    struct stk_column c = { .dims = dims, .rank = 3 };
    struct stk__picked rows = one;
    size_t bytes;
    int differs;
    (void)state;
    memset(dims, 0, sizeof dims);
    rows.column = &c;
    assert_int_equal(stk__gather_measure(&g, &rows, &bytes, box, &differs), STK_MEMORY);
    assert_int_equal(stk__gather_measure(&g, &none, &bytes, box, &differs), STK_OK);
    assert_int_equal(bytes, 0);
}

static void test_stacking_tells_which_row_differs(void **state)
{
    static struct boxes b;
    const struct stk_field field = {
        .name = "x", .kind = STK_SHAPED, .dtype = STK_U16, .rank = 1, .shape = { -1 }
    };
    const struct stk__gather g = stk__gather_of(&field);
    int32_t dims[STK_MAX_RANK];
    size_t bytes;
    int differs = -1;
    (void)state;
    make_boxes(&b, 1);
    for (int i = 0; i < 8; i++)
        b.dims[i] = i == 6 ? 3 : 2;
    const struct stk__picked all = { &b.column, 0, 1, 8 }, even = { &b.column, 1, 2, 4 };
    assert_int_equal(stk__gather_measure(&g, &all, &bytes, dims, &differs), STK_DATA);
    assert_int_equal(differs, 6);
    assert_int_equal(stk__gather_measure(&g, &even, &bytes, dims, &differs), STK_OK);
    assert_true(dims[0] == 2 && bytes == 4 * 2 * sizeof(uint16_t));
}

static void test_a_row_above_its_box_is_marked_once(void **state)
{
    const struct stk_type type = {
        1, { { .name = "t", .kind = STK_RAGGED, .dtype = STK_I32, .rank = 1, .shape = { -1 } } }
    };
    struct stk__gather g = stk__gather_of(&type.field[0]);
    struct stk__chunk *chunk = stk__chunk_new(&type, 3, 0);
    int32_t entries[4] = { 0 };
    (void)state;
    assert_non_null(chunk);
    for (int i = 0; i < 3; i++)
        chunk->column[0].span[i] =
            (struct stk_span){ (uint8_t *)entries, (size_t)(2 + i) * 4, NULL };
    assert_int_equal(stk__gather_mark(&g, chunk, 0, 3, "op"), 0);
    g.kind = STK__PAD;
    g.box[0] = 3;
    assert_true(stk__gather_is_bounded(&g));
    assert_int_equal(stk__gather_mark(&g, chunk, 0, 3, "op"), 1);
    assert_int_equal(stk__gather_mark(&g, chunk, 0, 3, "op"), 0);
    assert_true(chunk->n_bad == 1 && chunk->mask[2] == STK_BAD);
    assert_non_null(strstr(stk__chunk_find_fault(chunk, 2)->text, "'t' has 4 entries"));
    stk__chunk_free(chunk);
}

/* ---- lists of texts ---- */

enum { N_LISTS = 6, MOST_TEXTS = 5, MOST_BYTES = 4 };

/* A column of random lists of texts, and the texts. */
struct lists {
    struct stk_column column;
    struct stk_span span[N_LISTS], text[N_LISTS][MOST_TEXTS];
    int n[N_LISTS];
    uint8_t bytes[MOST_TEXTS * MOST_BYTES];
    _Alignas(64) uint8_t memory[N_LISTS][256];
};

static void make_lists(struct lists *l)
{
    *l = (struct lists){ .column.span = l->span };
    for (int i = 0; i < N_LISTS; i++) {
        l->n[i] = (int)random_below(MOST_TEXTS + 1);
        for (size_t k = 0; k < sizeof l->bytes; k++)
            l->bytes[k] = (uint8_t)random_below(256);
        for (int k = 0; k < l->n[i]; k++)
            l->text[i][k] =
                (struct stk_span){ l->bytes + k * MOST_BYTES, random_below(MOST_BYTES + 1), NULL };
        size_t bytes = stk__blob_bytes(l->text[i], 1, l->n[i]);
        assert_true(bytes <= sizeof l->memory[i]);
        stk__blob_write(l->text[i], 1, l->n[i], 1, l->memory[i]);
        l->span[i] = (struct stk_span){ l->memory[i], bytes, NULL };
        struct stk__blob list = stk__blob_open(l->memory[i]);
        for (int k = 0; k < l->n[i]; k++) /* where they stay */
            l->text[i][k].data = list.data + list.splits[k];
    }
}

/* Text k of row i of what was gathered is that one. */
static void check_text(const struct stk__blob *rows, int i, int k, const void *text, size_t bytes)
{
    struct stk__blob all = stk__blob_open(rows->data);
    int64_t entry = rows->splits[i] + k;
    assert_true(entry < rows->splits[i + 1]);
    assert_int_equal(all.splits[entry + 1] - all.splits[entry], bytes);
    assert_memory_equal(all.data + all.splits[entry], text, bytes);
}

static void check_joined(const struct stk__gather *g, const struct lists *l,
                         const struct stk__picked *rows)
{
    static _Alignas(64) uint8_t out[4096];
    int32_t box[STK_MAX_RANK] = { 0 };
    int differs, longest = 0;
    size_t bytes;
    assert_int_equal(stk__gather_measure(g, rows, &bytes, box, &differs), STK_OK);
    assert_true(bytes < sizeof out);
    memset(out, 0xa5, sizeof out);
    stk__gather_write(g, rows, box, out);
    assert_int_equal(out[bytes], 0xa5);
    struct stk__blob joined = stk__blob_open(out), all = stk__blob_open(joined.data);
    assert_int_equal(joined.n, rows->n);
    assert_int_equal(joined.splits[rows->n], all.n);
    assert_int_equal(all.data + all.splits[all.n] - out, bytes);
    for (int i = 0; i < rows->n; i++) {
        int row = rows->first + i * rows->step, n = (int)(joined.splits[i + 1] - joined.splits[i]);
        longest = l->n[row] > longest ? l->n[row] : longest;
        assert_int_equal(n, g->kind == STK__PAD ? box[0] : l->n[row]);
        for (int k = 0; k < l->n[row]; k++)
            check_text(&joined, i, k, l->text[row][k].data, l->text[row][k].bytes);
        for (int k = l->n[row]; k < n; k++)
            check_text(&joined, i, k, g->text, g->text_bytes);
    }
    if (g->kind == STK__PAD)
        assert_int_equal(box[0], g->box[0] < 0 ? longest : g->box[0]);
}

static void test_lists_of_texts(void **state)
{
    static struct lists l;
    (void)state;
    for (int trial = 0; trial < N_TRIALS; trial++) {
        struct stk__gather g = { .kind = random_below(2) ? STK__PAD : STK__PACK, .text = "pad" };
        g.field = (struct stk_field){
            .name = "t", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_PACKED
        };
        g.box[0] = random_below(2) ? -1 : MOST_TEXTS + (int64_t)random_below(3);
        g.text_bytes = random_below(4);
        make_lists(&l);
        int step = 1 + (int)random_below(2), first = (int)random_below(3);
        const struct stk__picked rows = {
            &l.column, first, step, (int)random_below((uint64_t)((N_LISTS - first) / step)) + 1
        };
        check_joined(&g, &l, &rows);
    }
}

static void test_filled_lists_too_large_to_count(void **state)
{
    static struct lists l;
    (void)state;
    make_lists(&l);
    struct stk__gather g = { .kind = STK__PAD, .text = "pad", .text_bytes = SIZE_MAX / 4 };
    g.field = (struct stk_field){
        .name = "t", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_PACKED
    };
    g.box[0] = INT32_MAX;
    const struct stk__picked rows = { &l.column, 0, 1, N_LISTS };
    int32_t box[STK_MAX_RANK];
    size_t bytes;
    int differs;
    assert_int_equal(stk__gather_measure(&g, &rows, &bytes, box, &differs), STK_MEMORY);
}

/* What was joined comes apart as it was. */
static void test_parts_of_joined_lists(void **state)
{
    static _Alignas(64) uint8_t out[4096], part[256];
    static struct lists l;
    (void)state;
    for (int trial = 0; trial < N_TRIALS; trial++) {
        make_lists(&l);
        const struct stk__lists lists = { l.span, 1, N_LISTS, 1 };
        assert_true(stk__lists_bytes(&lists, NULL) < sizeof out);
        stk__lists_join(&lists, NULL, out);
        struct stk__blob joined = stk__blob_open(out), all = stk__blob_open(joined.data);
        for (int i = 0; i < N_LISTS; i++) {
            int64_t first = joined.splits[i], n = joined.splits[i + 1] - first;
            assert_int_equal(stk__blob_part_bytes(&all, first, n, 1), l.span[i].bytes);
            stk__blob_part_write(&all, first, n, 1, part);
            assert_memory_equal(part, l.span[i].data, l.span[i].bytes);
        }
    }
}

static void test_pieces_of_a_slab(void **state)
{
    struct stk__pool *pool = stk__pool_new();
    struct stk__slab slab = { 0 };
    struct stk_span piece[300] = { 0 };
    (void)state;
    for (int i = 0; i < 300; i++) {
        size_t bytes = i % 50 == 49 ? 100000 : random_below(2000);
        assert_true(stk__slab_take(&slab, pool, bytes, &piece[i]));
        assert_int_equal((uintptr_t)piece[i].data % 64, 0);
        assert_int_equal(piece[i].bytes, bytes);
        memset(piece[i].data, i % 251, bytes);
    }
    stk__slab_free(&slab);
    for (int i = 0; i < 300; i++) /* no piece lies in another, and all outlive the slab */
        for (size_t k = 0; k < piece[i].bytes; k++)
            assert_int_equal(piece[i].data[k], i % 251);
    stk__spans_drop(piece, 300);
    stk__pool_unref(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_boxes_too_large_to_count),
        cmocka_unit_test(test_stacking_tells_which_row_differs),
        cmocka_unit_test(test_a_row_above_its_box_is_marked_once),
        cmocka_unit_test(test_lists_of_texts),
        cmocka_unit_test(test_filled_lists_too_large_to_count),
        cmocka_unit_test(test_parts_of_joined_lists),
        cmocka_unit_test(test_pieces_of_a_slab),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
