/* SPDX-License-Identifier: Apache-2.0 */
/* test_geometry_ops.c: geometric ops and the fields that follow them: what golden vectors cannot
 * show, such as dropped boxes, types, chance and messages. */
#define _GNU_SOURCE
#include "api_call.h"

#include <math.h>

/* ---- a small scene ---- */

enum { N_ROWS = 40, HEIGHT = 6, WIDTH = 8 };

static uint8_t images[N_ROWS][HEIGHT][WIDTH][3];
static int16_t segments[N_ROWS][HEIGHT][WIDTH];
static float boxes[N_ROWS][2][4];
static int64_t labels[N_ROWS][2];
static double points[N_ROWS][1][2];
static const int64_t splits[] = { 0, 3, 3, 4 };
static const float lists[4][4] = { { 0, 0, 2, 2 }, { 1, 1, 7, 5 }, { 6, 4, 8, 6 }, { 3, 2, 5, 4 } };
static const int32_t list_labels[4] = { 10, 11, 12, 13 };

static void fill_scene(void)
{
    for (int r = 0; r < N_ROWS; r++) {
        for (int i = 0; i < HEIGHT * WIDTH; i++) {
            (&images[r][0][0][0])[3 * i] = (uint8_t)(r + i);
            (&images[r][0][0][0])[3 * i + 1] = (uint8_t)(5 * i);
            (&images[r][0][0][0])[3 * i + 2] = (uint8_t)(7 * r);
            (&segments[r][0][0])[i] = (int16_t)(1000 + i);
        }
        memcpy(boxes[r][0], (const float[4]){ 0, 0, 2, 2 }, sizeof boxes[r][0]);
        memcpy(boxes[r][1], (const float[4]){ 3, 2, 7, 5 }, sizeof boxes[r][1]);
        labels[r][0] = 10 * r;
        labels[r][1] = 10 * r + 1;
        points[r][0][0] = 1;
        points[r][0][1] = 2;
    }
}

static void add(struct stk_objects *objects, const char *name, int kind, struct stk_array array)
{
    array.kind = kind;
    array.splits = kind == STK_RAGGED ? splits : NULL;
    assert_int_equal(stk_objects_add_array(objects, name, &array, NULL), STK_OK);
}

#define ARRAY(values, type, dims, ...)                                                             \
    (struct stk_array)                                                                             \
    {                                                                                              \
        .data = values, .dtype = type, .rank = dims, .shape = { __VA_ARGS__ }                      \
    }

static struct stk_objects *scene(void)
{
    struct stk_objects *objects = stk_objects_new();
    fill_scene();
    add(objects, "image", STK_FIXED, ARRAY(images, STK_U8, 4, N_ROWS, HEIGHT, WIDTH, 3));
    add(objects, "seg", STK_FIXED, ARRAY(segments, STK_I16, 3, N_ROWS, HEIGHT, WIDTH));
    add(objects, "boxes", STK_FIXED, ARRAY(boxes, STK_F32, 3, N_ROWS, 2, 4));
    add(objects, "labels", STK_FIXED, ARRAY(labels, STK_I64, 2, N_ROWS, 2));
    add(objects, "points", STK_FIXED, ARRAY(points, STK_F64, 3, N_ROWS, 1, 2));
    add(objects, "three", STK_FIXED, ARRAY(images, STK_U8, 4, 3, HEIGHT, WIDTH, 3));
    add(objects, "lists", STK_RAGGED, ARRAY(lists, STK_F32, 2, 3, 4));
    add(objects, "names", STK_RAGGED, ARRAY(list_labels, STK_I32, 1, 3));
    return objects;
}

#define SCENE "values({image: @image, seg: @seg, boxes: @boxes, labels: @labels, points: @points})."
#define LISTS "values({image: @three, boxes: @lists, labels: @names})."

