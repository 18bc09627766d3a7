/* SPDX-License-Identifier: Apache-2.0 */
/* test_augment.c: the ops that change colours: against tests/golden/augment.bin, which torchvision
 * and TensorFlow wrote, at every level of the machine; what they draw, and what they refuse.
 * golden/make_augment.py has the format. */
#include "image_call.h"

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "op/augment/augment.h"

#include <math.h>

/* ---- golden vectors ---- */

enum golden_dtype { BYTES, FLOATS, FLOATS_255 };

struct sample {
    char call[64];
    uint32_t dtype, height, width, channels, out_channels;
    float tolerance;
};

static uint8_t *read_all(const char *path, size_t *bytes)
{
    enum { MOST = 1 << 23 };
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot be opened; tests run in the top directory", path);
    uint8_t *data = malloc(MOST);
    assert_non_null(data);
    *bytes = fread(data, 1, MOST, file);
    fclose(file);
    return data;
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

static struct stk_type type_of(const struct sample *s)
{
    const int64_t shape[3] = { s->height, s->width, s->channels };
    struct stk_type type = image_type(STK_FIXED, s->dtype == BYTES ? STK_U8 : STK_F32, shape);
    type.field[1].flags = s->dtype == FLOATS_255 ? STK_FIELD_255 : 0;
    return type;
}

/* "step CHANGE MODE MAGNITUDE", or not. */
static bool read_step(const char *call, struct stk__step *step, int *mode)
{
    int change;
    if (sscanf(call, "step %d %d %lf", &change, mode, &step->magnitude) != 3)
        return false;
    step->change = (enum stk__change)change;
    return true;
}

static int run_step(struct stk_rows *rows, const struct stk__step *step)
{
    const int64_t *shape = rows->in_type->field[1].shape;
    struct stk__pixel_row pixels = { .raster = { .kernels = stk__kernels(),
                                                 .dst = rows->out[1].data,
                                                 .src = rows->in[1].data,
                                                 .height = (int32_t)shape[0],
                                                 .width = (int32_t)shape[1],
                                                 .channels = (int32_t)shape[2],
                                                 .peak = 255 },
                                     .rows = rows };
    return stk__augment_image(&pixels, step, 1);
}

/* Runs a call, or a step in its place, over one image without readable bytes behind it (but for the
 * few that a warp may read); returns new. */
static uint8_t *run_image_step(struct op_call *c, const struct stk_type *type, const uint8_t *src,
                               struct stk__key key, const struct stk__step *step)
{
    size_t in_bytes = stk_field_bytes(&type->field[1]);
    size_t out_bytes = stk_field_bytes(&c->out.field[1]);
    uint8_t *image = malloc(in_bytes + (step ? 3 : 0)), *result = malloc(out_bytes);
    uint8_t mask = STK_LIVE;
    assert_non_null(image);
    assert_non_null(result);
    memcpy(image, src, in_bytes);
    struct stk_column in[2] = { [1] = { .rank = 3, .data = image, .stride = in_bytes } };
    struct stk_column out[2] = { [1] = { .rank = 3, .data = result, .stride = out_bytes } };
    struct stk__rows_inside inside = { .key = &key, .seed = 5 };
    struct stk_rows rows = { .params = c->params,
                             .state = c->state,
                             .in_type = type,
                             .out_type = &c->out,
                             .n = 1,
                             .in = in,
                             .out = out,
                             .mask = &mask,
                             .inside = &inside };
    assert_int_equal(step ? run_step(&rows, step) : c->op->row.run(&rows), STK_OK);
    assert_int_equal(mask, STK_LIVE);
    assert_memory_equal(image, src, in_bytes);
    free(image);
    return result;
}

static uint8_t *run_image(struct op_call *c, const struct stk_type *type, const uint8_t *src,
                          struct stk__key key)
{
    return run_image_step(c, type, src, key, NULL);
}

static float value_at(const uint8_t *data, int dtype, size_t i)
{
    float value = data[dtype == STK_U8 ? i : 0];
    if (dtype != STK_U8)
        memcpy(&value, data + 4 * i, sizeof value);
    return value;
}

/* The greatest difference, relative to the greatest value, or to 1. */
static double difference(const uint8_t *a, const uint8_t *b, int dtype, size_t n)
{
    double worst = 0, greatest = 1;
    for (size_t i = 0; i < n; i++) {
        double x = (double)value_at(a, dtype, i), y = (double)value_at(b, dtype, i);
        worst = fmax(worst, fabs(x - y));
        greatest = fmax(greatest, fabs(y));
    }
    return worst / greatest;
}

/* Returns the bytes that the sample takes. */
static size_t check_sample(const struct sample *s, const uint8_t *data)
{
    struct stk_type type = type_of(s);
    static const char *const by_mode[] = { "rand_augment()",
                                           "rand_augment(interpolation=bilinear)" };
    struct stk__step step;
    int mode = 0;
    bool is_step = read_step(s->call, &step, &mode);
    struct op_call c = open_over(is_step ? by_mode[mode] : s->call, &type, 1);
    const struct stk_field *out = &c.out.field[1];
    size_t in_bytes = padded(stk_field_bytes(&type.field[1]));
    assert_int_equal(out->shape[2], s->out_channels);
    uint8_t *result =
        run_image_step(&c, &type, data, (struct stk__key){ 0, 0 }, is_step ? &step : NULL);
    size_t n = (size_t)s->height * s->width * s->out_channels;
    double off = difference(result, data + in_bytes, out->dtype, n);
    if (off > (double)s->tolerance)
        fail_msg("%s: %s, dtype %u, %ux%ux%u: off by %g", stk__cpu_level_names[stk__cpu_level()],
                 s->call, s->dtype, s->height, s->width, s->channels, off);
    size_t bytes = in_bytes + padded(stk_field_bytes(out));
    free(result);
    op_call_close(&c);
    return bytes;
}

static void check_all(void)
{
    size_t bytes;
    uint8_t *file = read_all("tests/golden/augment.bin", &bytes);
    uint32_t n;
    assert_memory_equal(file, "STKA", 4);
    memcpy(&n, file + 4, sizeof n);
    assert_true(n > 600);
    const uint8_t *at = file + 8;
    for (uint32_t i = 0; i < n; i++) {
        struct sample s;
        memcpy(&s, at, sizeof s);
        at += sizeof s;
        at += check_sample(&s, at);
    }
    assert_ptr_equal(at, file + bytes);
    free(file);
    stk__arena_free(&scratch);
    stk__arena_init(&scratch, 1 << 12);
}

static void test_equals_the_libraries(void **state)
{
    (void)state;
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
        check_all();
    }
}

