/* SPDX-License-Identifier: Apache-2.0 */
/* record_out.h: elements as the bytes of a record file: what TFRecord and WebDataset shards are made
 * of.
 *
 * A format lays the fields of a type out once and then appends one element after the other to a
 * growing text. The bytes depend on the values and the element's number alone, so whoever writes
 * them, they are the same.
 */
#pragma once
#include "base/memory/arena.h"
#include "base/text.h"

/* One field of one element. Shape has field->rank dimensions. */
struct stk__record_value {
    const void *data;
    size_t bytes;
    int64_t shape[STK_MAX_RANK];
    /* of a list of texts: shape[0] of them, text i from splits[i] to splits[i + 1] of data */
    const int64_t *splits;
};

enum { STK__MAX_ENTRIES = 2 * STK_MAX_FIELDS };

/* What is stored of an element, in this order: a field, or the shape of one. */
struct stk__record_entry {
    const char *key; /* Example: the feature's name. tar: what stands before the extension */
    int field;
    bool is_shape;
};

struct stk__record_layout {
    const struct stk_type *type; /* borrowed */
    int n_entries;
    struct stk__record_entry entry[STK__MAX_ENTRIES];
};

struct stk__record_format {
    const char *name;
    /* Decides how fields are stored, or says why one cannot be. Keys are in the arena. */
    int (*lay_out)(const struct stk_type *type, struct stk_arena *arena,
                   struct stk__record_layout *out, struct stk_error *err);
    /* Appends an element; after a failure `out` is as long as before. Without memory out->failed
     * is set. */
    int (*write)(const struct stk__record_layout *layout, const struct stk__record_value *value,
                 uint64_t number, struct stk__text *out, struct stk_error *err);
    /* Appends what ends a file. */
    void (*finish)(struct stk__text *out);
    /* How a field is stored, for people. */
    const char *(*describe)(const struct stk_field *field);
};

extern const struct stk__record_format stk__record_tfrecord, stk__record_tar;

/* A serialized tf.train.Example. */
int stk__example_lay_out(const struct stk_type *type, struct stk_arena *arena,
                         struct stk__record_layout *out, struct stk_error *err);
int stk__example_write(const struct stk__record_layout *layout,
                       const struct stk__record_value *value, struct stk__text *out,
                       struct stk_error *err);
const char *stk__example_describe(const struct stk_field *field);
/* Appends the calls that make elements of that type again of serialized Examples. False where shapes
 * differ between elements, and for single numbers that are stored as bytes. */
bool stk__example_reader(const struct stk_type *type, struct stk__text *out);

/* The head of a .npy file, byte for byte as NumPy writes it; the values follow. A type that NumPy
 * does not have (bfloat16) must be converted before. */
void stk__npy_head(int dtype, int rank, const int64_t *shape, struct stk__text *out);
