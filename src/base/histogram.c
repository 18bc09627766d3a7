/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c: bins that widen. */
#include "base/histogram.h"

#include <math.h>
#include <string.h>

enum { LEAST_SCALE = -1000, MANTISSA = 52 };

/* The least scale at which the bin's number is a whole number that a double holds. */
static int least_scale(const struct stk__histogram *h, double value)
{
    int least = h->is_whole ? 0 : LEAST_SCALE, scale = value == 0 ? least : ilogb(value) - MANTISSA;
    return scale > least ? scale : least;
}

static void set_scale(struct stk__histogram *h, int scale)
{
    h->scale = scale;
    h->factor = ldexp(1, -scale);
}

/* A product may underflow, but not to the other side of zero. */
static double bin_of(const struct stk__histogram *h, double value)
{
    double bin = floor(value * h->factor);
    return bin == 0 && value < 0 ? -1 : bin;
}

/* Joins neighbours. */
static void widen(struct stk__histogram *h)
{
    uint64_t joined[STK__BINS] = { 0 };
    double first = floor(h->first / 2);
    int last = 0;
    for (int i = 0; i < h->n_bins; i++) {
        last = (int)(floor((h->first + i) / 2) - first);
        joined[last] += h->count[i];
    }
    memcpy(h->count, joined, sizeof joined);
    h->first = first;
    h->n_bins = last + 1;
    set_scale(h, h->scale + 1);
}

/* The bins in use come to include number `bin`; false if they would be too many. */
static bool include(struct stk__histogram *h, double bin)
{
    double first = bin < h->first ? bin : h->first;
    double last = h->first + h->n_bins - 1;
    last = bin > last ? bin : last;
    if (last - first >= STK__BINS)
        return false;
    int shift = (int)(h->first - first);
    memmove(h->count + shift, h->count, (size_t)h->n_bins * sizeof *h->count);
    memset(h->count, 0, (size_t)shift * sizeof *h->count);
    h->first = first;
    h->n_bins = (int)(last - first) + 1;
    return true;
}

static void grow(struct stk__histogram *h, double value)
{
    int least = least_scale(h, value);
    if (!h->n_bins) {
        set_scale(h, least);
        h->first = bin_of(h, value);
        h->n_bins = 1;
    }
    while (h->scale < least || !include(h, bin_of(h, value)))
        widen(h);
}

void stk__histogram_add(struct stk__histogram *h, double value, uint64_t times)
{
    double bin = bin_of(h, value) - h->first;
    if (!(bin >= 0 && bin < h->n_bins)) {
        grow(h, value);
        bin = bin_of(h, value) - h->first;
    }
    h->count[(int)bin] += times;
    h->n += times;
}

double stk__histogram_edge(const struct stk__histogram *h, int i)
{
    return ldexp(h->first + i, h->scale);
}