/* ---- chance ---- */

enum { N_KEYS = 4000, N_VALUES = 6 * 8 * 3 };

/* One image that any op can show something on. */
static void draw_image(uint8_t image[N_VALUES])
{
    for (int i = 0; i < N_VALUES; i++)
        image[i] = (uint8_t)(i * 37 + i / 5);
}

static struct stk_type small_type(void)
{
    return image_type(STK_FIXED, STK_U8, (const int64_t[3]){ 6, 8, 3 });
}

static int count_changed(const char *text)
{
    struct stk_type type = small_type();
    struct op_call c = open_over(text, &type, 1);
    uint8_t image[N_VALUES];
    int n = 0;
    draw_image(image);
    for (uint64_t i = 0; i < N_KEYS; i++) {
        uint8_t *result = run_image(&c, &type, image, stk__key_make(1, 2, i));
        n += memcmp(result, image, sizeof image) != 0;
        free(result);
        stk__arena_free(&scratch);
        stk__arena_init(&scratch, 1 << 12);
    }
    op_call_close(&c);
    return n;
}

static void test_probability(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "invert(probability=0.3)",
        "solarize(20, probability=0.3)",
        "posterize(2, probability=0.3)",
        "autocontrast(probability=0.3)",
        "adjust_sharpness(3, probability=0.3)",
        "grayscale(probability=0.3)",
        "gaussian_blur(3, 2, probability=0.3)",
        "gaussian_noise(sigma=0.5, probability=0.3)",
        "erasing([0.2, 0.3], value=255, probability=0.3)",
        "cutout(4, 4, value=255, probability=0.3)",
        "color_jitter(brightness=[1.5, 2], probability=0.3)",
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int n = count_changed(calls[i]);
        if (n < N_KEYS * 0.26 || n > N_KEYS * 0.34) /* five deviations */
            fail_msg("%s: %d of %d changed", calls[i], n, N_KEYS);
    }
    assert_int_equal(count_changed("invert(probability=0)"), 0);
    assert_int_equal(count_changed("invert()"), N_KEYS);
}

