/* SPDX-License-Identifier: Apache-2.0 */
/* geometry.h: what a geometric op does to one image, said so that the image, masks, boxes and
 * keypoints can all be drawn from it.
 *
 * It is either a fit of both axes (crops, mirrors, scales, turns by quarters), in which an output
 * pixel is a source pixel, or a warp. Points are in pixels from the top left corner, the middle of
 * the first pixel being (0.5, 0.5).
 */
#pragma once
#include "kernel/warp.h"

#include "op/declaration.h"

/* Along one axis: a run of source pixels, scaled; a window of that, maybe mirrored; put into the
 * output behind some padding. */
struct stk__axis_fit {
    int32_t from, n_from;
    int32_t n_scaled;
    int32_t skip, n_kept; /* the window */
    bool is_reversed;
    int32_t pad;
    int32_t n; /* pixels of the output */
};

struct stk__geometry {
    int32_t src_height, src_width, height, width;
    bool is_warp;
    /* a fit: of the source's columns and rows; swapped: they become the output's rows and
     * columns */
    struct stk__axis_fit x, y;
    bool swaps_axes;
    struct stk__warp warp; /* a warp: the map alone */
    double forward[9];     /* of points: [x, y, 1] of the source to the output, times a factor */
    bool is_singular;      /* there is no such map */
    double keypoint_x, keypoint_y; /* added to keypoints */
};

/* An image that stays as it is; the sizes of the source are the caller's. */
void stk__geometry_identity(struct stk__geometry *g, int32_t height, int32_t width);
bool stk__geometry_is_identity(const struct stk__geometry *g);

/* After x, y and swaps_axes were set: sizes and forward. */
void stk__geometry_fit(struct stk__geometry *g);

/* A warp into height x width, as stk__warp_affine and stk__warp_perspective take it. */
void stk__geometry_affine(struct stk__geometry *g, const double inverse[6]);
void stk__geometry_perspective(struct stk__geometry *g, const double c[8]);

/* A point of the source to the output. */
void stk__geometry_point(const struct stk__geometry *g, double *x, double *y);

/* Pixels to draw. */
struct stk__drawing {
    const uint8_t *src;
    int32_t channels;
    int value_bytes;
    enum stk__warp_mode mode; /* of a warp */
    const void *fill;         /* a pixel, or NULL: zeros; see struct stk__warp */
};

/* Draws an image of height x width; STK_MEMORY at worst. */
int stk__geometry_draw(struct stk_rows *rows, const struct stk__geometry *g,
                       const struct stk__drawing *drawing, uint8_t *dst);
