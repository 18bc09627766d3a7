/* SPDX-License-Identifier: Apache-2.0 */
/* test_crop_ops.c: windows of images: where they lie, what lies around images, and what is
 * refused. */
#include "image_call.h"

#include "kernel/kernel.h"

/* ---- crop ---- */

static void test_crop(void **state)
{
    (void)state;
    const int32_t dims[3] = { 6, 9, 2 };
    struct stk_type types[] = { shaped(STK_U8, 2), shaped(STK_I64, -1),
                                image_type(STK_FIXED, STK_F32, (const int64_t[3]){ 6, 9, 2 }) };
    for (int t = 0; t < 3; t++) {
        struct op_call c = open_over("crop(1, 4, 3, 5)", &types[t], N_ROWS);
        struct batch b;
        run_call(&b, &c, &types[t], dims);
        size_t pixel = 2 * stk_dtype_bytes(types[t].field[1].dtype);
        const uint8_t *out = row_data(&b, 3), *in = b.data + 3 * b.image_bytes;
        for (size_t y = 0; y < 3; y++)
            assert_memory_equal(out + y * 5 * pixel, in + ((1 + y) * 9 + 4) * pixel, 5 * pixel);
        assert_int_equal(c.out.field[1].kind, t == 1 ? STK_SHAPED : STK_FIXED);
        free_batch(&b);
        op_call_close(&c);
    }
}

static void assert_bad(const char *text, const struct stk_type *type, const int32_t dims[3],
                       const char *message)
{
    struct op_call c = open_over(text, type, N_ROWS);
    struct batch b;
    run_call(&b, &c, type, dims);
    assert_int_equal(b.mask[0], STK_BAD);
    assert_int_equal(b.mask[2], STK_DEAD);
    if (!strstr(failure, message))
        fail_msg("the message is \"%s\", without \"%s\"", failure, message);
    free_batch(&b);
    op_call_close(&c);
}

static void test_crop_outside(void **state)
{
    (void)state;
    struct stk_type any = shaped(STK_U8, 3);
    struct stk_type fixed = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 6, 9, 3 });
    const int32_t dims[3] = { 6, 9, 3 };
    assert_bad("crop(4, 0, 3, 9)", &any, dims, "is 6 x 9 pixels");
    assert_bad("crop(0, 5, 6, 5)", &any, dims, "a crop of 6 x 5 from (0, 5) on");
    assert_refused("crop(4, 0, 3, 9)", &fixed, "smaller than the crop of 7 x 9");
    assert_refused("crop(-1, 0, 3, 9)", &fixed, "top");
    assert_refused("crop(0, 0, 0, 9)", &fixed, "height");
}

/* ---- random_crop ---- */

/* What stands at position p of a line of n pixels with more around it, found by walking; -1: fill. */
static int walk(const char *mode, int p, int n)
{
    int at = p < 0 ? 0 : n - 1, step = p < 0 ? 1 : -1, left = p < 0 ? -p : p - n + 1;
    if (p >= 0 && p < n)
        return p;
    if (!strcmp(mode, "constant"))
        return -1;
    if (!strcmp(mode, "edge") || n == 1)
        return at;
    bool repeats = !strcmp(mode, "symmetric"), is_first = repeats;
    for (; left > 0; left--) {
        if (is_first) { /* the border pixel once more */
            is_first = false;
            continue;
        }
        at += step;
        if (at == 0 || at == n - 1) {
            step = -step;
            is_first = repeats;
        }
    }
    return at;
}

static int draw(uint32_t word, int n)
{
    return (int)((uint64_t)word * (uint64_t)n >> 32);
}

struct padded {
    const char *words, *mode;
    int32_t height, width;        /* of images */
    int left, top, right, bottom; /* around them, in all */
};

/* 5 x 7 windows of images of two bytes a pixel. */
static void check_padded(const struct padded *p)
{
    struct stk_type type = shaped(STK_U8, 2);
    char text[200];
    snprintf(text, sizeof text, "random_crop(5, 7, padding_mode=%s, seed=3%s)", p->mode, p->words);
    struct op_call c = open_over(text, &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ p->height, p->width, 2 });
    for (int i = 0; i < N_ROWS; i++) {
        struct stk__rows_inside inside = { .key = b.key, .seed = 5 };
        const struct stk_rows rows = { .inside = &inside };
        uint32_t word[4];
        stk_rows_random(&rows, i, 3, 0, word);
        int top = draw(word[0], p->height + p->top + p->bottom - 5 + 1) - p->top;
        int left = draw(word[1], p->width + p->left + p->right - 7 + 1) - p->left;
        const uint8_t *out = row_data(&b, i), *in = b.data + (size_t)i * b.image_bytes;
        for (int k = 0; k < 5 * 7 && i != 2; k++) {
            int y = walk(p->mode, top + k / 7, p->height);
            int x = walk(p->mode, left + k % 7, p->width);
            for (int channel = 0; channel < 2; channel++) {
                int expected = y < 0 || x < 0 ? 0 : in[(y * p->width + x) * 2 + channel];
                assert_int_equal(out[2 * k + channel], expected);
            }
        }
    }
    free_batch(&b);
    op_call_close(&c);
}

