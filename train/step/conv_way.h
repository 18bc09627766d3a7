/* SPDX-License-Identifier: Apache-2.0 */
/* conv_way.h: which candidate carries out a group's convolution in a direction. */
#pragma once
#include "train/candidate.h"
#include "train/step_plan.h"

int stk__conv_way(const struct stk__step_plan *plan, const struct stk__group *group,
                  const struct stk__conv *conv, enum stk__direction direction, struct stk__way *out,
                  struct stk_error *err);
