/* SPDX-License-Identifier: Apache-2.0 */
/* example_scan.c: where the features of some keys lie in a serialized Example. */
#include "base/error.h"
#include "base/hash.h"
#include "codec/record/wire.h"

#include <string.h>

/* ---- the wire ---- */

bool stk__wire_long_varint(struct stk__wire *wire, uint64_t *value)
{
    enum { MOST_BYTES = 10 };
    uint64_t v = 0;
    const uint8_t *at = wire->at;
    for (int i = 0; i < MOST_BYTES && at < wire->end; i++, at++) {
        v |= (uint64_t)(*at & 0x7f) << (7 * i);
        if (*at < 0x80) {
            *value = v;
            wire->at = at + 1;
            return true;
        }
    }
    return false;
}

static bool skip_bytes(struct stk__wire *wire, size_t n)
{
    if (n > stk__wire_left(wire))
        return false;
    wire->at += n;
    return true;
}

bool stk__wire_skip(struct stk__wire *wire)
{
    enum { VARINT = 0, FIXED64 = 1, PIECE = 2, FIXED32 = 5 };
    struct stk__piece piece;
    uint64_t tag, value;
    const uint8_t *start = wire->at;
    bool is_good = stk__wire_varint(wire, &tag) && tag >> 3 && tag <= UINT32_MAX;
    int type = is_good ? (int)(tag & 7) : -1;
    if (type == VARINT)
        is_good = stk__wire_varint(wire, &value);
    else if (type == PIECE)
        is_good = stk__wire_piece(wire, &piece);
    else if (type == FIXED64 || type == FIXED32)
        is_good = skip_bytes(wire, type == FIXED64 ? 8 : 4);
    else
        is_good = false;
    if (!is_good)
        wire->at = start;
    return is_good;
}

/* ---- keys ---- */

static unsigned first_slot(struct stk__piece key)
{
    return (unsigned)stk__hash_bytes(0, key.data, key.bytes) % STK__KEY_SLOTS;
}

static bool is_same(struct stk__piece a, struct stk__piece b)
{
    return a.bytes == b.bytes && (!a.bytes || !memcmp(a.data, b.data, a.bytes));
}

int stk__feature_keys_find(const struct stk__feature_keys *keys, struct stk__piece key)
{
    for (unsigned s = first_slot(key); keys->slot[s]; s = (s + 1) % STK__KEY_SLOTS)
        if (is_same(keys->key[keys->slot[s] - 1], key))
            return keys->slot[s] - 1;
    return -1;
}

bool stk__feature_keys_add(struct stk__feature_keys *keys, struct stk__piece key)
{
    if (stk__feature_keys_find(keys, key) >= 0)
        return false;
    unsigned s = first_slot(key);
    while (keys->slot[s])
        s = (s + 1) % STK__KEY_SLOTS;
    keys->key[keys->n++] = key;
    keys->slot[s] = (uint8_t)keys->n;
    return true;
}

/* The number of the key that is the ordinal-th of its record. */
static int recall_key(const struct stk__feature_scan *scan, int ordinal, struct stk__piece key)
{
    struct stk__key_order *order = scan->order;
    if (ordinal < order->n && is_same(order->item[ordinal].key, key))
        return order->item[ordinal].number;
    int number = stk__feature_keys_find(scan->keys, key);
    if (ordinal < STK__KEYS_REMEMBERED && ordinal <= order->n) {
        order->item[ordinal].key = key;
        order->item[ordinal].number = number;
        order->n += ordinal == order->n;
    }
    return number;
}

/* ---- records ---- */

enum map_of { OF_FEATURES, OF_LISTS };

struct scanner {
    struct stk__piece record;
    const uint8_t *fault; /* where damage was found */
    const char *cause;    /* NULL: none */
};

static bool blame(struct scanner *s, const uint8_t *at, const char *cause)
{
    s->fault = at;
    s->cause = cause;
    return false;
}

