/* SPDX-License-Identifier: Apache-2.0 */
/* test_image_ops.c: resize, center_crop, flip and normalize on shaped and fixed images. */
#include "image_call.h"

#include "base/cpu.h"

#include <math.h>

/* ---- resize ---- */

static void test_resize_types(void **state)
{
    (void)state;
    struct stk_type u8 = shaped(STK_U8, 3), any = shaped(STK_U8, -1), f32 = shaped(STK_F32, 1);
    struct op_call c = open_over("resize(5, 6)", &u8, N_ROWS);
    assert_int_equal(c.out.field[1].kind, STK_FIXED);
    assert_int_equal(c.out.field[1].dtype, STK_F32);
    assert_int_equal(stk_field_bytes(&c.out.field[1]), 5 * 6 * 3 * 4);
    assert_int_equal(c.inf.from[0], 0);
    assert_int_equal(c.inf.from[1], -1);
    op_call_close(&c);
    c = open_over("resize(5, 6, nearest)", &u8, N_ROWS);
    assert_int_equal(c.out.field[1].dtype, STK_U8);
    op_call_close(&c);
    c = open_over("resize(5, 6, dtype=keep)", &any, N_ROWS);
    assert_int_equal(c.out.field[1].kind, STK_SHAPED);
    assert_int_equal(c.out.field[1].dtype, STK_U8);
    op_call_close(&c);
    c = open_over("resize(5, 6, dtype=keep)", &f32, N_ROWS);
    assert_int_equal(c.out.field[1].dtype, STK_F32);
    op_call_close(&c);
    struct stk_type wide = shaped(STK_I64, 3);
    assert_refused("resize(5, 6)", &wide, "uint8 or float32");
    assert_refused("resize(5, 6, field=label)", &u8, "image");
    assert_refused("resize(0, 6)", &u8, "height");
}

/* 4 to 2 pixels: between pixels 0 and 1, and 2 and 3, half and half; rows likewise. */
static void test_resize_values(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 1);
    struct op_call c = open_over("resize(2, 2)", &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ 4, 4, 1 });
    const float *first = row_data(&b, 0);
    const float expected[] = { 17.5f, 31.5f, 73.5f, 87.5f };
    assert_memory_equal(first, expected, sizeof expected);
    for (size_t i = 0; i < b.out[1].stride; i++)
        assert_int_equal(b.result[2 * b.out[1].stride + i], 0x5a);
    free_batch(&b);
    op_call_close(&c);
}

static void test_resize_nearest_and_keep(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 1);
    struct op_call c = open_over("resize(2, 2, nearest)", &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ 4, 4, 1 });
    assert_memory_equal(row_data(&b, 0), ((const uint8_t[]){ 35, 49, 91, 105 }), 4);
    free_batch(&b);
    op_call_close(&c);
    c = open_over("resize(2, 2, nearest, dtype=float32)", &type, N_ROWS);
    run_call(&b, &c, &type, (const int32_t[3]){ 4, 4, 1 });
    assert_memory_equal(row_data(&b, 0), ((const float[]){ 35, 49, 91, 105 }), 16);
    free_batch(&b);
    op_call_close(&c);
    c = open_over("resize(2, 2, dtype=keep)", &type, N_ROWS);
    run_call(&b, &c, &type, (const int32_t[3]){ 4, 4, 1 });
    assert_memory_equal(row_data(&b, 0), ((const uint8_t[]){ 18, 32, 74, 88 }), 4);
    free_batch(&b);
    op_call_close(&c);
}

