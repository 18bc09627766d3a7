/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.h: one deflated block of bytes whose size is known, by ISA-L. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum stk__inflate_format {
    STK__INFLATE_RAW,  /* as in zip files */
    STK__INFLATE_ZLIB, /* with zlib's header and checksum, which is verified */
};

/* Memory that stk__inflate works in, 64-byte aligned; need not be cleared, may be used again. */
size_t stk__inflate_state_bytes(void);

/* From src to dst; at most `room` bytes are written. */
struct stk__inflation {
    enum stk__inflate_format format;
    const uint8_t *src;
    size_t n;
    uint8_t *dst;
    size_t room, written;
};

/* NULL, or what is wrong. */
const char *stk__inflate(void *state, struct stk__inflation *job);

/* The first `room` bytes of what zlib's data hold, or all; returns how many. 0: the data are damaged.
 * Takes about 100 KB of stack. */
size_t stk__inflate_head(const uint8_t *src, size_t n, uint8_t *dst, size_t room);

/* CRC-32 as zip and gzip have it. */
uint32_t stk__crc32(const uint8_t *data, size_t n);
