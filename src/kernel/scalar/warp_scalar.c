/* SPDX-License-Identifier: Apache-2.0 */
/* warp_scalar.c: the kernels that draw images anew in plain C. */
#include "kernel/warp.h"

#include "kernel/image.h"

#include <string.h>

/* ---- places ---- */

static float apply(const float row[3], float x, float y)
{
    return x * row[0] + y * row[1] + row[2];
}

void stk__locate_scalar(const struct stk__warp *warp, const float origin[2], int from, int n,
                        struct stk__warp_places *places)
{
    float half_width = (float)(0.5 * warp->src_width);
    float half_height = (float)(0.5 * warp->src_height);
    float y = origin[1];
    for (int i = from; i < n; i++) {
        float x = origin[0] + (float)i;
        float at_x = apply(warp->x, x, y), at_y = apply(warp->y, x, y);
        if (warp->is_perspective) {
            float z = apply(warp->z, x, y);
            at_x = at_x / z - 1;
            at_y = at_y / z - 1;
        }
        places->x[i] = fmaf(at_x + 1, half_width, -0.5f);
        places->y[i] = fmaf(at_y + 1, half_height, -0.5f);
    }
}

static void locate_scalar(const struct stk__warp *warp, int32_t row, int32_t column, int n,
                          struct stk__warp_places *places)
{
    const float origin[2] = { warp->origin_x + (float)column, warp->origin_y + (float)row };
    stk__locate_scalar(warp, origin, 0, n, places);
}

/* ---- pixels ---- */

/* The pixel at whole coordinates, or NULL outside. NaN is outside. */
static const uint8_t *pixel_at(const struct stk__warp *warp, float x, float y)
{
    if (!(x > -1 && x < (float)warp->src_width && y > -1 && y < (float)warp->src_height))
        return NULL;
    size_t at = (size_t)y * (size_t)warp->src_width + (size_t)x;
    return warp->src + at * (size_t)warp->channels * (size_t)warp->value_bytes;
}

static inline void copy_nearest(const struct stk__warp *warp, float x, float y, uint8_t *dst,
                                size_t pixel_bytes)
{
    const uint8_t *pixel = pixel_at(warp, rintf(x), rintf(y));
    pixel = pixel ? pixel : warp->fill;
    if (pixel)
        memcpy(dst, pixel, pixel_bytes);
    else
        memset(dst, 0, pixel_bytes);
}

void stk__nearest_scalar(const struct stk__warp *warp, const struct stk__warp_places *places,
                         int from, int n, uint8_t *dst)
{
    size_t pixel_bytes = (size_t)warp->channels * (size_t)warp->value_bytes;
    for (int i = from; i < n; i++)
        copy_nearest(warp, places->x[i], places->y[i], dst + (size_t)i * pixel_bytes, pixel_bytes);
}

static void nearest_scalar(const struct stk__warp *warp, const struct stk__warp_places *places,
                           int n, uint8_t *dst)
{
    stk__nearest_scalar(warp, places, 0, n, dst);
}

/* ---- bilinear ---- */

/* The four pixels around a place, top left, top right, bottom left, bottom right. */
struct corners {
    const uint8_t *pixel[4];
    float weight[4];
};

static bool find_corners(const struct stk__warp *warp, float x, float y, struct corners *to)
{
    float left = floorf(x), top = floorf(y);
    float right_part = x - left, left_part = 1 - right_part;
    float bottom_part = y - top, top_part = 1 - bottom_part;
    to->pixel[0] = pixel_at(warp, left, top);
    to->pixel[1] = pixel_at(warp, left + 1, top);
    to->pixel[2] = pixel_at(warp, left, top + 1);
    to->pixel[3] = pixel_at(warp, left + 1, top + 1);
    to->weight[0] = left_part * top_part;
    to->weight[1] = right_part * top_part;
    to->weight[2] = left_part * bottom_part;
    to->weight[3] = right_part * bottom_part;
    return to->pixel[0] || to->pixel[1] || to->pixel[2] || to->pixel[3];
}

static inline float value_at(const uint8_t *pixel, int channel, bool is_u8)
{
    float value = 0;
    if (pixel && is_u8)
        value = pixel[channel];
    else if (pixel)
        memcpy(&value, pixel + (size_t)channel * sizeof value, sizeof value);
    return value;
}

static float mix(const float value[4], const float weight[4])
{
    float sum = value[0] * weight[0];
    for (int k = 1; k < 4; k++)
        sum = fmaf(value[k], weight[k], sum);
    return sum;
}

static float mix_channel(const struct stk__warp *warp, const struct corners *corners, int channel)
{
    bool is_u8 = warp->value_bytes == 1;
    float value[4], is_inside[4];
    for (int k = 0; k < 4; k++) {
        value[k] = value_at(corners->pixel[k], channel, is_u8);
        is_inside[k] = corners->pixel[k] ? 1 : 0;
    }
    float mixed = mix(value, corners->weight);
    if (!warp->fill)
        return mixed;
    float fill = value_at(warp->fill, channel, is_u8);
    return (mixed - fill) * mix(is_inside, corners->weight) + fill;
}

void stk__bilinear_scalar(const struct stk__warp *warp, const struct stk__warp_places *places,
                          int from, int n, uint8_t *dst)
{
    bool is_u8 = warp->value_bytes == 1;
    size_t pixel_bytes = (size_t)warp->channels * (size_t)warp->value_bytes;
    dst += (size_t)from * pixel_bytes;
    for (int i = from; i < n; i++, dst += pixel_bytes) {
        struct corners corners;
        bool is_seen = find_corners(warp, places->x[i], places->y[i], &corners);
        for (int c = 0; c < warp->channels; c++) {
            float value = is_seen ? mix_channel(warp, &corners, c) : value_at(warp->fill, c, is_u8);
            if (is_u8)
                dst[c] = stk__round_even_u8(value);
            else
                memcpy(dst + (size_t)c * sizeof value, &value, sizeof value);
        }
    }
}

static void bilinear_scalar(const struct stk__warp *warp, const struct stk__warp_places *places,
                            int n, uint8_t *dst)
{
    stk__bilinear_scalar(warp, places, 0, n, dst);
}

void stk__warp_fill_scalar(struct stk__warp_kernels *kernels)
{
    kernels->locate = locate_scalar;
    kernels->nearest = nearest_scalar;
    kernels->bilinear_u8 = bilinear_scalar;
    kernels->bilinear_f32 = bilinear_scalar;
}
