/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_resample.c: the kernels that resize, one by one and as whole images. */
#include "checkkernel.h"

#include <stdlib.h>
#include <string.h>

/* ---- ways ---- */

/* One for each path and kind of taps. */
enum way {
    TF_NEAREST,
    TF_BILINEAR,
    TF_BILINEAR_F32,
    TF_AREA,
    TF_TRIANGLE,
    TF_TRIANGLE_F32,
    TF_BICUBIC,
    TF_LANCZOS5,
    PILLOW_BILINEAR,
    PILLOW_LANCZOS3,
    PILLOW_BILINEAR_F32,
    OPENCV_BILINEAR,
    OPENCV_BILINEAR_F32,
    OPENCV_BICUBIC,
    OPENCV_LANCZOS4,
    OPENCV_AREA,
    N_WAYS
};

static const struct stk__resize_way ways[N_WAYS] = {
    [TF_NEAREST] = { STK__TF, STK__NEAREST, false, true },
    [TF_BILINEAR] = { STK__TF, STK__BILINEAR, false, true },
    [TF_BILINEAR_F32] = { STK__TF, STK__BILINEAR, false, false },
    [TF_AREA] = { STK__TF, STK__AREA, false, true },
    [TF_TRIANGLE] = { STK__TF, STK__BILINEAR, true, true },
    [TF_TRIANGLE_F32] = { STK__TF, STK__BILINEAR, true, false },
    [TF_BICUBIC] = { STK__TF, STK__BICUBIC, false, true },
    [TF_LANCZOS5] = { STK__TF, STK__LANCZOS5, true, true },
    [PILLOW_BILINEAR] = { STK__PILLOW, STK__BILINEAR, true, true },
    [PILLOW_LANCZOS3] = { STK__PILLOW, STK__LANCZOS3, true, true },
    [PILLOW_BILINEAR_F32] = { STK__PILLOW, STK__BILINEAR, true, false },
    [OPENCV_BILINEAR] = { STK__OPENCV, STK__BILINEAR, false, true },
    [OPENCV_BILINEAR_F32] = { STK__OPENCV, STK__BILINEAR, false, false },
    [OPENCV_BICUBIC] = { STK__OPENCV, STK__BICUBIC, false, true },
    [OPENCV_LANCZOS4] = { STK__OPENCV, STK__LANCZOS4, false, true },
    [OPENCV_AREA] = { STK__OPENCV, STK__AREA, false, true },
};
_Static_assert((int)N_WAYS <= (int)N_PREPARED, "room for every way");

static void prepare(struct input *in, struct prepared *to, const struct stk__resize_way *way)
{
    to->route = stk__route_find(way, (struct stk__size){ in->height, in->n_in },
                                (struct stk__size){ in->n_out, in->n_out }, in->channels);
    bool turns = stk__route_is_uniform(&to->route) && random_word() % 2;
    struct stk__resize_wish across = { 0, in->n_out, turns }, down = { 0, in->n_out, false };
    struct stk__axis x = stk__route_x(&to->route, across), y = stk__route_y(&to->route, down);
    enum stk__across_kind kind = stk__route_across(&to->route);
    stk__across_init(&to->x, &x, kind, in->channels,
                     take(in, stk__across_bytes(&x, kind, in->channels), 0));
    stk__taps_init(&to->y, &y, take(in, stk__taps_bytes(&y), 0));
}

static struct stk__finish no_finish(const struct input *in, const struct prepared *way)
{
    return (struct stk__finish){ .dtype = way->route.rounding ? STK_U8 : way->route.dtype,
                                 .rounding = way->route.rounding,
                                 .channels = in->channels };
}

static struct stk__resize resize_of(const struct input *in, const struct prepared *way,
                                    const struct stk__finish *finish)
{
    size_t value_bytes = way->route.src_is_u8 ? 1 : sizeof(float);
    return (struct stk__resize){ .route = &way->route,
                                 .x = &way->x,
                                 .y = &way->y,
                                 .columns = { 0, in->n_out, false },
                                 .src_row_bytes = (size_t)in->n * value_bytes,
                                 .finish = finish,
                                 .work = in->work };
}

