/* SPDX-License-Identifier: Apache-2.0 */
/* warp.h: images drawn anew through a map from each output pixel to a place in the source.
 *
 * The results are those of torchvision's v2 transforms on tensors (affine, rotate, perspective:
 * grid_sample with align_corners=False), bit for bit as PyTorch computes them on processors with
 * AVX2: the place in units of half an image, without contraction; back to pixels, and the four
 * products of a bilinear pixel, with one rounding for a product and its sum (fmaf).
 *
 *     struct stk__warp warp = { .src = …, .src_height = …, …, .mode = STK__WARP_BILINEAR };
 *     stk__warp_affine(&warp, inverse);          or stk__warp_perspective(&warp, coefficients)
 *     stk__warp_image(&warp, stk__kernels(), dst);
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stk__kernels;

enum stk__warp_mode { STK__WARP_NEAREST, STK__WARP_BILINEAR };

struct stk__warp {
    const uint8_t *src; /* [height, width, channels]; 7 bytes behind it can be read */
    int32_t src_height, src_width;
    int32_t height, width; /* of the result, [height, width, channels] */
    int32_t channels;
    int value_bytes; /* bilinear: 1 for uint8, 4 for float32; nearest: of any dtype */
    enum stk__warp_mode mode;
    /* One pixel, of the same dtype, for what lies outside; a bilinear pixel on the edge mixes it in
     * as torchvision does. NULL: zeros, as torchvision with fill=None. */
    const void *fill;

    /* Set by stk__warp_affine and stk__warp_perspective. */
    bool is_perspective;
    float x[3], y[3], z[3];   /* place = x / z, y / z; rows of [column, row, 1] */
    float origin_x, origin_y; /* what column 0 and row 0 are in that map */
};

/* Source = matrix * [x, y, 1], both counted in pixels from the middle of their image. */
void stk__warp_affine(struct stk__warp *warp, const double matrix[6]);

/* Source = (c0 x + c1 y + c2, c3 x + c4 y + c5) / (c6 x + c7 y + 1), both counted in pixels from
 * the top left corner. */
void stk__warp_perspective(struct stk__warp *warp, const double c[8]);

void stk__warp_image(const struct stk__warp *warp, const struct stk__kernels *kernels,
                     uint8_t *dst);

/* ---- kernels ---- */

/* Pixels of a row whose places are worked out before they are drawn. */
enum { STK__WARP_BLOCK = 256 };

/* Places in the source, pixel (0, 0) having its middle there. */
struct stk__warp_places {
    float x[STK__WARP_BLOCK], y[STK__WARP_BLOCK];
};

/* Draws n pixels. */
typedef void (*stk__warp_fn)(const struct stk__warp *warp, const struct stk__warp_places *places,
                             int n, uint8_t *dst);

struct stk__warp_kernels {
    /* The places of n pixels of an output row from one on. */
    void (*locate)(const struct stk__warp *warp, int32_t row, int32_t column, int n,
                   struct stk__warp_places *places);
    stk__warp_fn nearest, bilinear_u8, bilinear_f32;
};

void stk__warp_fill_scalar(struct stk__warp_kernels *kernels);
void stk__warp_fill_avx2(struct stk__warp_kernels *kernels);

/* Also for what vector versions leave over: pixels from..n. */
void stk__locate_scalar(const struct stk__warp *warp, const float origin[2], int from, int n,
                        struct stk__warp_places *places);
void stk__nearest_scalar(const struct stk__warp *warp, const struct stk__warp_places *places,
                         int from, int n, uint8_t *dst);
void stk__bilinear_scalar(const struct stk__warp *warp, const struct stk__warp_places *places,
                          int from, int n, uint8_t *dst);
