/* SPDX-License-Identifier: Apache-2.0 */
/* example_write.c: an element as a serialized tf.train.Example.
 *
 *     Example  0A len Features     Features  (0A len Entry)*     Entry  0A len key  12 len Feature
 *     Feature  0A len BytesList | 12 len FloatList | 1A len Int64List
 *
 * Lists of numbers are packed, and keys are in the order of protobuf's deterministic serialisation, so
 * the result is what SerializeToString(deterministic=True) gives in Python. Lengths stand before what
 * they count, so every part is measured first.
 *
 * Nothing is rounded: what neither an Int64List nor a FloatList holds exactly, and tensors of small
 * numbers, for which an Int64List is wasteful, are stored as their bytes (decode_raw reads them).
 */
#include "base/error.h"
#include "base/rows/blob.h"
#include "base/type.h"
#include "codec/record/record_out.h"
#include "codec/record/wire_out.h"
#include "kernel/kernel.h"
#include "lang/quote.h"

#include <stdlib.h>
#include <string.h>

enum store { STORE_BYTES = 1, STORE_FLOATS = 2, STORE_INTS = 3 }; /* numbers of Feature's members */

enum { FIRST = 1, SECOND = 2 }; /* numbers of fields */

static enum store store_of(const struct stk_field *field)
{
    size_t bytes = stk_dtype_bytes(field->dtype);
    bool is_float = stk__dtype_kind(field->dtype) == 'f';
    if (field->kind == STK_BYTES || field->dtype == STK_F64 || (bytes < 4 && field->rank))
        return STORE_BYTES;
    return is_float ? STORE_FLOATS : STORE_INTS;
}

const char *stk__example_describe(const struct stk_field *field)
{
    static const char *const lists[] = { [STORE_FLOATS] = "FloatList", [STORE_INTS] = "Int64List" };
    if (store_of(field) != STORE_BYTES)
        return lists[store_of(field)];
    return field->kind == STK_BYTES ? "BytesList" : "BytesList of raw little-endian values";
}

/* ---- how it is read ---- */

static void add_shape(const struct stk_field *field, struct stk__text *out)
{
    for (int i = 0; i < field->rank; i++)
        stk__text_add(out, "%s%lld", i ? ", " : "[", (long long)field->shape[i]);
    stk__text_add(out, "]");
}

static bool is_readable(const struct stk_field *field)
{
    if (field->kind == STK_BYTES)
        return !field->rank || stk__texts_of(field) > 0;
    return field->kind == STK_FIXED && (field->rank || store_of(field) != STORE_BYTES);
}

/* What parse_example makes of a field. */
static void add_feature(const struct stk_field *field, struct stk__text *out)
{
    static const char *const lists[] = {
        [STORE_BYTES] = "bytes", [STORE_FLOATS] = "float32", [STORE_INTS] = "int64"
    };
    enum store store = store_of(field);
    bool is_tensor = field->rank && (store != STORE_BYTES || field->kind == STK_BYTES);
    bool is_list = field->flags & STK_FIELD_PACKED && !is_tensor;
    stk__quote_name(out, field->name);
    stk__text_add(out, is_tensor ? ": fixed(" : is_list ? ": varlen(" : ": ");
    if (is_tensor)
        add_shape(field, out);
    stk__text_add(out, is_tensor ? ", %s)" : is_list ? "%s)" : "%s", lists[store]);
}

/* What makes its own type of that. */
static void add_conversion(const struct stk_field *field, struct stk__text *out)
{
    enum store store = store_of(field);
    int dtype = store == STORE_FLOATS ? STK_F32 : STK_I64;
    if (field->kind == STK_BYTES || (store != STORE_BYTES && field->dtype == dtype))
        return;
    stk__text_add(out, store == STORE_BYTES ? ".decode_raw(%s, shape=" : ".cast(%s",
                  stk__dtype_names[field->dtype]);
    if (store == STORE_BYTES)
        add_shape(field, out);
    stk__text_add(out, ", field=");
    stk__quote_name(out, field->name);
    stk__text_add(out, ")");
}