void make_ways(struct input *in)
{
    size_t most = 0;
    for (int i = 0; i < N_WAYS; i++) {
        prepare(in, &in->way[i], &ways[i]);
        struct stk__finish finish = no_finish(in, &in->way[i]);
        struct stk__resize resize = resize_of(in, &in->way[i], &finish);
        size_t bytes = stk__resize_bytes(&resize);
        most = bytes > most ? bytes : most;
    }
    uint8_t *work = take(in, most + 64, 0);
    in->work = work + (64 - (uintptr_t)work % 64);
    in->rows = take(in, (size_t)in->height * sizeof *in->rows, 0);
}

/* ---- kernels ---- */

#define LERP_ROW(in, i) ((in)->way[i].x.lerp.n ? &(in)->way[i].x.lerp : NULL)
#define SPAN_ROW(in, i) ((in)->way[i].x.span.n ? &(in)->way[i].x.span : NULL)

static void lerp_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.lerp_x_u8(out, in->bytes, LERP_ROW(in, TF_BILINEAR));
}

/* A line whose top row was kept by the one before it. */
static void lerp_line_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    const struct stk__lerp_row *row = LERP_ROW(in, TF_BILINEAR);
    const uint8_t *second = in->bytes + (in->height > 1 ? in->n : 0);
    float *kept = in->work;
    struct stk__lerp_line line = { .top = in->bytes,
                                   .bottom = second,
                                   .ahead = second,
                                   .weight = 0.37f,
                                   .kept = kept,
                                   .keeps_bottom = true,
                                   .dst = out };
    k->resample.lerp_line_u8(&line, row);
    line = (struct stk__lerp_line){ .bottom = in->bytes,
                                    .ahead = in->bytes,
                                    .weight = 0.61f,
                                    .kept = kept,
                                    .dst = (float *)out + (in->n_out > 1 ? row->n : 0),
                                    .affine = &in->affine };
    line.is_far = (uintptr_t)line.dst % 64 == 0;
    k->resample.lerp_line_u8(&line, row);
    k->resample.settle();
}

/* Two lines: bytes, floats or floats * a + b, by the number of rows; with a row in common or not. */
static void lerp_pair_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    const struct stk__lerp_row *row = LERP_ROW(in, TF_BILINEAR);
    const uint8_t *second = in->bytes + (in->height > 1 ? in->n : 0);
    int result = in->height % 3, value_bytes = result ? 4 : 1;
    struct stk__lerp_line line = { .top = in->bytes,
                                   .bottom = second,
                                   .ahead = second,
                                   .weight = 0.37f,
                                   .kept = in->work,
                                   .dst = out,
                                   .is_rounded = result == 0,
                                   .affine = result == 1 ? &in->affine : NULL };
    struct stk__lerp_line lines[2] = { line, line };
    lines[0].keeps_bottom = in->n_in % 2;
    lines[1].top = in->n_in % 2 ? NULL : in->bytes;
    lines[1].bottom = in->bytes;
    lines[1].weight = 0.61f;
    lines[1].keeps_bottom = true;
    lines[1].dst = (uint8_t *)out + (in->n_out > 1 ? row->n * value_bytes : 0);
    k->resample.lerp_pair_u8(lines, row);
}

/* The same, then again with the row that was kept on top. */
static void lerp_pair_kept(const struct stk__kernels *k, const struct input *in, void *out)
{
    const struct stk__lerp_row *row = LERP_ROW(in, TF_BILINEAR);
    const uint8_t *second = in->bytes + (in->height > 1 ? in->n : 0);
    lerp_pair_u8(k, in, out);
    struct stk__lerp_line line = {
        .bottom = second, .ahead = second, .weight = 0.23f, .kept = in->work, .dst = out
    };
    struct stk__lerp_line lines[2] = { line, line };
    lines[1].top = in->bytes;
    lines[1].weight = 0.79f;
    lines[1].dst = (float *)out + (in->n_out > 1 ? row->n : 0);
    for (int i = 0; i < 2; i++)
        lines[i].is_far = (uintptr_t)lines[i].dst % 64 == 0;
    k->resample.lerp_pair_u8(lines, row);
    k->resample.settle();
}

