/* SPDX-License-Identifier: Apache-2.0 */
/* raw_values.h: values as array files hold them: numbers of either byte order, and texts that all
 * have the same size. */
#pragma once
#include <stoker/op.h>

enum stk__raw_kind {
    STK__RAW_NUMBERS,
    STK__RAW_ZEROED,  /* bytes, filled up with zeros */
    STK__RAW_STOPPED, /* bytes up to the first zero */
    STK__RAW_SPACED,  /* bytes, filled up with spaces */
    STK__RAW_UNICODE, /* four bytes for each character, filled up with zeros; becomes UTF-8 */
};

struct stk__raw {
    uint8_t kind;    /* enum stk__raw_kind */
    uint8_t dtype;   /* of numbers */
    bool is_swapped; /* numbers and unicode in the other byte order than ours */
    uint32_t item_bytes;
};

/* True on machines whose first byte is the most significant one. */
bool stk__raw_is_big_endian(void);

/* Turns n numbers into ours, in place: byte order, and booleans that are 0 or 1. */
void stk__raw_settle(const struct stk__raw *raw, uint8_t *values, size_t n);

/* Most bytes that one text can have. */
size_t stk__raw_text_room(const struct stk__raw *raw);

/* The text of one item: where it is (in src, or in dst, which has room for it) and its length.
 * NULL if it is no text. */
const uint8_t *stk__raw_text(const struct stk__raw *raw, const uint8_t *src, uint8_t *dst,
                             size_t *len);
