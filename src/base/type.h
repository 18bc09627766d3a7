/* SPDX-License-Identifier: Apache-2.0 */
/* type.h: dtypes and element types beyond what op.h declares. */
#pragma once
#include "base/text.h"

#include <stoker/op.h>

/* "bool", "uint8", … NULL: the choices of a dtype parameter. */
extern const char *const stk__dtype_names[STK_N_DTYPES + 1];

/* 'b', 'u', 'i' or 'f'. */
char stk__dtype_kind(int dtype);

/* "uint8[?, ?, 3]", "bytes", "ragged int64[?]". */
void stk__field_text(const struct stk_field *field, struct stk__text *out);

/* "{image: uint8[?, ?, 3], label: int64[]}". */
void stk__type_text(const struct stk_type *type, struct stk__text *out);
