/* SPDX-License-Identifier: Apache-2.0 */
/* feature_specs.c: what is wanted of records, as it is written in a chain. */
#include "base/error.h"
#include "op/field_map.h"
#include "op/parse/features.h"

#include <string.h>

/* A choice's number is its kind's less one. */
static const char *const dtype_names[] = { "bytes", "float32", "int64", NULL };
enum { N_DTYPES = 3 };

/* ---- the calls ---- */

struct fixed {
    struct stk_numbers shape;
    int dtype;
    const struct stk_value *default_value;
    const char *key;
};

static const struct stk_param fixed_rows[] = {
    STK_NUMBERS_ROW(fixed, shape, NULL, 0, STK_MAX_RANK - 1, STK_REQUIRED,
                    "dimensions of the field; [] is a single value"),
    STK_CHOICE_ROW(fixed, dtype, dtype_names, 0, STK_REQUIRED, "what the record holds"),
    STK__VALUE_ROW(fixed, default_value, STK_TAKES_NONE,
                   "values for records that lack it, as many as the shape has; none: they are bad"),
    STK_TEXT_ROW(fixed, key, NULL, STK_TAKES_NONE,
                 "its key in the records; none: the name of the field"),
    STK_ROWS_END,
};

struct varlen {
    int dtype;
    const char *key;
};

static const struct stk_param varlen_rows[] = {
    STK_CHOICE_ROW(varlen, dtype, dtype_names, 0, STK_REQUIRED, "what the record holds"),
    STK_TEXT_ROW(varlen, key, NULL, STK_TAKES_NONE,
                 "its key in the records; none: the name of the field"),
    STK_ROWS_END,
};

struct sequence {
    struct stk_numbers shape;
    int dtype;
    bool allow_missing;
    const char *key;
};

static const struct stk_param sequence_rows[] = {
    STK_NUMBERS_ROW(sequence, shape, NULL, 0, STK_MAX_RANK - 2, STK_REQUIRED,
                    "dimensions of one entry; [] is a single value"),
    STK_CHOICE_ROW(sequence, dtype, dtype_names, 0, STK_REQUIRED, "what the record holds"),
    STK_BOOL_ROW(sequence, allow_missing, false, 0,
                 "a record that lacks it has no entries; otherwise it is bad"),
    STK_TEXT_ROW(sequence, key, NULL, STK_TAKES_NONE,
                 "its key in the records; none: the name of the field"),
    STK_ROWS_END,
};

struct ragged {
    int dtype;
    const char *value_key;
    int64_t uniform_row_length;
    const char *row_splits, *row_lengths, *row_starts, *row_limits, *value_rowids;
};

static const struct stk_param ragged_rows[] = {
    STK_CHOICE_ROW(ragged, dtype, dtype_names, 0, STK_REQUIRED, "what the record holds"),
    STK_TEXT_ROW(ragged, value_key, NULL, STK_TAKES_NONE,
                 "its key in the records; none: the name of the field"),
    STK_INT_ROW(ragged, uniform_row_length, STK_NONE, 1, INT32_MAX, STK_TAKES_NONE,
                "values come in rows of so many"),
    STK_TEXT_ROW(ragged, row_splits, NULL, STK_TAKES_NONE,
                 "key of the list that says where rows begin and, last, where all end"),
    STK_TEXT_ROW(ragged, row_lengths, NULL, STK_TAKES_NONE,
                 "key of the list that says how long each row is"),
    STK_TEXT_ROW(ragged, row_starts, NULL, STK_TAKES_NONE,
                 "key of the list that says where each row begins"),
    STK_TEXT_ROW(ragged, row_limits, NULL, STK_TAKES_NONE,
                 "key of the list that says where each row ends"),
    STK_TEXT_ROW(ragged, value_rowids, NULL, STK_TAKES_NONE,
                 "key of the list that says of each value which row it is in"),
    STK_ROWS_END,
};

static const char *const part_names[] = { "dense", "indices", "values", NULL };

struct sparse {
    struct stk_texts index_key;
    const char *value_key;
    int dtype;
    struct stk_numbers size;
    bool already_sorted;
    int part;
};

