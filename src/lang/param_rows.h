/* SPDX-License-Identifier: Apache-2.0 */
/* param_rows.h: what a parameter row takes and holds. `field` is its member of a parameter struct. */
#pragma once
#include "base/text.h"

#include <stoker/op.h>

/* Types of rows that ops and layers of the library have besides those of stoker/op.h. */
enum {
    STK__ROW_VALUE = STK_ROW_PAIRS + 1, /* const struct stk_value *: as parsed; its op reads it */
    STK__ROW_CHAINS, /* struct stk__chains: nested chains, which become further inputs of the op */
};

/* Flags of rows besides those of stoker/op.h. */
enum {
    STK__MAKES = 1 << 5,   /* row ops: its entries are fields they make, each without the others */
    STK__RENAMES = 1 << 6, /* row ops: its entries are fields, each with its name afterwards */
    /* TEXTS: in the chain of interleave a bare word is a field of the element, not a text. When a
     * source is opened, its texts are the files of one element, or of those that are known (maybe
     * none), which will be read from front to back */
    STK__TAKES_FIELD = 1 << 7,
};

struct stk_value;

struct stk__chains {
    const struct stk_value *const *item;
    int n;
};

/* clang-format off */
/* A chain may stand for the class names of its labels. */
#define STK__CLASSES_ROW(T, f, text)                                                               \
    STK_ROW(T, f, struct stk_texts, STK_ROW_TEXTS, STK_TAKES_NONE, text, .takes_classes = true,    \
            .lo.i = 1, .hi.i = INT32_MAX)
#define STK__VALUE_ROW(T, f, fl, text) STK__CALLS_ROW(T, f, NULL, fl, text)
/* `list` says what may be called in the value. */
#define STK__CALLS_ROW(T, f, list, fl, text)                                                       \
    STK_ROW(T, f, const struct stk_value *, STK__ROW_VALUE, fl, text, .calls = (list))
#define STK__CHAINS_ROW(T, f, fl, text)                                                            \
    STK_ROW(T, f, struct stk__chains, STK__ROW_CHAINS, fl, text, .choices = NULL)
/* clang-format on */

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
