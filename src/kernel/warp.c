/* SPDX-License-Identifier: Apache-2.0 */
/* warp.c: a map as the kernels want it, and images block by block. */
#include "kernel/warp.h"

#include "base/cancel.h"
#include "kernel/kernel.h"

/* Coefficients of a coordinate, in units of half the source's size. */
static void set_row(float row[3], const double *coefficients, int32_t size)
{
    float half = (float)(0.5 * size);
    for (int i = 0; i < 3; i++)
        row[i] = (float)coefficients[i] / half;
}

void stk__warp_affine(struct stk__warp *warp, const double matrix[6])
{
    warp->is_perspective = false;
    set_row(warp->x, matrix, warp->src_width);
    set_row(warp->y, matrix + 3, warp->src_height);
    warp->z[0] = warp->z[1] = 0;
    warp->z[2] = 1;
    warp->origin_x = (float)(0.5 * (1.0 - warp->width));
    warp->origin_y = (float)(0.5 * (1.0 - warp->height));
}

void stk__warp_perspective(struct stk__warp *warp, const double c[8])
{
    warp->is_perspective = true;
    set_row(warp->x, c, warp->src_width);
    set_row(warp->y, c + 3, warp->src_height);
    warp->z[0] = (float)c[6];
    warp->z[1] = (float)c[7];
    warp->z[2] = 1;
    warp->origin_x = warp->origin_y = 0.5f;
}

static stk__warp_fn draw_fn(const struct stk__warp *warp, const struct stk__warp_kernels *kernels)
{
    if (warp->mode == STK__WARP_NEAREST)
        return kernels->nearest;
    return warp->value_bytes == 1 ? kernels->bilinear_u8 : kernels->bilinear_f32;
}

void stk__warp_image(const struct stk__warp *warp, const struct stk__kernels *kernels, uint8_t *dst)
{
    stk__warp_fn draw = draw_fn(warp, &kernels->warp);
    size_t pixel_bytes = (size_t)warp->channels * (size_t)warp->value_bytes;
    struct stk__warp_places places;
    for (int32_t row = 0; row < warp->height && !stk__cancel_is_asked(); row++) {
        for (int32_t column = 0; column < warp->width; column += STK__WARP_BLOCK) {
            int32_t left = warp->width - column;
            int n = left < STK__WARP_BLOCK ? left : STK__WARP_BLOCK;
            kernels->warp.locate(warp, row, column, n, &places);
            draw(warp, &places, n, dst);
            dst += (size_t)n * pixel_bytes;
        }
    }
}
