/* SPDX-License-Identifier: Apache-2.0 */
/* number.h: constant arithmetic on values of kind STK__INT and STK__REAL. */
#pragma once
#include "lang/value.h"

/* A literal and its sign; false if it does not fit. */
bool stk__number_from(uint64_t magnitude, bool is_negative, struct stk_value *out);
bool stk__number_negate(struct stk_value *number);

/* left = left op right; what went wrong in a sentence, or NULL. */
const char *stk__number_join(struct stk_value *left, int op, const struct stk_value *right);
