/* SPDX-License-Identifier: Apache-2.0 */
/* test_safetensors.c: files of the package read and written again to the byte, faults that a header
 * may have, and writing that fails.
 *
 *     test_safetensors --write FILE     writes the tensors of all.safetensors with other texts
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "temporary.h"
#include "train/file/safetensors.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define GOLDEN "tests/golden/safetensors/"
static char folder[TEMPORARY_PATH], path[TEMPORARY_PATH + 20];

static int make_folder(void **state)
{
    (void)state;
    assert_true(make_temporary_directory(folder, "stk_safetensors"));
    snprintf(path, sizeof path, "%s/x.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails if a temporary file is left */
}

static uint8_t *read_all(const char *name, size_t *bytes)
{
    static uint8_t data[1 << 16];
    FILE *file = fopen(name, "rb");
    if (!file)
        fail_msg("%s: cannot be opened; tests run in the top directory", name);
    *bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    return data;
}

/* Opens a golden file, writes what was read, and wants the same bytes. */
static struct stk__safetensors open_and_copy(const char *name)
{
    struct stk__safetensors file;
    struct stk_error err = { 0 };
    if (stk__safetensors_open(&file, name, &err))
        fail_msg("%s", err.text);
    assert_int_equal(
        stk__safetensors_write(path, file.tensor, file.n_tensors, &file.metadata, &err), STK_OK);
    size_t bytes, n_written;
    uint8_t *want = malloc(1 << 16);
    memcpy(want, read_all(name, &bytes), 1 << 16);
    const uint8_t *got = read_all(path, &n_written);
    assert_int_equal(n_written, bytes);
    assert_memory_equal(got, want, bytes);
    free(want);
    return file;
}

static const struct {
    const char *name;
    int dtype, rank;
    int64_t shape[STK_MAX_RANK];
} all[] = {
    { "again", STK_F32, 1, { 2 } },
    { "layer/bfloat16", STK_BF16, 1, { 4 } },
    { "layer/bool", STK_BOOL, 2, { 3, 5 } },
    { "layer/float16", STK_F16, 2, { 3, 3 } },
    { "layer/float32", STK_F32, 4, { 3, 3, 3, 8 } },
    { "layer/float64", STK_F64, 8, { 2, 1, 1, 1, 1, 1, 1, 2 } },
    { "layer/int16", STK_I16, 2, { 2, 2 } },
    { "layer/int32", STK_I32, 3, { 1, 0, 9 } },
    { "layer/int64", STK_I64, 0, { 0 } },
    { "layer/int8", STK_I8, 4, { 1, 2, 3, 4 } },
    { "layer/uint16", STK_U16, 1, { 5 } },
    { "layer/uint32", STK_U32, 1, { 3 } },
    { "layer/uint64", STK_U64, 1, { 2 } },
    { "layer/uint8", STK_U8, 1, { 7 } },
};
enum { N_ALL = sizeof all / sizeof *all };

static void check_values(const struct stk__safetensors *file,
                         const struct stk__saved_tensor *tensor)
{
    uint8_t copy[1024];
    struct stk_error err = { 0 };
    assert_int_equal(stk__safetensors_copy(file, tensor, copy, &err), STK_OK);
    for (size_t k = 0; k < tensor->bytes; k++) {
        uint8_t want = (uint8_t)(37 * k + 11);
        assert_int_equal(copy[k], tensor->dtype == STK_BOOL ? want % 2 : want);
    }
    if (tensor->bytes)
        assert_int_equal((uintptr_t)tensor->data % stk_dtype_bytes(tensor->dtype), 0);
}

static void test_every_type(void **state)
{
    struct stk__safetensors file = open_and_copy(GOLDEN "all.safetensors");
    (void)state;
    assert_int_equal(file.n_tensors, N_ALL);
    for (int i = 0; i < N_ALL; i++) {
        const struct stk__saved_tensor *tensor = stk__safetensors_find(&file, all[i].name);
        size_t bytes = stk_dtype_bytes(all[i].dtype);
        assert_ptr_equal(tensor, &file.tensor[i]);
        assert_int_equal(tensor->dtype, all[i].dtype);
        assert_int_equal(tensor->rank, all[i].rank);
        assert_memory_equal(tensor->shape, all[i].shape,
                            (size_t)all[i].rank * sizeof *tensor->shape);
        for (int d = 0; d < all[i].rank; d++)
            bytes *= (size_t)all[i].shape[d];
        assert_int_equal(tensor->bytes, bytes);
        check_values(&file, tensor);
    }
    assert_null(stk__safetensors_find(&file, "layer"));
    assert_string_equal(stk__safetensors_text(&file, "format"), "pt");
    assert_null(stk__safetensors_text(&file, "layer/bool"));
    stk__safetensors_close(&file);
}

