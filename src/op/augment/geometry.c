/* SPDX-License-Identifier: Apache-2.0 */
/* geometry.c: maps of points, and images whose axes are fitted. */
#include "op/augment/geometry.h"

#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

/* ---- maps ---- */

static struct stk__axis_fit whole_axis(int32_t n)
{
    return (struct stk__axis_fit){ .n_from = n, .n_scaled = n, .n_kept = n, .n = n };
}

void stk__geometry_identity(struct stk__geometry *g, int32_t height, int32_t width)
{
    *g = (struct stk__geometry){ .src_height = height, .src_width = width };
    g->x = whole_axis(width);
    g->y = whole_axis(height);
    stk__geometry_fit(g);
}

static bool is_whole(const struct stk__axis_fit *axis, int32_t n)
{
    return !axis->from && axis->n_from == n && axis->n_scaled == n && !axis->skip &&
           axis->n_kept == n && axis->n == n && !axis->is_reversed;
}

bool stk__geometry_is_identity(const struct stk__geometry *g)
{
    return !g->is_warp && !g->swaps_axes && is_whole(&g->x, g->src_width) &&
           is_whole(&g->y, g->src_height);
}

/* Output = factor * source + offset. */
static void axis_line(const struct stk__axis_fit *axis, double *factor, double *offset)
{
    *factor = axis->n_from ? (double)axis->n_scaled / axis->n_from : 1;
    *offset = -(axis->from * *factor) - axis->skip;
    if (axis->is_reversed) {
        *factor = -*factor;
        *offset = axis->n_kept - *offset;
    }
    *offset += axis->pad;
}

void stk__geometry_fit(struct stk__geometry *g)
{
    double factor[2], offset[2];
    axis_line(&g->x, &factor[0], &offset[0]);
    axis_line(&g->y, &factor[1], &offset[1]);
    int x_row = g->swaps_axes ? 1 : 0, y_row = 1 - x_row;
    g->is_warp = false;
    g->width = g->swaps_axes ? g->y.n : g->x.n;
    g->height = g->swaps_axes ? g->x.n : g->y.n;
    memset(g->forward, 0, sizeof g->forward);
    g->forward[3 * x_row] = factor[0];
    g->forward[3 * x_row + 2] = offset[0];
    g->forward[3 * y_row + 1] = factor[1];
    g->forward[3 * y_row + 2] = offset[1];
    g->forward[8] = 1;
}

/* The adjugate: the inverse but for a factor, which points do not see. */
static void turn_round(struct stk__geometry *g, const double m[9])
{
    double *out = g->forward;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            const double *a = m + 3 * ((column + 1) % 3), *b = m + 3 * ((column + 2) % 3);
            int i = (row + 1) % 3, k = (row + 2) % 3;
            out[3 * row + column] = a[i] * b[k] - a[k] * b[i];
        }
    }
    double det = m[0] * out[0] + m[1] * out[3] + m[2] * out[6];
    for (int i = 0; i < 9; i++)
        out[i] /= det;
    g->is_singular = !isfinite(1 / det) || !isfinite(det);
}

static void size_warp(struct stk__geometry *g)
{
    g->is_warp = true;
    g->warp = (struct stk__warp){ .src_height = g->src_height,
                                  .src_width = g->src_width,
                                  .height = g->height,
                                  .width = g->width };
}

void stk__geometry_affine(struct stk__geometry *g, const double inverse[6])
{
    size_warp(g);
    stk__warp_affine(&g->warp, inverse);
    /* counted from the corners instead of the middles */
    double to_x = 0.5 * g->width, to_y = 0.5 * g->height;
    const double m[9] = { inverse[0],
                          inverse[1],
                          inverse[2] + 0.5 * g->src_width - inverse[0] * to_x - inverse[1] * to_y,
                          inverse[3],
                          inverse[4],
                          inverse[5] + 0.5 * g->src_height - inverse[3] * to_x - inverse[4] * to_y,
                          0,
                          0,
                          1 };
    turn_round(g, m);
}

void stk__geometry_perspective(struct stk__geometry *g, const double c[8])
{
    size_warp(g);
    stk__warp_perspective(&g->warp, c);
    const double m[9] = { c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], 1 };
    turn_round(g, m);
}

void stk__geometry_point(const struct stk__geometry *g, double *x, double *y)
{
    const double *m = g->forward;
    double at_x = m[0] * *x + m[1] * *y + m[2], at_y = m[3] * *x + m[4] * *y + m[5];
    double z = m[6] * *x + m[7] * *y + m[8];
    *x = at_x / z;
    *y = at_y / z;
}

/* ---- images whose axes are fitted ---- */

