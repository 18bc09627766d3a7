/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h: the wire format of protocol buffers: varints, tags, and pieces with their length before
 * them. */
#pragma once
#include "codec/record/example.h"

/* What is left of a message. */
struct stk__wire {
    const uint8_t *at, *end;
};

/* A tag whose number is below 16 is one byte. */
#define STK__TAG_VARINT(number) ((number) << 3)
#define STK__TAG_PIECE(number) ((number) << 3 | 2)
#define STK__TAG_FIXED32(number) ((number) << 3 | 5)

static inline struct stk__wire stk__wire_of(struct stk__piece piece)
{
    return (struct stk__wire){ piece.data, piece.bytes ? piece.data + piece.bytes : piece.data };
}

static inline size_t stk__wire_left(const struct stk__wire *wire)
{
    return (size_t)(wire->end - wire->at);
}

/* Varints of two and more bytes. */
bool stk__wire_long_varint(struct stk__wire *wire, uint64_t *value);

/* These return false where the message ends too early or a varint has more than ten bytes; wire->at
 * then is where. */
static inline bool stk__wire_varint(struct stk__wire *wire, uint64_t *value)
{
    if (wire->at == wire->end || *wire->at >= 0x80)
        return stk__wire_long_varint(wire, value);
    *value = *wire->at++;
    return true;
}

static inline bool stk__wire_piece(struct stk__wire *wire, struct stk__piece *out)
{
    uint64_t bytes;
    const uint8_t *start = wire->at;
    if (!stk__wire_varint(wire, &bytes))
        return false;
    if (bytes > stk__wire_left(wire)) {
        wire->at = start;
        return false;
    }
    *out = (struct stk__piece){ wire->at, (size_t)bytes };
    wire->at += bytes;
    return true;
}

/* Goes past one tag of a single byte if it is the next. */
static inline bool stk__wire_tag(struct stk__wire *wire, uint8_t tag)
{
    if (wire->at == wire->end || *wire->at != tag)
        return false;
    wire->at++;
    return true;
}

/* Skips a field of any number: its tag and what its wire type says. Groups are refused. */
bool stk__wire_skip(struct stk__wire *wire);