bool stk__example_reader(const struct stk_type *type, struct stk__text *out)
{
    for (int f = 0; f < type->n_fields; f++)
        if (!is_readable(&type->field[f]))
            return false;
    for (int f = 0; f < type->n_fields; f++) {
        stk__text_add(out, f ? ", " : "parse_example({");
        add_feature(&type->field[f], out);
    }
    stk__text_add(out, "})");
    for (int f = 0; f < type->n_fields; f++)
        add_conversion(&type->field[f], out);
    return type->n_fields && !out->failed;
}

/* ---- the layout ---- */

/* By bytes, but what begins with a whole other key comes before that key. */
static int compare_keys(const void *a, const void *b)
{
    const char *left = ((const struct stk__record_entry *)a)->key;
    const char *right = ((const struct stk__record_entry *)b)->key;
    size_t n_left = strlen(left), n_right = strlen(right);
    int order = memcmp(left, right, n_left < n_right ? n_left : n_right);
    return order ? order : (n_left < n_right) - (n_left > n_right);
}

int stk__example_lay_out(const struct stk_type *type, struct stk_arena *arena,
                         struct stk__record_layout *out, struct stk_error *err)
{
    *out = (struct stk__record_layout){ .type = type };
    for (int f = 0; f < type->n_fields; f++) {
        const struct stk_field *field = &type->field[f];
        out->entry[out->n_entries++] = (struct stk__record_entry){ field->name, f, false };
        if (field->kind != STK_SHAPED)
            continue;
        char *key = stk__arena_printf(arena, "%s/shape", field->name);
        if (!key)
            return stk__out_of_memory(err);
        if (stk_type_find(type, key) >= 0)
            return stk_fail(err, STK_VALUE,
                            "field '%s' differs in shape between elements, so its shape is stored "
                            "as '%s', which is a field already; rename one",
                            field->name, key);
        out->entry[out->n_entries++] = (struct stk__record_entry){ key, f, true };
    }
    qsort(out->entry, (size_t)out->n_entries, sizeof *out->entry, compare_keys);
    return STK_OK;
}

/* ---- numbers ---- */

/* An unsigned number that no int64 holds comes out negative. */
static int64_t load_int(int dtype, const void *data, size_t i)
{
    switch ((enum stk_dtype)dtype) {
    case STK_BOOL:
    case STK_U8:
        return ((const uint8_t *)data)[i];
    case STK_I8:
        return ((const int8_t *)data)[i];
    case STK_U16:
        return ((const uint16_t *)data)[i];
    case STK_I16:
        return ((const int16_t *)data)[i];
    case STK_U32:
        return ((const uint32_t *)data)[i];
    case STK_I32:
        return ((const int32_t *)data)[i];
    default:
        return ((const int64_t *)data)[i];
    }
}

static size_t with_head(size_t len)
{
    return 1 + stk__varint_bytes(len) + len;
}

/* ---- one feature ---- */

struct feature {
    enum store store;
    int dtype;
    const void *data;
    size_t n, values_bytes; /* how many numbers, and what they take when packed */
    size_t list_bytes;
    const int64_t *splits; /* of n texts, or NULL */
};

static size_t text_bytes(const struct feature *f, size_t i)
{
    return (size_t)(f->splits[i + 1] - f->splits[i]);
}

static struct feature measure_texts(struct feature f, const struct stk__record_value *value)
{
    f.n = (size_t)value->shape[0];
    f.splits = value->splits;
    for (size_t i = 0; i < f.n; i++)
        f.list_bytes += with_head(text_bytes(&f, i));
    return f;
}

