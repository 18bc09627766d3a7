/* SPDX-License-Identifier: Apache-2.0 */
/* taps.c: taps along an axis, and their layout for row kernels. */
#include "kernel/taps.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static int clamp_index(int64_t index, int n)
{
    return index < 0 ? 0 : index >= n ? n - 1 : (int)index;
}

static float axis_scale(int n_in, int n_out)
{
    return (float)n_in / (float)n_out;
}

static float triangle_radius(int n_in, int n_out)
{
    float inverse = (float)(1.0 / ((float)n_out / (float)n_in));
    return inverse > 1 ? inverse : 1;
}

static int span_of(enum stk__taps_kind kind, int n_in, int n_out)
{
    if (kind == STK__NEAREST)
        return 1;
    if (kind == STK__LERP)
        return 2;
    if (kind == STK__AREA)
        return (int)ceilf(axis_scale(n_in, n_out)) + 2;
    int span = 2 * (int)ceilf(triangle_radius(n_in, n_out)) + 1;
    return span < n_in ? span : n_in;
}

size_t stk__taps_bytes(enum stk__taps_kind kind, int n_in, int n_out)
{
    size_t all = (size_t)n_out * (size_t)span_of(kind, n_in, n_out);
    return ((size_t)n_out + all + all) * 4;
}

static void init_nearest(struct stk__taps *taps, int32_t *index)
{
    float scale = axis_scale(taps->n_in, taps->n_out);
    for (int i = 0; i < taps->n_out; i++)
        index[i] = clamp_index((int64_t)(((float)i + 0.5f) * scale), taps->n_in);
}

static void init_lerp(struct stk__taps *taps, int32_t *index, float *weight)
{
    float scale = axis_scale(taps->n_in, taps->n_out);
    for (int i = 0; i < taps->n_out; i++) {
        float at = ((float)i + 0.5f) * scale - 0.5f;
        int64_t floor_at = at < 0 ? -1 : (int64_t)at; /* at >= -0.5 */
        float fraction = at - (float)floor_at;
        index[2 * i] = clamp_index(floor_at, taps->n_in);
        index[2 * i + 1] = clamp_index(floor_at + (fraction > 0), taps->n_in);
        weight[i] = fraction;
    }
}

/* How much of pixel p lies in [from, to), which is `scale` long. */
static float covered(int64_t p, float from, float to, float scale)
{
    float begin = (float)p, end = (float)(p + 1);
    if (begin < from)
        return end > to ? scale : end - from;
    return end > to ? to - begin : 1;
}

static void init_area(struct stk__taps *taps, int32_t *count, int32_t *index, float *weight)
{
    float scale = axis_scale(taps->n_in, taps->n_out);
    for (int i = 0; i < taps->n_out; i++) {
        float from = (float)i * scale, to = (float)(i + 1) * scale;
        int64_t first = (int64_t)from, end = (int64_t)ceilf(to);
        int n = 0;
        for (int64_t p = first; p < end && n < taps->span; p++, n++) {
            index[i * taps->span + n] = clamp_index(p, taps->n_in);
            weight[i * taps->span + n] = covered(p, from, to, scale);
        }
        count[i] = n;
    }
}

static void init_triangle(struct stk__taps *taps, int32_t *count, int32_t *index, float *weight)
{
    float inverse = (float)(1.0 / ((float)taps->n_out / (float)taps->n_in));
    float radius = triangle_radius(taps->n_in, taps->n_out), per_radius = 1.0f / radius;
    for (int i = 0; i < taps->n_out; i++, index += taps->span, weight += taps->span) {
        float at = ((float)i + 0.5f) * inverse, sum = 0;
        int first = clamp_index((int64_t)ceilf(at - radius - 0.5f), taps->n_in);
        int last = clamp_index((int64_t)floorf(at + radius - 0.5f), taps->n_in);
        int n = 0;
        for (int p = first; p <= last && n < taps->span; p++, n++) {
            float distance = fabsf(((float)p + 0.5f - at) * per_radius);
            index[n] = p;
            weight[n] = distance < 1 ? 1 - distance : 0;
            sum += weight[n];
        }
        float per_sum = fabsf(sum) >= 1000 * FLT_MIN ? 1.0f / sum : 0;
        for (int k = 0; k < n; k++)
            weight[k] *= per_sum;
        count[i] = n;
    }
}

void stk__taps_init(struct stk__taps *taps, enum stk__taps_kind kind, int n_in, int n_out,
                    void *memory)
{
    int span = span_of(kind, n_in, n_out);
    int32_t *count = memory, *index = count + n_out;
    float *weight = (float *)(index + (size_t)n_out * (size_t)span);
    *taps = (struct stk__taps){ n_in, n_out, span, NULL, index, weight };
    if (kind == STK__NEAREST) {
        init_nearest(taps, index);
    } else if (kind == STK__LERP) {
        init_lerp(taps, index, weight);
    } else {
        taps->count = count;
        (kind == STK__AREA ? init_area : init_triangle)(taps, count, index, weight);
    }
}