static void lerp_x_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.lerp_x_f32(out, in->floats, LERP_ROW(in, TF_BILINEAR_F32));
}

static void lerp_y_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.lerp_y_f32(out, in->floats, in->more, in->weight, in->n);
}

static void lerp_y_affine(const struct stk__kernels *k, const struct input *in, void *out)
{
    const float *const rows[2] = { in->floats, in->more };
    bool is_far = (uintptr_t)out % 64 == 0;
    k->resample.lerp_y_affine(out, rows, in->weight, in->n, &in->affine, is_far);
    k->resample.settle();
}

/* Rows within 0..255, as the kernel wants them. */
static void lerp_y_round(const struct stk__kernels *k, const struct input *in, void *out)
{
    float *rows = (float *)in->work;
    int n = in->n < in->n_out * in->channels ? in->n : in->n_out * in->channels;
    n = n / 2;
    for (int i = 0; i < 2 * n; i++)
        rows[i] = (float)in->bytes[i] * 0.99f;
    k->resample.lerp_y_round(out, rows, rows + n, 0.37f, n);
}

static void sum_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.sum_x_u8(out, in->bytes, SPAN_ROW(in, TF_AREA));
}

static void sum_x_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.sum_x_f32(out, in->floats, SPAN_ROW(in, TF_TRIANGLE_F32));
}

static void lanczos_x_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.sum_x_f32(out, in->floats, SPAN_ROW(in, TF_LANCZOS5));
}

/* Source rows as operands, with weights that are anything. */
static int some_rows(const struct input *in, const void *first, size_t row_bytes)
{
    int n = in->height < 8 ? in->height : 5;
    for (int r = 0; r < n; r++)
        in->rows[r] = (const uint8_t *)first + (size_t)r * row_bytes;
    return n;
}

static void sum_y_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    int n_rows = some_rows(in, in->bytes, (size_t)in->n);
    const float weight[8] = { 0.25f, in->weight, -0.5f, 0.1f, 3, 0, 1, in->weight };
    k->resample.sum_y_u8(out, (const uint8_t *const *)in->rows, weight, n_rows, in->n);
}

static void sum_y_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    int n_rows = some_rows(in, in->floats, (size_t)in->n * sizeof(float));
    const float weight[8] = { 0.25f, in->weight, -0.5f, 0.1f, 3, 0, 1, in->weight };
    k->resample.sum_y_f32(out, (const float *const *)in->rows, weight, n_rows, in->n);
}

static void fixed_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.fixed_x_u8(out, in->bytes, SPAN_ROW(in, PILLOW_BILINEAR));
}

static void fixed_lanczos_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.fixed_x_u8(out, in->bytes, SPAN_ROW(in, PILLOW_LANCZOS3));
}

static void fixed_y_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    static const int32_t weight[8] = { -300000, 1500000, 2700001, 294303, 4194304, -4194304, 7, 1 };
    int n_rows = some_rows(in, in->bytes, (size_t)in->n);
    k->resample.fixed_y_u8(out, (const uint8_t *const *)in->rows, weight, n_rows, in->n);
}

/* More rows than a vector version takes, each used often. */
static void fixed_y_u8_many(const struct stk__kernels *k, const struct input *in, void *out)
{
    enum { MANY = 300 };
    const uint8_t *rows[MANY];
    int32_t weight[MANY];
    int n = in->n < 64 ? in->n : 64, n_rows = in->n_out % 2 ? MANY : 200;
    for (int r = 0; r < n_rows; r++) {
        rows[r] = in->bytes + (size_t)(r % in->height) * (size_t)in->n;
        weight[r] = 4194304 / n_rows - r % 3;
    }
    k->resample.fixed_y_u8(out, rows, weight, n_rows, n);
}

static void blend_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    const struct stk__lerp_row *row = LERP_ROW(in, OPENCV_BILINEAR);
    if (row) /* none when halving */
        k->resample.blend_x_u8(out, in->bytes, row);
}