static const struct stk_param sparse_rows[] = {
    STK_TEXTS_ROW(sparse, index_key, 1, STK_MAX_RANK - 1, STK_REQUIRED,
                  "key of the list of indices, or those for each dimension"),
    STK_TEXT_ROW(sparse, value_key, NULL, STK_REQUIRED, "key of the list of values"),
    STK_CHOICE_ROW(sparse, dtype, dtype_names, 0, STK_REQUIRED, "what the values are"),
    STK_NUMBERS_ROW(sparse, size, NULL, 1, STK_MAX_RANK - 1, STK_REQUIRED,
                    "dimensions of the array: indices are less"),
    STK_BOOL_ROW(sparse, already_sorted, false, 0,
                 "indices and values stay in the order of the record"),
    STK_CHOICE_ROW(
        sparse, part, part_names, STK__DENSE, 0,
        "the whole array, with 0 or '' where there is no value; or a list of the indices, or "
        "of the values"),
    STK_ROWS_END,
};

enum { FIXED, FIXED_SEQUENCE, RAGGED, SPARSE, VARLEN, N_CALLS };

static const struct stk_decl decls[N_CALLS] = {
    [FIXED] = { "fixed", 1, "A feature with the same number of values in every record.",
                "As tf.io.FixedLenFeature. The values fill an array of the shape. A record that "
                "has the key with another number of values, or with values of another type, is "
                "bad, also if there is a default_value. Bytes of a shape are an array of strings, "
                "which a batch has as one more dimension.\n"
                "\n"
                "    fixed([28, 28], float32)\n"
                "    fixed([], int64, default_value=-1)\n"
                "    fixed([2], bytes, default_value=['', ''])\n"
                "    fixed([2, 3], bytes)",
                fixed_rows, sizeof(struct fixed) },
    [FIXED_SEQUENCE] = { "fixed_sequence", 1, "A feature with any number of entries of one shape.",
                         "As tf.io.FixedLenSequenceFeature, but a ragged field: lists are not "
                         "filled up. In a sequence every step is one entry. Entries of bytes have "
                         "the shape [].\n"
                         "\n"
                         "    fixed_sequence([4], float32, allow_missing=true)",
                         sequence_rows, sizeof(struct sequence) },
    [RAGGED] = { "ragged", 1, "A feature with any number of values.",
                 "As tf.io.RaggedFeature without partitions, or with one UniformRowLength: then a "
                 "list has rows of that many values. With one of the other partitions, whose key "
                 "is "
                 "given as row_splits, row_lengths, row_starts, row_limits or value_rowids, "
                 "numbers "
                 "are a list of lists; with both it is a list of lists of such rows. Partitions "
                 "are "
                 "always checked: what does not fit the values is bad. Lists nest no deeper; the "
                 "keys "
                 "of further partitions can be read as fields of their own with varlen(int64). In "
                 "a "
                 "sequence as varlen.\n"
                 "\n"
                 "    ragged(float32, value_key='points', uniform_row_length=3)\n"
                 "    ragged(int64, value_key='words', row_lengths='sentences')",
                 ragged_rows, sizeof(struct ragged) },
    [SPARSE] = { "sparse", 1, "An array of which a record has the values that are not 0.",
                 "As tf.io.SparseFeature: a list of values and, for each dimension, one of their "
                 "indices. The field is the whole array, as tf.sparse.to_dense makes it; or with "
                 "part=indices and part=values lists, ordered by index unless already_sorted is "
                 "true. "
                 "Several index keys give a list of indices [?, n]. Lists of different lengths and "
                 "indices outside of the size are bad; in a whole array an index is there once.\n"
                 "\n"
                 "    sparse('ix', 'value', float32, 1000)\n"
                 "    sparse(['row', 'column'], 'value', float32, [28, 28], part=values)",
                 sparse_rows, sizeof(struct sparse) },
    [VARLEN] = { "varlen", 1, "A feature with any number of values.",
                 "As tf.io.VarLenFeature, but a ragged field instead of a sparse tensor, or a list "
                 "of texts. A record without it has an empty list. In a sequence every step is a "
                 "list of numbers.\n"
                 "\n"
                 "    varlen(int64)\n"
                 "    varlen(bytes)",
                 varlen_rows, sizeof(struct varlen) },
};
static const struct stk_decl *const calls[N_CALLS] = { &decls[0], &decls[1], &decls[2], &decls[3],
                                                       &decls[4] };
