/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h: rows of different lengths brought together in one buffer: how a batch holds bytes and
 * ragged fields, and an element a list of texts.
 *
 *     int64 n | int64 splits[n + 1] | padding to 64 bytes | the rows, one behind the other
 *
 * Splits count values: bytes, or entries of a ragged row's first dimension. Where rows are blobs
 * themselves, they are joined: the entries of all of them are one blob, and splits count entries.
 *
 *     int64 n | int64 splits[n + 1] | padding to 64 bytes | a blob of splits[n] entries
 */
#pragma once
#include "base/memory/buffer.h"

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

/* Texts of every list of a bytes field; -1: it may have any number of them. */
int64_t stk__texts_of(const struct stk_field *field);

/* True if the bytes of a row, aligned to 8, are what its packed field can hold. */
bool stk__blob_is_sound(const struct stk_field *field, struct stk_span row);

/* A blob without entries, which belongs to nobody. */
struct stk_span stk__blob_empty(void);

/* ---- blobs of blobs ---- */

/* Every step-th of the spans, n of them, each a blob with values of so many bytes. */
struct stk__lists {
    const struct stk_span *span;
    int step, n;
    size_t unit;
};

/* What lists are filled up with, as arrays of `to` whose first entries along each dimension are
 * theirs. Lists have the shape `from`; of one dimension each has its own length. */
struct stk__list_fill {
    int rank;
    const int64_t *from;
    const int32_t *to;
    const char *text;
    size_t bytes;
};

/* Entries of the longest. */
int64_t stk__lists_longest(const struct stk__lists *lists);

/* Bytes they take once joined; fill NULL: each stays as long as it is. SIZE_MAX if that cannot be
 * counted. */
size_t stk__lists_bytes(const struct stk__lists *lists, const struct stk__list_fill *fill);
void stk__lists_join(const struct stk__lists *lists, const struct stk__list_fill *fill,
                     uint8_t *joined);

/* Entries [first, first + n) of a blob as one of their own. */
size_t stk__blob_part_bytes(const struct stk__blob *blob, int64_t first, int64_t n, size_t unit);
void stk__blob_part_write(const struct stk__blob *blob, int64_t first, int64_t n, size_t unit,
                          uint8_t *packed);
