/* SPDX-License-Identifier: Apache-2.0 */
/* features.h: what parse_example and parse_sequence_example share: the specs of features, and how
 * the values of a feature become a row of a field. */
#pragma once
#include "codec/record/example.h"
#include "lang/lang.h"

/* fixed, varlen, fixed_sequence, ragged and sparse: what can be called in a map of specs. */
extern const struct stk__namespace stk__feature_calls;

/* How a list of numbers says where the rows of another one are: as in tf.io.RaggedFeature. */
enum stk__partition {
    STK__NO_PARTITION,
    STK__ROW_SPLITS,
    STK__ROW_LENGTHS,
    STK__ROW_STARTS,
    STK__ROW_LIMITS,
    STK__VALUE_ROWIDS,
};

/* Of value_rowids, beyond the entries: one number must not ask for any amount of memory. */
enum { STK__MOST_EMPTY_ROWS = 1 << 16 };

enum stk__sparse_part { STK__DENSE, STK__SPARSE_INDICES, STK__SPARSE_VALUES };

/* Values and, for each dimension, the list of their indices. */
struct stk__sparse {
    enum stk__sparse_part part;
    bool already_sorted;
    int rank;
    int64_t size[STK_MAX_RANK];
    const char *index_text[STK_MAX_RANK];
    int index_key[STK_MAX_RANK];
};

struct stk__feature_spec {
    struct stk_field field; /* what it becomes */
    const char *key_text;
    int key;              /* its number among the keys */
    uint8_t kind;         /* enum stk__feature_kind */
    bool is_list;         /* ragged: any number of entries */
    bool is_required;     /* a record without it is bad */
    size_t n_values;      /* of a row, or of one entry of a list */
    const void *fallback; /* the row where a record has none; NULL: none is given */
    size_t fallback_bytes;
    uint8_t partition; /* enum stk__partition: rows of a list of lists; key and text are its own */
    int partition_key;
    const char *partition_text;
    const struct stk__sparse *sparse; /* or NULL */
};

struct stk__feature_specs {
    int n;
    struct stk__feature_spec spec[STK_MAX_FIELDS];
    struct stk__feature_keys keys;
    int first; /* number of the first one's field in the output */
};

/* Where features stand: in an Example or a context, or one for every step of a sequence. */
enum stk__feature_place { STK__IN_EXAMPLE, STK__IN_SEQUENCE };

/* Reads a map from fields to specs. What is kept is in the arena or part of the value. */
int stk__feature_specs_read(const struct stk_value *map, enum stk__feature_place place,
                            struct stk_arena *arena, struct stk__feature_specs *specs,
                            struct stk_error *err);

/* The field with the records: bytes that are no path. -1 with a message. */
int stk__features_pick(const struct stk_infer *inf, const char *name, struct stk_error *err);

/* Passes the input on with the fields of the specs (second may be NULL) in the place of one. */
int stk__features_infer(struct stk_infer *inf, int field, struct stk__feature_specs *first,
                        struct stk__feature_specs *second, struct stk_error *err);

/* One row of a record being read. */
struct stk__feature_row {
    struct stk_rows *rows;
    int row;
    const struct stk_span *record; /* bytes of fields point into it */
};

/* Write what was found (see example.h) as rows of the fields; what is wrong with it marks the row
 * bad. STK_OK or STK_MEMORY. */
int stk__features_put(const struct stk__feature_row *at, const struct stk__feature_specs *specs,
                      const struct stk__piece *found);
/* The same of one spec that reads several features: a list with a partition, or a sparse one. */
int stk__feature_parts_put(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                           const struct stk__piece *found, struct stk_column *out);

/* All values of a feature, or spans of its strings; none where the record lacks it. *data is NULL if
 * the row is bad now. */
int stk__feature_values(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                        struct stk__piece feature, void **data, size_t *n);

int stk__feature_lists_put(const struct stk__feature_row *at,
                           const struct stk__feature_specs *specs, const struct stk__piece *found);
