/* SPDX-License-Identifier: Apache-2.0 */
/* wire_out.h: writing the wire format of protocol buffers; wire.h reads it. Fields in the order of their
 * numbers give the bytes of protobuf's own deterministic serialisation. */
#pragma once
#include "base/text.h"

/* protobuf refuses messages of 2 GiB and more. */
#define STK__WIRE_MOST_BYTES (((size_t)1 << 31) - 1)

static inline size_t stk__varint_bytes(uint64_t value)
{
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

/* A number without a tag; the others have the tag of a field's number before them. */
void stk__wire_add_varint(struct stk__text *out, uint64_t value);
void stk__wire_add_int(struct stk__text *out, int number, int64_t value);
void stk__wire_add_float(struct stk__text *out, int number, float value);
void stk__wire_add_double(struct stk__text *out, int number, double value);

/* The head of a piece of so many bytes, which follow. */
void stk__wire_add_head(struct stk__text *out, int number, size_t bytes);
void stk__wire_add_bytes(struct stk__text *out, int number, const void *data, size_t bytes);
void stk__wire_add_text(struct stk__text *out, int number, const char *text);

/* A message that was written by itself, and is freed. */
void stk__wire_add_message(struct stk__text *out, int number, struct stk__text *message);
