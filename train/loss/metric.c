/* SPDX-License-Identifier: Apache-2.0 */
/* metric.c: top-k and binary accuracy, and the confusion matrix. */
#include "train/loss/metric.h"

#include <math.h>

int64_t stk__greatest_output(const float *outputs, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (outputs[i] > outputs[best] || (isnan(outputs[best]) && !isnan(outputs[i])))
            best = i;
    return best;
}

static bool is_in_top(const float *outputs, int64_t n, int64_t label, int64_t k)
{
    int64_t n_greater = 0;
    if (!isfinite(outputs[label]))
        return false;
    if (k == 1)
        return stk__greatest_output(outputs, n) == label;
    for (int64_t i = 0; i < n; i++)
        n_greater += outputs[i] > outputs[label] || isnan(outputs[i]);
    return n_greater < k;
}

int64_t stk__count_top(const float *outputs, const struct stk__targets *targets, int64_t k)
{
    int64_t n_right = 0, n = targets->outputs;
    for (int64_t row = 0; row < targets->rows; row++)
        n_right += is_in_top(outputs + row * n, n, stk__target_label(targets, row), k);
    return n_right;
}

int64_t stk__count_binary(const float *logits, const struct stk__targets *targets)
{
    int64_t n_right = 0;
    for (int64_t row = 0; row < targets->rows; row++)
        n_right +=
            isfinite(logits[row]) && (logits[row] > 0) == (stk__target_value(targets, row) > 0.5f);
    return n_right;
}

void stk__count_confusion(const float *outputs, const struct stk__targets *targets,
                          uint64_t *counts)
{
    int64_t n = targets->outputs;
    for (int64_t row = 0; row < targets->rows; row++)
        counts[stk__target_label(targets, row) * n + stk__greatest_output(outputs + row * n, n)]++;
}