/* For each of the axis' n output pixels the source pixel, or -1 in the padding. */
static void list_pixels(const struct stk__axis_fit *axis, int32_t *index)
{
    float scale = axis->n_scaled ? (float)axis->n_from / (float)axis->n_scaled : 0;
    for (int32_t i = 0; i < axis->n; i++) {
        int32_t at = i - axis->pad;
        index[i] = -1;
        if (at < 0 || at >= axis->n_kept)
            continue;
        at = (axis->is_reversed ? axis->n_kept - 1 - at : at) + axis->skip;
        if (axis->n_scaled != axis->n_from)
            at = (int32_t)(((float)at + 0.5f) * scale);
        index[i] = axis->from + (at < axis->n_from ? at : axis->n_from - 1);
    }
}

static inline void put_pixel(uint8_t *dst, const uint8_t *pixel, size_t bytes)
{
    if (pixel)
        memcpy(dst, pixel, bytes);
    else
        memset(dst, 0, bytes);
}

/* One output row, pixel by pixel: source pixels lie `step` bytes apart. */
static inline void put_row(uint8_t *dst, const uint8_t *src, size_t step, const int32_t *index,
                           int32_t n, const uint8_t *fill, size_t bytes)
{
    for (int32_t i = 0; i < n; i++, dst += bytes)
        put_pixel(dst, index[i] < 0 ? fill : src + (size_t)index[i] * step, bytes);
}

/* Pixels of the usual sizes are moved by loops compiled for them. */
static void draw_row(uint8_t *dst, const uint8_t *src, size_t step, const int32_t *index, int32_t n,
                     const struct stk__drawing *drawing)
{
    size_t bytes = (size_t)drawing->channels * (size_t)drawing->value_bytes;
    const uint8_t *fill = drawing->fill;
    if (bytes == 1)
        put_row(dst, src, step, index, n, fill, 1);
    else if (bytes == 3)
        put_row(dst, src, step, index, n, fill, 3);
    else if (bytes == 4)
        put_row(dst, src, step, index, n, fill, 4);
    else if (bytes == 12)
        put_row(dst, src, step, index, n, fill, 12);
    else
        put_row(dst, src, step, index, n, fill, bytes);
}

static void fill_row(uint8_t *dst, int32_t n, const struct stk__drawing *drawing)
{
    size_t bytes = (size_t)drawing->channels * (size_t)drawing->value_bytes;
    for (int32_t i = 0; i < n; i++, dst += bytes)
        put_pixel(dst, drawing->fill, bytes);
}

/* A row whose pixels are a run of the source's, forwards or backwards. */
static void copy_run(uint8_t *dst, const uint8_t *src, const struct stk__axis_fit *x,
                     const struct stk__drawing *drawing)
{
    size_t bytes = (size_t)drawing->channels * (size_t)drawing->value_bytes;
    const uint8_t *run = src + (size_t)(x->from + x->skip) * bytes;
    uint8_t *at = dst + (size_t)x->pad * bytes;
    fill_row(dst, x->pad, drawing);
    if (x->is_reversed)
        stk__kernels()->image.reverse_pixels(at, run, x->n_kept, (int)bytes);
    else
        memcpy(at, run, (size_t)x->n_kept * bytes);
    fill_row(at + (size_t)x->n_kept * bytes, x->n - x->pad - x->n_kept, drawing);
}

static int draw_fit(struct stk_rows *rows, const struct stk__geometry *g,
                    const struct stk__drawing *drawing, uint8_t *dst)
{
    size_t bytes = (size_t)drawing->channels * (size_t)drawing->value_bytes;
    size_t src_row = (size_t)g->src_width * bytes, dst_row = (size_t)g->width * bytes;
    size_t n_index = (size_t)g->x.n + (size_t)g->y.n;
    int32_t *column = stk_rows_alloc(rows, n_index * sizeof *column), *line = column + g->x.n;
    if (!column)
        return STK_MEMORY;
    list_pixels(&g->x, column);
    list_pixels(&g->y, line);
    bool is_run = !g->swaps_axes && g->x.n_scaled == g->x.n_from;
    for (int32_t y = 0; y < g->height; y++, dst += dst_row) {
        int32_t at = g->swaps_axes ? column[y] : line[y];
        if (at < 0)
            fill_row(dst, g->width, drawing);
        else if (is_run)
            copy_run(dst, drawing->src + (size_t)at * src_row, &g->x, drawing);
        else if (g->swaps_axes)
            draw_row(dst, drawing->src + (size_t)at * bytes, src_row, line, g->width, drawing);
        else
            draw_row(dst, drawing->src + (size_t)at * src_row, bytes, column, g->width, drawing);
    }
    return STK_OK;
}

int stk__geometry_draw(struct stk_rows *rows, const struct stk__geometry *g,
                       const struct stk__drawing *drawing, uint8_t *dst)
{
    if (!g->is_warp)
        return draw_fit(rows, g, drawing, dst);
    struct stk__warp warp = g->warp;
    warp.src = drawing->src;
    warp.channels = drawing->channels;
    warp.value_bytes = drawing->value_bytes;
    warp.mode = drawing->mode;
    warp.fill = drawing->fill;
    stk__warp_image(&warp, stk__kernels(), dst);
    return STK_OK;
}
