/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h: what the ops that make batches of one size have in common. */
#pragma once
#include "op/declaration.h"

struct stk__batch_words {
    int64_t batch_size;
    bool drop_remainder;
};

extern const struct stk_param stk__batch_params[];

/* infer and count of an op whose params begin with stk__batch_words. */
int stk__batch_infer(struct stk_infer *inf, struct stk_error *err);
int stk__batch_count(const struct stk_infer *inf, int64_t *out, struct stk_error *err);