static struct feature measure(const struct stk__record_layout *layout,
                              const struct stk__record_entry *entry,
                              const struct stk__record_value *value)
{
    const struct stk_field *field = &layout->type->field[entry->field];
    value += entry->field;
    struct feature f = { .store = store_of(field), .dtype = field->dtype, .data = value->data };
    if (entry->is_shape)
        f = (struct feature){
            .store = STORE_INTS, .dtype = STK_I64, .data = value->shape, .n = (size_t)field->rank
        };
    else if (value->splits)
        return measure_texts(f, value);
    else if (f.store == STORE_BYTES)
        f.n = f.values_bytes = value->bytes;
    else
        f.n = value->bytes / stk_dtype_bytes(field->dtype);
    if (f.store == STORE_FLOATS)
        f.values_bytes = f.n * sizeof(float);
    for (size_t i = 0; f.store == STORE_INTS && i < f.n; i++)
        f.values_bytes += stk__varint_bytes((uint64_t)load_int(f.dtype, f.data, i));
    f.list_bytes = f.n || f.store == STORE_BYTES ? with_head(f.values_bytes) : 0;
    return f;
}

static void add_floats(struct stk__text *out, const struct feature *f)
{
    float one;
    if (f->dtype == STK_F32) {
        stk__text_add_n(out, f->data, f->values_bytes);
        return;
    }
    /* a half float stands alone: tensors of them are bytes */
    stk__kernels()->elementwise.convert[f->dtype][STK_F32](&one, f->data, NULL, NULL, 1);
    stk__text_add_n(out, (const char *)&one, sizeof one);
}

static void add_texts(struct stk__text *out, const struct feature *f)
{
    for (size_t i = 0; i < f->n; i++) {
        stk__wire_add_head(out, FIRST, text_bytes(f, i));
        stk__text_add_n(out, (const char *)f->data + f->splits[i], text_bytes(f, i));
    }
}

static void add_list(struct stk__text *out, const struct feature *f)
{
    if (f->splits)
        add_texts(out, f);
    if (f->splits || !f->list_bytes)
        return;
    stk__wire_add_head(out, FIRST, f->values_bytes);
    if (f->store == STORE_FLOATS)
        add_floats(out, f);
    else if (f->store == STORE_BYTES && f->n)
        stk__text_add_n(out, f->data, f->n);
    for (size_t i = 0; f->store == STORE_INTS && i < f->n; i++)
        stk__wire_add_varint(out, (uint64_t)load_int(f->dtype, f->data, i));
}

static size_t entry_bytes(const char *key, const struct feature *f)
{
    return with_head(strlen(key)) + with_head(with_head(f->list_bytes));
}

static void add_entry(struct stk__text *out, const char *key, const struct feature *f)
{
    stk__wire_add_head(out, FIRST, entry_bytes(key, f));
    stk__wire_add_head(out, FIRST, strlen(key));
    stk__text_add_n(out, key, strlen(key));
    stk__wire_add_head(out, SECOND, with_head(f->list_bytes));
    stk__wire_add_head(out, (int)f->store, f->list_bytes);
    add_list(out, f);
}

/* ---- the whole ---- */

static int check_unsigned(const struct stk_field *field, const struct feature *f,
                          struct stk_error *err)
{
    for (size_t i = 0; f->dtype == STK_U64 && f->store == STORE_INTS && i < f->n; i++)
        if (load_int(STK_U64, f->data, i) < 0)
            return stk_fail(err, STK_DATA, "%llu of field '%s' is more than an Int64List holds",
                            (unsigned long long)load_int(STK_U64, f->data, i), field->name);
    return STK_OK;
}

int stk__example_write(const struct stk__record_layout *layout,
                       const struct stk__record_value *value, struct stk__text *out,
                       struct stk_error *err)
{
    struct feature feature[STK__MAX_ENTRIES];
    size_t bytes = 0;
    for (int i = 0; i < layout->n_entries; i++) {
        const struct stk__record_entry *entry = &layout->entry[i];
        feature[i] = measure(layout, entry, value);
        bytes += with_head(entry_bytes(entry->key, &feature[i]));
        if (check_unsigned(&layout->type->field[entry->field], &feature[i], err))
            return STK_DATA;
    }
    if (with_head(bytes) > STK__WIRE_MOST_BYTES)
        return stk_fail(err, STK_DATA,
                        "the element has %zu bytes; a tf.train.Example has less "
                        "than 2 GiB",
                        bytes);
    stk__wire_add_head(out, FIRST, bytes);
    for (int i = 0; i < layout->n_entries; i++)
        add_entry(out, layout->entry[i].key, &feature[i]);
    return STK_OK;
}