static struct stk_iterator *run_scene(const char *text, const char *options)
{
    struct stk_objects *objects = scene();
    struct stk_dataset *data = make_dataset_with(text, objects);
    struct stk_iterator *it = start(data, options);
    stk_objects_free(objects);
    stk_dataset_unref(data);
    return it;
}

/* The first batch. */
static struct stk_batch *first_of(const char *text, struct stk_iterator **it)
{
    *it = run_scene(text, "workers=0");
    return next(*it);
}

static void done(struct stk_batch *batch, struct stk_iterator *it)
{
    stk_batch_unref(batch);
    stk_iterator_free(it);
}

static void check_floats(const struct stk_view *view, const float *expected, int n)
{
    for (int i = 0; i < n; i++)
        if (fabsf(((const float *)view->data)[i] - expected[i]) > 1e-5f)
            fail_msg("value %d is %g, not %g", i, (double)((const float *)view->data)[i],
                     (double)expected[i]);
}

/* ---- boxes ---- */

static void test_boxes_are_clipped(void **state)
{
    struct stk_iterator *it;
    (void)state;
    struct stk_batch *batch =
        first_of(SCENE "center_crop(4, 4, image, fields={boxes: xyxy, points: keypoints})", &it);
    struct stk_view view = view_of(batch, "boxes");
    CHECK_NUMBERS(view.shape, 2, 4);
    check_floats(&view, (const float[]){ 0, 0, 0, 1, 1, 1, 4, 4 }, 8);
    view = view_of(batch, "points");
    assert_true(((const double *)view.data)[0] == -1 && ((const double *)view.data)[1] == 1);
    done(batch, it);
}

static void test_boxes_are_dropped(void **state)
{
    struct stk_iterator *it;
    (void)state;
    struct stk_batch *batch = first_of(SCENE "center_crop(4, 4, image, visibility=0.1, "
                                             "fields={boxes: xyxy, labels: labels}).batch(2)",
                                       &it);
    struct stk_view box = view_of(batch, "boxes"), label = view_of(batch, "labels");
    assert_int_equal(box.kind, STK_RAGGED);
    CHECK_NUMBERS(box.splits, 0, 1, 2);
    check_floats(&box, (const float[]){ 1, 1, 4, 4, 1, 1, 4, 4 }, 8);
    CHECK_NUMBERS(label.splits, 0, 1, 2);
    CHECK_NUMBERS((const int64_t *)label.data, 1, 11);
    done(batch, it);
    /* three quarters of the second one are left: 9 of 12 pixels */
    batch = first_of(SCENE "center_crop(4, 4, image, visibility=0.8, fields={boxes: xyxy})", &it);
    CHECK_NUMBERS(view_of(batch, "boxes").shape, 0, 4);
    done(batch, it);
    batch = first_of(SCENE "center_crop(4, 4, image, visibility=0.75, fields={boxes: xyxy})", &it);
    CHECK_NUMBERS(view_of(batch, "boxes").shape, 1, 4);
    done(batch, it);
}

static void test_ragged_boxes(void **state)
{
    struct stk_iterator *it;
    (void)state;
    struct stk_batch *batch = first_of(LISTS "center_crop(4, 4, visibility=0.3, "
                                             "fields={boxes: xyxy, labels: labels}).batch(3)",
                                       &it);
    struct stk_view box = view_of(batch, "boxes"), label = view_of(batch, "labels");
    CHECK_NUMBERS(box.splits, 0, 1, 1, 2);
    check_floats(&box, (const float[]){ 0, 0, 4, 4, 1, 1, 3, 3 }, 8);
    assert_int_equal(((const int32_t *)label.data)[0], 11);
    assert_int_equal(((const int32_t *)label.data)[1], 13);
    done(batch, it);
    batch = first_of(LISTS "flip(fields={boxes: xyxy}).batch(3)", &it);
    box = view_of(batch, "boxes");
    CHECK_NUMBERS(box.splits, 0, 3, 3, 4);
    check_floats(&box, (const float[]){ 6, 0, 8, 2, 1, 1, 7, 5 }, 8);
    done(batch, it);
}

