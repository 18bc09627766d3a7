/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h: rows of different lengths brought together in one buffer: how a batch holds bytes and
 * ragged fields.
 *
 *     int64 n | int64 splits[n + 1] | padding to 64 bytes | the rows, one behind the other
 *
 * Splits count values: bytes, or entries of a ragged row's first dimension.
 */
#pragma once
#include "base/buffer.h"

struct stk__blob {
    int64_t n;
    int64_t *splits;
    uint8_t *data;
};

/* Bytes of one value of a bytes or ragged field. */
size_t stk__blob_unit(const struct stk_field *field);

/* Bytes that n spans take once packed, every step-th of them. */
size_t stk__blob_bytes(const struct stk_span *span, int step, int n);

/* Packs them where there is room for that, aligned to 8 bytes. */
void stk__blob_write(const struct stk_span *span, int step, int n, size_t unit, uint8_t *packed);

/* Bytes of memory that hold n rows of so many bytes in all, and its head: splits and data are to be
 * written. The memory is aligned to 64 bytes. */
size_t stk__blob_room(int64_t n, size_t bytes);
struct stk__blob stk__blob_begin(uint8_t *memory, int64_t n);

/* What a packed buffer holds; borrows it. */
struct stk__blob stk__blob_open(uint8_t *packed);
