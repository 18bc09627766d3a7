/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_out.c: what elements become in TFRecord and tar files, against TensorFlow, NumPy and
 * tarfile (golden/pack.txt), and deflated streams against zlib. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "codec/record/deflate.h"
#include "codec/record/record_out.h"

/* ---- expected bytes ---- */

static char *golden; /* the file */

static int load_golden(void **state)
{
    FILE *file = fopen("tests/golden/pack.txt", "r");
    size_t size = 0;
    (void)state;
    int rc = file && getdelim(&golden, &size, 0, file) > 0 ? 0 : -1;
    if (file)
        fclose(file);
    return rc;
}

static int free_golden(void **state)
{
    (void)state;
    free(golden);
    return 0;
}

static void assert_golden(const char *name, const struct stk__text *text)
{
    char start[64], digits[3];
    snprintf(start, sizeof start, "\n%s ", name);
    const char *at =
        !strncmp(golden, start + 1, strlen(start) - 1) ? golden - 1 : strstr(golden, start);
    assert_non_null(at);
    at += strlen(start);
    assert_false(text->failed);
    for (size_t i = 0; i < text->len; i++, at += 2) {
        snprintf(digits, sizeof digits, "%02x", (unsigned char)text->data[i]);
        if (memcmp(digits, at, 2) != 0)
            fail_msg("%s: byte %zu is %s, not %.2s", name, i, digits, at);
    }
    if (*at != '\n')
        fail_msg("%s: %zu bytes are too few", name, text->len);
}

/* ---- elements ---- */

struct cell {
    struct stk_field field;
    struct stk__record_value value;
};

#define ONE(d, n) .value = { .data = (d), .bytes = (n) }
#define VALUES(d, n, ...) .value = { .data = (d), .bytes = (n), .shape = { __VA_ARGS__ } }
#define FIELD(n, k, d, r) .field = { .name = (n), .kind = (k), .dtype = (d), .rank = (r) }

static int write_cells(const struct stk__record_format *format, const struct cell *cell, int n,
                       uint64_t number, struct stk__text *out, struct stk_error *err)
{
    struct stk_type type = { .n_fields = n };
    struct stk__record_value value[STK_MAX_FIELDS];
    struct stk__record_layout layout;
    struct stk_arena arena;
    stk__arena_init(&arena, 4096);
    for (int f = 0; f < n; f++) {
        type.field[f] = cell[f].field;
        value[f] = cell[f].value;
    }
    int rc = format->lay_out(&type, &arena, &layout, err);
    if (!rc)
        rc = format->write(&layout, value, number, out, err);
    stk__arena_free(&arena);
    return rc;
}

/* Only the Example of a record. */
static void assert_example(const char *name, const struct cell *cell, int n)
{
    struct stk__text out = { 0 };
    struct stk_error err;
    assert_int_equal(write_cells(&stk__record_tfrecord, cell, n, 0, &out, &err), STK_OK);
    struct stk__text inner = { .data = out.data + 12, .len = out.len - 16 };
    assert_golden(name, &inner);
    stk__text_free(&out);
}