/* Fixed and shaped columns, known and unknown channels, give the same pixels, at every level. */
static void test_resize_layouts(void **state)
{
    (void)state;
    const int32_t dims[3] = { 37, 53, 3 };
    struct stk_type types[] = { shaped(STK_U8, 3), shaped(STK_U8, -1),
                                image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 37, 53, 3 }) };
    const char *const methods[] = { "resize(11, 19)", "resize(60, 70)", "resize(11, 19, area)",
                                    "resize(11, 19, antialias=true)", "resize(11, 19, nearest)" };
    for (int m = 0; m < 5; m++) {
        uint8_t expected[60 * 70 * 3 * 4];
        for (int run = 0; run < 3 * STK__N_CPU_LEVELS; run++) {
            const char *level = stk__cpu_level_names[run / 3];
            if (stk_cpu_limit(level, NULL))
                continue;
            struct op_call c = open_over(methods[m], &types[run % 3], N_ROWS);
            struct batch b;
            run_call(&b, &c, &types[run % 3], dims);
            size_t bytes =
                (size_t)(m == 1 ? 60 * 70 : 11 * 19) * 3 * stk_dtype_bytes(c.out.field[1].dtype);
            if (run == 0)
                memcpy(expected, row_data(&b, 3), bytes);
            assert_memory_equal(row_data(&b, 3), expected, bytes);
            free_batch(&b);
            op_call_close(&c);
        }
    }
    stk_cpu_limit("auto", NULL);
}

/* More sizes than a worker keeps, twice over: each result as from a fresh worker. */
static void test_resize_many_sizes(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3);
    struct op_call c = open_over("resize(7, 9)", &type, N_ROWS);
    void *thread;
    assert_int_equal(c.op->row.thread_open(c.params, c.state, &thread, &c.err), STK_OK);
    for (int i = 0; i < 60; i++) {
        const int32_t dims[3] = { 5 + i % 30, 41 - i % 30, 3 };
        struct batch b;
        run_call(&b, &c, &type, dims);
        float *again = malloc(b.out[1].stride * N_ROWS);
        struct stk_column out[2] = {
            { 0 }, { .rank = 3, .data = (uint8_t *)again, .stride = b.out[1].stride }
        };
        struct stk__rows_inside inside = { 0 };
        struct stk_rows rows = { .params = c.params,
                                 .state = c.state,
                                 .thread = thread,
                                 .in_type = &type,
                                 .out_type = &c.out,
                                 .n = N_ROWS,
                                 .in = b.in,
                                 .out = out,
                                 .mask = b.mask,
                                 .inside = &inside };
        assert_int_equal(c.op->row.run(&rows), STK_OK);
        assert_memory_equal(again, b.result, b.out[1].stride * 2);
        free(again);
        free_batch(&b);
    }
    c.op->row.thread_close(thread);
    op_call_close(&c);
}

static void test_resize_empty_image(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3);
    struct op_call c = open_over("resize(7, 9)", &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ 0, 5, 3 });
    assert_int_equal(b.mask[0], STK_BAD);
    assert_int_equal(b.mask[2], STK_DEAD);
    assert_non_null(strstr(failure, "0 x 5"));
    free_batch(&b);
    op_call_close(&c);
}

/* ---- center_crop ---- */

static void test_crop(void **state)
{
    (void)state;
    struct stk_type types[] = { shaped(STK_U8, 1), shaped(STK_U16, 1), shaped(STK_U8, -1),
                                image_type(STK_FIXED, STK_F64, (const int64_t[3]){ 5, 4, 1 }) };
    for (int t = 0; t < 4; t++) {
        struct op_call c = open_over("center_crop(2, 3)", &types[t], N_ROWS);
        struct batch b;
        run_call(&b, &c, &types[t], (const int32_t[3]){ 5, 4, 1 });
        size_t bytes = stk_dtype_bytes(types[t].field[1].dtype);
        const uint8_t *out = row_data(&b, 0), first[] = { 4, 5, 6, 8, 9, 10 };
        assert_int_equal(c.out.field[1].kind, t == 2 ? STK_SHAPED : STK_FIXED);
        for (size_t i = 0; i < 6 * bytes; i++)
            assert_int_equal(out[i], first[i / bytes] * 7);
        free_batch(&b);
        op_call_close(&c);
    }
}