static void blend_y_i16(const struct stk__kernels *k, const struct input *in, void *out)
{
    const int32_t weight[2] = { 2048 - in->bytes[0], in->bytes[0] };
    int16_t *rows = in->work;
    int n = in->n_out * in->channels / 2;
    n = n < in->n / 2 ? n : in->n / 2;
    for (int i = 0; i < 2 * n; i++)
        rows[i] = (int16_t)(in->bytes[i] * 128);
    k->resample.blend_y_i16(out, rows, rows + n, weight, n);
}

static void wide_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.wide_x_u8(out, in->bytes, SPAN_ROW(in, OPENCV_LANCZOS4));
}

static void wide_cubic_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->resample.wide_x_u8(out, in->bytes, SPAN_ROW(in, OPENCV_BICUBIC));
}

/* Rows of integers, some of whose sums wrap; n_float anywhere. */
static void wide_y_i32(const struct stk__kernels *k, const struct input *in, void *out)
{
    static const int32_t weight[8] = { -60, 700, 1500, -92, 2047, -2000, 3, 1 };
    int32_t *all = in->work;
    const int32_t *rows[8];
    int n = in->n_out * in->channels / 8, n_rows = in->n_in % 2 ? 4 : 8;
    n = n < in->n / 8 ? n : in->n / 8;
    for (int r = 0; r < 8; r++)
        rows[r] = all + r * n;
    for (int i = 0; i < 8 * n; i++)
        all[i] = in->bytes[i] * (i % 5 ? 2048 : 3400) - 1000;
    k->resample.wide_y_i32(out, rows, weight, n_rows, n, n_rows == 4 ? n - n / 4 : 0);
}

static void halve_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    const uint8_t *bottom = in->height > 1 ? in->bytes + in->n : in->bytes;
    k->resample.halve_u8(out, in->bytes, bottom, in->n_in / 2, in->channels);
}

/* ---- whole images ---- */

static void image(const struct stk__kernels *k, const struct input *in, enum way way,
                  const struct stk__finish *finish, void *out)
{
    const struct prepared *prepared = &in->way[way];
    struct stk__resize resize = resize_of(in, prepared, finish);
    size_t row_values = (size_t)in->n_out * (size_t)(finish->is_planar ? 1 : in->channels);
    struct stk__target target = { .data = out,
                                  .row_bytes = row_values * stk_dtype_bytes(finish->dtype) };
    target.plane_bytes = (size_t)in->n_out * target.row_bytes;
    stk__resize_image(&resize, k, prepared->route.src_is_u8 ? (void *)in->bytes : in->floats,
                      target);
}

static void plain_image(const struct stk__kernels *k, const struct input *in, enum way way,
                        void *out)
{
    struct stk__finish finish = no_finish(in, &in->way[way]);
    image(k, in, way, &finish, out);
}

#define IMAGE_JOB(name, way)                                                                       \
    static void name(const struct stk__kernels *k, const struct input *in, void *out)              \
    {                                                                                              \
        plain_image(k, in, way, out);                                                              \
    }
IMAGE_JOB(tf_nearest, TF_NEAREST)
IMAGE_JOB(tf_bilinear, TF_BILINEAR)
IMAGE_JOB(tf_bilinear_f32, TF_BILINEAR_F32)
IMAGE_JOB(tf_area, TF_AREA)
IMAGE_JOB(tf_triangle, TF_TRIANGLE)
IMAGE_JOB(tf_bicubic, TF_BICUBIC)
IMAGE_JOB(tf_lanczos5, TF_LANCZOS5)
IMAGE_JOB(pillow_bilinear, PILLOW_BILINEAR)
IMAGE_JOB(pillow_lanczos3, PILLOW_LANCZOS3)
IMAGE_JOB(pillow_bilinear_f32, PILLOW_BILINEAR_F32)
IMAGE_JOB(opencv_bilinear, OPENCV_BILINEAR)
IMAGE_JOB(opencv_bilinear_f32, OPENCV_BILINEAR_F32)
IMAGE_JOB(opencv_bicubic, OPENCV_BICUBIC)
IMAGE_JOB(opencv_lanczos4, OPENCV_LANCZOS4)
IMAGE_JOB(opencv_area, OPENCV_AREA)

