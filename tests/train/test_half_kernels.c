/* SPDX-License-Identifier: Apache-2.0 */
/* test_half_kernels.c: kernels that take half precision give, bit by bit, what they give on the same values as
 * floats: halves are widened as they are read, and sums rounded as they are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "kernel/kernel.h"
#include "train/kernel/train_kernel.h"

static uint64_t random_state;

static int below(int n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (uint64_t)n);
}

/* The same values as floats and as halves. */
struct values {
    size_t n;
    float *floats;
    uint16_t *halves;
    int dtype;
};

static void widen(struct values *v)
{
    stk__kernels()->elementwise.convert[v->dtype][STK_F32](v->floats, v->halves, NULL, NULL, v->n);
}

/* What is written must be, and nothing else: both begin with the same values. */
static struct values values_of(int dtype, int64_t n)
{
    struct values v = { (size_t)n, calloc((size_t)n, sizeof(float)),
                        calloc((size_t)n, sizeof(uint16_t)), dtype };
    assert_non_null(v.floats);
    assert_non_null(v.halves);
    for (size_t i = 0; i < v.n; i++)
        v.floats[i] = (float)(below(4001) - 2000) / 500;
    stk__kernels()->elementwise.convert[STK_F32][dtype](v.halves, v.floats, NULL, NULL, v.n);
    widen(&v);
    return v;
}

static void check_halves(const char *what, int level, struct values *v)
{
    uint16_t *rounded = calloc(v->n, sizeof *rounded);
    assert_non_null(rounded);
    stk__kernels()->elementwise.convert[STK_F32][v->dtype](rounded, v->floats, NULL, NULL, v->n);
    for (size_t i = 0; i < v->n; i++)
        if (rounded[i] != v->halves[i])
            fail_msg("%s, %s, %s, value %zu of %zu: %04x from floats, %04x from halves", what,
                     stk__cpu_level_names[level], stk_dtype_name(v->dtype), i, v->n, rounded[i],
                     v->halves[i]);
    free(rounded);
}

static void check_floats(const char *what, int level, const float *expected, const float *found,
                         size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&expected[i], &found[i], sizeof *found))
            fail_msg("%s, %s, value %zu of %zu: %.9g from floats, %.9g from halves", what,
                     stk__cpu_level_names[level], i, n, (double)expected[i], (double)found[i]);
}

static void release(struct values *v)
{
    free(v->floats);
    free(v->halves);
}

/* A map of it: floats, or halves. */
static struct stk__read_map reads(const struct values *v, int64_t across, int64_t down, bool half)
{
    struct stk__read_map map = { .across = across, .down = down };
    if (half)
        map.halves = (struct stk__read_halves){ v->halves, v->dtype };
    else
        map.at = v->floats;
    return map;
}

static struct stk__write_map writes(struct values *v, int64_t across, int64_t down, bool half)
{
    struct stk__write_map map = { .across = across, .down = down };
    if (half)
        map.halves = (struct stk__write_halves){ v->halves, v->dtype };
    else
        map.at = v->floats;
    return map;
}

typedef void trial_fn(const struct stk__train_kernels *kernels, int level, int dtype);

static void for_levels(trial_fn *trial)
{
    const int dtypes[] = { STK_F16, STK_BF16 };
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        const struct stk__train_kernels *kernels = stk__train_kernels_at(level);
        random_state = 1;
        for (int i = 0; kernels->takes_halves && i < 200; i++)
            trial(kernels, level, dtypes[i % 2]);
    }
}

/* ---- depthwise ---- */

static struct stk__depthwise random_depthwise(void)
{
    bool is_plain = below(3) > 0;
    int stride = 1 + below(2);
    return (struct stk__depthwise){ .height = is_plain ? 3 : 1 + below(4),
                                    .width = is_plain ? 3 : 1 + below(4),
                                    .stride_y = stride,
                                    .stride_x = stride,
                                    .dilation_y = stride == 1 && !is_plain ? 1 + below(2) : 1,
                                    .dilation_x = 1,
                                    .channels = 1 + below(70),
                                    .multiplier = 1 };
}

