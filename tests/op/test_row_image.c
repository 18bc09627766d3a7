/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_image.c: records with the right checksum that nobody wrote: they are lost, as a damaged one
 * is, whatever they say of themselves. fuzz_row_image.c goes on from here. */
#define _GNU_SOURCE
#include "file_tree.h"

#include "base/rows/blob.h"
#include "op/cache/row_image.h"

#include <zstd.h>

static const struct stk_type type = {
    2,
    {
        { .name = "image", .kind = STK_SHAPED, .dtype = STK_U8, .rank = 2, .shape = { -1, 3 } },
        { .name = "texts", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_PACKED },
    },
};

enum { BLOB_BYTES = 64 + 5 };

/* A good row: an image of 2 × 3, and "ab", "cde". */
struct row {
    uint64_t key[2], address[2], trace_bytes, image_bytes;
    int32_t dims[2];
    uint64_t texts_bytes;
    uint8_t image[6];
    uint8_t texts[BLOB_BYTES];
} __attribute__((packed));

static struct row make_row(void)
{
    const struct stk_span text[] = { { (uint8_t *)(uintptr_t) "ab", 2, NULL },
                                     { (uint8_t *)(uintptr_t) "cde", 3, NULL } };
    _Alignas(64) uint8_t blob[BLOB_BYTES];
    struct row row = { .image_bytes = 6, .dims = { 2, 3 }, .texts_bytes = BLOB_BYTES };
    assert_int_equal(stk__blob_bytes(text, 1, 2), BLOB_BYTES);
    stk__blob_write(text, 1, 2, 1, blob);
    memcpy(row.texts, blob, BLOB_BYTES);
    return row;
}

static int read_record(uint32_t flags, const void *data, size_t bytes)
{
    static uint64_t number;
    struct stk_error err;
    struct stk__row_log *log;
    struct stk__log_entry entry;
    struct stk__pool *pool = stk__pool_new();
    struct stk__chunk *chunk = stk__chunk_new(&type, 1, 0);
    const struct iovec piece = { (void *)(uintptr_t)data, bytes };
    const struct stk__row_place to = { .column = chunk->column,
                                       .mask = chunk->mask,
                                       .address = chunk->address,
                                       .faults = &chunk->faults,
                                       .pool = pool };
    assert_int_equal(stk__row_log_open("log", "", &log, &err), STK_OK);
    assert_true(stk__row_log_add(log, ++number, flags, &piece, 1));
    int code = stk__row_image_read(log, number, &type, &to);
    assert_true(stk__row_log_find(log, number, &entry) == !code);
    chunk->n = 1;
    stk__row_log_close(log);
    stk__chunk_free(chunk);
    stk__pool_unref(pool);
    return code;
}

static int read_row(struct row row)
{
    return read_record(0, &row, sizeof row);
}

static void test_shapes_that_are_none(void **state)
{
    (void)state;
    struct row row = make_row();
    assert_int_equal(read_row(row), STK_OK);
    row.dims[0] = 3; /* more than there is */
    assert_int_equal(read_row(row), STK_DATA);
    row.dims[0] = 3, row.dims[1] = 2; /* as many, but not the type's */
    assert_int_equal(read_row(row), STK_DATA);
    row.dims[0] = -2, row.dims[1] = -3;
    assert_int_equal(read_row(row), STK_DATA);
}

static void put(struct row *row, int word, int64_t value)
{
    memcpy(row->texts + 8 * word, &value, sizeof value);
}

static void test_lists_that_are_none(void **state)
{
    static const struct {
        int word;
        int64_t value;
    } lies[] = {
        { 0, -1 }, { 0, INT64_MAX }, { 0, 7 },         { 1, 1 },
        { 2, 6 },  { 3, 6 },         { 3, INT64_MAX }, { 2, -1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct row row = make_row();
        put(&row, lies[i].word, lies[i].value);
        if (read_row(row) != STK_DATA)
            fail_msg("word %d is %lld", lies[i].word, (long long)lies[i].value);
    }
    struct row row = make_row();
    row.texts_bytes = 8; /* not even a count of splits */
    assert_int_equal(read_record(0, &row, sizeof row - BLOB_BYTES + 8), STK_DATA);
}

/* How long a compressed row is stands in front of it. */
static void test_lengths_that_are_none(void **state)
{
    static const uint64_t lies[] = { UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 40, 0, 1 };
    const struct row row = make_row();
    uint8_t packed[8 + 2 * sizeof row];
    uint64_t bytes = sizeof row;
    (void)state;
    size_t n = ZSTD_compress(packed + 8, sizeof packed - 8, &row, sizeof row, 1);
    assert_false(ZSTD_isError(n));
    memcpy(packed, &bytes, sizeof bytes);
    assert_int_equal(read_record(STK__IMAGE_PACKED, packed, 8 + n), STK_OK);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(packed, &lies[i], sizeof *lies);
        assert_int_equal(read_record(STK__IMAGE_PACKED, packed, 8 + n), STK_DATA);
    }
    assert_int_equal(read_record(STK__IMAGE_PACKED, packed, 7), STK_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_that_are_none),
        cmocka_unit_test(test_lists_that_are_none),
        cmocka_unit_test(test_lengths_that_are_none),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
