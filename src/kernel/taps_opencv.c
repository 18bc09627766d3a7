/* SPDX-License-Identifier: Apache-2.0 */
/* taps_opencv.c: taps of cv::resize, with scale = n_in / n_out.
 *
 *     nearest   pixel floor(i * scale)
 *     span      at = (i + 0.5) * scale - 0.5, whatever the scale: 2 (linear), 4 (cubic, a = -0.75)
 *               or 8 pixels (Lanczos) around it; outside the image is the border pixel
 *     area      the pixels that [i * scale, (i + 1) * scale) covers, weighted by how much of each
 *     grow      linear between pixels, with edges kept sharp
 * Positions are doubles, fractions and weights floats.
 */
#include "kernel/taps_rules.h"

#include <float.h>
#include <math.h>

/* As there, one over the factor, and not n_in / n_out. */
static double axis_scale(const struct stk__axis *axis)
{
    return 1.0 / ((double)axis->n_out / axis->n_in);
}

static int n_taps(const struct stk__axis *axis)
{
    if (axis->rule == STK__OPENCV_GROW)
        return 2;
    return axis->method == STK__BICUBIC ? 4 : axis->method == STK__LANCZOS4 ? 8 : 2;
}

int stk__opencv_span(const struct stk__axis *axis)
{
    return axis->rule == STK__OPENCV_AREA ? (int)ceil(axis_scale(axis)) + 2 : n_taps(axis);
}

void stk__opencv_nearest(const struct stk__axis *axis, int32_t *first)
{
    double scale = axis_scale(axis);
    for (int i = 0; i < axis->n_out; i++)
        first[i] = stk__clamp_index((int64_t)(i * scale), axis->n_in);
}

static void area_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    double scale = axis_scale(axis), from = i * scale, to = from + scale;
    double cell = fmin(scale, axis->n_in - from);
    int last = (int)fmin(floor(to), axis->n_in - 1), begin = (int)fmin(ceil(from), last);
    bool has_part = begin - from > 1e-3;
    run->first = has_part ? begin - 1 : begin;
    run->count = 0;
    if (has_part)
        run->weight[run->count++] = (float)((begin - from) / cell);
    for (int p = begin; p < last; p++)
        run->weight[run->count++] = (float)(1.0 / cell);
    if (to - last > 1e-3)
        run->weight[run->count++] = (float)(fmin(fmin(to - last, 1.0), cell) / cell);
}

static void cubic_weights(float x, double *weight)
{
    const float a = -0.75f;
    float y = 1 - x;
    float before = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
    float left = ((a + 2) * x - (a + 3)) * x * x + 1;
    float right = ((a + 2) * y - (a + 3)) * y * y + 1;
    weight[0] = before;
    weight[1] = left;
    weight[2] = right;
    weight[3] = 1 - before - left - right;
}

/* sin(y) at steps of pi / 4 from the first, as sums of its sine and cosine. */
static void lanczos_weights(float x, double *weight)
{
    const double quarter = 3.14159265358979323846 * 0.25, half_root = 0.70710678118654752440;
    const double turn[8][2] = { { 1, 0 },  { -half_root, -half_root },
                                { 0, 1 },  { half_root, -half_root },
                                { -1, 0 }, { half_root, half_root },
                                { 0, -1 }, { -half_root, half_root } };
    for (int k = 0; k < 8 && x < FLT_EPSILON; k++)
        weight[k] = k == 3;
    if (x < FLT_EPSILON)
        return;
    double y = (double)-(x + 3) * quarter, sine = sin(y), cosine = cos(y);
    float all[8], sum = 0;
    for (int k = 0; k < 8; k++) {
        float apart = x + 3 - (float)k;
        double at = (double)-apart * quarter;
        all[k] = fabsf(apart) < 1e-6f /* on the pixel, but for rounding: it outweighs the others */
                     ? 1e30f
                     : (float)((turn[k][0] * sine + turn[k][1] * cosine) / (at * at));
        sum += all[k];
    }
    sum = 1.0f / sum;
    for (int k = 0; k < 8; k++)
        weight[k] = all[k] * sum;
}

/* Between pixel `at` and the next: how far. */
static float position(const struct stk__axis *axis, int i, int64_t *at)
{
    double scale = axis_scale(axis);
    if (axis->rule == STK__OPENCV_GROW) {
        *at = (int64_t)(i * scale);
        float part = (float)((i + 1) - (double)(*at + 1) * ((double)axis->n_out / axis->n_in));
        return part <= 0 ? 0 : part - floorf(part);
    }
    float middle = (float)((i + 0.5) * scale - 0.5);
    *at = (int64_t)floorf(middle);
    return middle - (float)*at;
}

void stk__opencv_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    if (axis->rule == STK__OPENCV_AREA) {
        area_taps(axis, i, run);
        return;
    }
    int64_t at;
    float part = position(axis, i, &at);
    run->count = n_taps(axis);
    if (run->count == 2 && axis->multiple && (at < 0 || at >= axis->n_in - 1)) {
        at = stk__clamp_index(at, axis->n_in);
        part = 0;
    }
    run->first = at - run->count / 2 + 1;
    if (run->count == 4) {
        cubic_weights(part, run->weight);
    } else if (run->count == 8) {
        lanczos_weights(part, run->weight);
    } else {
        run->weight[0] = 1 - part;
        run->weight[1] = part;
    }
}