static const int64_t i64[] = { 0, 1, -1, 127, 128, INT64_MIN, INT64_MAX };
static const int32_t i32[] = { 7, -7 };
static const uint32_t u32 = UINT32_MAX;
static const float f32[] = { 0, -0.0f, 1.5f, INFINITY, 1e-45f };
static const uint16_t half = 0x3800, bfloat = 0xc000, u16 = 65535;
static const double f64 = 0.1;
static const uint16_t wide[] = { 1, 65535, 256 };
static const uint8_t counted[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, zeros[300];
static const float four[] = { 1, 2, 3, 4 };
static const int64_t three[] = { 3, 1, 4 }, five = 5, hundreds = 300;

static const struct cell numbers[] = {
    { FIELD("i64", STK_FIXED, STK_I64, 1), VALUES(i64, sizeof i64, 7) },
    { FIELD("i32", STK_FIXED, STK_I32, 1), VALUES(i32, sizeof i32, 2) },
    { FIELD("u32", STK_FIXED, STK_U32, 0), ONE(&u32, 4) },
    { FIELD("flag", STK_FIXED, STK_BOOL, 0), ONE("\1", 1) },
    { FIELD("u8", STK_FIXED, STK_U8, 0), ONE("\xff", 1) },
    { FIELD("i8", STK_FIXED, STK_I8, 0), ONE("\x80", 1) },
    { FIELD("u16", STK_FIXED, STK_U16, 0), ONE(&u16, 2) },
    { FIELD("f32", STK_FIXED, STK_F32, 1), VALUES(f32, sizeof f32, 5) },
    { FIELD("f16", STK_FIXED, STK_F16, 0), ONE(&half, 2) },
    { FIELD("bf16", STK_FIXED, STK_BF16, 0), ONE(&bfloat, 2) },
};

static const struct cell bytes[] = {
    { FIELD("text", STK_BYTES, STK_U8, 0), ONE("caf\xc3\xa9", 5) },
    { FIELD("empty", STK_BYTES, STK_U8, 0), ONE(NULL, 0) },
    { FIELD("image", STK_FIXED, STK_U8, 3), VALUES(counted, 12, 2, 2, 3) },
    { FIELD("wide", STK_FIXED, STK_U16, 1), VALUES(wide, sizeof wide, 3) },
    { FIELD("f64", STK_FIXED, STK_F64, 0), ONE(&f64, 8) },
    { FIELD("mask", STK_FIXED, STK_BOOL, 1), VALUES("\0\1", 2, 2) },
};

#define N(cells) ((int)(sizeof(cells) / sizeof *(cells)))

static void test_example_equals_tensorflow(void **state)
{
    static const struct cell shapes[] = {
        { FIELD("a0", STK_FIXED, STK_I64, 0), ONE(&five, 8) },
        { FIELD("b", STK_SHAPED, STK_F32, 1), VALUES(four, 8, 2) },
        { FIELD("a", STK_SHAPED, STK_U8, 3), VALUES(zeros, 6, 1, 2, 3) },
    };
    static const struct cell ragged[] = {
        { FIELD("tokens", STK_RAGGED, STK_U8, 1), VALUES("\5\6", 2, 2) },
        { FIELD("none", STK_RAGGED, STK_I64, 1), VALUES(NULL, 0, 0) },
        { FIELD("pairs", STK_RAGGED, STK_F32, 2), VALUES(four, 16, 2, 2) },
        { FIELD("ids", STK_RAGGED, STK_I64, 1), VALUES(three, 24, 3) },
    };
    static const struct cell longer[] = {
        { FIELD("label", STK_FIXED, STK_I64, 0), ONE(&hundreds, 8) },
        { FIELD("image", STK_FIXED, STK_U8, 1), VALUES(zeros, 300, 300) },
    };
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        stk_cpu_limit(plain ? "scalar" : "auto", NULL);
        assert_example("numbers", numbers, N(numbers));
        assert_example("bytes", bytes, N(bytes));
        assert_example("shapes", shapes, N(shapes));
        assert_example("ragged", ragged, N(ragged));
        assert_example("long", longer, N(longer));
    }
    stk_cpu_limit("auto", NULL);
}

static void test_records_equal_tensorflow(void **state)
{
    struct stk__text out = { 0 };
    (void)state;
    write_cells(&stk__record_tfrecord, numbers, N(numbers), 0, &out, NULL);
    write_cells(&stk__record_tfrecord, bytes, N(bytes), 1, &out, NULL);
    stk__record_tfrecord.finish(&out);
    assert_golden("tfrecord", &out);
    stk__text_free(&out);
}

/* What cannot be stored is an error, and leaves nothing behind. */
static void test_example_refuses(void **state)
{
    const uint64_t large = (uint64_t)1 << 63;
    const struct cell too_large[] = { { FIELD("n", STK_FIXED, STK_U64, 0), ONE(&large, 8) } };
    const struct cell clash[] = {
        { FIELD("a", STK_SHAPED, STK_U8, 1), VALUES(zeros, 1, 1) },
        { FIELD("a/shape", STK_FIXED, STK_I64, 0), ONE(&five, 8) },
    };
    const struct cell huge[] = {
        { FIELD("a", STK_BYTES, STK_U8, 0), ONE(zeros, (size_t)1 << 31) },
    };
    struct stk__text out = { 0 };
    struct stk_error err;
    (void)state;
    stk__text_add_n(&out, "before", 6);
    assert_int_equal(write_cells(&stk__record_tfrecord, too_large, 1, 0, &out, &err), STK_DATA);
    assert_non_null(strstr(err.text, "9223372036854775808 of field 'n'"));
    assert_int_equal(write_cells(&stk__record_tfrecord, clash, 2, 0, &out, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "a/shape"));
    assert_int_equal(write_cells(&stk__record_tfrecord, huge, 1, 0, &out, &err), STK_DATA);
    assert_non_null(strstr(err.text, "2 GiB"));
    assert_int_equal(out.len, 6);
    stk__text_free(&out);
}