static void try_depthwise(const struct stk__train_kernels *kernels, int level, int dtype)
{
    struct stk__depthwise s = random_depthwise();
    int width = 1 + below(12), height = 1 + below(4), c = s.channels;
    int in_width = (width - 1) * s.stride_x + s.width;
    int in_height = (height - 1) * s.stride_y + (s.height - 1) * s.dilation_y + 1;
    struct values x = values_of(dtype, (int64_t)in_width * in_height * c);
    struct values y = values_of(dtype, (int64_t)width * height * c);
    struct values weights = values_of(dtype, (int64_t)s.height * s.width * c);
    struct values sums[2] = { values_of(dtype, (int64_t)(s.height * s.width + 1) * c),
                              values_of(dtype, (int64_t)(s.height * s.width + 1) * c) };
    memcpy(sums[1].floats, sums[0].floats, sums[0].n * sizeof(float));
    struct values dy = values_of(dtype, (int64_t)width * height * c);
    for (int half = 0; half < 2; half++) {
        kernels->depthwise.rows(
            &(struct stk__depthwise_rows){ .shape = &s,
                                           .x = reads(&x, c, (int64_t)in_width * c, half),
                                           .y = writes(&y, c, (int64_t)width * c, half),
                                           .width = width,
                                           .height = height,
                                           .weights = weights.floats,
                                           .low = -3,
                                           .high = 3 });
        kernels->depthwise.gradient(&(struct stk__depthwise_gradient){
            .shape = &s,
            .x = reads(&x, c, (int64_t)in_width * c, half),
            .dy = reads(&dy, c, (int64_t)width * c, false),
            .width = width,
            .height = height,
            .weights = sums[half].floats,
            .bias = sums[half].floats + (ptrdiff_t)s.height * s.width * c });
    }
    check_halves("depthwise rows", level, &y);
    check_floats("depthwise gradient", level, sums[0].floats, sums[1].floats, sums[0].n);
    struct values *all[] = { &x, &y, &weights, &sums[0], &sums[1], &dy };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

/* Gradients of images, in a frame that is wide enough for every place. */
static void try_depthwise_image(const struct stk__train_kernels *kernels, int level, int dtype)
{
    enum { FRAME = 8 };
    struct stk__depthwise s = random_depthwise();
    int width = 1 + below(12), height = 1 + below(5), c = s.channels;
    int64_t down = (int64_t)(width + 2 * FRAME) * c;
    struct values dy = values_of(dtype, down * (height + 2 * FRAME));
    struct values dx = values_of(dtype, (int64_t)width * height * c);
    struct values weights = values_of(dtype, (int64_t)s.height * s.width * c);
    struct stk__read_map inner = reads(&dy, c, down, false);
    inner.at += FRAME * down + FRAME * c;
    for (int half = 0; half < 2; half++)
        kernels->depthwise.image(
            &(struct stk__depthwise_image){ .shape = &s,
                                            .dy = inner,
                                            .dx = writes(&dx, c, (int64_t)width * c, half),
                                            .width = width,
                                            .height = height,
                                            .weights = weights.floats });
    check_halves("depthwise image", level, &dx);
    release(&dy);
    release(&dx);
    release(&weights);
}

/* ---- Winograd's tiles ---- */

static void try_tiles_of(const struct stk__wino_kernels *tiles, int level, int dtype)
{
    int n = 1 + below(70), room = (n + tiles->lanes - 1) / tiles->lanes * tiles->lanes;
    int in = tiles->in, out = tiles->out, n_planes = in * in;
    int n_rows = 1 + below(in), n_columns = 1 + below(in);
    struct values x = values_of(dtype, (int64_t)in * in * n),
                  y = values_of(dtype, (int64_t)out * out * n);
    struct values planes[2] = { values_of(dtype, (int64_t)n_planes * room),
                                values_of(dtype, (int64_t)n_planes * room) };
    struct values bias = values_of(dtype, n);
    memcpy(planes[1].floats, planes[0].floats, planes[0].n * sizeof(float));
    for (int half = 0; half < 2; half++) {
        tiles->take_image(&(struct stk__wino_take){ .x = reads(&x, n, in * n, half),
                                                    .n_rows = n_rows,
                                                    .n_columns = n_columns,
                                                    .n = n,
                                                    .planes = planes[half].floats,
                                                    .plane = room });
        tiles->give_output(&(struct stk__wino_give){ .planes = planes[0].floats,
                                                     .plane = room,
                                                     .y = writes(&y, n, out * n, half),
                                                     .n_rows = n_rows < out ? n_rows : out,
                                                     .n_columns = n_columns < out ? n_columns : out,
                                                     .n = n,
                                                     .bias = bias.floats,
                                                     .low = 0,
                                                     .high = 6 });
    }
    check_floats("image of a tile", level, planes[0].floats, planes[1].floats, planes[0].n);
    check_halves("output of a tile", level, &y);
    struct values *all[] = { &x, &y, &planes[0], &planes[1], &bias };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

static void try_tiles(const struct stk__train_kernels *kernels, int level, int dtype)
{
    try_tiles_of(&kernels->wino_4, level, dtype);
    try_tiles_of(&kernels->wino_6, level, dtype);
}

/* ---- convolutions ---- */

static void try_conv(const struct stk__train_kernels *kernels, int level, int dtype)
{
    int width = 1 + below(40), height = 1 + below(3), channels = 1 + below(9);
    int filters = 1 + below(70), block = kernels->conv.block;
    int n_blocks = (filters + block - 1) / block;
    const int64_t nowhere_else[1] = { 0 };
    const struct stk__patch patch = { 1, channels, nowhere_else, channels,
                                      (int64_t)width * channels };
    struct values x = values_of(dtype, (int64_t)width * height * channels);
    struct values weights = values_of(dtype, (int64_t)n_blocks * channels * block);
    struct values y = values_of(dtype, (int64_t)width * height * filters);
    for (int half = 0; half < 2; half++) {
        struct stk__conv_rows job = { .patch = &patch,
                                      .x = x.floats,
                                      .y_across = filters,
                                      .y_down = (int64_t)width * filters,
                                      .width = width,
                                      .height = height,
                                      .n_images = 1,
                                      .filters = filters,
                                      .weights = weights.floats,
                                      .low = 0,
                                      .high = INFINITY };
        if (half)
            job.y_halves = (struct stk__write_halves){ y.halves, dtype };
        else
            job.y = y.floats;
        kernels->conv.rows(&job);
    }
    check_halves("convolution", level, &y);
    release(&x);
    release(&weights);
    release(&y);
}

/* ---- pools ---- */

static void try_pool(const struct stk__train_kernels *kernels, int level, int dtype)
{
    int window = 2 + below(2), stride = 1 + below(2), c = 1 + below(40);
    struct stk__pooling p = { .height = window,
                              .width = window,
                              .stride_y = stride,
                              .stride_x = stride,
                              .out_height = 1 + below(4),
                              .out_width = 1 + below(9),
                              .channels = c };
    p.in_height = (p.out_height - 1) * stride + window;
    p.in_width = (p.out_width - 1) * stride + window;
    int64_t in_down = (int64_t)p.in_width * c, out_down = (int64_t)p.out_width * c;
    struct values x = values_of(dtype, p.in_height * in_down);
    struct values y = values_of(dtype, p.out_height * out_down);
    struct values dx[2] = { values_of(dtype, p.in_height * in_down),
                            values_of(dtype, p.in_height * in_down) };
    uint8_t *cells[2] = { calloc(y.n, 1), calloc(y.n, 1) };
    assert_non_null(cells[0]);
    assert_non_null(cells[1]);
    for (int half = 0; half < 2; half++)
        kernels->pool.max_rows(&(struct stk__maxpool_rows){ .pool = &p,
                                                            .n_rows = p.out_height,
                                                            .x = reads(&x, c, in_down, false),
                                                            .y = writes(&y, c, out_down, half),
                                                            .cells = cells[half],
                                                            .cells_down = out_down,
                                                            .low = 0,
                                                            .high = INFINITY });
    check_halves("maxima", level, &y);
    assert_memory_equal(cells[0], cells[1], y.n);
    widen(&y);
    for (int half = 0; half < 2; half++)
        kernels->pool.max_gradient(
            &(struct stk__maxpool_gradient){ .pool = &p,
                                             .n_rows = p.in_height,
                                             .dy = reads(&y, c, out_down, half),
                                             .cells = cells[0],
                                             .cells_down = out_down,
                                             .dx = writes(&dx[half], c, in_down, false) });
    check_floats("gradient of maxima", level, dx[0].floats, dx[1].floats, dx[0].n);
    struct values *all[] = { &x, &y, &dx[0], &dx[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
    free(cells[0]);
    free(cells[1]);
}

static void try_pool_weights(const struct stk__train_kernels *kernels, int level, int dtype)
{
    int channels = 1 + below(4), filters = 1 + below(70), width = 1 + below(20);
    int row = (2 * width - 2 + 3 + 1) * channels;
    struct values x = values_of(dtype, (int64_t)4 * row);
    struct values dy = values_of(dtype, (int64_t)width * filters);
    struct values quads = values_of(dtype, (int64_t)stk__maxpool_quads(width, 3, channels));
    struct values sums[2] = { values_of(dtype, (int64_t)(9 * channels + 1) * filters),
                              values_of(dtype, (int64_t)(9 * channels + 1) * filters) };
    uint8_t *cells = calloc(dy.n, 1);
    assert_non_null(cells);
    memcpy(sums[1].floats, sums[0].floats, sums[0].n * sizeof(float));
    for (size_t i = 0; i < dy.n; i++)
        cells[i] = (uint8_t)(below(5) < 4 ? below(4) : STK__NO_CELL);
    for (int half = 0; half < 2; half++)
        kernels->pool.max_weights(&(struct stk__maxpool_weights){
            .kernel_height = 3,
            .kernel_width = 3,
            .channels = channels,
            .width = width,
            .filters = filters,
            .x = x.floats,
            .x_down = row,
            .dy = reads(&dy, filters, 0, half),
            .cells = cells,
            .quads = quads.floats,
            .weights = sums[half].floats,
            .bias = sums[half].floats + (ptrdiff_t)9 * channels * filters });
    check_floats("weights in front of a pool", level, sums[0].floats, sums[1].floats, sums[0].n);
    struct values *all[] = { &x, &dy, &quads, &sums[0], &sums[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
    free(cells);
}

/* ---- activations ---- */

static void try_clamp(const struct stk__train_kernels *kernels, int level, int dtype)
{
    int n = 1 + below(100);
    struct values y = values_of(dtype, n), dy = values_of(dtype, n);
    struct values dx[2] = { values_of(dtype, n), values_of(dtype, n) };
    kernels->activation.clamp_gradient(y.floats, dy.floats, y.n, 0, 3, dx[0].floats);
    kernels->activation.clamp_gradient_halves((struct stk__read_halves){ y.halves, dtype },
                                              dy.halves, y.n, 0, 3, dx[1].floats);
    check_floats("gradient of a clamp", level, dx[0].floats, dx[1].floats, y.n);
    release(&y);
    release(&dy);
    release(&dx[0]);
    release(&dx[1]);
}

/* ---- dense ---- */

static void try_dense(const struct stk__train_kernels *kernels, int level, int dtype)
{
    int n = 1 + below(STK__DENSE_HALF_ROWS), k = 1 + below(300);
    int m = 1 + below(STK__DENSE_HALF_OUTPUTS);
    struct values x = values_of(dtype, (int64_t)n * k), dx = values_of(dtype, (int64_t)n * k);
    struct values weights = values_of(dtype, (int64_t)k * m), dy = values_of(dtype, (int64_t)n * m);
    struct values y[2] = { values_of(dtype, (int64_t)n * m), values_of(dtype, (int64_t)n * m) };
    struct values sums[2] = { values_of(dtype, (int64_t)k * m), values_of(dtype, (int64_t)k * m) };
    for (int half = 0; half < 2; half++) {
        struct stk__read_halves from = { half ? x.halves : NULL, dtype };
        kernels->dense.rows(&(struct stk__dense_rows){ .x = x.floats,
                                                       .x_halves = from,
                                                       .x_down = k,
                                                       .weights = weights.floats,
                                                       .y = y[half].floats,
                                                       .y_down = m,
                                                       .n = n,
                                                       .k = k,
                                                       .m = m,
                                                       .low = -INFINITY,
                                                       .high = INFINITY });
        kernels->dense.gradient(&(struct stk__dense_gradient){ .x = x.floats,
                                                               .x_halves = from,
                                                               .x_down = k,
                                                               .dy = dy.floats,
                                                               .dy_down = m,
                                                               .weights = sums[half].floats,
                                                               .n = n,
                                                               .k = k,
                                                               .m = m });
        kernels->dense.image(
            &(struct stk__dense_image){ .dy = dy.floats,
                                        .dy_down = m,
                                        .weights = weights.floats,
                                        .dx = dx.floats,
                                        .dx_halves = { half ? dx.halves : NULL, dtype },
                                        .dx_down = k,
                                        .n = n,
                                        .k = k,
                                        .m = m });
    }
    check_floats("dense rows", level, y[0].floats, y[1].floats, y[0].n);
    check_floats("dense gradient", level, sums[0].floats, sums[1].floats, sums[0].n);
    check_halves("dense image", level, &dx);
    struct values *all[] = { &x, &dx, &weights, &dy, &y[0], &y[1], &sums[0], &sums[1] };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

/* ---- batch normalisation ---- */

static void try_norm(const struct stk__train_kernels *kernels, int level, int dtype)
{
    int c = 1 + below(70), width = 1 + below(12), height = 1 + below(3);
    int64_t down = (int64_t)width * c, n = down * height;
    struct values x = values_of(dtype, n), y = values_of(dtype, n), dy = values_of(dtype, n);
    struct values dx = values_of(dtype, n), of = values_of(dtype, (int64_t)5 * c);
    const float *scale = of.floats, *offset = scale + c, *mean = offset + c, *mean_dy = mean + c;
    double sums[2][4][70] = { { { 0 } } };
    for (int half = 0; half < 2; half++) {
        kernels->norm.sums(&(struct stk__norm_sums){ .x = reads(&x, c, down, half),
                                                     .width = width,
                                                     .height = height,
                                                     .channels = c,
                                                     .shift = mean,
                                                     .sum = sums[half][0],
                                                     .squares = sums[half][1] });
        kernels->norm.rows(&(struct stk__norm_rows){ .x = reads(&x, c, down, half),
                                                     .y = writes(&y, c, down, half),
                                                     .width = width,
                                                     .height = height,
                                                     .channels = c,
                                                     .scale = scale,
                                                     .offset = offset,
                                                     .low = 0,
                                                     .high = 6 });
    }
    check_halves("normalised", level, &y);
    widen(&y);
    bool is_masked = below(2);
    for (int half = 0; half < 2; half++) {
        struct stk__read_map mask = { 0 };
        if (is_masked)
            mask = reads(&y, c, down, half);
        kernels->norm.gradient_sums(
            &(struct stk__norm_gradient_sums){ .x = reads(&x, c, down, half),
                                               .dy = reads(&dy, c, down, half),
                                               .y = mask,
                                               .width = width,
                                               .height = height,
                                               .channels = c,
                                               .mean = mean,
                                               .low = 0,
                                               .high = 6,
                                               .sum = sums[half][2],
                                               .products = sums[half][3] });
        kernels->norm.gradient_rows(
            &(struct stk__norm_gradient_rows){ .x = reads(&x, c, down, half),
                                               .dy = reads(&dy, c, down, half),
                                               .y = mask,
                                               .dx = writes(&dx, c, down, half),
                                               .width = width,
                                               .height = height,
                                               .channels = c,
                                               .scale = scale,
                                               .slope = offset,
                                               .mean = mean,
                                               .mean_dy = mean_dy,
                                               .low = 0,
                                               .high = 6 });
    }
    check_halves("gradient of what was normalised", level, &dx);
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    struct values *all[] = { &x, &y, &dy, &dx, &of };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(all[i]);
}

#define TEST_OF(name)                                                                              \
    static void test_##name(void **unused)                                                         \
    {                                                                                              \
        (void)unused;                                                                              \
        for_levels(try_##name);                                                                    \
    }
TEST_OF(depthwise)
TEST_OF(depthwise_image)
TEST_OF(tiles)
TEST_OF(conv)
TEST_OF(pool)
TEST_OF(pool_weights)
TEST_OF(clamp)
TEST_OF(dense)
TEST_OF(norm)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depthwise), cmocka_unit_test(test_depthwise_image),
        cmocka_unit_test(test_tiles),     cmocka_unit_test(test_conv),
        cmocka_unit_test(test_pool),      cmocka_unit_test(test_pool_weights),
        cmocka_unit_test(test_clamp),     cmocka_unit_test(test_dense),
        cmocka_unit_test(test_norm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
