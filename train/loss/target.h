/* SPDX-License-Identifier: Apache-2.0 */
/* target.h: what a batch of outputs is to be: a label per row, or a value per output. */
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
