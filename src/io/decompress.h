/* SPDX-License-Identifier: Apache-2.0 */
/* decompress.h: gzip, zlib and zstd as a pump between two pieces of memory.
 *
 * Nothing is allocated by what the data says: an inflater has 32 KiB of history, zstd's window may
 * be 128 MiB. Checksums and lengths that the formats carry are verified.
 */
#pragma once
#include <stoker/op.h>

enum stk__compression {
    STK__COMPRESSION_AUTO, /* by the first bytes */
    STK__COMPRESSION_NONE,
    STK__COMPRESSION_GZIP,
    STK__COMPRESSION_ZLIB,
    STK__COMPRESSION_ZSTD,
};

/* For a choice row: the words of the enumeration, in its order. */
extern const char *const stk__compression_words[];

enum { STK__SNIFF_BYTES = 16 };

/* What the first bytes of a file say. Sets *out to NONE, GZIP, ZLIB or ZSTD; to AUTO if n bytes, of
 * which more may follow, do not tell yet. Fails for formats that are known and not read. */
int stk__compression_sniff(const uint8_t *head, size_t n, enum stk__compression *out,
                           struct stk_error *err);

struct stk__decompressor;

/* Both ends move on as bytes are used and written. */
struct stk__pump {
    const uint8_t *in;
    size_t in_bytes;
    uint8_t *out;
    size_t out_bytes;
};

/* Returns new, for GZIP, ZLIB or ZSTD; NULL when out of memory. */
struct stk__decompressor *stk__decompressor_new(enum stk__compression kind);
void stk__decompressor_free(struct stk__decompressor *d); /* NULL is fine */

/* Pumps until the input is used up and nothing more comes out, or the output is full. Members of
 * gzip and frames of zstd may follow one another. Fails with the cause alone; then it is over. */
int stk__decompressor_pump(struct stk__decompressor *d, struct stk__pump *pump,
                           struct stk_error *err);

/* True if the data may end here: at the end of a member or frame. */
bool stk__decompress_may_end(const struct stk__decompressor *d);