static void test_odd_names(void **state)
{
    static const char *const names[] = { "a \"quoted\" name", "ü/日本\n", "back\\slash", "" };
    struct stk__safetensors file = open_and_copy(GOLDEN "names.safetensors");
    (void)state;
    assert_int_equal(file.n_tensors, 4);
    for (int i = 0; i < 4; i++)
        assert_non_null(stk__safetensors_find(&file, names[i]));
    stk__safetensors_close(&file);
    file = open_and_copy(GOLDEN "none.safetensors");
    assert_int_equal(file.n_tensors, 0);
    assert_null(stk__safetensors_find(&file, ""));
    assert_string_equal(stk__safetensors_text(&file, "ключ"), "значение \x01");
    stk__safetensors_close(&file);
}

/* ---- what a file may be that is none ---- */

static void put_file(const char *header, uint64_t length, size_t data_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 0xff), file);
    fwrite(header, 1, strlen(header), file);
    for (size_t i = 0; i < data_bytes; i++)
        fputc('x', file);
    fclose(file);
}

#define TENSOR(dtype, shape, offsets)                                                              \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
    const char *header;
    size_t data_bytes;
    const char *part;
} bad[] = {
    { "", 0, "not JSON" },
    { "{", 0, "not JSON: the text ends too early" },
    { "[]", 0, "does not begin with an object" },
    { " {}", 0, "does not begin with an object" },
    { "{}", 1, "tensors take 0 bytes, but there are 1" },
    { "{\"a\":3}", 0, "byte 13, tensor 'a': an object with dtype" },
    { "{\"a\":{}}", 0, "tensor 'a': one of dtype, shape and data_offsets is not there" },
    { "{\"a\":" TENSOR("F32", "[1]", "[0,4]") "}", 3, "not within the file" },
    { "{\"a\":" TENSOR("F32", "[1]", "[0,4]") "}", 5, "take 4 bytes, but there are 5" },
    { "{\"a\":" TENSOR("F32", "[1]", "[4,0]") "}", 4, "not within the file" },
    { "{\"a\":" TENSOR("F32", "[1]", "[-4,0]") "}", 4, "two numbers" },
    { "{\"a\":" TENSOR("F32", "[1]", "[0,4,4]") "}", 4, "two numbers" },
    { "{\"a\":" TENSOR("F32", "[1]", "[0,4.0]") "}", 4, "two numbers" },
    { "{\"a\":" TENSOR("F32", "[1]", "[0]") "}", 4, "two numbers" },
    { "{\"a\":" TENSOR("F32", "[1]", "{}") "}", 4, "two numbers" },
    { "{\"a\":" TENSOR("F32", "[1]", "[0,18446744073709551616]") "}", 4, "two numbers" },
    { "{\"a\":" TENSOR("F32", "[2]", "[0,4]") "}", 4, "not what its shape takes" },
    { "{\"a\":" TENSOR("F32", "[-1]", "[0,4]") "}", 4, "a shape is a list" },
    { "{\"a\":" TENSOR("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "at most 8" },
    { "{\"a\":" TENSOR("F32", "3", "[0,4]") "}", 4, "a shape is a list" },
    { "{\"a\":" TENSOR("F32", "[4611686018427387904,4,4]", "[0,0]") "}", 0,
      "not what its shape takes" },
    { "{\"a\":" TENSOR("F8_E4M3", "[4]", "[0,4]") "}", 4, "values of this type are not known" },
    { "{\"a\":" TENSOR("f32", "[1]", "[0,4]") "}", 4, "values of this type are not known" },
    { "{\"a\":" TENSOR("U8", "[1]", "[0,1]") ",\"b\":" TENSOR("U8", "[1]", "[0,1]") "}", 1,
      "'b' does not begin where" },
    { "{\"a\":" TENSOR("U8", "[1]", "[0,1]") ",\"b\":" TENSOR("U8", "[1]", "[2,3]") "}", 3,
      "'b' does not begin where" },
    { "{\"a\":" TENSOR("U8", "[1]", "[0,1]") ",\"a\":" TENSOR("U8", "[1]", "[1,2]") "}", 2,
      "tensor 'a' is there twice" },
    { "{\"a\":" TENSOR("U8", "[1],\"shape\":[1]", "[0,1]") "}", 1, "once each" },
    { "{\"a\":" TENSOR("U8", "[1],\"color\":[1]", "[0,1]") "}", 1, "once each" },
    { "{\"a\\u0000\":" TENSOR("U8", "[1]", "[0,1]") "}", 1, "holds a NUL" },
    { "{\"\\ud800\":" TENSOR("U8", "[1]", "[0,1]") "}", 1, "byte 9" },
    { "{\"__metadata__\":{\"a\":1}}", 0, "a string is wanted" },
    { "{\"__metadata__\":[]}", 0, "an object of strings" },
    { "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "twice" },
};

static void check_refused(const char *part)
{
    struct stk__safetensors file;
    struct stk_error err = { 0 };
    int rc = stk__safetensors_open(&file, path, &err);
    if (rc != STK_DATA || !strstr(err.text, part) || !strstr(err.text, "x.safetensors: "))
        fail_msg("wanted '%s', got: %d %s", part, rc, err.text);
}

static void test_bad_headers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_file(bad[i].header, strlen(bad[i].header), bad[i].data_bytes);
        check_refused(bad[i].part);
    }
    put_file("{}", UINT64_MAX, 0);
    check_refused("too large");
    put_file("{}", 3, 0);
    check_refused("the header has 3 bytes, but only 2 follow");
    assert_int_equal(truncate(path, 7), 0);
    check_refused("7 bytes are too few");
    assert_int_equal(truncate(path, 0), 0);
    check_refused("empty");
}

/* Every length of a good file but its own is refused. */
static void test_cut_files(void **state)
{
    size_t bytes;
    (void)state;
    const uint8_t *data = read_all(GOLDEN "all.safetensors", &bytes);
    for (size_t n = 0; n < bytes; n += n < 16 || n > bytes - 16 ? 1 : 7) {
        struct stk__safetensors file;
        struct stk_error err = { 0 };
        FILE *out = fopen(path, "wb");
        assert_non_null(out);
        fwrite(data, 1, n, out);
        fclose(out);
        assert_int_equal(stk__safetensors_open(&file, path, &err), STK_DATA);
    }
}

static void test_files_that_are_not_there(void **state)
{
    struct stk__safetensors file;
    struct stk_error err = { 0 };
    (void)state;
    assert_int_equal(stk__safetensors_open(&file, "/nowhere/x.safetensors", &err), STK_IO);
    assert_non_null(strstr(err.text, "/nowhere/x.safetensors"));
    assert_int_equal(stk__safetensors_open(&file, folder, &err), STK_IO);
    assert_int_equal(stk__safetensors_write("/nowhere/x.safetensors", NULL, 0, NULL, &err), STK_IO);
    assert_non_null(strstr(err.text, "/nowhere/x.safetensors"));
}

/* A file that is cut while it is open gives an error, not a signal. */
static void test_a_file_that_becomes_shorter(void **state)
{
    static uint8_t values[1 << 16];
    const struct stk__saved_tensor tensor = { "w",    STK_U8,       1, { sizeof values },
                                              values, sizeof values };
    struct stk__safetensors file;
    struct stk_error err = { 0 };
    (void)state;
    assert_int_equal(stk__safetensors_write(path, &tensor, 1, NULL, &err), STK_OK);
    assert_int_equal(stk__safetensors_open(&file, path, &err), STK_OK);
    assert_int_equal(truncate(path, 4096), 0);
    assert_int_equal(stk__safetensors_copy(&file, &file.tensor[0], values, &err), STK_IO);
    assert_non_null(strstr(err.text, "tensor 'w' cannot be read"));
    stk__safetensors_close(&file);
}

/* Where writing fails half way the file that was there stays, and nothing else does. */
static void test_a_full_disk(void **state)
{
    static uint8_t values[1 << 16];
    const struct stk__saved_tensor tensor = { "w",    STK_U8,       1, { sizeof values },
                                              values, sizeof values };
    struct stk__safetensors file;
    struct stk_error err = { 0 };
    struct rlimit before, small = { 1 << 14, 0 };
    (void)state;
    memset(values, 7, sizeof values);
    assert_int_equal(stk__safetensors_write(path, &tensor, 1, NULL, &err), STK_OK);
    memset(values, 8, sizeof values);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = stk__safetensors_write(path, &tensor, 1, NULL, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, STK_IO);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(stk__safetensors_open(&file, path, &err), STK_OK);
    assert_int_equal(((const uint8_t *)file.tensor[0].data)[sizeof values - 1], 7);
    stk__safetensors_close(&file);
}

static int write_all(const char *to)
{
    static const char *const keys[] = { "step", "chain" };
    static const char *const texts[] = { "7", "range(3).batch(2) # 'ü' \"\n" };
    struct stk__safetensors file;
    struct stk_error err = { 0 };
    int rc = stk__safetensors_open(&file, GOLDEN "all.safetensors", &err);
    if (!rc) {
        const struct stk_pairs metadata = { keys, texts, 2 };
        rc = stk__safetensors_write(to, file.tensor, file.n_tensors, &metadata, &err);
        stk__safetensors_close(&file);
    }
    fputs(err.text, stderr);
    return rc != STK_OK;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--write"))
        return write_all(argv[2]);
    const struct CMUnitTest tests[] = {
        /* first: cmocka puts its own handler of signals back after each */
        cmocka_unit_test(test_a_file_that_becomes_shorter),
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_bad_headers),
        cmocka_unit_test(test_cut_files),
        cmocka_unit_test(test_files_that_are_not_there),
        cmocka_unit_test(test_a_full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
