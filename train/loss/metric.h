/* SPDX-License-Identifier: Apache-2.0 */
/* metric.h: how often a model was right. */
#pragma once
#include "train/loss/target.h"

/* The place of the greatest output; the first of equals, and 0 where all are NaN. */
int64_t stk__greatest_output(const float *outputs, int64_t n);

/* Rows whose label is among the k greatest outputs. As Keras counts: of k = 1 the first of equal outputs
 * is the answer; of more, a label is in if fewer than k outputs are greater than its own. An output that
 * is not finite is never right. Targets were checked. */
int64_t stk__count_top(const float *outputs, const struct stk__targets *targets, int64_t k);

/* Rows of one output, a logit, that says rightly whether the target is true: above 0.5. */
int64_t stk__count_binary(const float *logits, const struct stk__targets *targets);

/* Adds to counts[outputs][outputs]: rows are labels, columns are answers. */
void stk__count_confusion(const float *outputs, const struct stk__targets *targets,
                          uint64_t *counts);