/* Key and value, in any order: two fields and no more. */
static bool split_entry(struct scanner *s, struct stk__piece entry, struct stk__piece *key,
                        struct stk__piece *value)
{
    struct stk__wire wire = stk__wire_of(entry);
    *key = *value = (struct stk__piece){ 0 };
    for (int i = 0; i < 2; i++) {
        struct stk__piece *part = stk__wire_tag(&wire, STK__TAG_PIECE(1))   ? key
                                  : stk__wire_tag(&wire, STK__TAG_PIECE(2)) ? value
                                                                            : NULL;
        if (!part)
            return blame(s, wire.at, "an entry is not a key and a value");
        if (!stk__wire_piece(&wire, part))
            return blame(s, wire.at, "a length reaches beyond its entry");
    }
    return wire.at == wire.end || blame(s, wire.at, "an entry has more than a key and a value");
}

/* The last one counts; a feature without a kind counts as none at all. */
static bool note_value(struct scanner *s, struct stk__piece value, enum map_of map,
                       struct stk__piece *found)
{
    if (map == OF_LISTS) {
        *found = (struct stk__piece){ value.data ? value.data : s->record.data, value.bytes };
        return true;
    }
    if (!value.bytes)
        return true;
    bool is_list = value.data[0] == STK__TAG_PIECE(STK__FEATURE_BYTES) ||
                   value.data[0] == STK__TAG_PIECE(STK__FEATURE_FLOATS) ||
                   value.data[0] == STK__TAG_PIECE(STK__FEATURE_INTS);
    *found = value;
    return is_list || blame(s, value.data, "Unsupported datatype.");
}

/* All entries of one map; *ordinal counts them over the whole record. */
static bool scan_map(struct scanner *s, struct stk__piece map, enum map_of of,
                     const struct stk__feature_scan *scan, int *ordinal)
{
    struct stk__wire wire = stk__wire_of(map);
    while (wire.at < wire.end) {
        struct stk__piece entry, key, value;
        if (!stk__wire_tag(&wire, STK__TAG_PIECE(1)))
            return blame(s, wire.at, "something else stands where an entry begins");
        if (!stk__wire_piece(&wire, &entry))
            return blame(s, wire.at, "the length of an entry reaches beyond its end");
        if (!split_entry(s, entry, &key, &value))
            return false;
        if (!scan->keys) {
            if (!scan->each(scan->ctx, key, value))
                return blame(s, entry.data, "there are too many keys");
            continue;
        }
        int number = recall_key(scan, *ordinal, key);
        if (number >= 0 && !note_value(s, value, of, &scan->found[number]))
            return false;
        ++*ordinal;
    }
    return true;
}

static int report(const struct scanner *s, struct stk_error *err)
{
    if (!s->cause)
        return STK_OK;
    return stk_fail(err, STK_DATA, "Could not parse example input: at byte %zu of %zu, %s",
                    (size_t)(s->fault - s->record.data), s->record.bytes, s->cause);
}

static void clear_found(const struct stk__feature_scan *scan)
{
    if (scan->keys)
        memset(scan->found, 0, sizeof *scan->found * (size_t)scan->keys->n);
}

/* maps[0] has the number 1, maps[1] the number 2. */
static int scan_record(const struct stk__feature_scan *const maps[2], int n_maps,
                       struct stk__piece record, struct stk_error *err)
{
    struct scanner s = { .record = record };
    struct stk__wire wire = stk__wire_of(record);
    struct stk__piece map;
    int ordinal[2] = { 0 };
    for (int m = 0; m < n_maps; m++)
        clear_found(maps[m]);
    while (wire.at < wire.end && !s.cause) {
        int m = 0;
        while (m < n_maps && !stk__wire_tag(&wire, (uint8_t)STK__TAG_PIECE(m + 1)))
            m++;
        if (m == n_maps && !stk__wire_skip(&wire))
            blame(&s, wire.at, "there is no field of a message");
        else if (m < n_maps && !stk__wire_piece(&wire, &map))
            blame(&s, wire.at, "a length reaches beyond the end");
        else if (m < n_maps)
            scan_map(&s, map, m ? OF_LISTS : OF_FEATURES, maps[m], &ordinal[m]);
    }
    return report(&s, err);
}

int stk__example_scan(const struct stk__feature_scan *features, struct stk__piece record,
                      struct stk_error *err)
{
    const struct stk__feature_scan *const maps[2] = { features, NULL };
    return scan_record(maps, 1, record, err);
}

int stk__sequence_scan(const struct stk__feature_scan *context,
                       const struct stk__feature_scan *lists, struct stk__piece record,
                       struct stk_error *err)
{
    const struct stk__feature_scan *const maps[2] = { context, lists };
    return scan_record(maps, 2, record, err);
}
