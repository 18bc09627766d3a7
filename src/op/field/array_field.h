/* SPDX-License-Identifier: Apache-2.0 */
/* array_field.h: what ops on arrays of numbers share: the field they read, where their result goes,
 * one row of either, and copies of boxes of values. */
#pragma once
#include "op/declaration.h"

/* Numbers: fixed, shaped or ragged; no rows of a batch in one. */
bool stk__is_array(const struct stk_field *field);

/* Makes room for a result that is computed from the field `from`: in its place, or under the name
 * `into` (not NULL), which replaces a field of that name or comes last. The output has the other
 * fields of the input already. *to is where it is. */
int stk__result_put(struct stk_infer *inf, int from, const char *into, struct stk_field made,
                    int *to, struct stk_error *err);

/* Fails unless every row has less than 2^31 values, as far as dimensions are known. */
int stk__array_check_size(const struct stk_field *field, struct stk_error *err);

/* One row: numbers, or a string of bytes, which has one dimension. */
struct stk__array_value {
    const uint8_t *data;
    int rank;
    int64_t dim[STK_MAX_RANK];
};

struct stk__array_value stk__array_get(const struct stk_rows *rows, int field, int row);

size_t stk__array_values(const struct stk__array_value *array);

/* Where a row with these dimensions goes; NULL when out of memory. */
uint8_t *stk__array_put(struct stk_rows *rows, int field, int row, const int64_t *dim);

/* "[2, 3]". */
const char *stk__dims_text(const int64_t *dim, int rank, char *text, size_t size);

/* ---- boxes ---- */

/* A box of values in two arrays; steps between neighbours along an axis are in bytes and may be
 * negative. */
struct stk__box {
    int rank;
    size_t value_bytes;
    int64_t dim[STK_MAX_RANK], src_step[STK_MAX_RANK], dst_step[STK_MAX_RANK];
};

/* A box of these dimensions, with the steps of whole arrays of src_dim and dst_dim. */
struct stk__box stk__box_make(int rank, size_t value_bytes, const int64_t *dim,
                              const int64_t *src_dim, const int64_t *dst_dim);

void stk__box_copy(struct stk__box box, uint8_t *dst, const uint8_t *src);

/* Where a box lies in a row of a fixed field, in bytes from its first value. */
struct stk__box_place {
    int field;
    int64_t at;
};

/* Copies the same box of every live row. */
void stk__box_copy_rows(struct stk_rows *rows, struct stk__box box, struct stk__box_place from,
                        struct stk__box_place to);

/* The same value n times. */
void stk__fill_values(uint8_t *dst, const void *value, size_t value_bytes, size_t n);
