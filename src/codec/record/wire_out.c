/* SPDX-License-Identifier: Apache-2.0 */
/* wire_out.c: tags, varints and pieces. */
#include "codec/record/wire_out.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, PIECE = 2, FIXED32 = 5 };

void stk__wire_add_varint(struct stk__text *out, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (char)(value | 0x80);
    bytes[n++] = (char)value;
    stk__text_add_n(out, bytes, n);
}

static void add_tag(struct stk__text *out, int number, int type)
{
    stk__wire_add_varint(out, (uint64_t)number << 3 | (uint64_t)type);
}

static void add_little_endian(struct stk__text *out, uint64_t bits, int bytes)
{
    char data[8];
    for (int i = 0; i < bytes; i++)
        data[i] = (char)(bits >> 8 * i);
    stk__text_add_n(out, data, (size_t)bytes);
}

void stk__wire_add_int(struct stk__text *out, int number, int64_t value)
{
    add_tag(out, number, VARINT);
    stk__wire_add_varint(out, (uint64_t)value);
}

void stk__wire_add_float(struct stk__text *out, int number, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_tag(out, number, FIXED32);
    add_little_endian(out, bits, 4);
}

void stk__wire_add_double(struct stk__text *out, int number, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_tag(out, number, FIXED64);
    add_little_endian(out, bits, 8);
}

void stk__wire_add_head(struct stk__text *out, int number, size_t bytes)
{
    add_tag(out, number, PIECE);
    stk__wire_add_varint(out, bytes);
}

void stk__wire_add_bytes(struct stk__text *out, int number, const void *data, size_t bytes)
{
    stk__wire_add_head(out, number, bytes);
    if (bytes)
        stk__text_add_n(out, data, bytes);
}

void stk__wire_add_text(struct stk__text *out, int number, const char *text)
{
    stk__wire_add_bytes(out, number, text, strlen(text));
}

void stk__wire_add_message(struct stk__text *out, int number, struct stk__text *message)
{
    out->failed |= message->failed;
    stk__wire_add_bytes(out, number, message->data, message->len);
    stk__text_free(message);
}