static void test_normalized(void **state)
{
    struct stk_iterator *it;
    (void)state;
    const char *text = SCENE "select([image, boxes]).map('boxes = boxes / 8')"
                             ".flip(fields={boxes: cxcywh_normalized})"
                             ".flip(vertical, fields={boxes: cxcywh_normalized})";
    struct stk_batch *batch = first_of(text, &it);
    struct stk_view view = view_of(batch, "boxes");
    /* center (0, 0), 2/8 x 2/8 of the image: three quarters of it are outside */
    check_floats(&view, (const float[]){ 0.9375f, 0.9375f, 0.125f, 0.125f }, 4);
    done(batch, it);
}

/* ---- masks ---- */

static void test_masks(void **state)
{
    struct stk_iterator *it;
    (void)state;
    struct stk_batch *batch = first_of(
        SCENE "affine(translate=[2, 0], field=image, mask_fill=-7, fields={seg: mask})", &it);
    struct stk_view view = view_of(batch, "seg");
    CHECK_NUMBERS(view.shape, HEIGHT, WIDTH);
    const int16_t *row = view.data;
    assert_true(row[0] == -7 && row[1] == -7 && row[2] == 1000 && row[7] == 1005);
    done(batch, it);
    batch = first_of(SCENE "rot90(1, field=image, fields={seg: mask})", &it);
    view = view_of(batch, "seg");
    CHECK_NUMBERS(view.shape, WIDTH, HEIGHT);
    row = view.data;
    assert_true(row[0] == 1007 && row[1] == 1015 && row[HEIGHT] == 1006);
    done(batch, it);
}

/* Sizes that differ between rows: an expanded image, then one that follows it. */
static void test_shaped_fields(void **state)
{
    struct stk_iterator *it;
    (void)state;
    const char *text =
        SCENE "rotate(30, expand=true, field=image, fields={seg: mask, boxes: xyxy})"
              ".flip(field=image, fields={seg: mask, boxes: xyxy}).rot90([0, 1], field=image, "
              "fields={seg: mask})";
    struct stk_batch *batch = first_of(text, &it);
    struct stk_view image = view_of(batch, "image"), seg = view_of(batch, "seg");
    assert_int_equal(image.rank, 3);
    assert_true(image.shape[0] > HEIGHT && image.shape[1] > HEIGHT);
    assert_true(seg.rank == 2 && seg.shape[0] == image.shape[0] && seg.shape[1] == image.shape[1]);
    done(batch, it);
}

/* Of n rows, the image and its copy. */
static void check_copies(struct stk_iterator *it, int n_rows, const char *call)
{
    for (int r = 0; r < n_rows; r++) {
        struct stk_batch *batch = next(it);
        struct stk_view image = view_of(batch, "image"), copy = view_of(batch, "copy");
        size_t n = 1;
        for (int d = 0; d < 3; d++) {
            assert_int_equal(image.shape[d], copy.shape[d]);
            n *= (size_t)image.shape[d];
        }
        if (memcmp(image.data, copy.data, n))
            fail_msg("%s: the mask of row %d differs", call, r);
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
}

/* An image that follows itself as a mask stays itself, whatever is drawn. What follows is not taken
 * for the image, which therefore needs no name. */
static void test_mask_is_image(void **state)
{
    static const char *const calls[] = {
        "flip(probability=0.5",
        "rot90([0, 1, 2, 3]",
        "random_rotation(90, expand=true",
        "random_affine(30, [0.2, 0.2], [0.5, 1.5], [-9, 9, -4, 4]",
        "random_perspective(0.6, probability=0.7, interpolation=nearest",
        "crop(1, 2, 3, 4",
        "center_crop(3, 4",
        "random_crop(5, 7, padding=2",
        "random_crop(9, 9, pad_if_needed=true",
        "resize_with_crop_or_pad(5, 11",
        "resize(9, 5, nearest",
        "resize_side(4, method=nearest",
        "resize_with_pad(9, 7, method=nearest",
        "resize_and_crop(5, 3, method=nearest",
        "random_resized_crop(5, 6, method=nearest",
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "values({image: @image, copy: @image}).%s, fields={copy: mask})", calls[i]);
        check_copies(run_scene(text, "workers=0"), N_ROWS, calls[i]);
    }
}