static void test_seeds_and_keys_decide(void **state)
{
    (void)state;
    struct stk_type type = small_type();
    struct op_call one = open_over("gaussian_noise()", &type, 1);
    struct op_call two = open_over("gaussian_noise(seed=1)", &type, 1);
    uint8_t image[N_VALUES];
    draw_image(image);
    uint8_t *a = run_image(&one, &type, image, stk__key_make(1, 2, 3));
    uint8_t *same = run_image(&one, &type, image, stk__key_make(1, 2, 3));
    uint8_t *key = run_image(&one, &type, image, stk__key_make(1, 2, 4));
    uint8_t *seed = run_image(&two, &type, image, stk__key_make(1, 2, 3));
    assert_memory_equal(a, same, N_VALUES);
    assert_memory_not_equal(a, key, N_VALUES);
    assert_memory_not_equal(a, seed, N_VALUES);
    free(a);
    free(same);
    free(key);
    free(seed);
    op_call_close(&one);
    op_call_close(&two);
}

/* A gray pixel of 100 shows the factor of its brightness. */
static void test_factors_are_even_in_their_range(void **state)
{
    (void)state;
    struct stk_type type = image_type(STK_FIXED, STK_F32, (const int64_t[3]){ 1, 1, 1 });
    struct op_call c = open_over("color_jitter(brightness=[0.5, 1.5])", &type, 1);
    const float gray = 0.5f;
    double sum = 0, squares = 0, least = 2, most = 0;
    for (uint64_t i = 0; i < N_KEYS; i++) {
        uint8_t *result = run_image(&c, &type, (const uint8_t *)&gray, stk__key_make(1, 2, i));
        double factor = 2 * (double)value_at(result, STK_F32, 0);
        sum += factor;
        squares += factor * factor;
        least = fmin(least, factor);
        most = fmax(most, factor);
        free(result);
    }
    assert_true(least >= 0.5 && least < 0.51 && most < 1.5 && most > 1.49);
    assert_true(fabs(sum / N_KEYS - 1) < 0.025);
    assert_true(fabs(squares / N_KEYS - 1 - 1 / 12.0) < 0.05);
    op_call_close(&c);
}

/* Of 0.1 and 0.9 the darker one becomes 0.35 if brightness comes first, which cuts the brighter one
 * off at 1, and 0.6 if contrast does. */
static void test_orders_are_even(void **state)
{
    (void)state;
    struct stk_type type = image_type(STK_FIXED, STK_F32, (const int64_t[3]){ 1, 2, 3 });
    struct op_call c = open_over("color_jitter(brightness=[2, 2], contrast=[0.5, 0.5])", &type, 1);
    const float image[6] = { 0.1f, 0.1f, 0.1f, 0.9f, 0.9f, 0.9f };
    int n_first = 0;
    for (uint64_t i = 0; i < N_KEYS; i++) {
        uint8_t *result = run_image(&c, &type, (const uint8_t *)image, stk__key_make(1, 2, i));
        n_first += value_at(result, STK_F32, 0) < 0.5f;
        free(result);
    }
    assert_true(n_first > N_KEYS * 0.46 && n_first < N_KEYS * 0.54);
    op_call_close(&c);
}

static void test_noise_is_normal(void **state)
{
    (void)state;
    enum { SIDE = 200 };
    struct stk_type type = image_type(STK_FIXED, STK_F32, (const int64_t[3]){ SIDE, SIDE, 3 });
    struct op_call c = open_over("gaussian_noise(0.5, 0.25, clip=false)", &type, 1);
    size_t n = SIDE * SIDE * 3, n_far = 0;
    float *image = calloc(n, sizeof *image);
    double sum = 0, squares = 0, fourth = 0;
    assert_non_null(image);
    uint8_t *result = run_image(&c, &type, (uint8_t *)image, stk__key_make(1, 2, 3));
    for (size_t i = 0; i < n; i++) {
        double x = ((double)value_at(result, STK_F32, i) - 0.5) / 0.25;
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
        n_far += fabs(x) > 1.959964;
    }
    double count = (double)n;
    assert_true(fabs(sum / count) < 0.015);
    assert_true(fabs(squares / count - 1) < 0.02);
    assert_true(fabs(fourth / count - 3) < 0.15);
    assert_true(fabs((double)n_far / count - 0.05) < 0.004);
    free(result);
    free(image);
    op_call_close(&c);
}

/* The rectangle of ones in zeros. */
struct box {
    int top, left, bottom, right, n;
};

static struct box find_box(const uint8_t *image, int side)
{
    struct box box = { side, side, -1, -1, 0 };
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++) {
            if (!image[y * side + x])
                continue;
            box.top = y < box.top ? y : box.top;
            box.left = x < box.left ? x : box.left;
            box.bottom = y > box.bottom ? y : box.bottom;
            box.right = x > box.right ? x : box.right;
            box.n++;
        }
    }
    assert_int_equal(box.n, (box.bottom - box.top + 1) * (box.right - box.left + 1));
    return box;
}