/* ---- npy and tar ---- */

static void assert_npy(const char *name, const struct stk_field *field, const int64_t *shape,
                       const void *data, size_t n_bytes)
{
    struct stk__text out = { 0 };
    stk__npy_head(field->dtype, field->rank, shape, &out);
    stk__text_add_n(&out, data, n_bytes);
    assert_golden(name, &out);
    stk__text_free(&out);
}

static void test_npy_equals_numpy(void **state)
{
    static const float pair[] = { 1.5f, -2 };
    (void)state;
    assert_npy("npy_u8", &(struct stk_field){ .dtype = STK_U8, .rank = 3 }, (int64_t[]){ 1, 2, 3 },
               counted, 6);
    assert_npy("npy_f32", &(struct stk_field){ .dtype = STK_F32, .rank = 1 }, (int64_t[]){ 2 },
               pair, 8);
    assert_npy("npy_bool", &(struct stk_field){ .dtype = STK_BOOL, .rank = 2 }, (int64_t[]){ 2, 1 },
               "\1", 2);
    assert_npy("npy_empty", &(struct stk_field){ .dtype = STK_I64, .rank = 2 }, (int64_t[]){ 0, 4 },
               "", 0);
    assert_npy("npy_f16", &(struct stk_field){ .dtype = STK_F16, .rank = 1 }, (int64_t[]){ 1 },
               &half, 2);
    assert_npy("npy_many", &(struct stk_field){ .dtype = STK_U16, .rank = 2 },
               (int64_t[]){ 1234567890, 0 }, "", 0);
}

static void test_tar_equals_tarfile(void **state)
{
    static const uint8_t jpeg[604] = { 0xff, 0xd8, 0xff, 0xe0 };
    static const float pair[] = { 1.5f, -2 };
    const int32_t minus = -3;
    const uint64_t most = UINT64_MAX;
    struct cell one[] = {
        { FIELD("image", STK_BYTES, STK_U8, 0), ONE(jpeg, sizeof jpeg) },
        { FIELD("label", STK_FIXED, STK_I32, 0), ONE(&minus, 4) },
        { FIELD("name", STK_BYTES, STK_U8, 0), ONE("caf\xc3\xa9", 5) },
        { FIELD("weight", STK_FIXED, STK_F16, 0), ONE(&half, 2) },
        { FIELD("box", STK_FIXED, STK_F32, 1), VALUES(pair, 8, 2) },
    };
    static const struct cell two[] = {
        { FIELD("left", STK_BYTES, STK_U8, 0), ONE("\x89PNG\r\n\x1a\n\0\0\0\0\0\0\0", 16) },
        { FIELD("right/hand", STK_BYTES, STK_U8, 0), ONE("\0\1", 2) },
        { FIELD("a", STK_FIXED, STK_BOOL, 0), ONE("\1", 1) },
    };
    struct cell more[4] = {
        two[0], two[1], two[2], { FIELD("b", STK_FIXED, STK_U64, 0), ONE(&most, 8) }
    };
    struct stk__text out = { 0 }, other = { 0 };
    (void)state;
    one[2].field.flags = STK_FIELD_TEXT;
    assert_int_equal(write_cells(&stk__record_tar, one, 5, 7, &out, NULL), STK_OK);
    stk__record_tar.finish(&out);
    assert_golden("tar_one", &out);
    assert_int_equal(write_cells(&stk__record_tar, more, 4, 1234567890, &other, NULL), STK_OK);
    stk__record_tar.finish(&other);
    assert_golden("tar_two", &other);
    stk__text_free(&out);
    stk__text_free(&other);
}

static void test_tar_reals(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = { { 0.1, "0.1" },
                  { -INFINITY, "-Infinity" },
                  { INFINITY, "Infinity" },
                  { NAN, "NaN" },
                  { 3, "3.0" } };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cell cell[] = { { FIELD("x", STK_FIXED, STK_F64, 0), ONE(&cases[i].value, 8) } };
        struct stk__text out = { 0 };
        assert_int_equal(write_cells(&stk__record_tar, cell, 1, 0, &out, NULL), STK_OK);
        assert_string_equal(out.data, "000000000.json");
        assert_string_equal(out.data + 512, cases[i].text);
        stk__text_free(&out);
    }
}