static void test_crop_too_small(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3);
    struct stk_type fixed = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 5, 4, 3 });
    struct op_call c = open_over("center_crop(6, 3)", &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ 5, 4, 3 });
    assert_int_equal(b.mask[0], STK_BAD);
    assert_non_null(strstr(failure, "5 x 4"));
    assert_non_null(strstr(failure, "6 x 3"));
    free_batch(&b);
    op_call_close(&c);
    assert_refused("center_crop(6, 3)", &fixed, "5 x 4");
}

/* ---- flip ---- */

static void check_flip(const char *text, const struct stk_type *type, int channels,
                       const int *order)
{
    struct op_call c = open_over(text, type, N_ROWS);
    struct batch b;
    run_call(&b, &c, type, (const int32_t[3]){ 2, 3, channels });
    size_t pixel = (size_t)channels * stk_dtype_bytes(type->field[1].dtype);
    for (int row = 0; row < 2; row++) {
        const uint8_t *out = row_data(&b, row), *in = b.data + (size_t)row * b.image_bytes;
        for (size_t i = 0; i < 6; i++)
            assert_memory_equal(out + i * pixel, in + (size_t)order[i] * pixel, pixel);
    }
    free_batch(&b);
    op_call_close(&c);
}

static void test_flip(void **state)
{
    (void)state;
    static const int across[] = { 2, 1, 0, 5, 4, 3 }, down[] = { 3, 4, 5, 0, 1, 2 },
                     both[] = { 5, 4, 3, 2, 1, 0 }, none[] = { 0, 1, 2, 3, 4, 5 };
    struct stk_type types[] = { shaped(STK_U8, 3), shaped(STK_F32, 1), shaped(STK_I64, 4),
                                image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 2, 3, 1 }),
                                image_type(STK_FIXED, STK_F32, (const int64_t[3]){ 2, 3, 3 }) };
    const int channels[] = { 3, 1, 4, 1, 3 };
    for (int t = 0; t < 5; t++) {
        check_flip("flip()", &types[t], channels[t], across);
        check_flip("flip(vertical)", &types[t], channels[t], down);
        check_flip("flip(both)", &types[t], channels[t], both);
        check_flip("flip(probability=0)", &types[t], channels[t], none);
    }
}

/* Whether a row is flipped is what its words say. */
static void test_flip_by_chance(void **state)
{
    (void)state;
    struct stk_type type = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 1, 2, 1 });
    int n_flipped = 0;
    for (int seed = 0; seed < 50; seed++) {
        char text[64];
        snprintf(text, sizeof text, "flip(probability=0.3, seed=%d)", seed);
        struct op_call c = open_over(text, &type, N_ROWS);
        struct batch b;
        run_call(&b, &c, &type, (const int32_t[3]){ 1, 2, 1 });
        for (int row = 0; row < 2; row++) {
            struct stk__rows_inside inside = { .key = b.key, .seed = 5 };
            struct stk_rows rows = { .inside = &inside };
            uint32_t words[4];
            stk_rows_random(&rows, row, (uint64_t)seed, 0, words);
            bool is_flipped = ((const uint8_t *)row_data(&b, row))[0] != b.data[row * 2];
            assert_int_equal(is_flipped, (double)stk__unit_float(words[0]) < 0.3);
            n_flipped += is_flipped;
        }
        free_batch(&b);
        op_call_close(&c);
    }
    assert_in_range(n_flipped, 15, 45);
}

/* ---- normalize ---- */

