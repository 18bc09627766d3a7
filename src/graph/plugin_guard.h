/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_guard.h: what the ops of plug-ins did is looked at before anybody else sees it. */
#pragma once
#include "base/rows/chunk.h"

/* Fails if an op stated an output that it cannot have. `is_filter`: it may drop rows. */
int stk__guard_infer(const struct stk_infer *inf, bool is_filter, struct stk_error *err);

/* Around one run: the mask is put between marks, and spans get a value that nobody sets. */
struct stk__guard {
    uint8_t *given;  /* the mask that another one stands in for */
    uint8_t *before; /* what it held */
    const int *from; /* as in stk_infer */
    bool is_filter;
};

/* Prepares rows; false when out of memory. */
bool stk__guard_begin(struct stk__guard *guard, struct stk_rows *rows);

/* Gives the mask back. What went wrong becomes the fault of rows, with STK_STATE, which ends the
 * run. `rc` is what the op returned. */
void stk__guard_end(struct stk__guard *guard, struct stk_rows *rows, int rc);
