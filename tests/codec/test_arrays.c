/* SPDX-License-Identifier: Apache-2.0 */
/* test_arrays.c: npy, npz and hdf5 on files that NumPy and h5py wrote.
 * tests/golden/make_arrays.py says what is in them. */
#define _GNU_SOURCE
#include "api_call.h"
#include "codec/array/inflate.h"

enum { ROOM = 1 << 16 };

/* All values of the field "data", in order; returns how many bytes. Texts end with a zero. */
static size_t gather(const char *chain, const char *options, uint8_t *out, int64_t *n_rows)
{
    struct stk_iterator *it = start_chain(chain, options);
    struct stk_batch *batch;
    struct stk_error err;
    size_t len = 0;
    int rc;
    *n_rows = 0;
    while (!(rc = stk_iterator_next(it, &batch, &err))) {
        struct stk_view view;
        assert_int_equal(stk_batch_view(batch, "data", &view, &err), STK_OK);
        int64_t rows = stk_batch_n_rows(batch), values = 1;
        for (int a = 0; a < view.rank; a++)
            values *= view.shape[a];
        size_t bytes = (size_t)values * stk_dtype_bytes(view.dtype);
        if (view.kind == STK_BYTES) {
            for (int64_t i = 0; i < rows; i++) {
                size_t n = (size_t)(view.splits[i + 1] - view.splits[i]);
                assert_true(len + n < ROOM);
                memcpy(out + len, (uint8_t *)view.data + view.splits[i], n);
                len += n;
                out[len++] = 0;
            }
        } else {
            assert_true(len + bytes <= ROOM);
            memcpy(out + len, view.data, bytes);
            len += bytes;
        }
        *n_rows += rows;
        stk_batch_unref(batch);
    }
    if (rc != STK_END)
        fail_msg("%s: %s", chain, err.text);
    stk_iterator_free(it);
    return len;
}

/* ---- golden ---- */

struct golden {
    char file[64], name[64], dtype[16], shape[32];
    unsigned crc;
};

/* The declared type: "float32", "5,3,2" without the first of these. */
static void check_type(const char *chain, const struct golden *g)
{
    struct stk_dataset *data = make_dataset(chain);
    struct stk_field_info info;
    char shape[64] = "", *end = shape;
    assert_int_equal(stk_dataset_n_fields(data), 1);
    assert_int_equal(stk_dataset_field(data, 0, &info), STK_OK);
    for (int a = 1; a < info.rank; a++) /* the batch comes first */
        end += sprintf(end, ",%lld", (long long)info.shape[a]);
    const char *inner = strchr(g->shape, ',');
    const char *dtype = info.kind == STK_BYTES ? "bytes" : stk_dtype_name(info.dtype);
    assert_string_equal(dtype, g->dtype);
    assert_string_equal(shape, inner && inner[1] ? inner : "");
    stk_dataset_unref(data);
}

static void check_golden(const char *chain, const struct golden *g)
{
    static uint8_t bytes[ROOM];
    static const char *const options[] = { "workers=1", "workers=2" };
    for (int i = 0; i < 2; i++) {
        int64_t n_rows;
        size_t len = gather(chain, options[i], bytes, &n_rows);
        if (n_rows != atoi(g->shape) || stk__crc32(bytes, len) != g->crc)
            fail_msg("%s: %lld rows with checksum %08x, not %s with %08x", chain, (long long)n_rows,
                     stk__crc32(bytes, len), g->shape, g->crc);
    }
    check_type(chain, g);
}

/* Every way to read it. */
static void check_file(const struct golden *g)
{
    char chain[400];
    if (strstr(g->file, ".npy")) {
        snprintf(chain, sizeof chain, "npy('tests/golden/arrays/%s').batch(3)", g->file);
        check_golden(chain, g);
        return;
    }
    const char *op = strstr(g->file, ".npz") ? "npz" : "hdf5";
    const char *ways[] = { "", ", hold=0" };
    for (int i = 0; i < (op[0] == 'h' ? 2 : 1); i++) {
        snprintf(chain, sizeof chain, "%s('tests/golden/arrays/%s', {data: '%s'}%s).batch(3)", op,
                 g->file, g->name, ways[i]);
        check_golden(chain, g);
    }
}

static void test_golden(void **state)
{
    struct golden g;
    int n = 0;
    (void)state;
    FILE *file = fopen("tests/golden/arrays.txt", "r");
    assert_non_null(file);
    while (fscanf(file, "%63s %63s %15s %31s %x", g.file, g.name, g.dtype, g.shape, &g.crc) == 5) {
        check_file(&g);
        n++;
    }
    fclose(file);
    assert_true(n > 90);
}

