/* SPDX-License-Identifier: Apache-2.0 */
/* example_values.c: the values of one feature, to where they belong. */
#include "codec/record/wire.h"

#include <string.h>

const char *stk__feature_kind_name(int kind)
{
    static const char *const names[] = { "none", "string", "float", "int64" };
    return names[kind];
}

bool stk__value_list_open(struct stk__piece feature, struct stk__value_list *out)
{
    struct stk__wire wire = stk__wire_of(feature);
    *out = (struct stk__value_list){ 0 };
    if (!feature.bytes)
        return true;
    for (int kind = STK__FEATURE_BYTES; kind <= STK__FEATURE_INTS && !out->kind; kind++)
        if (stk__wire_tag(&wire, (uint8_t)STK__TAG_PIECE(kind)))
            out->kind = kind;
    return out->kind && stk__wire_piece(&wire, &out->body) && wire.at == wire.end;
}

bool stk__feature_list_next(struct stk__piece *list, struct stk__piece *feature)
{
    struct stk__wire wire = stk__wire_of(*list);
    bool is_good = stk__wire_tag(&wire, STK__TAG_PIECE(1)) && stk__wire_piece(&wire, feature);
    *list = (struct stk__piece){ wire.at, stk__wire_left(&wire) };
    return is_good;
}

/* Where values go: the first ones to memory, the rest is counted. */
struct sink {
    size_t room, n;
};

/* How many of the next `more` values there is room for. */
static size_t room_for(const struct sink *sink, size_t more)
{
    size_t left = sink->n < sink->room ? sink->room - sink->n : 0;
    return more < left ? more : left;
}

static bool add_floats(const uint8_t *data, size_t bytes, float *dst, struct sink *sink)
{
    size_t n = bytes / sizeof(float), kept = room_for(sink, n);
    if (kept)
        memcpy(dst + sink->n, data, kept * sizeof(float));
    sink->n += n;
    return bytes % sizeof(float) == 0;
}

bool stk__value_list_floats(const struct stk__value_list *list, float *dst, size_t room, size_t *n)
{
    struct stk__wire wire = stk__wire_of(list->body);
    struct sink sink = { .room = room };
    bool is_good = true;
    while (wire.at < wire.end && is_good) {
        struct stk__piece packed = { 0 };
        if (stk__wire_tag(&wire, STK__TAG_PIECE(1))) {
            is_good = stk__wire_piece(&wire, &packed);
        } else if (stk__wire_tag(&wire, STK__TAG_FIXED32(1)) &&
                   stk__wire_left(&wire) >= sizeof(float)) {
            packed = (struct stk__piece){ wire.at, sizeof(float) };
            wire.at += sizeof(float);
        } else {
            is_good = false;
        }
        is_good = is_good && add_floats(packed.data, packed.bytes, dst, &sink);
    }
    *n = sink.n;
    return is_good;
}

/* The seven bits of each byte moved together. */
static uint64_t gather_bits(uint64_t bytes)
{
    bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
    bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
    return (bytes & 0x000000000fffffff) | (bytes & 0x0fffffff00000000) >> 4;
}

/* A varint of at most eight bytes by one load, where there are that many to load. */
static bool read_varint(struct stk__wire *wire, uint64_t *value)
{
    uint64_t word, ends;
    if (wire->at < wire->end && *wire->at < 0x80) {
        *value = *wire->at++;
        return true;
    }
    if (stk__wire_left(wire) < sizeof word)
        return stk__wire_long_varint(wire, value);
    memcpy(&word, wire->at, sizeof word);
    ends = ~word & 0x8080808080808080;
    if (!ends)
        return stk__wire_long_varint(wire, value);
    *value = gather_bits(word & (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f);
    wire->at += (__builtin_ctzll(ends) >> 3) + 1;
    return true;
}

static bool add_ints(struct stk__wire wire, int64_t *dst, struct sink *sink)
{
    uint64_t value;
    while (wire.at < wire.end) {
        if (!read_varint(&wire, &value))
            return false;
        if (sink->n < sink->room)
            dst[sink->n] = (int64_t)value;
        sink->n++;
    }
    return true;
}

bool stk__value_list_ints(const struct stk__value_list *list, int64_t *dst, size_t room, size_t *n)
{
    struct stk__wire wire = stk__wire_of(list->body);
    struct sink sink = { .room = room };
    bool is_good = true;
    while (wire.at < wire.end && is_good) {
        struct stk__piece packed;
        uint64_t value;
        if (stk__wire_tag(&wire, STK__TAG_PIECE(1))) {
            is_good = stk__wire_piece(&wire, &packed) && add_ints(stk__wire_of(packed), dst, &sink);
        } else if (stk__wire_tag(&wire, STK__TAG_VARINT(1)) && read_varint(&wire, &value)) {
            if (room_for(&sink, 1))
                dst[sink.n] = (int64_t)value;
            sink.n++;
        } else {
            is_good = false;
        }
    }
    *n = sink.n;
    return is_good;
}

bool stk__value_list_bytes(const struct stk__value_list *list, struct stk_span *dst, size_t room,
                           size_t *n)
{
    struct stk__wire wire = stk__wire_of(list->body);
    struct sink sink = { .room = room };
    bool is_good = true;
    while (wire.at < wire.end && is_good) {
        struct stk__piece value;
        is_good = stk__wire_tag(&wire, STK__TAG_PIECE(1)) && stk__wire_piece(&wire, &value);
        if (is_good && room_for(&sink, 1))
            dst[sink.n] = (struct stk_span){ (uint8_t *)(uintptr_t)value.data, value.bytes, NULL };
        sink.n += is_good;
    }
    *n = sink.n;
    return is_good;
}

/* Every varint has one byte that ends it. */
size_t stk__value_list_most(const struct stk__value_list *list)
{
    size_t n = 0;
    if (list->kind == STK__FEATURE_FLOATS)
        return list->body.bytes / sizeof(float);
    for (size_t i = 0; i < list->body.bytes; i++)
        n += list->body.data[i] < 0x80;
    return n;
}