const struct stk__namespace stk__feature_calls = { "feature", calls, N_CALLS };

/* ---- one spec ---- */

/* What a call of any kind comes to. */
struct wish {
    const struct stk_value *value; /* for messages */
    const char *key;
    struct stk_numbers shape;
    int dtype;
    bool is_list, allow_missing;
    bool is_nested;    /* in a sequence: a list per step */
    uint8_t partition; /* enum stk__partition */
    const char *partition_key;
    struct stk__sparse *sparse; /* or NULL */
    const struct stk_value *fallback;
};

static int refuse(const struct wish *wish, struct stk_error *err, const char *text)
{
    return stk__fail_at(err, STK_VALUE, wish->value->at, wish->value->len, "%s", text);
}

static int bind_fixed(const struct stk__call *call, struct stk_arena *arena, struct wish *wish,
                      struct stk_error *err)
{
    struct fixed p;
    int code = stk__call_bind(call, &decls[FIXED], arena, &p, err);
    wish->shape = p.shape;
    wish->dtype = p.dtype;
    wish->fallback = p.default_value;
    wish->key = p.key;
    return code;
}

static int bind_sequence(const struct stk__call *call, struct stk_arena *arena, struct wish *wish,
                         struct stk_error *err)
{
    struct sequence p;
    int code = stk__call_bind(call, &decls[FIXED_SEQUENCE], arena, &p, err);
    wish->shape = p.shape;
    wish->dtype = p.dtype;
    wish->allow_missing = p.allow_missing;
    wish->key = p.key;
    wish->is_list = true;
    return code;
}

/* The only partition that is given, besides uniform_row_length. */
static int set_partition(const struct ragged *p, struct wish *wish, struct stk_error *err)
{
    const char *const key[] = {
        [STK__ROW_SPLITS] = p->row_splits,     [STK__ROW_LENGTHS] = p->row_lengths,
        [STK__ROW_STARTS] = p->row_starts,     [STK__ROW_LIMITS] = p->row_limits,
        [STK__VALUE_ROWIDS] = p->value_rowids,
    };
    for (uint8_t i = STK__ROW_SPLITS; i <= STK__VALUE_ROWIDS; i++) {
        if (key[i] && wish->partition)
            return refuse(wish, err,
                          "a list of lists has one partition: read the others as fields of their "
                          "own, such as varlen(int64, key='splits')");
        wish->partition = key[i] ? i : wish->partition;
        wish->partition_key = key[i] ? key[i] : wish->partition_key;
    }
    return STK_OK;
}

static int bind_ragged(const struct stk__call *call, struct stk_arena *arena, struct wish *wish,
                       struct stk_error *err)
{
    struct ragged p;
    int code = stk__call_bind(call, &decls[RAGGED], arena, &p, err);
    double *dim = code ? NULL : stk_arena_alloc(arena, sizeof *dim);
    if (!code && !dim)
        return stk__out_of_memory(err);
    wish->dtype = p.dtype;
    wish->key = p.value_key;
    wish->is_list = wish->allow_missing = true;
    if (dim && p.uniform_row_length != STK_NONE) {
        *dim = (double)p.uniform_row_length;
        wish->shape = (struct stk_numbers){ dim, 1, -1 };
    }
    return code ? code : set_partition(&p, wish, err);
}

static int set_size(const struct sparse *p, struct wish *wish, struct stk_error *err)
{
    int64_t n = 1;
    if (p->size.n != p->index_key.n)
        return refuse(wish, err, "a sparse feature has a size for each index key");
    wish->sparse->rank = p->size.n;
    for (int d = 0; d < p->size.n; d++) {
        double size = p->size.item[d];
        wish->sparse->size[d] = size >= 1 && size <= 0x1p53 ? (int64_t)size : 0;
        wish->sparse->index_text[d] = p->index_key.item[d];
        if ((double)wish->sparse->size[d] != size)
            return refuse(wish, err, "the dimensions of a size are whole numbers from 1");
        if (__builtin_mul_overflow(n, wish->sparse->size[d], &n))
            return refuse(wish, err, "the size has more than 2^63 values");
    }
    if (p->part == STK__DENSE && n > 1 << 28)
        return refuse(
            wish, err,
            "the whole array would have more than 2^28 values: read lists of what is there "
            "with part=indices and part=values");
    return STK_OK;
}

