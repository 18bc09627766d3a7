/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_moments.c: the sums of moments.h. */
#include "checkkernel.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHANNELS = 8 };

static const double shift[MOST_CHANNELS] = { 0, 0.5, -3, 1e3, 7, 0.25, 1, 2 };

static void write_sums(const struct stk__moments *moments, int channels, double *out)
{
    for (int c = 0; c < channels; c++) {
        memcpy(out + 2 * c, &moments[c].sum, sizeof *out);
        memcpy(out + 2 * c + 1, &moments[c].square, sizeof *out);
    }
}

static void sums_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__moments moments[MOST_CHANNELS];
    k->moments.of_f32(in->floats, (size_t)in->n, in->channels, shift, moments);
    write_sums(moments, in->channels, out);
}

static void range_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__moments moments[MOST_CHANNELS];
    double *at = out;
    k->moments.of_f32(in->floats, (size_t)in->n, in->channels, shift, moments);
    for (int c = 0; c < in->channels; c++) {
        at[2 * c] = moments[c].lo + (double)moments[c].n_bad;
        at[2 * c + 1] = moments[c].hi;
    }
}

static void sums_f64(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__moments moments[MOST_CHANNELS];
    double *values = malloc((size_t)in->n * sizeof *values);
    for (int i = 0; values && i < in->n; i++)
        values[i] = (double)in->floats[i] * 1e30;
    if (!values)
        exit(2);
    k->moments.of_f64(values, (size_t)in->n, in->channels, shift, moments);
    write_sums(moments, in->channels, out);
    free(values);
}

const struct job moments_jobs[] = {
    { "moments sums f32", sums_f32, true, false },
    { "moments range f32", range_f32, true, false },
    { "moments sums f64", sums_f64, true, false },
    { NULL, NULL, false, false },
};
