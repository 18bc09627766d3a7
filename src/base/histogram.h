/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.h: counts of numbers whose range nobody knows beforehand, exact and in one pass.
 *
 * Bin i holds the numbers from i * 2^scale up to (i + 1) * 2^scale. Whenever the bins in use would
 * be more than STK__BINS, neighbours are joined and the scale rises by one: nothing is moved across
 * an edge. The scale that results is the least one that is enough for the least and the greatest
 * number, so the order of the numbers does not show.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { STK__BINS = 16 };

struct stk__histogram {
    int scale;
    bool is_whole; /* only whole numbers come: no bin is narrower than 1 */
    int n_bins;    /* in use: the first and the last hold something; 0: empty */
    double first;  /* number of the first bin, whole */
    double factor; /* 2^-scale */
    uint64_t n;
    uint64_t count[STK__BINS];
};

/* `value` is finite. */
void stk__histogram_add(struct stk__histogram *h, double value, uint64_t times);

/* Where bin i begins; bin n_bins begins where the last one ends. */
double stk__histogram_edge(const struct stk__histogram *h, int i);