static int bind_sparse(const struct stk__call *call, struct stk_arena *arena, struct wish *wish,
                       struct stk_error *err)
{
    struct sparse p;
    int code = stk__call_bind(call, &decls[SPARSE], arena, &p, err);
    if (code)
        return code;
    wish->sparse = stk_arena_alloc(arena, sizeof *wish->sparse);
    if (!wish->sparse)
        return stk__out_of_memory(err);
    *wish->sparse = (struct stk__sparse){ .part = (enum stk__sparse_part)p.part,
                                          .already_sorted = p.already_sorted };
    wish->dtype = p.dtype;
    wish->key = p.value_key;
    wish->is_list = p.part != STK__DENSE;
    wish->allow_missing = true;
    if (!wish->is_list)
        wish->shape = p.size;
    return set_size(&p, wish, err);
}

static int bind_varlen(const struct stk__call *call, struct stk_arena *arena, struct wish *wish,
                       struct stk_error *err)
{
    struct varlen p;
    int code = stk__call_bind(call, &decls[VARLEN], arena, &p, err);
    wish->dtype = p.dtype;
    wish->key = p.key;
    wish->is_list = wish->allow_missing = true;
    return code;
}

/* A dtype alone is a single value of it. */
static int bind_word(const struct stk_value *word, struct wish *wish, struct stk_error *err)
{
    for (int d = 0; d < N_DTYPES; d++)
        if (!strcmp(word->text, dtype_names[d])) {
            wish->dtype = d;
            return STK_OK;
        }
    return stk__fail_at(err, STK_VALUE, word->at, word->len,
                        "a feature is bytes, float32 or int64, or a call such as fixed([10], "
                        "float32); not '%.64s'",
                        word->text);
}

static int bind_spec(const struct stk_value *value, struct stk_arena *arena, struct wish *wish,
                     struct stk_error *err)
{
    static int (*const bind[N_CALLS])(const struct stk__call *, struct stk_arena *, struct wish *,
                                      struct stk_error *) = {
        [FIXED] = bind_fixed,   [FIXED_SEQUENCE] = bind_sequence, [RAGGED] = bind_ragged,
        [SPARSE] = bind_sparse, [VARLEN] = bind_varlen,
    };
    *wish = (struct wish){ .value = value };
    if (value->kind == STK__WORD || value->kind == STK__STRING)
        return bind_word(value, wish, err);
    if (value->kind != STK__CHAIN || value->n_calls != 1)
        return refuse(wish, err,
                      "a feature is written as bytes, float32 or int64, or as a call such as "
                      "fixed([10], float32)");
    const struct stk_decl *decl = stk__namespace_find(&stk__feature_calls, value->call->name);
    if (!decl)
        return stk__unknown_call(&stk__feature_calls, value->call, err);
    return bind[decl - decls](value->call, arena, wish, err);
}

/* ---- defaults ---- */

struct filler {
    const struct wish *wish;
    uint8_t *data; /* values of the dtype */
    size_t n, room;
};

static int fill_number(struct filler *filler, const struct stk_value *value, struct stk_error *err)
{
    bool is_float = filler->wish->dtype + 1 == STK__FEATURE_FLOATS;
    bool is_int = value->kind == STK__INT;
    if (!is_int && (value->kind != STK__REAL || !is_float))
        return refuse(filler->wish, err,
                      is_float ? "the default_value of a float32 feature has numbers"
                               : "the default_value of an int64 feature has whole numbers");
    float real = is_int ? (float)value->integer : (float)value->real;
    if (filler->n < filler->room && is_float)
        memcpy(filler->data + filler->n * sizeof real, &real, sizeof real);
    else if (filler->n < filler->room)
        memcpy(filler->data + filler->n * sizeof(int64_t), &value->integer, sizeof(int64_t));
    filler->n++;
    return STK_OK;
}

static int fill_numbers(struct filler *filler, const struct stk_value *value, struct stk_error *err)
{
    int code = STK_OK;
    if (value->kind != STK__LIST)
        return fill_number(filler, value, err);
    for (int i = 0; i < value->n_items && !code; i++)
        code = fill_numbers(filler, value->item[i], err);
    return code;
}

