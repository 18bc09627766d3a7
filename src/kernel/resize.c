/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c: an image row by row.
 *
 *     lerp      source row ─lerp_x─▶ row[r & 1] ┐
 *               source row ─lerp_x─▶ row[r & 1] ┴─lerp_y─▶ output row
 *     area      source row ─sum_x──▶ row[r & 1] ─add_y─▶ output row (─mul─▶)
 *     triangle  source row ─add_y──▶ sum ─sum_x─▶ output row
 *
 * The order of passes is TensorFlow's, and with it every rounding. Taps of neighbouring output
 * rows are neighbouring source rows, so the two rows kept, one even and one odd, are all that is
 * ever used again: a source row goes through lerp_x or sum_x once.
 */
#include "kernel/resize.h"

#include <string.h>

struct pass {
    const struct stk__resize *resize;
    const struct stk__image_kernels *kernels;
    const uint8_t *src;
    size_t src_row_bytes;
    int kept[2]; /* which source rows lie in resize->row */
};

size_t stk__resize_row_values(const struct stk__resize *resize)
{
    int width = resize->x->n_out > resize->x->n_in ? resize->x->n_out : resize->x->n_in;
    return (size_t)width * (size_t)resize->channels;
}

static int out_values(const struct stk__resize *resize)
{
    return resize->x->n_out * resize->channels;
}

/* Source row r after its horizontal pass. */
static const float *across(struct pass *pass, int r)
{
    const struct stk__resize *resize = pass->resize;
    const struct stk__image_kernels *kernels = pass->kernels;
    const uint8_t *src = pass->src + (size_t)r * pass->src_row_bytes;
    float *row = resize->row[r & 1];
    if (pass->kept[r & 1] == r)
        return row;
    pass->kept[r & 1] = r;
    if (resize->kind == STK__LERP && resize->src_is_u8)
        kernels->lerp_x_u8(row, src, resize->lerp_x);
    else if (resize->kind == STK__LERP)
        kernels->lerp_x_f32(row, (const float *)(const void *)src, resize->lerp_x);
    else if (resize->src_is_u8)
        kernels->sum_x_u8(row, src, resize->x, resize->channels);
    else
        kernels->sum_x_f32(row, (const float *)(const void *)src, resize->x, resize->channels);
    return row;
}

static void lerp_row(struct pass *pass, int y, float *out)
{
    const struct stk__taps *taps = pass->resize->y;
    const float *top = across(pass, taps->index[2 * y]);
    const float *bottom = across(pass, taps->index[2 * y + 1]);
    pass->kernels->lerp_y_f32(out, top, bottom, taps->weight[y], out_values(pass->resize));
}

static void area_row(struct pass *pass, int y, float *out)
{
    const struct stk__taps *x = pass->resize->x, *taps = pass->resize->y;
    int n = out_values(pass->resize);
    memset(out, 0, (size_t)n * sizeof *out);
    for (int k = 0; k < stk__taps_count(taps, y); k++) {
        int64_t tap = (int64_t)y * taps->span + k;
        pass->kernels->add_y_f32(out, across(pass, taps->index[tap]), taps->weight[tap], n);
    }
    float scale_x = (float)x->n_in / (float)x->n_out;
    float scale_y = (float)taps->n_in / (float)taps->n_out;
    pass->kernels->mul_f32(out, out, (float)(1.0 / (scale_y * scale_x)), n);
}

static void triangle_row(struct pass *pass, int y, float *out)
{
    const struct stk__resize *resize = pass->resize;
    const struct stk__taps *taps = resize->y;
    int n = resize->x->n_in * resize->channels;
    memset(resize->sum, 0, (size_t)n * sizeof *resize->sum);
    for (int k = 0; k < stk__taps_count(taps, y); k++) {
        int64_t tap = (int64_t)y * taps->span + k;
        const uint8_t *src = pass->src + (size_t)taps->index[tap] * pass->src_row_bytes;
        if (resize->src_is_u8)
            pass->kernels->add_y_u8(resize->sum, src, taps->weight[tap], n);
        else
            pass->kernels->add_y_f32(resize->sum, (const float *)(const void *)src,
                                     taps->weight[tap], n);
    }
    pass->kernels->sum_x_f32(out, resize->sum, resize->x, resize->channels);
}

static void make_row(struct pass *pass, int y, float *out)
{
    const struct stk__resize *resize = pass->resize;
    if (resize->kind == STK__LERP)
        lerp_row(pass, y, out);
    else if (resize->kind == STK__AREA)
        area_row(pass, y, out);
    else
        triangle_row(pass, y, out);
    if (resize->affine)
        pass->kernels->affine_f32(out, out, out_values(resize), resize->affine);
}

static void resize_nearest(const struct pass *pass, uint8_t *dst)
{
    const struct stk__resize *resize = pass->resize;
    int pixel_bytes = resize->channels * (resize->src_is_u8 ? 1 : 4);
    size_t dst_row_bytes = (size_t)resize->x->n_out * (size_t)pixel_bytes;
    for (int y = 0; y < resize->y->n_out; y++, dst += dst_row_bytes) {
        int r = resize->y->index[y];
        if (y && r == resize->y->index[y - 1])
            memcpy(dst, dst - dst_row_bytes, dst_row_bytes);
        else
            pass->kernels->pick_pixels(dst, pass->src + (size_t)r * pass->src_row_bytes,
                                       resize->x->index, resize->x->n_out, pixel_bytes);
    }
}

void stk__resize_image(const struct stk__resize *resize, const struct stk__image_kernels *kernels,
                       const void *src, void *dst)
{
    size_t src_row_values = (size_t)resize->x->n_in * (size_t)resize->channels;
    struct pass pass = {
        resize, kernels, src, src_row_values * (resize->src_is_u8 ? 1 : 4), { -1, -1 }
    };
    if (resize->kind == STK__NEAREST) {
        resize_nearest(&pass, dst);
        return;
    }
    int n = out_values(resize);
    for (int y = 0; y < resize->y->n_out; y++) {
        if (resize->dst_is_u8) {
            float *row = resize->kind == STK__TRIANGLE ? resize->row[0] : resize->sum;
            make_row(&pass, y, row);
            kernels->round_u8((uint8_t *)dst + (size_t)y * (size_t)n, row, n);
        } else {
            make_row(&pass, y, (float *)dst + (size_t)y * (size_t)n);
        }
    }
}
