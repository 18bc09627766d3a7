/* SPDX-License-Identifier: Apache-2.0 */
/* test_hdf5_library.c: datasets that only libhdf5 can read: the values, and the memory it takes
 * for them. */
#define _GNU_SOURCE
#include "api_call.h"
#include "file_tree.h"

#include <hdf5.h>
#include <malloc.h>

enum { N_ROWS = 33, HIGH = 7, WIDE = 11 };

static int32_t value_at(int file, int64_t number)
{
    return (int32_t)(number * 7 % 1000 + 1000 * file);
}

/* Chunks that reach over every edge, with a filter that is the library's own. */
static void write_cube(const char *path, int file, const hsize_t *dims, const hsize_t *chunk)
{
    size_t n = (size_t)(dims[0] * dims[1] * dims[2]);
    int32_t *values = malloc(n * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n; i++)
        values[i] = value_at(file, (int64_t)i);
    hid_t id = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(3, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_chunk(how, 3, chunk) >= 0 && H5Pset_scaleoffset(how, H5Z_SO_INT, 0) >= 0);
    hid_t data = H5Dcreate2(id, "x", H5T_STD_I32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(data >= 0 &&
                H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(data);
    H5Pclose(how);
    H5Sclose(space);
    assert_true(H5Fclose(id) >= 0);
    free(values);
}

/* The patches of a batch, by the numbers that were written. */
static void check_patch(const int32_t *got, const int *at, const int *patch)
{
    for (int z = 0; z < patch[0]; z++)
        for (int y = 0; y < patch[1]; y++)
            for (int x = 0; x < patch[2]; x++) {
                int64_t number = ((int64_t)(at[0] + z) * HIGH + at[1] + y) * WIDE + at[2] + x;
                assert_int_equal(*got++, value_at(0, number));
            }
}

static void check_patches(const char *options, const int *patch, const int *stride)
{
    char chain[200];
    snprintf(chain, sizeof chain,
             "hdf5('one.h5', {x: x}, patch=[%d, %d, %d], stride=[%d, %d, %d], hold=0).batch(1)",
             patch[0], patch[1], patch[2], stride[0], stride[1], stride[2]);
    struct stk_iterator *it = start_chain(chain, options);
    struct stk_batch *batch;
    struct stk_error err;
    for (int z = 0; z + patch[0] <= N_ROWS; z += stride[0])
        for (int y = 0; y + patch[1] <= HIGH; y += stride[1])
            for (int x = 0; x + patch[2] <= WIDE; x += stride[2]) {
                const int at[3] = { z, y, x };
                if (stk_iterator_next(it, &batch, &err))
                    fail_msg("%s: %s", chain, err.text);
                check_patch(view_of(batch, "x").data, at, patch);
                stk_batch_unref(batch);
            }
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_END);
    stk_iterator_free(it);
}

static void test_values(void **state)
{
    static const hsize_t dims[3] = { N_ROWS, HIGH, WIDE }, chunk[3] = { 4, 3, 5 };
    static const int cases[][6] = { { 1, HIGH, WIDE, 1, 1, 1 }, { 4, 3, 5, 4, 3, 5 },
                                    { 3, 2, 4, 2, 1, 3 },       { 4, 3, 5, 1, 2, 3 },
                                    { 9, 7, 11, 8, 1, 1 },      { 1, 1, 1, 5, 2, 2 } };
    (void)state;
    write_cube("one.h5", 0, dims, chunk);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_patches("workers=0", cases[i], cases[i] + 3);
        check_patches("workers=3", cases[i], cases[i] + 3);
    }
}

/* ---- memory ---- */

static size_t peak_of(struct stk_iterator *it, const char *owner)
{
    struct stk_memory_use use;
    for (int i = 0; !stk_iterator_memory(it, i, &use); i++)
        if (!strcmp(use.owner, owner))
            return use.peak_bytes;
    fail_msg("nobody is called %s", owner);
    return 0;
}

/* Files whose chunks take half a megabyte each. */
static void write_many(int n)
{
    static const hsize_t dims[3] = { 32, 64, 128 }, chunk[3] = { 16, 64, 128 };
    char path[40];
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "many-%02d.h5", i);
        write_cube(path, i, dims, chunk);
    }
}

/* Of every file the library would keep a megabyte. */
static void test_a_file_newer_than_the_library(void **state)
{
    enum { SUPERBLOCK_VERSION = 8, UNKNOWN = 99 };
    struct stk_error err;
    char version[32];
    struct stk_dataset *data = NULL;
    unsigned v[3];
    (void)state;
    write_cube("new.h5", 0, (hsize_t[]){ 3, 4, 5 }, (hsize_t[]){ 2, 2, 2 });
    FILE *file = fopen("new.h5", "r+b");
    assert_non_null(file);
    assert_true(!fseek(file, SUPERBLOCK_VERSION, SEEK_SET) && fputc(UNKNOWN, file) == UNKNOWN);
    assert_int_equal(fclose(file), 0);
    assert_true(H5get_libversion(&v[0], &v[1], &v[2]) >= 0);
    snprintf(version, sizeof version, "library, %u.%u.%u, is older", v[0], v[1], v[2]);
    assert_int_equal(stk_dataset_new("hdf5('new.h5')", NULL, &data, &err), STK_DATA);
    if (!strstr(err.text, version))
        fail_msg("\"%s\" does not say \"%s\"", err.text, version);
}

static void test_nothing_is_kept_unseen(void **state)
{
    enum { FILES = 24 };
    const size_t of_file = 528 << 10, slack = 4 << 20;
    struct stk_error err;
    struct stk_batch *batch;
    int rc;
    (void)state;
    write_many(FILES);
    struct mallinfo2 before = mallinfo2();
    struct stk_iterator *it =
        start_chain("hdf5('many-*.h5', {x: x}, hold=0).batch(4)", "workers=2, memory=33554432");
    while (!(rc = stk_iterator_next(it, &batch, &err)))
        stk_batch_unref(batch);
    assert_int_equal(rc, STK_END);
    struct mallinfo2 after = mallinfo2();
    size_t grown = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
    size_t indices = peak_of(it, "indices"), unpacked = peak_of(it, "unpacked");
    if (before.uordblks && grown > indices + slack)
        fail_msg("%zu bytes were allocated and stay, %zu are told of", grown, indices);
    assert_true(indices > FILES * of_file && unpacked >= 512 << 10);
    assert_true(unpacked < 8 << 20);
    stk_iterator_free(it);
}

/* What does not fit is an error that says how much there is, before anything is read. */
static void test_a_budget_below_the_files(void **state)
{
    struct stk_iterator *it;
    struct stk_error err;
    struct stk_dataset *data = make_dataset("hdf5('many-*.h5', {x: x}, hold=0).batch(4)");
    (void)state;
    assert_int_equal(try_start(data, "memory=8388608", &it, &err), STK_BUDGET);
    assert_non_null(strstr(err.text, "lists of files and indices take"));
    assert_non_null(strstr(err.text, "fewer files need less"));
    stk_dataset_unref(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_a_file_newer_than_the_library),
        cmocka_unit_test(test_nothing_is_kept_unseen),
        cmocka_unit_test(test_a_budget_below_the_files),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