/* Each row is found by its number, in any order, and says where it is from. */
static void test_order_does_not_matter(void **state)
{
    static uint8_t forward[ROOM], shuffled[ROOM];
    static const char *const chains[] = {
        "hdf5('tests/golden/arrays/chunks.h5', {data: all_rows}, hold=0)%s",
        "hdf5('tests/golden/arrays/latest.h5', {data: all_part}, hold=0)%s",
        "npy('tests/golden/arrays/little_u2.npy')%s",
    };
    (void)state;
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        char plain[200], mixed[200];
        int64_t n, again;
        snprintf(plain, sizeof plain, chains[c], ".batch(2)");
        snprintf(mixed, sizeof mixed, chains[c], ".shuffle().batch(2)");
        size_t len = gather(plain, "workers=2", forward, &n);
        assert_int_equal(gather(mixed, "workers=2 seed=5", shuffled, &again), len);
        assert_int_equal(n, again);
        size_t row = len / (size_t)n;
        for (int64_t i = 0; i < n; i++) {
            int found = 0;
            for (int64_t k = 0; k < n; k++)
                found += !memcmp(shuffled + (size_t)k * row, forward + (size_t)i * row, row);
            assert_int_equal(found, 1);
        }
    }
}

static void test_files_follow_each_other(void **state)
{
    static uint8_t one[ROOM], two[ROOM];
    int64_t n_one, n_two;
    (void)state;
    const char *file = "tests/golden/arrays/little_f4.npy";
    char chain[300];
    snprintf(chain, sizeof chain, "npy('%s').batch(2)", file);
    size_t len = gather(chain, "workers=2", one, &n_one);
    snprintf(chain, sizeof chain, "npy(['%s', '%s']).batch(2)", file, file);
    assert_int_equal(gather(chain, "workers=2", two, &n_two), 2 * len);
    assert_int_equal(n_two, 2 * n_one);
    assert_memory_equal(two, one, len);
    assert_memory_equal(two + len, one, len);
}

/* ---- patches ---- */

static const int64_t volume[3] = { 9, 12, 10 };

/* The patches of the volume, by the plain array beside it. */
static size_t cut_patches(const uint16_t *values, const int *patch, const int *stride,
                          uint16_t *out)
{
    size_t n = 0;
    for (int z = 0; z + patch[0] <= volume[0]; z += stride[0])
        for (int y = 0; y + patch[1] <= volume[1]; y += stride[1])
            for (int x = 0; x + patch[2] <= volume[2]; x += stride[2])
                for (int i = 0; i < patch[0] * patch[1] * patch[2]; i++) {
                    int dz = i / (patch[1] * patch[2]), dy = i / patch[2] % patch[1];
                    int64_t at = ((z + dz) * volume[1] + y + dy) * volume[2] + x + i % patch[2];
                    out[n++] = values[at];
                }
    return n * sizeof *out;
}

static void test_patches(void **state)
{
    static uint16_t values[ROOM / 2], expected[ROOM / 2];
    static uint8_t got[ROOM];
    static const int cases[][6] = { { 4, 4, 4, 4, 4, 4 }, { 1, 12, 10, 1, 1, 1 },
                                    { 3, 5, 2, 2, 3, 4 }, { 9, 12, 10, 1, 1, 1 },
                                    { 2, 7, 6, 7, 5, 1 }, { 1, 1, 1, 3, 4, 5 },
                                    { 4, 5, 4, 1, 2, 3 } };
    static const char *const sources[] = { "gzip}, hold=0", "contiguous}, hold=0", "gzip}" };
    int64_t n;
    (void)state;
    gather("npy('tests/golden/arrays/volume.npy').batch(3)", "workers=1", (uint8_t *)values, &n);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int s = 0; s < 3; s++) {
            const int *c = cases[i];
            char chain[300];
            snprintf(chain, sizeof chain,
                     "hdf5('tests/golden/arrays/volume.h5', {data: %s, patch=[%d, %d, %d], "
                     "stride=[%d, %d, %d]).batch(5)",
                     sources[s], c[0], c[1], c[2], c[3], c[4], c[5]);
            size_t len = cut_patches(values, c, c + 3, expected);
            assert_int_equal(gather(chain, "workers=2", got, &n), len);
            if (memcmp(got, expected, len))
                fail_msg("%s: wrong values", chain);
        }
}