/* The work of the benchmark called seed. */
static void seed_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__finish finish = { .dtype = STK_F32,
                                  .affine = &in->affine,
                                  .channels = in->channels };
    image(k, in, TF_BILINEAR, &finish, out);
}

static void seed_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__finish finish = { .dtype = STK_U8,
                                  .rounding = STK__ROUND_UP,
                                  .channels = in->channels };
    image(k, in, TF_BILINEAR, &finish, out);
}

static void seed_planes_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__finish finish = {
        .dtype = STK_F32, .affine = &in->affine, .is_planar = true, .channels = in->channels
    };
    image(k, in, TF_BILINEAR, &finish, out);
}

static void seed_planes_f16(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__finish finish = {
        .dtype = STK_F16, .affine = &in->affine, .is_planar = true, .channels = in->channels
    };
    image(k, in, TF_BILINEAR, &finish, out);
}

static void pillow_planes_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__finish finish = {
        .dtype = STK_F32, .affine = &in->affine, .is_planar = true, .channels = in->channels
    };
    image(k, in, PILLOW_BILINEAR, &finish, out);
}

const struct job resample_jobs[] = {
    { "lerp_x_u8", lerp_x_u8, true, false },
    { "lerp_line_u8", lerp_line_u8, true, false },
    { "lerp_pair_u8", lerp_pair_u8, false, false },
    { "lerp_pair_u8, kept", lerp_pair_kept, true, false },
    { "lerp_x_f32", lerp_x_f32, true, false },
    { "lerp_y_f32", lerp_y_f32, true, false },
    { "lerp_y_affine", lerp_y_affine, true, false },
    { "lerp_y_round", lerp_y_round, false, false },
    { "sum_x_u8", sum_x_u8, true, false },
    { "sum_x_f32", sum_x_f32, true, false },
    { "sum_x_f32 lanczos5", lanczos_x_f32, true, false },
    { "sum_y_u8", sum_y_u8, true, false },
    { "sum_y_f32", sum_y_f32, true, false },
    { "fixed_x_u8", fixed_x_u8, false, false },
    { "fixed_x_u8 lanczos3", fixed_lanczos_x_u8, false, false },
    { "fixed_y_u8", fixed_y_u8, false, false },
    { "fixed_y_u8 many rows", fixed_y_u8_many, false, false },
    { "blend_x_u8", blend_x_u8, false, false },
    { "blend_y_i16", blend_y_i16, false, false },
    { "wide_x_u8", wide_x_u8, false, false },
    { "wide_x_u8 bicubic", wide_cubic_x_u8, false, false },
    { "wide_y_i32", wide_y_i32, false, false },
    { "halve_u8", halve_u8, false, false },
    { "resize tf bilinear * a + b (seed f32)", seed_f32, true, true },
    { "resize tf bilinear to uint8 (seed u8)", seed_u8, false, true },
    { "resize tf bilinear * a + b, planes", seed_planes_f32, true, true },
    { "resize tf bilinear * a + b, planes f16", seed_planes_f16, false, true },
    { "resize tf bilinear", tf_bilinear, true, true },
    { "resize tf bilinear f32", tf_bilinear_f32, true, true },
    { "resize tf nearest", tf_nearest, false, true },
    { "resize tf area", tf_area, true, true },
    { "resize tf bilinear antialias", tf_triangle, true, true },
    { "resize tf bicubic", tf_bicubic, true, true },
    { "resize tf lanczos5 antialias", tf_lanczos5, true, true },
    { "resize pillow bilinear", pillow_bilinear, false, true },
    { "resize pillow bilinear * a + b, planes", pillow_planes_f32, true, true },
    { "resize pillow lanczos3", pillow_lanczos3, false, true },
    { "resize pillow bilinear f32", pillow_bilinear_f32, true, true },
    { "resize opencv bilinear", opencv_bilinear, false, true },
    { "resize opencv bilinear f32", opencv_bilinear_f32, true, true },
    { "resize opencv bicubic", opencv_bicubic, false, true },
    { "resize opencv lanczos4", opencv_lanczos4, false, true },
    { "resize opencv area", opencv_area, false, true },
    { NULL, NULL, false, false },
};
