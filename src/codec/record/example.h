/* SPDX-License-Identifier: Apache-2.0 */
/* example.h: tf.train.Example and SequenceExample as they are serialized, read in place.
 *
 *     Example          (0A len Features)*         one after the other: later ones add
 *     Features         (0A len Entry)*            Entry: 0A len key, 12 len Feature
 *     Feature          nothing, or 0A len BytesList, 12 len FloatList or 1A len Int64List
 *     BytesList        (0A len bytes)*
 *     FloatList        0A len float32* (packed), or (0D float32)*
 *     Int64List        0A len varint* (packed), or (08 varint)*
 *     SequenceExample  (0A len Features | 12 len FeatureLists)*
 *     FeatureLists     (0A len Entry)*            Entry: 0A len key, 12 len FeatureList
 *     FeatureList      (0A len Feature)*
 *
 * A record is read in two steps: a scan goes over it once and notes where the features of the
 * wanted keys lie; then the values of these are read to where they belong. What is not wanted is
 * skipped by its length. The rules are TensorFlow's: the last feature of a key counts unless it is
 * empty; fields that are not known are skipped beside Features and refused inside. It is stricter
 * in three ways: every length must lie within what it is part of, a feature has one list, and a
 * packed list of floats has whole ones. And all parts of a list count, of which TensorFlow drops
 * those behind the first packed one.
 */
#pragma once
#include "base/text.h"

#include <stoker/op.h>

/* The numbers are those of the fields on the wire. */
enum stk__feature_kind {
    STK__FEATURE_EMPTY,
    STK__FEATURE_BYTES,
    STK__FEATURE_FLOATS,
    STK__FEATURE_INTS,
};

/* "string", "float", "int64": TensorFlow's names. */
const char *stk__feature_kind_name(int kind);

/* Part of a record; data NULL: there is none. */
struct stk__piece {
    const uint8_t *data;
    size_t bytes;
};

/* ---- keys ---- */

enum { STK__KEY_SLOTS = 4 * STK_MAX_FIELDS, STK__KEYS_REMEMBERED = 64 };

/* The keys that are wanted, at most STK_MAX_FIELDS, all different. */
struct stk__feature_keys {
    int n;
    struct stk__piece key[STK_MAX_FIELDS];
    uint8_t slot[STK__KEY_SLOTS]; /* by hash: 1 + its number, or 0 */
};

/* Adds a key, which is borrowed; false if it is in already. */
bool stk__feature_keys_add(struct stk__feature_keys *keys, struct stk__piece key);

/* Its number, or -1. */
int stk__feature_keys_find(const struct stk__feature_keys *keys, struct stk__piece key);

/* Which keys the record before had, in order: most likely the next one has the same. It points into
 * that record, so it lasts as long as the records that are scanned with it. Cleared at first. */
struct stk__key_order {
    int n;
    struct {
        struct stk__piece key;
        int number; /* among the wanted, or -1 */
    } item[STK__KEYS_REMEMBERED];
};

/* ---- scan ---- */

/* Half of a record: what is wanted of it, and where it was found. */
struct stk__feature_scan {
    const struct stk__feature_keys *keys; /* NULL: see `each` */
    struct stk__key_order *order;
    struct stk__piece *found; /* [keys->n], written by the scan */
    /* Without keys: gets every feature or FeatureList, in order. False breaks off as if there were
     * damage. */
    bool (*each)(void *ctx, struct stk__piece key, struct stk__piece value);
    void *ctx;
};

/* Where the features lie. On damage STK_DATA with the cause and the place in the record. */
int stk__example_scan(const struct stk__feature_scan *features, struct stk__piece record,
                      struct stk_error *err);

/* The same for a SequenceExample. found of `lists` are FeatureLists. */
int stk__sequence_scan(const struct stk__feature_scan *context,
                       const struct stk__feature_scan *lists, struct stk__piece record,
                       struct stk_error *err);

/* ---- values ---- */

/* The list of one feature. */
struct stk__value_list {
    int kind; /* EMPTY: the feature has none */
    struct stk__piece body;
};

/* Opens a feature. False if it is damaged, or holds something else. */
bool stk__value_list_open(struct stk__piece feature, struct stk__value_list *out);

/* Read a list of that kind: the first `room` values go to dst, *n counts all of them. False if it
 * is damaged. dst may be NULL if room is 0. */
bool stk__value_list_floats(const struct stk__value_list *list, float *dst, size_t room, size_t *n);
bool stk__value_list_ints(const struct stk__value_list *list, int64_t *dst, size_t room, size_t *n);
bool stk__value_list_bytes(const struct stk__value_list *list, struct stk_span *dst, size_t room,
                           size_t *n);

/* How many numbers there may be at most, not many more than there are: for allocating. */
size_t stk__value_list_most(const struct stk__value_list *list);

/* Takes the next Feature off a FeatureList; false if it is damaged. While list->bytes. */
bool stk__feature_list_next(struct stk__piece *list, struct stk__piece *feature);

/* ---- what is inside ---- */

/* Proposes how to read such records, from a look at some of them: call is a call of parse_example
 * or parse_sequence_example; notes has a line for each key that it leaves out, and why. Both are
 * appended to. STK_DATA if there are no features, or a record is damaged. */
int stk__example_infer(const struct stk__piece *record, int n, struct stk__text *call,
                       struct stk__text *notes, struct stk_error *err);