static void check_normalize(const char *text, const struct stk_type *type, const double mean[3],
                            const double std[3], double divisor)
{
    struct op_call c = open_over(text, type, N_ROWS);
    assert_int_equal(c.out.field[1].dtype, STK_F32);
    struct batch b;
    run_call(&b, &c, type, (const int32_t[3]){ 3, 7, 3 });
    const float *out = row_data(&b, 1);
    for (int i = 0; i < 3 * 7 * 3; i++) {
        double value = (uint8_t)((i + 63) * 7);
        float mul = (float)(1 / (divisor * std[i % 3])), add = (float)(-mean[i % 3] / std[i % 3]);
        float product = (float)value * mul;
        assert_true(out[i] == product + add);
        assert_true(fabs(out[i] - (value / divisor - mean[i % 3]) / std[i % 3]) <=
                    1e-6 * (fabs(value) / divisor + fabs(mean[i % 3])) / std[i % 3]);
    }
    free_batch(&b);
    op_call_close(&c);
}

static void test_normalize(void **state)
{
    (void)state;
    static const double mean[] = { 0.485, 0.456, 0.406 }, std[] = { 0.229, 0.224, 0.225 };
    static const double zero[] = { 0, 0, 0 }, one[] = { 1, 1, 1 }, half[] = { 0.5, 0.5, 0.5 };
    static const double given[] = { 1, 2, 3 }, two[] = { 2, 2, 2 };
    struct stk_type u8 = shaped(STK_U8, 3), f32 = shaped(STK_F32, 3), was_u8 = f32;
    struct stk_type fixed = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 3, 7, 3 });
    was_u8.field[1].flags = STK_FIELD_255;
    check_normalize("normalize('imagenet')", &u8, mean, std, 255);
    check_normalize("normalize(imagenet)", &fixed, mean, std, 255);
    check_normalize("normalize(imagenet)", &was_u8, mean, std, 255);
    check_normalize("normalize(imagenet)", &f32, mean, std, 1);
    check_normalize("normalize(unit)", &u8, zero, one, 255);
    check_normalize("normalize(symmetric)", &u8, half, half, 255);
    check_normalize("normalize([1, 2, 3], [2])", &f32, given, two, 1);
    check_normalize("normalize([1, 2, 3], [2], scale=raw)", &u8, given, two, 1);
    check_normalize("normalize([1, 2, 3], scale=byte)", &f32, given, one, 255);
}

/* resize says that its floats are bytes, and normalize that its own are not. */
static void test_normalize_knows_resize(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3);
    struct op_call first = open_over("resize(3, 7)", &type, N_ROWS);
    assert_int_equal(first.out.field[1].flags, STK_FIELD_255);
    struct op_call second = open_over("normalize(imagenet)", &first.out, N_ROWS);
    assert_int_equal(second.out.field[1].flags, 0);
    op_call_close(&first);
    op_call_close(&second);
}

static void test_normalize_refuses(void **state)
{
    (void)state;
    struct stk_type gray = shaped(STK_U8, 1), any = shaped(STK_U8, -1), wide = shaped(STK_I64, 3);
    struct stk_type rgb = shaped(STK_U8, 3);
    assert_refused("normalize(imagenet)", &gray, "3 numbers, but there are 1 channels");
    assert_refused("normalize(imagenet)", &any, "decode(channels=3)");
    assert_refused("normalize(imagenet)", &wide, "uint8 or float32");
    assert_refused("normalize(imagenet, [1, 1, 1])", &rgb, "its own std");
    assert_refused("normalize([1, 2, 3], [1, 0, 1])", &rgb, "std must not be 0");
    assert_refused("normalize([1, 2, 3], [1, 1])", &rgb, "std has 2 numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize_types),
        cmocka_unit_test(test_resize_values),
        cmocka_unit_test(test_resize_nearest_and_keep),
        cmocka_unit_test(test_resize_layouts),
        cmocka_unit_test(test_resize_many_sizes),
        cmocka_unit_test(test_resize_empty_image),
        cmocka_unit_test(test_crop),
        cmocka_unit_test(test_crop_too_small),
        cmocka_unit_test(test_flip),
        cmocka_unit_test(test_flip_by_chance),
        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_normalize_knows_resize),
        cmocka_unit_test(test_normalize_refuses),
    };
    stk__arena_init(&scratch, 1 << 12);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__arena_free(&scratch);
    return n_failed;
}
