/* SPDX-License-Identifier: Apache-2.0 */
/* target.c: labels and values of any type, and how often a model is right. */
#include "train/loss/target.h"

#include "base/error.h"
#include "base/type.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static int64_t load_int(const struct stk__targets *t, int64_t i)
{
    switch ((enum stk_dtype)t->dtype) {
    case STK_BOOL:
    case STK_U8:
        return ((const uint8_t *)t->data)[i];
    case STK_I8:
        return ((const int8_t *)t->data)[i];
    case STK_U16:
        return ((const uint16_t *)t->data)[i];
    case STK_I16:
        return ((const int16_t *)t->data)[i];
    case STK_U32:
        return ((const uint32_t *)t->data)[i];
    case STK_I32:
        return ((const int32_t *)t->data)[i];
    default:
        return ((const int64_t *)t->data)[i]; /* a uint64 that it does not hold is negative */
    }
}

static int check_labels(const struct stk__targets *t, const char *op, struct stk_error *err)
{
    for (int64_t row = 0; row < t->rows; row++) {
        int64_t label = load_int(t, row);
        char text[24];
        if (label >= 0 && label < t->outputs)
            continue;
        if (t->dtype == STK_U64)
            snprintf(text, sizeof text, "%" PRIu64, (uint64_t)label);
        else
            snprintf(text, sizeof text, "%" PRId64, label);
        return stk_fail(err, STK_DATA,
                        "%s: the label of row %lld is %s; with %lld classes labels are 0 to %lld",
                        op, (long long)row, text, (long long)t->outputs, (long long)t->outputs - 1);
    }
    return STK_OK;
}

int stk__targets_check(const struct stk__targets *t, const char *op, struct stk_error *err)
{
    bool is_float = stk__dtype_kind(t->dtype) == 'f';
    if (t->is_sparse ? is_float : t->dtype == STK_F16 || t->dtype == STK_BF16)
        return stk_fail(err, STK_TYPE,
                        t->is_sparse ? "%s: labels are integers, not %s; values for each of the "
                                       "outputs may be float32"
                                     : "%s: targets are float32 or float64, not %s",
                        op, stk__dtype_names[t->dtype]);
    return t->is_sparse ? check_labels(t, op, err) : STK_OK;
}

float stk__target_value(const struct stk__targets *t, int64_t i)
{
    if (t->dtype == STK_F32)
        return ((const float *)t->data)[i];
    return t->dtype == STK_F64 ? (float)((const double *)t->data)[i] : (float)load_int(t, i);
}

int64_t stk__target_label(const struct stk__targets *t, int64_t row)
{
    int64_t best = 0;
    if (t->is_sparse)
        return load_int(t, row);
    for (int64_t i = 1; i < t->outputs; i++)
        if (stk__target_value(t, row * t->outputs + i) >
            stk__target_value(t, row * t->outputs + best))
            best = i;
    return best;
}

/* ---- how often a model is right ---- */

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