/* Parts of one chunk that begin at the same byte and end at different ones are reads of their own. */
static void test_patches_that_begin_alike(void **state)
{
    static uint8_t held[ROOM], got[ROOM];
    static const char *const options[] = { "workers=0", "workers=2 io=threads",
                                           "workers=2 io=uring" };
    static const char *const orders[] = { "", ".shuffle()", ".repeat(2).shuffle()" };
    (void)state;
    for (size_t i = 0; i < 9; i++) {
        const char *form = "hdf5('tests/golden/arrays/volume.h5', {data: colour}, "
                           "patch=[1, 1, 3, 3], stride=[1, 1, 1, 1]%s)%s.batch(4)";
        char from_memory[300], from_file[300];
        int64_t n;
        snprintf(from_memory, sizeof from_memory, form, "", orders[i / 3]);
        snprintf(from_file, sizeof from_file, form, ", hold=0", orders[i / 3]);
        size_t len = gather(from_memory, "workers=1", held, &n);
        assert_true(len >= (size_t)(9 * 12 * 8 * 9));
        assert_int_equal(gather(from_file, options[i % 3], got, &n), len);
        if (memcmp(got, held, len))
            fail_msg("%s with %s: wrong values", from_file, options[i % 3]);
    }
}

static void test_patches_of_several_datasets(void **state)
{
    struct stk_dataset *data = make_dataset(
        "hdf5('tests/golden/arrays/volume.h5', {a: gzip, b: colour}, patch=[3, 4, 5])");
    static const int64_t shape[] = { 3, 4, 5, 3 };
    struct stk_field_info info;
    (void)state;
    for (int f = 0; f < 2; f++) {
        assert_int_equal(stk_dataset_field(data, f, &info), STK_OK);
        assert_int_equal(info.rank, 3 + f);
        assert_int_equal(info.dtype, f ? STK_U8 : STK_U16);
        assert_memory_equal(info.shape, shape, sizeof *shape * (size_t)info.rank);
    }
    assert_int_equal(stk_dataset_count(data), 3 * 3 * 2);
    stk_dataset_unref(data);
}

/* ---- what is refused ---- */

static void expect_refusal(const char *chain, int code, const char *part)
{
    struct stk_dataset *data = NULL;
    struct stk_error err;
    int rc = stk_dataset_new(chain, NULL, &data, &err);
    if (rc != code || !strstr(err.text, part))
        fail_msg("%s gives %d (%s), not %d with \"%s\"", chain, rc, rc ? err.text : "", code, part);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *call;
        int code;
        const char *part;
    } cases[] = {
        { "npy('%s/refused_fortran.npy')", STK_TYPE, "Fortran order" },
        { "npy('%s/refused_scalar.npy')", STK_TYPE, "0 dimensions" },
        { "npy('%s/refused_complex.npy')", STK_TYPE, "'<c8'" },
        { "npy('%s/refused_objects.npy')", STK_TYPE, "pickle" },
        { "npy('%s/refused_records.npy')", STK_TYPE, "structured" },
        { "npy('%s/refused_text_table.npy')", STK_TYPE, "one per element" },
        { "npy('%s/stored.npz')", STK_DATA, "no npy file" },
        { "npy('%s/none.npy')", STK_IO, "none.npy" },
        { "npy(['%s/little_u2.npy', 'tests/golden/arrays/volume.npy'])", STK_TYPE, "first file" },
        { "npy(['%s/little_u2.npy', 'tests/golden/arrays/big_i2.npy'])", STK_TYPE, "int16" },
        { "npz('%s/refused_lengths.npz')", STK_TYPE, "3 elements" },
        { "npz('%s/stored.npz', {a: q})", STK_NAME, "'x', 'y', 'name'" },
        { "npz('%s/bool.npy')", STK_DATA, "no zip file" },
        { "hdf5('%s/stored.npz')", STK_DATA, "no HDF5 file" },
        { "hdf5('%s/lengths.h5')", STK_TYPE, "4; name those" },
        { "hdf5('%s/lengths.h5', {a: q})", STK_NAME, "'x', 'y'" },
        { "hdf5('%s/refused.h5', {a: records})", STK_TYPE, "compound" },
        { "hdf5('%s/refused.h5', {a: references})", STK_TYPE, "references" },
        { "hdf5('%s/refused.h5', {a: lists})", STK_TYPE, "different lengths" },
        { "hdf5('%s/types.h5', {a: scalar})", STK_TYPE, "one value" },
        { "hdf5('%s/types.h5', {a: null})", STK_TYPE, "no values" },
        { "hdf5('%s/volume.h5', {a: gzip}, patch=[10, 1, 1])", STK_VALUE, "larger" },
        { "hdf5('%s/volume.h5', {a: gzip}, patch=[1, 1, 1, 1])", STK_TYPE, "fewer" },
        { "hdf5('%s/volume.h5', {a: gzip}, patch=[0, 1])", STK_VALUE, "from 1" },
        { "hdf5('%s/volume.h5', {a: gzip}, patch=[1, 1], stride=[1])", STK_VALUE, "together" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char chain[300];
        snprintf(chain, sizeof chain, cases[i].call, "tests/golden/arrays");
        expect_refusal(chain, cases[i].code, cases[i].part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_files_follow_each_other),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_patches_that_begin_alike),
        cmocka_unit_test(test_patches_of_several_datasets),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