/* Right behind decode, which then must not decode a part alone. */
static void test_mask_after_decode(void **state)
{
    static const char *const calls[] = { "crop(1, 2, 3, 4", "center_crop(3, 4", "random_crop(5, 6",
                                         "random_resized_crop(5, 6, method=nearest" };
    static const char files[] = "files('tests/golden/decode/q*.jpg')";
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "%s.rename({path: image}).zip([%s.rename({path: copy})]).decode(field=copy)"
                 ".decode(field=image).%s, field=image, fields={copy: mask})",
                 files, files, calls[i]);
        check_copies(start_chain(text, "workers=0"), 4, calls[i]);
    }
}

/* ---- chance ---- */

static uint64_t digest(const char *text, const char *options)
{
    static const char *const names[] = { "image", "seg", "boxes", "points" };
    struct stk_iterator *it = run_scene(text, options);
    struct stk_batch *batch;
    uint64_t hash = 1469598103934665603u;
    while (stk_iterator_next(it, &batch, NULL) == STK_OK) {
        for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
            struct stk_view view = view_of(batch, names[f]);
            size_t bytes = stk_dtype_bytes(view.dtype);
            for (int d = 0; d < view.rank; d++)
                bytes *= (size_t)view.shape[d];
            for (size_t i = 0; i < bytes; i++)
                hash = (hash ^ ((const uint8_t *)view.data)[i]) * 1099511628211u;
        }
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    return hash;
}

static void test_same_seed_same_rows(void **state)
{
    static const char *const calls[] = {
        "flip(probability=0.5, seed=%d",
        "rot90([0, 2], probability=0.7, seed=%d",
        "random_rotation([-40, 80], bilinear, fill=3, seed=%d",
        "random_affine(30, [0.2, 0.2], [0.5, 1.5], [-9, 9, -4, 4], bilinear, seed=%d",
        "random_perspective(0.6, probability=0.7, seed=%d",
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char call[128], text[512];
        uint64_t found[2];
        for (int seed = 0; seed < 2; seed++) {
            snprintf(call, sizeof call, calls[i], seed);
            snprintf(text, sizeof text,
                     SCENE "%s, field=image, fields={seg: mask, boxes: xyxy, points: "
                           "keypoints}).batch(8)",
                     call);
            found[seed] = digest(text, "workers=0");
            assert_true(found[seed] == digest(text, "workers=2"));
            assert_true(found[seed] == digest(text, "workers=3"));
            assert_true(found[seed] != digest(text, "workers=0 seed=9"));
        }
        assert_true(found[0] != found[1]);
    }
}

/* Every image is turned by one of the quarters that are named, and each of them occurs. */
static void test_quarters_drawn(void **state)
{
    int n_turned[2] = { 0 };
    struct stk_batch *batch;
    struct stk_iterator *it = run_scene(SCENE "rot90([0, 2], field=image)", "workers=0");
    (void)state;
    for (int r = 0; r < N_ROWS; r++) {
        batch = next(it);
        const uint8_t *first = view_of(batch, "image").data;
        bool is_kept = !memcmp(first, images[r][0][0], 3);
        assert_true(is_kept || !memcmp(first, images[r][HEIGHT - 1][WIDTH - 1], 3));
        n_turned[is_kept]++;
        stk_batch_unref(batch);
    }
    assert_true(n_turned[0] > 5 && n_turned[1] > 5);
    stk_iterator_free(it);
}

