/* SPDX-License-Identifier: Apache-2.0 */
/* test_arrays_damage.c: npy, npz and hdf5 files that are cut off, flipped, and lie. */
#define _GNU_SOURCE
#include "api_call.h"
#include "file_tree.h"
#include "io/data_file.h"
#include "op_call.h"

enum { ROOM = 1 << 18 };
static char data[ROOM];

/* A golden file in `data`; its size. */
static size_t load(const char *golden)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/tests/golden/arrays/%s", home, golden);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(data, 1, sizeof data, file);
    fclose(file);
    assert_true(n < sizeof data);
    return n;
}

/* Reads what can be read; whatever goes wrong must be said. */
static void read_out(const char *chain)
{
    struct stk_dataset *set = NULL;
    struct stk_error err = { 0 };
    struct stk_iterator *it;
    struct stk_batch *batch;
    int rc = stk_dataset_new(chain, NULL, &set, &err);
    if (!rc) {
        it = start(set, "workers=1 on_error=skip");
        for (int i = 0; i < 100 && !(rc = stk_iterator_next(it, &batch, &err)); i++)
            stk_batch_unref(batch);
        stk_iterator_free(it);
    }
    stk_dataset_unref(set);
    if (rc && rc != STK_END && strlen(err.text) < 10)
        fail_msg("%s gives %d without a reason", chain, rc);
}

static void damage(const char *golden, const char *copy, const char *chain)
{
    size_t n = load(golden);
    for (size_t cut = 0; cut<n; cut += n> 4000 ? 7 : 1) {
        write_file(copy, data, cut);
        read_out(chain);
    }
    for (size_t at = 0; at < n; at++) {
        data[at] = (char)(data[at] ^ 1 << at % 8);
        write_file(copy, data, n);
        read_out(chain);
        data[at] = (char)(data[at] ^ 1 << at % 8);
    }
}

static void test_damaged_numpy_files(void **state)
{
    (void)state;
    damage("unicode.npy", "bad.npy", "npy('bad.npy').batch(2)");
    damage("stored.npz", "bad.npz", "npz('bad.npz').batch(2)");
    damage("deflated.npz", "bad.npz", "npz('bad.npz').batch(2)");
}

/* A cut-off HDF5 file is an error of the file or of single rows. The library's own parser is not
 * damaged on purpose here: it is not ours. */
static void test_cut_off_hdf5_files(void **state)
{
    (void)state;
    size_t n = load("layouts.h5");
    for (size_t cut = 0; cut < n; cut += 97) {
        write_file("bad.h5", data, cut);
        read_out("hdf5('bad.h5', hold=0).batch(2)");
    }
}

/* Where the places of a row are. */
static struct stk__file_place place_of(const char *call, uint64_t row)
{
    struct op_call c;
    struct stk__file_place found[8];
    assert_int_equal(op_call_open(&c, call, NULL), STK_OK);
    assert_int_equal(c.op->source.n_places(c.state), 1);
    c.op->source.locate(c.state, 1, &row, found);
    op_call_close(&c);
    return found[0];
}

/* One flipped bit of a compressed or checked chunk: that row is bad, by name, and only that one. */
static void check_bad_chunk(const char *dataset, const char *cause)
{
    char call[200], expected[200];
    size_t n = load("chunks.h5");
    write_file("bad.h5", data, n);
    snprintf(call, sizeof call, "hdf5('bad.h5', {data: %s}, hold=0)", dataset);
    struct stk__file_place where = place_of(call, 3);
    data[where.offset + where.bytes / 2] ^= 4;
    write_file("bad.h5", data, n);

    struct stk_iterator *it = start_chain(call, "workers=2");
    struct stk_batch *batch;
    struct stk_error err;
    int rows = 0, rc;
    while (!(rc = stk_iterator_next(it, &batch, &err))) {
        rows++;
        stk_batch_unref(batch);
    }
    snprintf(expected, sizeof expected, "dataset '%s', chunk at byte %llu: %s", dataset,
             (unsigned long long)where.offset, cause);
    if (rc != STK_DATA || rows != 3 || !strstr(err.text, expected) ||
        !strstr(err.text, "bad.h5, row 3"))
        fail_msg("after %d rows: %d, %s", rows, rc, err.text);
    stk_iterator_free(it);
    it = start_chain(call, "workers=2 on_error=skip");
    for (rows = 0; !(rc = stk_iterator_next(it, &batch, &err)); rows++)
        stk_batch_unref(batch);
    assert_int_equal(rc, STK_END);
    assert_int_equal(rows, 6);
    stk_iterator_free(it);
}

static void test_damaged_chunks(void **state)
{
    (void)state;
    check_bad_chunk("gzip_row", "the ");
    check_bad_chunk("check_row", "the checksum of the chunk is wrong");
    check_bad_chunk("all_row", "the checksum of the chunk is wrong");
}

/* The size of a chunk as its index says it, 2^31 instead of what it was. */
static void test_lying_chunk_sizes(void **state)
{
    (void)state;
    size_t n = load("chunks.h5");
    write_file("bad.h5", data, n);
    struct stk__file_place where = place_of("hdf5('bad.h5', {data: gzip_row}, hold=0)", 2);
    int changed = 0;
    for (size_t at = 40; at + 8 <= n; at++) { /* an entry of the tree: key, then address */
        uint64_t address;
        uint32_t size;
        memcpy(&address, data + at, 8);
        memcpy(&size, data + at - 40, 4);
        if (address == where.offset && size == where.bytes) {
            memcpy(data + at - 40, "\0\0\0\x80", 4);
            changed++;
        }
    }
    assert_int_equal(changed, 1);
    write_file("bad.h5", data, n);
    struct stk_iterator *it = start_chain("hdf5('bad.h5', {data: gzip_row}, hold=0)", "workers=1");
    struct stk_batch *batch;
    struct stk_error err;
    int rows = 0;
    while (!stk_iterator_next(it, &batch, &err)) {
        rows++;
        stk_batch_unref(batch);
    }
    assert_int_equal(rows, 2);
    if (!strstr(err.text, "cannot have"))
        fail_msg("%s", err.text);
    stk_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_numpy_files),
        cmocka_unit_test(test_cut_off_hdf5_files),
        cmocka_unit_test(test_damaged_chunks),
        cmocka_unit_test(test_lying_chunk_sizes),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
