/* SPDX-License-Identifier: Apache-2.0 */
/* example_record.h: for tests: serialized Examples, written piece by piece. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { RECORD_ROOM = 4096 };

struct record {
    uint8_t data[RECORD_ROOM];
    size_t bytes;
};

static inline struct record record_of(const void *data, size_t bytes)
{
    struct record r = { .bytes = bytes };
    assert_true(bytes <= RECORD_ROOM);
    if (bytes)
        memcpy(r.data, data, bytes);
    return r;
}

#define RAW(text) record_of(text, sizeof(text) - 1)

static inline struct record joined(struct record a, struct record b)
{
    assert_true(a.bytes + b.bytes <= RECORD_ROOM);
    memcpy(a.data + a.bytes, b.data, b.bytes);
    a.bytes += b.bytes;
    return a;
}

static inline struct record varint(uint64_t value)
{
    struct record r = { 0 };
    for (; value >= 0x80; value >>= 7)
        r.data[r.bytes++] = (uint8_t)(value | 0x80);
    r.data[r.bytes++] = (uint8_t)value;
    return r;
}

/* A field of this number with its length before it. */
static inline struct record piece(int number, struct record body)
{
    struct record tag = varint((uint64_t)number << 3 | 2);
    return joined(joined(tag, varint(body.bytes)), body);
}

/* An entry of a map, whose value is a Feature or a FeatureList. */
static inline struct record entry(const char *key, struct record value)
{
    struct record name = record_of(key, strlen(key));
    return piece(1, joined(piece(1, name), piece(2, value)));
}

static inline struct record packed_floats(const float *value, size_t n)
{
    return piece(2, piece(1, record_of(value, n * sizeof *value)));
}

static inline struct record packed_ints(const int64_t *value, size_t n)
{
    struct record list = { 0 };
    for (size_t i = 0; i < n; i++)
        list = joined(list, varint((uint64_t)value[i]));
    return piece(3, piece(1, list));
}

static inline struct record one_int(int64_t value)
{
    return packed_ints(&value, 1);
}

static inline struct record one_string(const char *text)
{
    return piece(1, piece(1, record_of(text, strlen(text))));
}
