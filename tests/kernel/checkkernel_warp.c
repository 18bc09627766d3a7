/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_warp.c: the kernels that draw images anew, as whole images. */
#include "checkkernel.h"

#include <string.h>

/* A number in -1..1 that the input's key and i decide. */
static double number(const struct input *in, uint64_t i)
{
    return (double)(int64_t)stk__hash_mix(in->key, i) * 0x1p-63;
}

static struct stk__warp warp_of(const struct input *in, bool is_u8, enum stk__warp_mode mode)
{
    bool has_fill = number(in, 20) > 0;
    return (struct stk__warp){ .src = is_u8 ? in->padded : (const uint8_t *)in->floats,
                               .src_height = in->height,
                               .src_width = in->n_in,
                               .height = in->n_out,
                               .width = in->n_out,
                               .channels = in->channels,
                               .value_bytes = is_u8 ? 1 : 4,
                               .mode = mode,
                               .fill = !has_fill ? NULL
                                       : is_u8   ? (const void *)in->bytes
                                                 : (const void *)in->floats };
}

/* Whole numbers now and then, so that places fall on pixels and between them. */
static double rounded(const struct input *in, double value)
{
    return number(in, 21) > 0.3 ? (double)(int)value : value;
}

static void run_affine(const struct stk__kernels *k, const struct input *in, struct stk__warp warp,
                       void *out)
{
    double matrix[6];
    for (uint64_t i = 0; i < 6; i++) {
        double range = i % 3 == 2 ? in->n_in : 2;
        matrix[i] = rounded(in, number(in, i) * range);
    }
    stk__warp_affine(&warp, matrix);
    stk__warp_image(&warp, k, out);
}

/* The horizon is in the image for some. */
static void run_perspective(const struct stk__kernels *k, const struct input *in,
                            struct stk__warp warp, void *out)
{
    double c[8];
    for (uint64_t i = 0; i < 8; i++) {
        double range = i > 5 ? 0.1 : i % 3 == 2 ? in->n_in : 2;
        c[i] = i > 5 ? number(in, i) * range : rounded(in, number(in, i) * range);
    }
    stk__warp_perspective(&warp, c);
    stk__warp_image(&warp, k, out);
}

static void affine_nearest_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    run_affine(k, in, warp_of(in, true, STK__WARP_NEAREST), out);
}

static void affine_nearest_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    run_affine(k, in, warp_of(in, false, STK__WARP_NEAREST), out);
}

static void affine_bilinear_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    run_affine(k, in, warp_of(in, true, STK__WARP_BILINEAR), out);
}

static void affine_bilinear_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    run_affine(k, in, warp_of(in, false, STK__WARP_BILINEAR), out);
}

static void perspective_nearest_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    run_perspective(k, in, warp_of(in, true, STK__WARP_NEAREST), out);
}

static void perspective_bilinear_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    run_perspective(k, in, warp_of(in, true, STK__WARP_BILINEAR), out);
}

static void perspective_bilinear_f32(const struct stk__kernels *k, const struct input *in,
                                     void *out)
{
    run_perspective(k, in, warp_of(in, false, STK__WARP_BILINEAR), out);
}

/* As large as the source, turned a little: what rotate does most. */
static void rotate_bilinear_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    const double matrix[6] = { 0.97, 0.26, 0, -0.26, 0.97, 0 };
    struct stk__warp warp = warp_of(in, true, STK__WARP_BILINEAR);
    stk__warp_affine(&warp, matrix);
    stk__warp_image(&warp, k, out);
}

const struct job warp_jobs[] = {
    { "warp affine nearest u8", affine_nearest_u8, false, true },
    { "warp affine nearest f32", affine_nearest_f32, true, true },
    { "warp affine bilinear u8", affine_bilinear_u8, false, true },
    { "warp affine bilinear f32", affine_bilinear_f32, true, true },
    { "warp perspective nearest u8", perspective_nearest_u8, false, true },
    { "warp perspective bilinear u8", perspective_bilinear_u8, false, true },
    { "warp perspective bilinear f32", perspective_bilinear_f32, true, true },
    { "warp rotate bilinear u8", rotate_bilinear_u8, false, true },
    { NULL, NULL, false, false },
};
