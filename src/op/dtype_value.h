/* SPDX-License-Identifier: Apache-2.0 */
/* dtype_value.h: single numbers as values of a dtype, converted as cast does: integers are cut off
 * towards zero and limited. */
#pragma once
#include "op/declaration.h"

void stk__dtype_put(int dtype, double value, void *dst);
double stk__dtype_get(int dtype, const void *src);

/* Whether an integer dtype has this very number; floats have every finite one. */
bool stk__dtype_has(int dtype, double value);
