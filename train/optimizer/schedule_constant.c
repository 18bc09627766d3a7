/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_constant.c: the same rate in every step. */
#include "train/optimizer/schedule.h"

struct constant {
    struct stk__warmup common;
};

static const struct stk_param rows[] = {
    STK__RATE_ROW,
    STK__WARMUP_ROWS,
    STK_ROWS_END,
};

const struct stk__schedule_type stk__schedule_type_constant = {
    .decl = { "constant", 1, "The same rate in every step.",
              "With a warm-up it rises to that rate first. A number alone is "
              "the "
              "same as constant(number).\n"
              "\n"
              "    constant(0.001, warmup=500)",
              rows, sizeof(struct constant) },
};
