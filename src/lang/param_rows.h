/* SPDX-License-Identifier: Apache-2.0 */
/* param_rows.h: what a parameter row takes and holds. `field` is its member of a parameter struct. */
#pragma once
#include "base/text.h"

#include <stoker/op.h>

/* None: NaN for reals, -1 for choices, NULL for texts and values, the empty list, map or chains. */
bool stk__row_is_none(const struct stk_param *row, const void *field);
bool stk__row_is_default(const struct stk_param *row, const void *field);

/* Into a cleared field. */
void stk__row_put_none(const struct stk_param *row, void *field);
void stk__row_put_default(const struct stk_param *row, void *field);

/* A row takes `none` if it says so or if none is its default; so every default can be written. */
bool stk__row_takes_none(const struct stk_param *row);
bool stk__row_takes_auto(const struct stk_param *row);

/* A bound as wide as its type says nothing. */
bool stk__row_has_min(const struct stk_param *row);
bool stk__row_has_max(const struct stk_param *row);
void stk__row_add_bound(const struct stk_param *row, bool is_min, struct stk__text *out);

/* "an integer or none", "nearest, bilinear or area". */
void stk__row_add_takes(const struct stk_param *row, struct stk__text *out);