/* A name that does not fit goes into a pax record, bfloat16 becomes float32. */
static void test_tar_long_names(void **state)
{
    char name[201];
    static const uint16_t ones[] = { 0x3f80, 0xbf80 };
    memset(name, 'n', 200);
    name[200] = 0;
    const struct cell cell[] = {
        { FIELD(name, STK_FIXED, STK_BF16, 1), VALUES(ones, 4, 2) },
        { FIELD("other", STK_FIXED, STK_BF16, 1), VALUES(ones, 4, 2) },
    };
    struct stk__text out = { 0 };
    (void)state;
    assert_int_equal(write_cells(&stk__record_tar, cell, 2, 5, &out, NULL), STK_OK);
    assert_int_equal(out.data[156], 'x');
    char record[260];
    int len = snprintf(record, sizeof record, "224 path=000000005.%s.npy\n", name);
    assert_int_equal(len, 224);
    assert_memory_equal(out.data + 512, record, 224);
    assert_int_equal(out.data[1024 + 156], '0');
    assert_non_null(memmem(out.data + 1536, 128, "'<f4'", 5));
    assert_memory_equal(out.data + 1536 + 128, "\0\0\x80\x3f\0\0\x80\xbf", 8);
    stk__text_free(&out);
}

static void test_tar_refuses_equal_names(void **state)
{
    static const struct cell cell[] = {
        { FIELD("a/b", STK_FIXED, STK_I64, 0), ONE(&five, 8) },
        { FIELD("a_b", STK_FIXED, STK_I64, 0), ONE(&five, 8) },
    };
    struct stk__text out = { 0 };
    struct stk_error err;
    (void)state;
    assert_int_equal(write_cells(&stk__record_tar, cell, 2, 0, &out, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "'a/b' and 'a_b'"));
    stk__text_free(&out);
}

/* ---- streams ---- */

static void inflate_whole(const struct stk__text *packed, int window, uint8_t *out, size_t size)
{
    z_stream stream = { .next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->len };
    assert_int_equal(inflateInit2(&stream, window), Z_OK);
    stream.next_out = out;
    stream.avail_out = (uInt)size;
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    assert_int_equal(stream.total_out, size - 1);
    inflateEnd(&stream);
}

/* Any blocks make one stream, whose checksum zlib finds right. */
static void test_blocks_are_one_stream(void **state)
{
    enum { SIZE = 300000 };
    static uint8_t data[SIZE], back[SIZE + 1];
    (void)state;
    for (uint32_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i % 7 * (i / 1000) + i * i % 3);
    for (enum stk__stream_form form = STK__FORM_GZIP; form <= STK__FORM_ZLIB; form++) {
        static const size_t cuts[] = { 0, 1, 70000, 70001, 200000, SIZE };
        struct stk__deflater *deflater = stk__deflater_new(form);
        struct stk__deflate_sum whole = stk__deflate_sum_begin(form), part;
        struct stk__text out = { 0 };
        stk__deflate_head(form, &out);
        for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
            stk__deflate_block(deflater, data + cuts[i], cuts[i + 1] - cuts[i], &out, &part);
            assert_int_equal(part.bytes, cuts[i + 1] - cuts[i]);
            whole = stk__deflate_sum_join(form, whole, part);
        }
        stk__deflate_tail(form, whole, &out);
        inflate_whole(&out, form == STK__FORM_GZIP ? 31 : 15, back, SIZE + 1);
        assert_memory_equal(back, data, SIZE);
        stk__text_free(&out);
        stk__deflater_free(deflater);
    }
}

static void test_stream_of_nothing(void **state)
{
    uint8_t back[1];
    (void)state;
    for (enum stk__stream_form form = STK__FORM_GZIP; form <= STK__FORM_ZLIB; form++) {
        struct stk__text out = { 0 };
        stk__deflate_head(form, &out);
        stk__deflate_tail(form, stk__deflate_sum_begin(form), &out);
        inflate_whole(&out, form == STK__FORM_GZIP ? 31 : 15, back, 1);
        stk__text_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example_equals_tensorflow),
        cmocka_unit_test(test_records_equal_tensorflow),
        cmocka_unit_test(test_example_refuses),
        cmocka_unit_test(test_npy_equals_numpy),
        cmocka_unit_test(test_tar_equals_tarfile),
        cmocka_unit_test(test_tar_reals),
        cmocka_unit_test(test_tar_long_names),
        cmocka_unit_test(test_tar_refuses_equal_names),
        cmocka_unit_test(test_blocks_are_one_stream),
        cmocka_unit_test(test_stream_of_nothing),
    };
    return cmocka_run_group_tests(tests, load_golden, free_golden);
}