static size_t count_items(const struct stk_value *value)
{
    size_t n = value->kind != STK__LIST;
    for (int i = 0; value->kind == STK__LIST && i < value->n_items; i++)
        n += count_items(value->item[i]);
    return n;
}

static const struct stk_value **list_items(const struct stk_value *value,
                                           const struct stk_value **to)
{
    if (value->kind != STK__LIST)
        *to++ = value;
    for (int i = 0; value->kind == STK__LIST && i < value->n_items; i++)
        to = list_items(value->item[i], to);
    return to;
}

/* Strings, in lists or not, as a row has them. */
static int read_texts(const struct wish *wish, struct stk_arena *arena,
                      struct stk__feature_spec *spec, struct stk_error *err)
{
    const struct stk_value *value = wish->fallback;
    size_t n = count_items(value);
    if (n != spec->n_values && (value->kind == STK__LIST || value->kind == STK__STRING))
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "the default_value has %zu string%s, the shape %zu", n,
                            n == 1 ? "" : "s", spec->n_values);
    const struct stk_value **item = stk_arena_alloc(arena, n * sizeof *item);
    if (!item)
        return stk__out_of_memory(err);
    list_items(value, item);
    struct stk_value flat = *value;
    flat.kind = STK__LIST; /* a string by itself is one of one */
    flat.item = item;
    flat.n_items = (int)n;
    return stk__text_list_read(&flat, arena, &spec->fallback, &spec->fallback_bytes, err);
}

/* As in TensorFlow a single number is not spread over a shape. */
static int read_default(const struct wish *wish, struct stk_arena *arena,
                        struct stk__feature_spec *spec, struct stk_error *err)
{
    const struct stk_value *value = wish->fallback;
    if (spec->field.flags & STK_FIELD_PACKED)
        return read_texts(wish, arena, spec, err);
    if (spec->kind == STK__FEATURE_BYTES) {
        if (value->kind != STK__STRING)
            return refuse(wish, err, "the default_value of a bytes feature is a string");
        spec->fallback = value->text;
        spec->fallback_bytes = value->text_len;
        return STK_OK;
    }
    spec->fallback_bytes = stk_field_bytes(&spec->field);
    struct filler filler = { .wish = wish, .room = spec->n_values };
    filler.data = stk_arena_alloc(arena, spec->fallback_bytes);
    if (!filler.data)
        return stk__out_of_memory(err);
    int code = fill_numbers(&filler, value, err);
    if (!code && filler.n != spec->n_values)
        return stk__fail_at(err, STK_VALUE, value->at, value->len,
                            "the default_value has %zu values, the shape %zu", filler.n,
                            spec->n_values);
    spec->fallback = filler.data;
    return code;
}

/* ---- fields ---- */

/* One string, an array of them, or a list of any number. */
static int set_bytes(const struct wish *wish, struct stk__feature_spec *spec, struct stk_error *err)
{
    if (wish->is_list && wish->shape.n)
        return refuse(
            wish, err,
            "entries of bytes have the shape []: a list of any number has single strings; "
            "read it with varlen(bytes)");
    if (wish->partition)
        return refuse(
            wish, err,
            "lists of lists of strings are not possible: read the strings with varlen(bytes) "
            "and the partition as a field of its own, varlen(int64)");
    if (wish->is_nested)
        return refuse(wish, err,
                      "a step of a sequence has one string: fixed_sequence([], bytes); lists of "
                      "lists of strings are not possible");
    spec->field.kind = STK_BYTES;
    spec->field.dtype = STK_U8;
    if (wish->shape.n || wish->is_list)
        spec->field.flags = STK_FIELD_PACKED;
    return stk__field_map_shape(wish->value, &wish->shape, &spec->field, &spec->n_values, err);
}

/* A list of numbers, or of rows of them where there are several dimensions. */
static void set_indices(const struct stk__sparse *sparse, struct stk_field *field)
{
    field->kind = STK_RAGGED;
    field->dtype = STK_I64;
    field->rank = sparse->rank > 1 ? 2 : 1;
    field->shape[0] = -1;
    field->shape[1] = sparse->rank;
}

