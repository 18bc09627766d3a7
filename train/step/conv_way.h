/* SPDX-License-Identifier: Apache-2.0 */
/* conv_way.h: which candidate carries out a group's convolution in a direction. */
#pragma once
#include "train/conv/candidate.h"
#include "train/plan/step_plan.h"

/* n_rows: of most bands; 0 where images are done whole, several at a time. */
int stk__conv_group_way(const struct stk__step_plan *plan, struct stk__step_group *group,
                        const struct stk__conv_task *task, struct stk__conv_way *out,
                        struct stk_error *err);