static void test_erasing_keeps_to_its_ranges(void **state)
{
    (void)state;
    enum { SIDE = 40 };
    static const uint8_t image[SIDE * SIDE];
    struct stk_type type = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ SIDE, SIDE, 1 });
    struct op_call c = open_over("erasing([0.1, 0.2], [0.5, 2], value=1)", &type, 1);
    double sum_top = 0, sum_left = 0;
    for (uint64_t i = 0; i < N_KEYS; i++) {
        uint8_t *result = run_image(&c, &type, image, stk__key_make(1, 2, i));
        struct box box = find_box(result, SIDE);
        double height = box.bottom - box.top + 1, width = box.right - box.left + 1;
        assert_true(box.n >= 0.085 * SIDE * SIDE && box.n <= 0.22 * SIDE * SIDE);
        assert_true(height / width > 0.45 && height / width < 2.2);
        sum_top += box.top + height / 2;
        sum_left += box.left + width / 2;
        free(result);
    }
    assert_true(fabs(sum_top / N_KEYS - SIDE / 2.0) < 0.6);
    assert_true(fabs(sum_left / N_KEYS - SIDE / 2.0) < 0.6);
    op_call_close(&c);
}

static void test_cutout_has_any_middle(void **state)
{
    (void)state;
    enum { SIDE = 12 };
    static const uint8_t image[SIDE * SIDE];
    struct stk_type type = image_type(STK_FIXED, STK_U8, (const int64_t[3]){ SIDE, SIDE, 1 });
    struct op_call c = open_over("cutout(6, 4, value=1)", &type, 1);
    bool touches[4] = { false };
    for (uint64_t i = 0; i < N_KEYS; i++) {
        uint8_t *result = run_image(&c, &type, image, stk__key_make(1, 2, i));
        struct box box = find_box(result, SIDE);
        int height = box.bottom - box.top + 1, width = box.right - box.left + 1;
        assert_true(height >= 3 && height <= 6 && width >= 2 && width <= 4);
        assert_true(height == 6 || box.top == 0 || box.bottom == SIDE - 1);
        touches[0] |= box.top == 0 && height == 3;
        touches[1] |= box.bottom == SIDE - 1 && height == 4;
        touches[2] |= box.left == 0 && width == 2;
        touches[3] |= box.right == SIDE - 1 && width == 3;
        free(result);
    }
    assert_true(touches[0] && touches[1] && touches[2] && touches[3]);
    op_call_close(&c);
}

/* ---- automatic augmentation ---- */

/* Bins 1 and 9 of each table of torchvision, for an image of 180 x 224. */
static void test_magnitudes_are_torchvisions(void **state)
{
    (void)state;
    static const struct {
        enum stk__change change;
        double usual[2], wide[2];
    } expected[] = {
        { STK__CHANGE_SHEAR_X,
          { 0.010000000707805157, 0.09000000357627869 },
          { 0.032999999821186066, 0.296999990940094 } },
        { STK__CHANGE_TRANSLATE_X,
          { 3.383685827255249, 30.45317268371582 },
          { 1.0666667222976685, 9.600000381469727 } },
        { STK__CHANGE_TRANSLATE_Y,
          { 2.7190332412719727, 24.471298217773438 },
          { 1.0666667222976685, 9.600000381469727 } },
        { STK__CHANGE_ROTATE, { 1, 9 }, { 4.5, 40.5 } },
        { STK__CHANGE_COLOR,
          { 0.029999999329447746, 0.26999998092651367 },
          { 0.032999999821186066, 0.296999990940094 } },
        { STK__CHANGE_POSTERIZE, { 8, 7 }, { 8, 6 } },
        { STK__CHANGE_SOLARIZE,
          { 0.9666666388511658, 0.699999988079071 },
          { 0.9666666388511658, 0.699999988079071 } },
        { STK__CHANGE_EQUALIZE, { 0, 0 }, { 0, 0 } },
    };
    const struct stk__raster raster = { .height = 180, .width = 224 };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        enum stk__change change = expected[i].change;
        for (int k = 0; k < 2; k++) {
            int bin = k ? 9 : 1;
            struct stk__step usual =
                stk__step_make(&stk__magnitudes_usual, change, &raster, bin, 31, false);
            struct stk__step wide =
                stk__step_make(&stk__magnitudes_wide, change, &raster, bin, 31, false);
            assert_true(usual.magnitude == expected[i].usual[k]);
            assert_true(wide.magnitude == expected[i].wide[k]);
        }
    }
    struct stk__step back =
        stk__step_make(&stk__magnitudes_usual, STK__CHANGE_ROTATE, &raster, 9, 31, true);
    assert_true(back.magnitude == -9);
}