static int set_field(const struct wish *wish, struct stk__feature_spec *spec, struct stk_error *err)
{
    static const uint8_t dtypes[] = { STK_U8, STK_F32, STK_I64 };
    if (wish->sparse && wish->sparse->part == STK__SPARSE_INDICES) {
        set_indices(wish->sparse, &spec->field);
        return STK_OK;
    }
    if (wish->dtype + 1 == STK__FEATURE_BYTES)
        return set_bytes(wish, spec, err);
    if (wish->is_nested && wish->shape.n)
        return refuse(wish, err, "a step of a sequence is a list of single values");
    spec->field.kind = wish->is_list ? STK_RAGGED : STK_FIXED;
    spec->field.flags = wish->is_nested || wish->partition ? STK_FIELD_PACKED : 0;
    spec->field.dtype = dtypes[wish->dtype];
    if (wish->is_list)
        spec->field.shape[spec->field.rank++] = -1;
    return stk__field_map_shape(wish->value, &wish->shape, &spec->field, &spec->n_values, err);
}

/* In a sequence a list is one of steps, each an entry or a list of its own. */
static int set_place(struct wish *wish, enum stk__feature_place place, struct stk_error *err)
{
    if (place != STK__IN_SEQUENCE)
        return STK_OK;
    if (!wish->is_list || wish->sparse || wish->partition)
        return refuse(wish, err,
                      "in a sequence every step has an entry of the same shape, "
                      "fixed_sequence(shape, dtype), or any number of values, varlen(dtype)");
    wish->is_nested = strcmp(wish->value->call->name, decls[FIXED_SEQUENCE].name) != 0;
    return STK_OK;
}

/* A key that is wanted, once for all who want it; its number. */
static int want_key(struct stk__feature_specs *specs, const char *key, int *number)
{
    const struct stk__piece piece = { (const uint8_t *)key, strlen(key) };
    *number = stk__feature_keys_find(&specs->keys, piece);
    if (*number < 0 && specs->keys.n < STK_MAX_FIELDS) {
        stk__feature_keys_add(&specs->keys, piece);
        *number = stk__feature_keys_find(&specs->keys, piece);
    }
    return *number < 0 ? STK_VALUE : STK_OK;
}

/* The keys of one spec. */
static int want_keys(const struct wish *wish, struct stk__feature_specs *specs,
                     struct stk__feature_spec *spec, struct stk_error *err)
{
    int code = want_key(specs, spec->key_text, &spec->key);
    if (!code && wish->partition)
        code = want_key(specs, wish->partition_key, &spec->partition_key);
    for (int d = 0; wish->sparse && d < wish->sparse->rank && !code; d++)
        code = want_key(specs, wish->sparse->index_text[d], &wish->sparse->index_key[d]);
    if (code)
        return stk__fail_at(err, code, wish->value->at, wish->value->len,
                            "more than %d keys are wanted", STK_MAX_FIELDS);
    return STK_OK;
}

static int add_spec(const struct stk_value *name, const struct wish *wish, struct stk_arena *arena,
                    struct stk__feature_specs *specs, struct stk_error *err)
{
    struct stk__feature_spec *spec = &specs->spec[specs->n];
    const char *key = wish->key ? wish->key : name->text;
    *spec = (struct stk__feature_spec){ .field.name = name->text,
                                        .key_text = key,
                                        .kind = (uint8_t)(wish->dtype + 1),
                                        .is_list = wish->is_list,
                                        .is_required = !wish->allow_missing,
                                        .partition = wish->partition,
                                        .partition_text = wish->partition_key,
                                        .sparse = wish->sparse };
    int code = want_keys(wish, specs, spec, err);
    specs->n++;
    if (!code)
        code = set_field(wish, spec, err);
    return !code && wish->fallback ? read_default(wish, arena, spec, err) : code;
}

int stk__feature_specs_read(const struct stk_value *map, enum stk__feature_place place,
                            struct stk_arena *arena, struct stk__feature_specs *specs,
                            struct stk_error *err)
{
    struct wish wish;
    int code = stk__field_map_check(
        map, "wants a map from fields to features, as in {label: int64, x: fixed([10], float32)}",
        err);
    *specs = (struct stk__feature_specs){ 0 };
    for (int i = 0; i < map->n_items && !code; i++) {
        code = bind_spec(map->item[i], arena, &wish, err);
        if (!code)
            code = set_place(&wish, place, err);
        if (!code)
            code = add_spec(map->key[i], &wish, arena, specs, err);
    }
    return code;
}
