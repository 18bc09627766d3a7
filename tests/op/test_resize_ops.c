/* SPDX-License-Identifier: Apache-2.0 */
/* test_resize_ops.c: sizes, padding, cropping, dtypes and words of the ops that resize, and layout.
 * That pixels are those of the libraries is test_resize_golden.c's business. */
#include "image_call.h"

#include "kernel/kernel.h"

/* ---- words ---- */

static void test_what_a_library_has(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3);
    static const struct {
        const char *words, *message;
    } refused[] = {
        { "lanczos4", "there is no method=lanczos4 with semantics=tf: tf has bilinear, nearest" },
        { "hamming", "tf has bilinear" },
        { "lanczos5, semantics=pillow", "pillow has nearest, bilinear, bicubic, area (its BOX)" },
        { "mitchell, true, pillow", "no method=mitchell with semantics=pillow" },
        { "bilinear, false, pillow", "pillow always antialiases bilinear" },
        { "bicubic, true, opencv", "opencv does not antialias bicubic; leave antialias out" },
        { "gaussian, semantics=opencv", "opencv has nearest, bilinear (INTER_LINEAR), bicubic" },
        { "lanczos3, semantics=opencv", "lanczos4" },
        { "cubic", "did you mean bicubic" },
        { "bilinear, semantics=pil", "takes tf, pillow or opencv" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char text[100];
        snprintf(text, sizeof text, "resize(5, 6, %s)", refused[i].words);
        assert_refused(text, &type, refused[i].message);
    }
    static const char *const taken[] = { "lanczos5, true",          "gaussian, false, tf",
                                         "nearest, true",           "area, auto, pillow",
                                         "hamming, true, pillow",   "nearest, false, pillow",
                                         "lanczos4, false, opencv", "area, semantics=opencv" };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        char text[100];
        snprintf(text, sizeof text, "resize(5, 6, %s)", taken[i]);
        struct op_call c = open_over(text, &type, N_ROWS);
        op_call_close(&c);
    }
}

static void assert_dtype(const char *text, int in, int out, bool is_255)
{
    struct stk_type type = shaped(in, 3);
    struct op_call c = open_over(text, &type, N_ROWS);
    assert_int_equal(c.out.field[1].dtype, out);
    assert_int_equal(c.out.field[1].flags, is_255 ? STK_FIELD_255 : 0);
    op_call_close(&c);
}

static void test_dtypes(void **state)
{
    (void)state;
    assert_dtype("resize(5, 6)", STK_U8, STK_F32, true);
    assert_dtype("resize(5, 6, nearest)", STK_U8, STK_U8, false);
    assert_dtype("resize(5, 6, semantics=pillow)", STK_U8, STK_U8, false);
    assert_dtype("resize(5, 6, semantics=opencv)", STK_U8, STK_U8, false);
    assert_dtype("resize(5, 6, semantics=opencv)", STK_F32, STK_F32, false);
    assert_dtype("resize(5, 6, semantics=pillow, dtype=float32)", STK_U8, STK_F32, true);
    assert_dtype("resize(5, 6, dtype=keep)", STK_U8, STK_U8, false);
    assert_dtype("resize(5, 6, dtype=keep)", STK_F32, STK_F32, false);
    assert_dtype("resize(5, 6, dtype=uint8)", STK_F32, STK_U8, false);
    assert_dtype("resize(5, 6, dtype=float16)", STK_U8, STK_F16, true);
    assert_dtype("resize(5, 6, dtype=bfloat16)", STK_F32, STK_BF16, false);
}

/* Row 1 of a call over images of these dimensions. Returns new. */
static void *result_of(const char *text, const struct stk_type *type, const int32_t dims[3],
                       size_t bytes)
{
    struct op_call c = open_over(text, type, N_ROWS);
    struct batch b;
    run_call(&b, &c, type, dims);
    assert_int_equal(b.mask[1], STK_LIVE);
    void *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, row_data(&b, 1), bytes);
    free_batch(&b);
    op_call_close(&c);
    return copy;
}