/* Two of 14 changes do nothing: none, and equalize, which so few pixels are not enough for. */
static void test_changes_are_drawn_evenly(void **state)
{
    (void)state;
    int n_once = N_KEYS - count_changed("rand_augment(1, 20)");
    int n_twice = N_KEYS - count_changed("rand_augment(2, 20)");
    if (fabs(n_once - N_KEYS / 7.0) > 110 || fabs(n_twice - N_KEYS / 49.0) > 45)
        fail_msg("of %d images %d and %d stay as they are", N_KEYS, n_once, n_twice);
    assert_int_equal(count_changed("rand_augment(0)"), 0);
    assert_true(count_changed("trivial_augment()") > N_KEYS * 0.8);
}

/* ---- what is refused ---- */

static void test_refusals(void **state)
{
    (void)state;
    struct stk_type rgb = shaped(STK_U8, 3), rgba = shaped(STK_U8, 4), any = shaped(STK_U8, -1);
    struct stk_type floats = shaped(STK_F32, 3), words = shaped(STK_U16, 3);
    assert_refused("adjust_hue(0.1)", &rgba, "has 4 channels; this wants 1 or 3 channels");
    assert_refused("invert()", &words, "uint8 or float32");
    assert_refused("solarize(100)", &floats, "values from 0 to 1");
    assert_refused("color_jitter(brightness=-1)", &rgb, "brightness must be 0 or more");
    assert_refused("color_jitter(hue=0.6)", &rgb, "hue gives a range of -0.6 to 0.6");
    assert_refused("color_jitter(contrast=[2, 1])", &rgb, "contrast gives a range of 2 to 1");
    assert_refused("gaussian_blur(4)", &rgb, "kernel_size must be odd");
    assert_refused("gaussian_blur(3, [2, 1])", &rgb, "sigma must be a number or");
    assert_refused("gaussian_blur(3, 0)", &rgb, "sigma must be a number or");
    assert_refused("jpeg_quality(101)", &rgb, "quality must be a number or [least, greatest]");
    assert_refused("jpeg_quality(50.5)", &rgb, "quality must be a whole number");
    assert_refused("jpeg_quality(50)", &floats, "only uint8 can be a JPEG");
    assert_refused("rand_augment(2, 31)", &rgb, "magnitude=31 must be below");
    assert_refused("auto_augment(fill=[1, 2])", &rgb, "fill has 2 numbers, but there are 3");
    assert_refused("trivial_augment(fill=300)", &rgb, "fill 300 is no value");
    assert_refused("grayscale(2)", &rgb, "must be 1 or 3");
    assert_refused("grayscale(1, probability=0.5)", &rgb, "another number of channels");
    assert_refused("erasing([0.5, 0.1])", &rgb, "scale must be");
    assert_refused("erasing(value=[1, 2])", &rgb, "value has 2 numbers, but there are 3 channels");
    assert_refused("cutout(2, 2, value=256)", &rgb, "value 256 is not one of uint8");
    struct op_call c = open_over("adjust_hue(0.1)", &any, N_ROWS); /* is told by the rows */
    op_call_close(&c);
}

static void test_rows_that_do_not_fit_are_bad(void **state)
{
    (void)state;
    struct stk_type any = shaped(STK_U8, -1), rgb = shaped(STK_U8, 3);
    struct batch b;
    struct op_call c = open_over("adjust_hue(0.1)", &any, N_ROWS);
    run_call(&b, &c, &any, (const int32_t[3]){ 4, 5, 2 });
    assert_int_equal(b.mask[0], STK_BAD);
    assert_non_null(strstr(failure, "has 2 channels"));
    free_batch(&b);
    op_call_close(&c);
    c = open_over("gaussian_blur(9)", &rgb, N_ROWS);
    run_call(&b, &c, &rgb, (const int32_t[3]){ 4, 50, 3 });
    assert_int_equal(b.mask[0], STK_BAD);
    assert_non_null(strstr(failure, "too small for a kernel of 9 x 9"));
    free_batch(&b);
    op_call_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_the_libraries),
        cmocka_unit_test(test_probability),
        cmocka_unit_test(test_seeds_and_keys_decide),
        cmocka_unit_test(test_factors_are_even_in_their_range),
        cmocka_unit_test(test_orders_are_even),
        cmocka_unit_test(test_noise_is_normal),
        cmocka_unit_test(test_erasing_keeps_to_its_ranges),
        cmocka_unit_test(test_cutout_has_any_middle),
        cmocka_unit_test(test_magnitudes_are_torchvisions),
        cmocka_unit_test(test_changes_are_drawn_evenly),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_rows_that_do_not_fit_are_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
