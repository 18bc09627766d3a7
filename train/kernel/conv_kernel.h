/* SPDX-License-Identifier: Apache-2.0 */
/* conv_kernel.h: convolutions of images, channels innermost.
 *
 * An output pixel looks at some pieces of its image: the channels of a pixel and those of the pixels
 * beside it lie in one piece, so a kernel of 3×3 reads 3 pieces of 3 × channels values, and a first
 * layer with 3 channels is as fast as any other. A kernel goes along a row of outputs, some pixels by
 * a block of filters at a time, which stay in registers until all pieces are added up.
 *
 *     forward                 image ▸ values      weights of the layer
 *     gradient of the image   gradient ▸ values   the same weights, turned; with strides once for
 *                                                 each remainder of a place by the stride
 *     gradient of weights     image, gradient ▸ weights
 *
 * What lies around an image must be there: it has a frame. Versions agree
 * within 1e-5 of the sum of the terms' sizes; they may contract. A version gives the same bits every
 * time.
 */
#pragma once
#include "train/kernel/map.h"

/* What a pixel of the output looks at. */
struct stk__patch {
    int n_pieces, piece;  /* of so many values each */
    const int64_t *at;    /* [n_pieces] where they begin, from the pixel's place in x */
    int64_t across, down; /* from the place of a pixel to that of the next, and of the next row's */
};

/* Values of some rows of outputs. */
struct stk__conv_rows {
    const struct stk__patch *patch;
    const float *x;  /* where the first pixel's place is */
    int64_t x_apart; /* to the place in the next image */
    float *y;
    struct stk__write_halves y_halves; /* instead of y */
    int64_t y_across, y_down, y_apart; /* from a pixel of y to the next, the next row's, image's */
    int width, height, n_images, filters;
    const float
        *weights;      /* packed: [blocks][n_pieces * piece][block], zeros behind the last filter */
    const float *bias; /* [filters], or NULL */
    float low, high;   /* values are kept within these */
};

struct stk__conv_gradient {
    const struct stk__patch *patch;
    const float *x;
    int64_t x_apart;
    const float *dy;
    int64_t dy_across, dy_down, dy_apart;
    int width, height, n_images, filters;
    float *weights; /* packed as above; what is found is added */
    float *bias;    /* [filters], or NULL; the same */
};

struct stk__conv_kernels {
    int block; /* filters */
    void (*rows)(const struct stk__conv_rows *job);
    void (*gradient)(const struct stk__conv_gradient *job);
};

void stk__conv_fill_scalar(struct stk__conv_kernels *kernels);
void stk__conv_fill_avx2(struct stk__conv_kernels *kernels);
void stk__conv_fill_avx512(struct stk__conv_kernels *kernels);
