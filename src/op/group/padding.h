/* SPDX-License-Identifier: Apache-2.0 */
/* padding.h: padded_shapes and padding_values, as padded_batch and bucket_by_length take them. */
#pragma once
#include "lang/value.h"
#include "op/group/grouping.h"

/* Makes every field that is no text padded; either value may be NULL. Messages point at the part of
 * the call that is meant. */
int stk__padding_set(const struct stk_infer *inf, const struct stk_value *shapes,
                     const struct stk_value *values, struct stk__grouping *grouping,
                     struct stk_error *err);
