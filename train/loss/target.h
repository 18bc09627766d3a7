/* SPDX-License-Identifier: Apache-2.0 */
/* target.h: what a batch of outputs is to be, a label per row or a value per output; and how often it is. */
#pragma once
#include <stoker/op.h>

struct stk__targets {
    const void *data; /* [rows], or [rows, outputs] */
    int dtype;        /* any but float16 and bfloat16; labels are integers */
    bool is_sparse;   /* labels */
    int64_t rows, outputs;
};

/* Fails if the type is none of these, or a label is not below `outputs`: the message names `op`, the row
 * and the label. */
int stk__targets_check(const struct stk__targets *targets, const char *op, struct stk_error *err);

/* A label, or of values the greatest's place. */
int64_t stk__target_label(const struct stk__targets *targets, int64_t row);

/* Value i of all, where they are not labels. */
float stk__target_value(const struct stk__targets *targets, int64_t i);

/* ---- how often a model is right ---- */

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
