/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h: numbers out of bytes, never past their end; private to this room. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes with a place; reading past the end gives zeros and sets is_short. */
struct stk__reader {
    const uint8_t *bytes;
    size_t n_bytes, at;
    bool is_big_endian, is_short;
};

static inline uint32_t stk__read(struct stk__reader *r, int n)
{
    if (r->is_short || r->n_bytes - r->at < (size_t)n) {
        r->is_short = true;
        return 0;
    }
    uint32_t value = 0;
    for (int i = 0; i < n; i++) {
        uint32_t byte = r->bytes[r->at + (size_t)i];
        value = r->is_big_endian ? value << 8 | byte : value | byte << 8 * i;
    }
    r->at += (size_t)n;
    return value;
}

/* The next n bytes, left behind; NULL if there are fewer. */
static inline const uint8_t *stk__read_bytes(struct stk__reader *r, size_t n)
{
    if (r->is_short || r->n_bytes - r->at < n) {
        r->is_short = true;
        r->at = r->n_bytes;
        return NULL;
    }
    r->at += n;
    return r->bytes + (r->at - n);
}