/* ---- windows of a lerp row ---- */

enum { GROUP = 4 };

static int min_int(int a, int b)
{
    return a < b ? a : b;
}
static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static void set_lane(uint8_t *shuffle, int left, int right)
{
    shuffle[0] = (uint8_t)left;
    shuffle[1] = 0x80;
    shuffle[2] = (uint8_t)right;
    shuffle[3] = 0x80;
}

/* One window of 16 bytes for each group of four values; false when a group needs more. */
static bool wide_windows(const struct stk__lerp_row *row, int32_t *window, uint8_t *shuffle)
{
    if (row->n_src < 16)
        return false;
    for (int i = 0; i + GROUP <= row->n; i += GROUP) {
        int low = row->left[i], high = row->right[i];
        for (int k = 1; k < GROUP; k++) {
            low = min_int(low, row->left[i + k]);
            high = max_int(high, row->right[i + k]);
        }
        int begin = min_int(low, row->n_src - 16);
        if (high - begin >= 16)
            return false;
        window[i / GROUP] = begin;
        for (int k = i; k < i + GROUP; k++)
            set_lane(shuffle + 4 * k, row->left[k] - begin, row->right[k] - begin);
    }
    return true;
}

/* The byte of a 16-byte lane that holds `offset`, from two windows of 8; -1 when neither has it. */
static int place_in(int offset, const int32_t window[2])
{
    if (offset >= window[0] && offset < window[0] + 8)
        return offset - window[0];
    return offset >= window[1] && offset < window[1] + 8 ? offset - window[1] + 8 : -1;
}

/* Two windows of 8 bytes for each group; false when a group needs more. */
static bool narrow_windows(const struct stk__lerp_row *row, int32_t *window, uint8_t *shuffle)
{
    if (row->n_src < 8)
        return false;
    for (int i = 0; i + GROUP <= row->n; i += GROUP, window += 2) {
        int low = row->left[i], next = row->n_src;
        for (int k = 1; k < GROUP; k++)
            low = min_int(low, row->left[i + k]);
        window[0] = min_int(low, row->n_src - 8);
        for (int k = i; k < i + GROUP; k++) {
            if (row->right[k] >= window[0] + 8)
                next = min_int(next, row->left[k] < window[0] + 8 ? row->right[k] : row->left[k]);
        }
        window[1] = min_int(next, row->n_src - 8);
        for (int k = i; k < i + GROUP; k++) {
            int left = place_in(row->left[k], window), right = place_in(row->right[k], window);
            if (left < 0 || right < 0)
                return false;
            set_lane(shuffle + 4 * k, left, right);
        }
    }
    return true;
}

size_t stk__lerp_row_bytes(int n_out, int channels)
{
    /* left, right, weight, shuffle: 4 bytes a value each; windows: at most 2 * 4 for four values */
    return (size_t)n_out * (size_t)channels * 18 + 16;
}

void stk__lerp_row_init(struct stk__lerp_row *row, const struct stk__taps *taps, int channels,
                        void *memory)
{
    int n = taps->n_out * channels;
    int32_t *left = memory, *right = left + n;
    float *weight = (float *)(right + n);
    int32_t *window = (int32_t *)(weight + n);
    uint8_t *shuffle = (uint8_t *)(window + n / GROUP * 2);
    for (int i = 0, at = 0; i < taps->n_out; i++) {
        for (int c = 0; c < channels; c++, at++) {
            left[at] = taps->index[2 * i] * channels + c;
            right[at] = taps->index[2 * i + 1] * channels + c;
            weight[at] = taps->weight[i];
        }
    }
    *row = (struct stk__lerp_row){
        .n = n,
        .n_src = taps->n_in * channels,
        .channels = channels,
        .left = left,
        .right = right,
        .weight = weight,
        .window = window,
        .shuffle = shuffle,
    };
    if (wide_windows(row, window, shuffle))
        row->window_bytes = 16;
    else if (narrow_windows(row, window, shuffle))
        row->window_bytes = 8;
}

/* ---- affine ---- */

static int affine_period(int channels)
{
    int period = channels;
    while (period % 16)
        period *= 2;
    return period;
}

size_t stk__affine_bytes(int channels)
{
    return (size_t)affine_period(channels) * 2 * sizeof(float);
}

void stk__affine_init(struct stk__affine *affine, const float *mul, const float *add, int channels,
                      void *memory)
{
    int period = affine_period(channels);
    float *all_mul = memory, *all_add = all_mul + period;
    for (int i = 0; i < period; i++) {
        all_mul[i] = mul[i % channels];
        all_add[i] = add[i % channels];
    }
    *affine = (struct stk__affine){ period, all_mul, all_add };
}
