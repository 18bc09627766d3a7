/* SPDX-License-Identifier: Apache-2.0 */
/* test_random_resized_crop.c: which windows are taken, and that they are resized as images of their
 * own. */
#include "image_call.h"

#include <math.h>

/* ---- the algorithm, once more ---- */

struct ranges {
    double scale[2], ratio[2];
};

struct window {
    int top, left, height, width;
};

static double between(const double range[2], uint32_t word)
{
    return range[0] + (range[1] - range[0]) * (word >> 8) / 16777216.0;
}

static int draw(uint32_t word, int n)
{
    return (int)((uint64_t)word * (uint64_t)n >> 32);
}

static struct window central(const struct ranges *ranges, int height, int width)
{
    struct window w = { 0, 0, height, width };
    if ((double)width / height < ranges->ratio[0])
        w.height = (int)fmax(1, rint(width / ranges->ratio[0]));
    else if ((double)width / height > ranges->ratio[1])
        w.width = (int)fmax(1, rint(height * ranges->ratio[1]));
    w.top = (height - w.height) / 2;
    w.left = (width - w.width) / 2;
    return w;
}

static struct window window_of(const struct ranges *ranges, const struct batch *b, int row,
                               const int32_t dims[3])
{
    struct stk__rows_inside inside = { .key = b->key, .seed = 5 };
    const struct stk_rows rows = { .inside = &inside };
    const double log_ratio[2] = { log(ranges->ratio[0]), log(ranges->ratio[1]) };
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t word[4];
        stk_rows_random(&rows, row, 8, i, word);
        double area = (double)dims[0] * dims[1] * between(ranges->scale, word[0]);
        double ratio = exp(between(log_ratio, word[1]));
        double width = rint(sqrt(area * ratio)), height = rint(sqrt(area / ratio));
        if (width < 1 || height < 1 || width > dims[1] || height > dims[0])
            continue;
        return (struct window){ draw(word[2], dims[0] - (int)height + 1),
                                draw(word[3], dims[1] - (int)width + 1), (int)height, (int)width };
    }
    return central(ranges, dims[0], dims[1]);
}

/* ---- pixels ---- */

/* The window of a row as an image. Returns new. */
static uint8_t *cut_out(const struct batch *b, int row, const int32_t dims[3], struct window w,
                        size_t value_bytes)
{
    size_t pixel = (size_t)dims[2] * value_bytes, kept = (size_t)w.width * pixel;
    uint8_t *out = malloc(kept * (size_t)w.height);
    assert_non_null(out);
    for (int y = 0; y < w.height; y++)
        memcpy(out + (size_t)y * kept,
               b->data + (size_t)row * b->image_bytes +
                   ((size_t)(w.top + y) * (size_t)dims[1] + (size_t)w.left) * pixel,
               kept);
    return out;
}

static void assert_resized(const char *words, const struct stk_type *type, const uint8_t *window,
                           const int32_t dims[3], const void *expected)
{
    char text[200];
    struct batch b;
    snprintf(text, sizeof text, "resize(13, 17, %s)", words);
    struct op_call c = open_over(text, type, N_ROWS);
    image_to_use = window;
    run_call(&b, &c, type, dims);
    image_to_use = NULL;
    size_t bytes = stk_field_bytes(&c.out.field[1]);
    if (memcmp(row_data(&b, 0), expected, bytes))
        fail_msg("%s, a window of %d x %d", words, dims[0], dims[1]);
    free(b.data);
    free(b.result);
    op_call_close(&c);
}

static const char *const ways[] = { "bilinear",
                                    "area",
                                    "nearest",
                                    "lanczos3, antialias=true",
                                    "bilinear, semantics=pillow",
                                    "bicubic, semantics=opencv",
                                    "area, semantics=opencv",
                                    "bilinear, dtype=uint8" };

static void check(const char *words, const struct ranges *ranges, const int32_t dims[3], int dtype)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct stk_type type = shaped(dtype, dims[2]);
        char text[200];
        struct batch b;
        snprintf(text, sizeof text, "random_resized_crop(13, 17, %smethod=%s, seed=8)", words,
                 ways[i]);
        struct op_call c = open_over(text, &type, N_ROWS);
        assert_int_equal(c.out.field[1].kind, STK_FIXED);
        run_call(&b, &c, &type, dims);
        for (int row = 0; row < N_ROWS; row++) {
            struct window w = window_of(ranges, &b, row, dims);
            if (row == 2)
                continue;
            uint8_t *window = cut_out(&b, row, dims, w, stk_dtype_bytes(dtype));
            assert_resized(ways[i], &type, window, (const int32_t[3]){ w.height, w.width, dims[2] },
                           row_data(&b, row));
            free(window);
        }
        free_batch(&b);
        op_call_close(&c);
    }
}

static void test_windows(void **state)
{
    (void)state;
    const struct ranges usual = { { 0.08, 1 }, { 3.0 / 4, 4.0 / 3 } };
    check("", &usual, (const int32_t[3]){ 60, 80, 3 }, STK_U8);
    check("", &usual, (const int32_t[3]){ 31, 47, 3 }, STK_F32);
    check("", &usual, (const int32_t[3]){ 31, 47, 1 }, STK_U8);
    check("", &usual, (const int32_t[3]){ 1, 1, 4 }, STK_U8);
    check("", &usual, (const int32_t[3]){ 50, 9, 3 }, STK_U8);
    const struct ranges small = { { 0.01, 0.1 }, { 0.5, 3 } };
    check("scale=[0.01, 0.1], ratio=[0.5, 3], ", &small, (const int32_t[3]){ 40, 30, 3 }, STK_U8);
}

/* Too large to fit: the middle. */
static void test_the_middle(void **state)
{
    (void)state;
    const struct ranges large = { { 2, 3 }, { 3.0 / 4, 4.0 / 3 } };
    check("scale=[2, 3], ", &large, (const int32_t[3]){ 33, 90, 3 }, STK_U8);
    check("scale=[2, 3], ", &large, (const int32_t[3]){ 90, 33, 3 }, STK_U8);
    check("scale=[2, 3], ", &large, (const int32_t[3]){ 40, 44, 3 }, STK_U8);
    const struct ranges flat = { { 2, 3 }, { 7, 9 } };
    check("scale=[2, 3], ratio=[7, 9], ", &flat, (const int32_t[3]){ 40, 3, 3 }, STK_U8);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    struct stk_type type = shaped(STK_U8, 3), wide = shaped(STK_I32, 3);
    assert_refused("random_resized_crop(5, 5, scale=[0, 1])", &type, "scale must be [least");
    assert_refused("random_resized_crop(5, 5, scale=[0.9, 0.8])", &type, "not [0.9, 0.8]");
    assert_refused("random_resized_crop(5, 5, ratio=[-1, 1])", &type, "ratio must be [least");
    assert_refused("random_resized_crop(5, 5, scale=0.5)", &type, "scale");
    assert_refused("random_resized_crop(5, 5, method=lanczos4)", &type, "tf has bilinear");
    assert_refused("random_resized_crop(5, 5)", &wide, "uint8 or float32");
    struct op_call c = open_over("random_resized_crop(5, 5)", &type, N_ROWS);
    struct batch b;
    run_call(&b, &c, &type, (const int32_t[3]){ 0, 4, 3 });
    assert_int_equal(b.mask[0], STK_BAD);
    assert_non_null(strstr(failure, "the image is empty: 0 x 4"));
    free_batch(&b);
    op_call_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_the_middle),
        cmocka_unit_test(test_what_is_refused),
    };
    stk__arena_init(&scratch, 1 << 12);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__arena_free(&scratch);
    return n_failed;
}
