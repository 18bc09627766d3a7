/* SPDX-License-Identifier: Apache-2.0 */
/* taps_tf.c: taps of tf.image.resize in TensorFlow 2, in float32, with scale = n_in / n_out.
 *
 *     nearest   pixel min(floor((i + 0.5) * scale), n_in - 1)
 *     lerp      at = (i + 0.5) * scale - 0.5: pixels floor(at) and ceil(at), clamped to the image;
 *               the second has the weight at - floor(at)
 *     cubic     pixels floor(at) - 1 to floor(at) + 2 with Keys' weights (a = -0.5), of a table of
 *               1024 steps; those outside the image have none, and the rest is made to sum to 1
 *     area      the pixels that [i * scale, (i + 1) * scale) covers, weighted by how much of each;
 *               the sum is divided by the area of a cell afterwards
 *     span      pixels within the method's radius of (i + 0.5) * scale, which max(scale, 1)
 *               multiplies if antialias; weights by the method's curve, made to sum to 1
 */
#include "kernel/taps_rules.h"

#include <float.h>
#include <math.h>

static float axis_scale(const struct stk__axis *axis)
{
    return (float)axis->n_in / (float)axis->n_out;
}

/* ---- curves ---- */

static const float pi = 3.14159265359f;

static float lanczos(float x, float radius)
{
    if (x > radius)
        return 0;
    if (x <= 1e-3f)
        return 1;
    return radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}

static float gaussian(float x)
{
    const float radius = 1.5f, sigma = 0.5f;
    return x >= radius ? 0 : (float)exp((double)(-x * x) / (2.0 * sigma * sigma));
}

static float keys(float x)
{
    if (x >= 2)
        return 0;
    if (x >= 1)
        return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
    return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

static float mitchell(float x)
{
    if (x >= 2)
        return 0;
    if (x >= 1)
        return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
    return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

static float curve(enum stk__method method, float x)
{
    switch (method) {
    case STK__BICUBIC:
        return keys(x);
    case STK__MITCHELL:
        return mitchell(x);
    case STK__GAUSSIAN:
        return gaussian(x);
    case STK__LANCZOS3:
        return lanczos(x, 3);
    case STK__LANCZOS5:
        return lanczos(x, 5);
    default:
        return x < 1 ? 1 - x : 0;
    }
}

static float radius_of(enum stk__method method)
{
    static const float radius[STK__N_METHODS] = {
        [STK__BILINEAR] = 1, [STK__BICUBIC] = 2,  [STK__MITCHELL] = 2,
        [STK__LANCZOS3] = 3, [STK__LANCZOS5] = 5, [STK__GAUSSIAN] = 1.5f,
    };
    return radius[method];
}

/* ---- rules ---- */

static float inverse_scale(const struct stk__axis *axis)
{
    return (float)(1.0 / ((float)axis->n_out / (float)axis->n_in));
}

static float kernel_scale(const struct stk__axis *axis)
{
    float inverse = inverse_scale(axis);
    return axis->antialias && inverse > 1 ? inverse : 1;
}

int stk__tf_span(const struct stk__axis *axis)
{
    if (axis->rule == STK__TF_LERP)
        return 2;
    if (axis->rule == STK__TF_CUBIC)
        return 4;
    if (axis->rule == STK__TF_AREA)
        return (int)ceilf(axis_scale(axis)) + 2;
    int span = 2 * (int)ceilf(radius_of(axis->method) * kernel_scale(axis)) + 1;
    return span < axis->n_in ? span : axis->n_in;
}

void stk__tf_nearest(const struct stk__axis *axis, int32_t *first)
{
    float scale = axis_scale(axis);
    for (int i = 0; i < axis->n_out; i++)
        first[i] = stk__clamp_index((int64_t)(((float)i + 0.5f) * scale), axis->n_in);
}

void stk__tf_lerps(const struct stk__axis *axis, int32_t *first, int32_t *count, float *weight)
{
    float scale = axis_scale(axis);
    int step = axis->is_reversed ? -1 : 1, n_in = axis->n_in;
    int i = axis->is_reversed ? axis->from + axis->n - 1 : axis->from;
    for (int j = 0; j < axis->n; j++, i += step) {
        float at = ((float)i + 0.5f) * scale - 0.5f;
        int64_t floor_at = at < 0 ? -1 : (int64_t)at; /* at >= -0.5 */
        float fraction = at - (float)floor_at;
        int left = stk__clamp_index(floor_at, n_in);
        first[j] = left;
        count[j] = 1 + stk__clamp_index(floor_at + (fraction > 0), n_in) - left;
        weight[2 * j] = 1 - fraction;
        weight[2 * j + 1] = fraction;
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

static void area_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    float scale = axis_scale(axis), from = (float)i * scale, to = (float)(i + 1) * scale;
    int64_t end = (int64_t)ceilf(to);
    int span = stk__tf_span(axis);
    run->first = (int64_t)from;
    run->count = 0;
    for (int64_t p = run->first; p < end && run->count < span; p++)
        run->weight[run->count++] = covered(p, from, to, scale);
}

/* Keys' weight of a pixel `step` / 1024 away, and of one 1024 steps further. */
static float table_near(int step)
{
    float x = (float)(step * 1.0 / 1024);
    return (float)((1.5 * (double)x - 2.5) * (double)x * (double)x + 1);
}

static float table_far(int step)
{
    float x = (float)(step * 1.0 / 1024 + 1.0);
    return (float)(((-0.5 * (double)x + 2.5) * (double)x - 4) * (double)x + 2);
}

static void cubic_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    float at = ((float)i + 0.5f) * axis_scale(axis) - 0.5f;
    int64_t middle = (int64_t)floorf(at);
    int step = (int)lrintf((at - (float)middle) * 1024);
    float weight[4] = { table_far(step), table_near(step), table_near(1024 - step),
                        table_far(1024 - step) };
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        int64_t p = middle - 1 + k;
        weight[k] = p >= 0 && p < axis->n_in ? weight[k] : 0;
        sum = k ? sum + weight[k] : weight[k];
    }
    float per_sum = fabsf(sum) >= 1000 * FLT_MIN ? 1.0f / sum : 1;
    run->first = middle - 1;
    run->count = 4;
    for (int k = 0; k < 4; k++)
        run->weight[k] = weight[k] * per_sum;
}

static void span_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    float scale = kernel_scale(axis), per_scale = 1.0f / scale;
    float reach = radius_of(axis->method) * scale, sum = 0;
    float at = ((float)i + 0.5f) * inverse_scale(axis);
    int first = stk__clamp_index((int64_t)ceilf(at - reach - 0.5f), axis->n_in);
    int last = stk__clamp_index((int64_t)floorf(at + reach - 0.5f), axis->n_in);
    int span = stk__tf_span(axis);
    run->first = first;
    run->count = 0;
    for (int p = first; p <= last && run->count < span; p++) {
        float weight = curve(axis->method, fabsf(((float)p + 0.5f - at) * per_scale));
        run->weight[run->count++] = weight;
        sum += weight;
    }
    float per_sum = fabsf(sum) >= 1000 * FLT_MIN ? 1.0f / sum : 0;
    for (int k = 0; k < run->count; k++)
        run->weight[k] = (float)run->weight[k] * per_sum;
}

void stk__tf_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    if (axis->rule == STK__TF_CUBIC)
        cubic_taps(axis, i, run);
    else if (axis->rule == STK__TF_AREA)
        area_taps(axis, i, run);
    else
        span_taps(axis, i, run);
}
