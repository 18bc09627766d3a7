/* SPDX-License-Identifier: Apache-2.0 */
/* taps_pillow.c: taps of Pillow's Image.resize, in double, with scale = n_in / n_out.
 *
 *     nearest   the pixel under the middle of the output pixel; middles are summed up, as there
 *     span      pixels whose middle is within the method's radius times max(scale, 1) of
 *               (i + 0.5) * scale; weights by the method's curve, made to sum to 1
 */
#include "kernel/taps_rules.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static double sinc(double x)
{
    return x == 0 ? 1 : sin(x * pi) / (x * pi);
}

static double hamming(double x)
{
    if (x == 0)
        return 1;
    if (x >= 1)
        return 0;
    return sinc(x) * ((double)0.54f + (double)0.46f * cos(x * pi));
}

static double cubic(double x)
{
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

static double curve(enum stk__method method, double x)
{
    double distance = fabs(x);
    switch (method) {
    case STK__AREA:
        return x > -0.5 && x <= 0.5 ? 1 : 0;
    case STK__HAMMING:
        return hamming(distance);
    case STK__BICUBIC:
        return cubic(distance);
    case STK__LANCZOS3:
        return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    default:
        return distance < 1 ? 1 - distance : 0;
    }
}

static double radius_of(enum stk__method method)
{
    static const double radius[STK__N_METHODS] = {
        [STK__AREA] = 0.5,  [STK__BILINEAR] = 1, [STK__HAMMING] = 1,
        [STK__BICUBIC] = 2, [STK__LANCZOS3] = 3,
    };
    return radius[method];
}

static double axis_scale(const struct stk__axis *axis)
{
    return (double)axis->n_in / axis->n_out;
}

static double filter_scale(const struct stk__axis *axis)
{
    double scale = axis_scale(axis);
    return scale > 1 ? scale : 1;
}

int stk__pillow_span(const struct stk__axis *axis)
{
    int span = 2 * (int)ceil(radius_of(axis->method) * filter_scale(axis)) + 1;
    return span < axis->n_in ? span : axis->n_in;
}

void stk__pillow_nearest(const struct stk__axis *axis, int32_t *first)
{
    double scale = axis_scale(axis), at = scale * 0.5;
    for (int i = 0; i < axis->n_out; i++, at += scale)
        first[i] = stk__clamp_index((int64_t)at, axis->n_in);
}

void stk__pillow_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    double scale = filter_scale(axis), per_scale = 1.0 / scale, sum = 0;
    double reach = radius_of(axis->method) * scale, at = (i + 0.5) * axis_scale(axis);
    int first = (int)(at - reach + 0.5), end = (int)(at + reach + 0.5);
    first = first < 0 ? 0 : first;
    end = end > axis->n_in ? axis->n_in : end;
    run->first = first;
    run->count = end - first;
    for (int k = 0; k < run->count; k++) {
        run->weight[k] = curve(axis->method, (k + first - at + 0.5) * per_scale);
        sum += run->weight[k];
    }
    for (int k = 0; k < run->count && sum != 0; k++)
        run->weight[k] /= sum;
}
