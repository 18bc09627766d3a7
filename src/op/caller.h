/* SPDX-License-Identifier: Apache-2.0 */
/* caller.h: fields and cells that the calling program makes, by a stream or a function. */
#pragma once
#include "op/declaration.h"

/* States the fields as the output of an op that writes all of them. Texts of a batch are bytes of
 * rank 1. */
void stk__caller_fields(int n, const struct stk_field_info *field, struct stk_infer *inf);

/* Whether a cell is what its field says. */
int stk__caller_check(const struct stk_field_info *field, const struct stk_cell *cell,
                      struct stk_error *err);

/* Bytes of a checked cell as a row that is not fixed, and the row: a list of texts is packed. */
size_t stk__caller_bytes(const struct stk_field *field, const struct stk_cell *cell);
void stk__caller_write(const struct stk_field *field, const struct stk_cell *cell, uint8_t *dst);