/* Other dtypes are the library's result, converted. */
static void test_dtypes_are_converted(void **state)
{
    (void)state;
    enum { N = 5 * 6 * 3 };
    const int32_t dims[3] = { 9, 8, 3 };
    static const char *const semantics[] = { "tf", "pillow", "opencv" };
    static const struct {
        const char *name;
        int dtype;
    } others[] = { { "float16", STK_F16 }, { "bfloat16", STK_BF16 }, { "float32", STK_F32 } };
    for (int i = 0; i < 9; i++) {
        struct stk_type type = shaped(STK_U8, 3);
        char text[100];
        int dtype = others[i / 3].dtype;
        float floats[N];
        uint8_t converted[N * 4];
        snprintf(text, sizeof text, "resize(5, 6, semantics=%s)", semantics[i % 3]);
        void *own = result_of(text, &type, dims, i % 3 ? N : N * 4);
        snprintf(text, sizeof text, "resize(5, 6, semantics=%s, dtype=%s)", semantics[i % 3],
                 others[i / 3].name);
        void *other = result_of(text, &type, dims, N * stk_dtype_bytes(dtype));
        for (int k = 0; k < N; k++)
            floats[k] = i % 3 ? ((uint8_t *)own)[k] : ((float *)own)[k];
        memcpy(converted, floats, sizeof floats);
        if (dtype != STK_F32)
            stk__kernels()->elementwise.convert[STK_F32][dtype](converted, floats, NULL, NULL, N);
        assert_memory_equal(other, converted, N * stk_dtype_bytes(dtype));
        free(own);
        free(other);
    }
}

/* ---- sides ---- */

static void assert_side(const char *text, int height, int width, int new_height, int new_width)
{
    struct stk_type type = shaped(STK_U8, 1);
    struct stk_type fixed = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ height, width, 1 });
    const int32_t dims[3] = { height, width, 1 };
    struct op_call c = open_over(text, &type, N_ROWS);
    assert_int_equal(c.out.field[1].kind, STK_SHAPED);
    assert_int_equal(c.out.field[1].shape[0], -1);
    struct batch b;
    run_call(&b, &c, &type, dims);
    assert_int_equal(b.out_dims[3], new_height);
    assert_int_equal(b.out_dims[4], new_width);
    free_batch(&b);
    op_call_close(&c);
    c = open_over(text, &fixed, N_ROWS);
    assert_int_equal(c.out.field[1].kind, STK_FIXED);
    assert_int_equal(c.out.field[1].shape[0], new_height);
    assert_int_equal(c.out.field[1].shape[1], new_width);
    op_call_close(&c);
}

/* What torchvision.transforms.v2.Resize gives. */
static void test_sides(void **state)
{
    (void)state;
    assert_side("resize_side(6)", 9, 13, 6, 8);
    assert_side("resize_side(6)", 13, 9, 8, 6);
    assert_side("resize_side(30)", 7, 7, 30, 30);
    assert_side("resize_side(10)", 3, 7, 10, 23);
    assert_side("resize_side(6, long)", 9, 13, 4, 6);
    assert_side("resize_side(6, long)", 13, 9, 6, 4);
    assert_side("resize_side(2, long)", 1, 9, 1, 2);
    assert_side("resize_side(10, max_size=20)", 3, 7, 8, 20);
    assert_side("resize_side(10, max_size=24)", 3, 7, 10, 23);
    assert_side("resize_side(5, max_size=6, semantics=opencv)", 40, 10, 6, 1);
    struct stk_type type = shaped(STK_U8, 1);
    assert_refused("resize_side(10, long, 20)", &type, "max_size is for side=short");
    assert_refused("resize_side(10, max_size=10)", &type, "max_size must be greater than size");
}

static void test_side_too_long(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 1);
    struct op_call c = open_over("resize_side(30000)", &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ 1, 3, 1 });
    assert_int_equal(b.mask[0], STK_BAD);
    assert_non_null(strstr(failure, "1 x 3"));
    assert_non_null(strstr(failure, "30000 x 90000"));
    free_batch(&b);
    op_call_close(&c);
}

/* ---- frames ---- */

static const char *const frame_ways[] = { "",
                                          ", area",
                                          ", nearest",
                                          ", semantics=pillow",
                                          ", bicubic, semantics=opencv",
                                          ", dtype=float16" };