/* ---- messages ---- */

static void refused(const char *call, const char *message)
{
    char text[512];
    struct stk_objects *objects = scene();
    struct stk_dataset *data = NULL;
    struct stk_error err;
    snprintf(text, sizeof text, SCENE "%s", call);
    assert_int_not_equal(stk_dataset_new(text, objects, &data, &err), STK_OK);
    if (!strstr(err.text, message))
        fail_msg("%s: the message is \"%s\", without \"%s\"", call, err.text, message);
    stk_objects_free(objects);
}

static void test_refused(void **state)
{
    (void)state;
    refused("flip(field=image, fields={boxes: box})", "cannot follow as 'box'");
    refused("flip(field=image, fields={seg: mask_normalized})", "cannot follow as");
    refused("flip(field=image, fields={nobody: xyxy})", "no field 'nobody'");
    refused("flip(field=image, fields={points: xyxy})", "list of boxes");
    refused("flip(field=image, fields={boxes: keypoints})", "list of points");
    refused("flip(field=image, fields={image: mask})", "is the image itself");
    refused("map('two = image').flip(fields={boxes: xyxy})", "more than one field is such");
    refused("flip(fields={image: mask})", "is the image itself");
    refused("flip(field=image, fields={labels: labels})", "labels follow boxes");
    refused("flip(field=image, mask_fill=0.5, fields={seg: mask})", "mask_fill 0.5");
    refused("rotate(10, fill=[1, 2], field=image)", "fill has 2 values");
    refused("rotate(10, fill=256, field=image)", "fill 256");
    refused("cast(float64, field=image).rotate(10, bilinear, field=image)", "uint8 or float32");
    refused("rot90(0.5, field=image)", "number of quarters");
    refused("random_rotation(-5, field=image)", "not negative");
    refused("random_rotation([5, 1], field=image)", "smaller number");
    refused("random_affine(0, translate=[2, 0], field=image)", "shares from 0 to 1");
    refused("random_affine(0, scale=[0, 1], field=image)", "above 0");
    refused("random_affine(0, shear=[1, 2, 3], field=image)", "not three");
    refused("perspective(field=image)", "needs startpoints and endpoints");
    refused("perspective([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 0, 1, 1, 0, 1], field=image)",
            "no perspective");
    refused("center_crop(7, 2, image)", "smaller than the crop");
}

static void bad_row(const char *call, const char *message)
{
    char text[512];
    struct stk_batch *batch;
    struct stk_error err;
    snprintf(text, sizeof text, SCENE "%s", call);
    struct stk_iterator *it = run_scene(text, "workers=0");
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
    if (!strstr(err.text, message))
        fail_msg("%s: the message is \"%s\", without \"%s\"", call, err.text, message);
    stk_iterator_free(it);
}

static void test_bad_rows(void **state)
{
    (void)state;
    bad_row("center_crop(4, 4, image).flip(field=image, fields={seg: mask})",
            "the mask 'seg' is 6 x 8 pixels (height x width), its image 4 x 4");
    bad_row("map('labels = points').flip(field=image, visibility=0.5, "
            "fields={boxes: xyxy, labels: labels})",
            "there are 2 boxes, but 1 items in 'labels'");
    bad_row("perspective(coefficients=[1, 0, 0, 1, 0, 0, 0, 0], field=image, "
            "fields={boxes: xyxy})",
            "has no inverse");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes_are_clipped),
        cmocka_unit_test(test_boxes_are_dropped),
        cmocka_unit_test(test_ragged_boxes),
        cmocka_unit_test(test_normalized),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_shaped_fields),
        cmocka_unit_test(test_mask_is_image),
        cmocka_unit_test(test_mask_after_decode),
        cmocka_unit_test(test_same_seed_same_rows),
        cmocka_unit_test(test_quarters_drawn),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bad_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