static void test_random_crop(void **state)
{
    (void)state;
    static const char *const modes[] = { "constant", "edge", "reflect", "symmetric" };
    for (int m = 0; m < 4; m++) {
        const struct padded all[] = {
            { "", modes[m], 5, 7, 0, 0, 0, 0 },
            { "", modes[m], 90, 70, 0, 0, 0, 0 },
            { ", padding=3", modes[m], 8, 8, 3, 3, 3, 3 },
            { ", padding=[2, 4]", modes[m], 6, 7, 2, 4, 2, 4 },
            { ", padding=[1, 2, 3, 4]", modes[m], 6, 7, 1, 2, 3, 4 },
            { ", padding=9", modes[m], 2, 3, 9, 9, 9, 9 }, /* beyond the mirror image */
            { ", padding=[0, 40]", modes[m], 1, 7, 0, 40, 0, 40 },
            { ", pad_if_needed=true", modes[m], 3, 2, 5, 2, 5, 2 },
            { ", pad_if_needed=true", modes[m], 3, 20, 0, 2, 0, 2 },
            { ", padding=[1, 0], pad_if_needed=true", modes[m], 4, 4, 2, 1, 2, 1 },
        };
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            check_padded(&all[i]);
    }
}

/* Every place is as likely as the others: 4 x 3 of them. */
static void test_places_are_uniform(void **state)
{
    (void)state;
    enum { N_RUNS = 800 };
    struct stk_type type = shaped(STK_U8, 1);
    int count[12] = { 0 };
    for (int run = 0; run < N_RUNS; run++) {
        char text[60];
        snprintf(text, sizeof text, "random_crop(1, 2, seed=%d)", run);
        struct op_call c = open_over(text, &type, N_ROWS);
        struct batch b;
        run_call(&b, &c, &type, (const int32_t[3]){ 4, 4, 1 });
        for (int i = 0; i < N_ROWS; i++) {
            const uint8_t *in = b.data + (size_t)i * b.image_bytes, *out = row_data(&b, i);
            for (int at = 0; at < 16 && i != 2; at++)
                if (at % 4 < 3 && in[at] == out[0])
                    count[at / 4 * 3 + at % 4]++;
        }
        free_batch(&b);
        op_call_close(&c);
    }
    int sum = 0; /* 2400 draws, 200 for each place with a deviation of 13.5 */
    for (int i = 0; i < 12; i++) {
        assert_in_range(count[i], 140, 260);
        sum += count[i];
    }
    assert_int_equal(sum, N_RUNS * (N_ROWS - 1));
}

static void check_fill(const char *words, int dtype, const float expected[2])
{
    struct stk_type type = shaped(dtype, 2);
    char text[100];
    float values[2];
    snprintf(text, sizeof text, "random_crop(9, 9, pad_if_needed=true, fill=%s)", words);
    struct op_call c = open_over(text, &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ 0, 9, 2 });
    stk__elementwise_fn const(*convert)[STK_N_DTYPES] = stk__kernels()->elementwise.convert;
    const uint8_t *out = row_data(&b, 1);
    size_t pixel = 2 * stk_dtype_bytes(dtype);
    for (int i = 0; i < 81; i++, out += pixel) {
        if (dtype == STK_F32)
            memcpy(values, out, sizeof values);
        else
            convert[dtype][STK_F32](values, out, NULL, NULL, 2);
        assert_true(values[0] == expected[0] && values[1] == expected[1]);
    }
    free_batch(&b);
    op_call_close(&c);
}

static void test_fill(void **state)
{
    (void)state;
    check_fill("114", STK_U8, (const float[2]){ 114, 114 });
    check_fill("[3, 255]", STK_U8, (const float[2]){ 3, 255 });
    check_fill("[0.5, -1]", STK_F32, (const float[2]){ 0.5f, -1 });
    check_fill("[0.5, -1]", STK_F16, (const float[2]){ 0.5f, -1 });
    check_fill("0.25", STK_BF16, (const float[2]){ 0.25f, 0.25f });
    check_fill("0.25", STK_F64, (const float[2]){ 0.25f, 0.25f });
    check_fill("-7", STK_I64, (const float[2]){ -7, -7 });
}

static void test_what_is_refused(void **state)
{
    (void)state;
    struct stk_type any = shaped(STK_U8, 3), unknown = shaped(STK_U8, -1);
    struct stk_type fixed = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 6, 9, 3 });
    assert_refused("random_crop(5, 5, padding=[1, 2, 3])", &any, "not three numbers");
    assert_refused("random_crop(5, 5, padding=-1)", &any, "whole numbers from 0 to 32768, not -1");
    assert_refused("random_crop(5, 5, padding=1.5)", &any, "not 1.5");
    assert_refused("random_crop(5, 5, fill=1, padding_mode=edge)", &any, "padding_mode=constant");
    assert_refused("random_crop(5, 5, fill=[1, 2])", &any, "fill has 2 values");
    assert_refused("random_crop(5, 5, padding_mode=mirror)", &any, "reflect");
    assert_refused("random_crop(9, 9, padding=1)", &fixed, "smaller than the crop");
    struct op_call c = open_over("random_crop(8, 9, padding=1)", &fixed, N_ROWS);
    op_call_close(&c);
    c = open_over("random_crop(20, 20, pad_if_needed=true)", &fixed, N_ROWS);
    op_call_close(&c);
    assert_bad("random_crop(9, 9, padding=1)", &any, (const int32_t[3]){ 6, 9, 3 },
               "6 x 9 pixels (height x width), with its padding smaller than the crop of 9 x 9");
    assert_bad("random_crop(2, 2, padding=1, fill=[1, 2])", &unknown, (const int32_t[3]){ 6, 9, 3 },
               "the image has 3 channels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crop),        cmocka_unit_test(test_crop_outside),
        cmocka_unit_test(test_random_crop), cmocka_unit_test(test_places_are_uniform),
        cmocka_unit_test(test_fill),        cmocka_unit_test(test_what_is_refused),
    };
    stk__arena_init(&scratch, 1 << 12);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__arena_free(&scratch);
    return n_failed;
}