static size_t value_bytes(const char *text)
{
    struct stk_type type = shaped(STK_U8, 3);
    struct op_call c = open_over(text, &type, N_ROWS);
    size_t bytes = stk_dtype_bytes(c.out.field[1].dtype);
    op_call_close(&c);
    return bytes;
}

/* 5 x 8 into 6 x 4: 2.5 x 4 is cut off to 2 x 4, and (6 - 2.5) / 2 to 1 row above. */
static void test_pad(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3);
    const int32_t dims[3] = { 5, 8, 3 };
    for (int i = 0; i < 6; i++) {
        char text[100], alone[100];
        snprintf(text, sizeof text, "resize_with_pad(6, 4%s)", frame_ways[i]);
        snprintf(alone, sizeof alone, "resize(2, 4%s)", frame_ways[i]);
        size_t row = 4 * 3 * value_bytes(alone);
        uint8_t *all = result_of(text, &type, dims, 6 * row);
        uint8_t *inside = result_of(alone, &type, dims, 2 * row), zeros[512] = { 0 };
        assert_memory_equal(all, zeros, row);
        assert_memory_equal(all + row, inside, 2 * row);
        assert_memory_equal(all + 3 * row, zeros, 3 * row);
        free(all);
        free(inside);
    }
}

/* Pixel 24 of 49 lies on pixel 0 of 1, but for rounding. */
static void test_on_a_pixel(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 1);
    const uint8_t gray[4] = { 200, 200, 200, 200 };
    image_to_use = gray;
    uint8_t *one = result_of("resize(49, 98, lanczos4, semantics=opencv)", &type,
                             (const int32_t[3]){ 1, 2, 1 }, 49 * 98);
    image_to_use = NULL;
    for (int i = 0; i < 49 * 98; i++)
        assert_int_equal(one[i], 200);
    free(one);
}

/* Columns beside the image, of another value. */
static void test_pad_beside(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 1);
    uint8_t *all = result_of("resize_with_pad(4, 7, semantics=opencv, fill=9)", &type,
                             (const int32_t[3]){ 8, 8, 1 }, 28);
    uint8_t *inside =
        result_of("resize(4, 4, semantics=opencv)", &type, (const int32_t[3]){ 8, 8, 1 }, 16);
    for (int y = 0; y < 4; y++) {
        assert_int_equal(all[7 * y], 9);
        assert_memory_equal(all + 7 * y + 1, inside + 4 * y, 4);
        assert_int_equal(all[7 * y + 5], 9);
        assert_int_equal(all[7 * y + 6], 9);
    }
    free(all);
    free(inside);
    float *floats =
        result_of("resize_with_pad(1, 5, fill=-2.5)", &type, (const int32_t[3]){ 9, 9, 1 }, 20);
    assert_true(floats[0] == -2.5f && floats[1] == -2.5f && floats[3] == -2.5f);
    free(floats);
    /* so thin that nothing would be left */
    all = result_of("resize_with_pad(4, 4, nearest, fill=1)", &type, (const int32_t[3]){ 1, 40, 1 },
                    16);
    for (int i = 0; i < 4; i++)
        assert_int_equal(all[i], 1);
    free(all);
}

/* 8 x 13 over 5 x 6 is 5 x 8, of which column 1 is the first kept. */
static void test_and_crop(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3);
    const int32_t dims[3] = { 8, 13, 3 };
    for (int i = 0; i < 6; i++) {
        char text[100], alone[100];
        snprintf(text, sizeof text, "resize_and_crop(5, 6%s)", frame_ways[i]);
        snprintf(alone, sizeof alone, "resize(5, 8%s)", frame_ways[i]);
        size_t pixel = 3 * value_bytes(alone);
        uint8_t *kept = result_of(text, &type, dims, 5 * 6 * pixel);
        uint8_t *whole = result_of(alone, &type, dims, 5 * 8 * pixel);
        for (size_t y = 0; y < 5; y++)
            assert_memory_equal(kept + y * 6 * pixel, whole + (y * 8 + 1) * pixel, 6 * pixel);
        free(kept);
        free(whole);
    }
}

/* Images count up from 63 * 7 by 7, bytes of values alike. */
static void test_crop_or_pad(void **state)
{
    (void)state;
    const int32_t dims[3] = { 3, 4, 1 };
    struct stk_type types[] = { shaped(STK_U8, 1), shaped(STK_U8, -1),
                                image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 3, 4, 1 }) };
    for (int t = 0; t < 3; t++) {
        uint8_t *out = result_of("resize_with_crop_or_pad(6, 1)", &types[t], dims, 6);
        for (int y = 0; y < 6; y++)
            assert_int_equal(out[y], y >= 1 && y < 4 ? (uint8_t)((12 + 4 * (y - 1) + 1) * 7) : 0);
        free(out);
        out = result_of("resize_with_crop_or_pad(1, 7)", &types[t], dims, 7);
        for (int x = 0; x < 7; x++)
            assert_int_equal(out[x], x >= 1 && x < 5 ? (uint8_t)((12 + 4 + x - 1) * 7) : 0);
        free(out);
    }
    struct stk_type wide = shaped(STK_I64, 2);
    int64_t *pair =
        result_of("resize_with_crop_or_pad(1, 1)", &wide, (const int32_t[3]){ 0, 9, 2 }, 16);
    assert_true(pair[0] == 0 && pair[1] == 0);
    free(pair);
}

/* ---- layout ---- */

static void check_layout(int dtype, int channels)
{
    const int32_t dims[3] = { 3, 37, channels };
    size_t bytes = stk_dtype_bytes(dtype), n = (size_t)(3 * 37 * channels), c = (size_t)channels;
    struct stk_type types[] = {
        shaped(dtype, channels), image_type(STK_FIXED, dtype, (const int64_t[3]){ 3, 37, channels })
    };
    for (int t = 0; t < 2; t++) {
        struct op_call call = open_over("layout(NCHW)", &types[t], N_ROWS);
        assert_int_equal(call.out.field[1].shape[0], channels);
        assert_int_equal(call.out.field[1].shape[2], types[t].field[1].shape[1]);
        struct batch b;
        run_call(&b, &call, &types[t], dims);
        const uint8_t *planes = row_data(&b, 1), *in = b.data + b.image_bytes;
        for (size_t i = 0; i < n; i++)
            assert_memory_equal(planes + i * bytes, in + (i % 111 * c + i / 111) * bytes, bytes);
        free_batch(&b);
        op_call_close(&call);
    }
    /* and back: what the images above are, read as planes */
    struct stk_type planar = image_type(STK_FIXED, dtype, (const int64_t[3]){ channels, 3, 37 });
    uint8_t *back =
        result_of("layout(NHWC)", &planar, (const int32_t[3]){ channels, 3, 37 }, n * bytes);
    uint8_t *there =
        result_of("flip(probability=0)", &planar, (const int32_t[3]){ channels, 3, 37 }, n * bytes);
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(back + (i % 111 * c + i / 111) * bytes, there + i * bytes, bytes);
    free(back);
    free(there);
}

static void test_layout(void **state)
{
    (void)state;
    static const int dtypes[] = { STK_U8, STK_F16, STK_F32, STK_F64 };
    for (int d = 0; d < 4; d++)
        for (int channels = 1; channels <= 4; channels++)
            check_layout(dtypes[d], channels);
    struct stk_type flat = shaped(STK_U8, 3);
    flat.field[1].rank = 2;
    assert_refused("layout(NCHW)", &flat, "image");
    flat.field[1].rank = 3;
    assert_refused("layout(CHW)", &flat, "NCHW");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_library_has),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_dtypes_are_converted),
        cmocka_unit_test(test_sides),
        cmocka_unit_test(test_side_too_long),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_on_a_pixel),
        cmocka_unit_test(test_pad_beside),
        cmocka_unit_test(test_and_crop),
        cmocka_unit_test(test_crop_or_pad),
        cmocka_unit_test(test_layout),
    };
    stk__arena_init(&scratch, 1 << 12);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__arena_free(&scratch);
    return n_failed;
}
