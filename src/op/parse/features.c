/* SPDX-License-Identifier: Apache-2.0 */
/* features.c: the values of features as rows of fields. */
#include "op/parse/features.h"

#include "base/error.h"
#include "base/rows/blob.h"
#include "op/field_map.h"
#include "op/text/text_op.h"

#include <stdio.h>
#include <string.h>

/* ---- types ---- */

static bool is_record(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & (STK_FIELD_PACKED | STK_FIELD_PATH));
}

int stk__features_pick(const struct stk_infer *inf, const char *name, struct stk_error *err)
{
    return stk_infer_pick(inf, name, is_record, "a field with serialized records", err);
}

/* What a row takes beside its values. Arrays of texts have all their entries, and ids of rows those that are
 * empty, however little a record holds. */
static size_t scratch_of(const struct stk__feature_spec *spec)
{
    enum { TYPICAL_LIST = 512 };
    if (spec->field.kind == STK_BYTES && spec->field.rank)
        return spec->n_values * (sizeof(struct stk_span) + sizeof(int64_t));
    if (spec->partition == STK__VALUE_ROWIDS)
        return STK__MOST_EMPTY_ROWS * sizeof(int64_t);
    return spec->is_list ? TYPICAL_LIST : 0;
}

static int add_specs(struct stk_infer *inf, struct stk__feature_specs *specs, struct stk_error *err)
{
    const size_t most_small = (size_t)1 << 15; /* larger rows come one by one */
    int code = STK_OK;
    specs->first = inf->out->n_fields;
    for (int i = 0; i < specs->n && !code; i++) {
        code = stk__field_add(inf, &specs->spec[i].field, -1, err);
        inf->scratch_bytes += scratch_of(&specs->spec[i]);
        inf->inside->is_heavy |= scratch_of(&specs->spec[i]) > most_small;
    }
    return code;
}

int stk__features_infer(struct stk_infer *inf, int field, struct stk__feature_specs *first,
                        struct stk__feature_specs *second, struct stk_error *err)
{
    const struct stk_type *in = inf->in[0];
    int code = STK_OK;
    inf->reads = UINT32_C(1) << field;
    inf->is_optional = true;
    inf->out->n_fields = 0;
    for (int f = 0; f < in->n_fields && !code; f++) {
        if (f != field) {
            code = stk__field_add(inf, &in->field[f], f, err);
            continue;
        }
        code = add_specs(inf, first, err);
        if (!code && second)
            code = add_specs(inf, second, err);
    }
    return code;
}

/* ---- messages, in TensorFlow's words ---- */

/* "[?,2]". */
static const char *shape_text(const struct stk_field *field, char *text, size_t size)
{
    bool is_texts = field->kind == STK_BYTES && field->flags & STK_FIELD_PACKED && !field->rank;
    size_t at = (size_t)snprintf(text, size, is_texts ? "[?" : "[");
    for (int d = 0; d < field->rank && at < size; d++) {
        const char *comma = d ? "," : "";
        at += (size_t)(field->shape[d] < 0 ? snprintf(text + at, size - at, "%s?", comma)
                                           : snprintf(text + at, size - at, "%s%lld", comma,
                                                      (long long)field->shape[d]));
    }
    if (at < size)
        snprintf(text + at, size - at, "]");
    return text;
}

static void fail_type(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                      int kind)
{
    stk_rows_fail(at->rows, at->row, STK_DATA,
                  "Key: %.64s.  Data types don't match. Data type: %s but expected type: %s",
                  spec->key_text, stk__feature_kind_name(kind), stk__feature_kind_name(spec->kind));
}

static void fail_count(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                       size_t n)
{
    char shape[STK_MAX_RANK * 24];
    const char *kind =
        spec->kind == STK__FEATURE_BYTES ? "bytes" : stk__feature_kind_name(spec->kind);
    shape_text(&spec->field, shape, sizeof shape);
    if (spec->is_list)
        stk_rows_fail(
            at->rows, at->row, STK_DATA,
            "Key: %.64s.  Number of %s values is not a multiple of stride length. Saw %zu "
            "values but output shape is: %s",
            spec->key_text, kind, n, shape);
    else
        stk_rows_fail(at->rows, at->row, STK_DATA,
                      "Key: %.64s.  Number of %s values != expected.  Values size: %zu but output "
                      "shape: %s",
                      spec->key_text, kind, n, shape);
}

static void fail_missing(const struct stk__feature_row *at, const struct stk__feature_spec *spec)
{
    stk_rows_fail(at->rows, at->row, STK_DATA,
                  "Feature: %.64s (data type: %s) is required but could not be found.",
                  spec->key_text, stk__feature_kind_name(spec->kind));
}

/* The feature begins at a byte of the record. */
static void fail_damaged(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                         struct stk__piece feature)
{
    stk_rows_fail(at->rows, at->row, STK_DATA,
                  "Key: %.64s.  Can't parse serialized Example: the feature at byte %zu of %zu is "
                  "damaged, or has more than one list",
                  spec->key_text, (size_t)(feature.data - at->record->data), at->record->bytes);
}

/* ---- rows ---- */

static bool read_numbers(const struct stk__feature_spec *spec, const struct stk__value_list *list,
                         void *dst, size_t room, size_t *n)
{
    return spec->kind == STK__FEATURE_FLOATS ? stk__value_list_floats(list, dst, room, n)
                                             : stk__value_list_ints(list, dst, room, n);
}

static void put_missing(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                        struct stk_column *out)
{
    const void *fallback = spec->fallback;
    if (spec->is_required && !fallback)
        fail_missing(at, spec);
    else if (spec->field.flags & STK_FIELD_PACKED && !fallback)
        out->span[at->row] = stk__blob_empty();
    else if (spec->field.kind == STK_FIXED)
        memcpy(out->data + (size_t)at->row * out->stride, fallback, out->stride);
    else
        out->span[at->row] = (struct stk_span){ .data = (uint8_t *)(uintptr_t)fallback,
                                                .bytes = spec->fallback_bytes };
}

/* The only string of the list, where it lies. */
static void put_bytes(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                      struct stk__piece feature, const struct stk__value_list *list,
                      struct stk_column *out)
{
    struct stk_span value = { 0 };
    size_t n;
    if (!stk__value_list_bytes(list, &value, 1, &n))
        fail_damaged(at, spec, feature);
    else if (n != 1)
        fail_count(at, spec, n);
    else
        out->span[at->row] = (struct stk_span){ value.data, value.bytes, at->record->owner };
}

/* All strings of the list. */
static int put_texts(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                     struct stk__piece feature, const struct stk__value_list *list,
                     struct stk_column *out)
{
    enum { FEW = 32 };
    struct stk_span few[FEW], *text = few;
    size_t n;
    bool is_good = stk__value_list_bytes(list, text, FEW, &n);
    if (is_good && n > FEW) {
        text = stk_rows_alloc(at->rows, n * sizeof *text);
        if (!text)
            return STK_MEMORY;
        stk__value_list_bytes(list, text, n, &n);
    }
    if (!is_good)
        fail_damaged(at, spec, feature);
    else if (!spec->is_list && n != spec->n_values)
        fail_count(at, spec, n);
    else if (!stk__texts_pack(at->rows, text, n, &out->span[at->row]))
        return STK_MEMORY;
    return STK_OK;
}

static void put_fixed(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                      struct stk__piece feature, const struct stk__value_list *list,
                      struct stk_column *out)
{
    size_t n;
    void *dst = out->data + (size_t)at->row * out->stride;
    if (!read_numbers(spec, list, dst, spec->n_values, &n))
        fail_damaged(at, spec, feature);
    else if (n != spec->n_values)
        fail_count(at, spec, n);
}

static int put_list(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                    struct stk__piece feature, const struct stk__value_list *list,
                    struct stk_column *out)
{
    size_t most = stk__value_list_most(list), value_bytes = stk_dtype_bytes(spec->field.dtype), n;
    void *data = stk_rows_alloc(at->rows, most * value_bytes);
    if (!data)
        return STK_MEMORY;
    if (!read_numbers(spec, list, data, most, &n))
        fail_damaged(at, spec, feature);
    else if (n % spec->n_values)
        fail_count(at, spec, n);
    else
        out->span[at->row] = (struct stk_span){ .data = data, .bytes = n * value_bytes };
    return STK_OK;
}

int stk__feature_values(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                        struct stk__piece feature, void **data, size_t *n)
{
    struct stk__value_list list = { spec->kind, { 0 } };
    bool is_bytes = spec->kind == STK__FEATURE_BYTES, is_good = true;
    *data = NULL;
    *n = 0;
    if (feature.data && !stk__value_list_open(feature, &list)) {
        fail_damaged(at, spec, feature);
        return STK_OK;
    }
    if (list.kind != spec->kind) {
        fail_type(at, spec, list.kind);
        return STK_OK;
    }
    if (is_bytes)
        is_good = stk__value_list_bytes(&list, NULL, 0, n);
    size_t most = is_bytes ? *n : stk__value_list_most(&list);
    /* of a size that serves all kinds; one more, so that there is an address */
    *data = stk_rows_alloc(at->rows, (most + 1) * (is_bytes ? sizeof(struct stk_span) : 8));
    if (!*data)
        return STK_MEMORY;
    if (is_good)
        is_good = is_bytes ? stk__value_list_bytes(&list, *data, most, n)
                           : read_numbers(spec, &list, *data, most, n);
    if (is_good)
        return STK_OK;
    fail_damaged(at, spec, feature);
    *data = NULL;
    return STK_OK;
}

static int put_feature(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                       struct stk__piece feature, struct stk_column *out)
{
    struct stk__value_list list;
    if (!feature.data) {
        put_missing(at, spec, out);
    } else if (!stk__value_list_open(feature, &list)) {
        fail_damaged(at, spec, feature);
    } else if (list.kind != spec->kind) {
        fail_type(at, spec, list.kind);
    } else if (spec->field.flags & STK_FIELD_PACKED) {
        return put_texts(at, spec, feature, &list, out);
    } else if (spec->is_list) {
        return put_list(at, spec, feature, &list, out);
    } else if (spec->kind == STK__FEATURE_BYTES) {
        put_bytes(at, spec, feature, &list, out);
    } else {
        put_fixed(at, spec, feature, &list, out);
    }
    return STK_OK;
}

int stk__features_put(const struct stk__feature_row *at, const struct stk__feature_specs *specs,
                      const struct stk__piece *found)
{
    struct stk_column *out = at->rows->out + specs->first;
    int code = STK_OK;
    for (int i = 0; i < specs->n && !code && at->rows->mask[at->row] == STK_LIVE; i++) {
        const struct stk__feature_spec *spec = &specs->spec[i];
        code = spec->partition || spec->sparse ? stk__feature_parts_put(at, spec, found, &out[i])
                                               : put_feature(at, spec, found[spec->key], &out[i]);
    }
    return code;
}

/* ---- steps of sequences ---- */

static bool count_steps(struct stk__piece list, size_t *n)
{
    struct stk__piece step;
    for (*n = 0; list.bytes; ++*n)
        if (!stk__feature_list_next(&list, &step))
            return false;
    return true;
}

/* Opens one step; a step without a kind has no values. False: the row is bad. */
static bool open_step(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                      struct stk__piece step, size_t index, struct stk__value_list *list)
{
    bool is_good = stk__value_list_open(step, list);
    if (!is_good)
        fail_damaged(at, spec, step);
    if (!is_good || !list->kind || list->kind == spec->kind)
        return is_good;
    stk_rows_fail(at->rows, at->row, STK_DATA,
                  "Feature list: %.64s, Index: %zu.  Data types don't match. Data type: %s but "
                  "expected type: %s",
                  spec->key_text, index, stk__feature_kind_name(list->kind),
                  stk__feature_kind_name(spec->kind));
    return false;
}

static bool check_step(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                       size_t index, size_t n)
{
    char shape[STK_MAX_RANK * 24];
    if (n != spec->n_values)
        stk_rows_fail(
            at->rows, at->row, STK_DATA,
            "Feature list: %.64s, Index: %zu.  Number of values != expected.  values size: %zu "
            "but output shape: %s",
            spec->key_text, index, n, shape_text(&spec->field, shape, sizeof shape));
    return n == spec->n_values;
}

/* One entry. dst NULL: there is no room, because it cannot have as many values as it should. */
static bool put_step(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                     struct stk__piece step, size_t index, void *dst)
{
    struct stk__value_list list;
    size_t n = 0;
    if (!open_step(at, spec, step, index, &list))
        return false;
    if (list.kind && !read_numbers(spec, &list, dst, dst ? spec->n_values : 0, &n)) {
        fail_damaged(at, spec, step);
        return false;
    }
    return check_step(at, spec, index, n);
}

/* The only string of a step. */
static bool put_text_step(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                          struct stk__piece step, size_t index, struct stk_span *text)
{
    struct stk__value_list list;
    size_t n = 0;
    if (!open_step(at, spec, step, index, &list))
        return false;
    if (list.kind && !stk__value_list_bytes(&list, text, 1, &n)) {
        fail_damaged(at, spec, step);
        return false;
    }
    return check_step(at, spec, index, n);
}

static int put_text_steps(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                          struct stk__piece list, size_t n_steps, struct stk_column *out)
{
    struct stk__piece step = list;
    struct stk_span *text = stk_rows_alloc(at->rows, n_steps * sizeof *text);
    if (!text)
        return STK_MEMORY;
    for (size_t i = 0; i < n_steps; i++) {
        stk__feature_list_next(&list, &step);
        if (!put_text_step(at, spec, step, i, &text[i]))
            return STK_OK;
    }
    return stk__texts_pack(at->rows, text, n_steps, &out->span[at->row]) ? STK_OK : STK_MEMORY;
}

/* Any number of values in each step: a list of lists. */
static int put_list_steps(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                          struct stk__piece list, size_t n_steps, struct stk_column *out)
{
    const struct stk__value_list all = { spec->kind, list };
    struct stk__piece step = list;
    size_t value_bytes = stk_dtype_bytes(spec->field.dtype), used = 0, n,
           most = stk__value_list_most(&all);
    uint8_t *memory =
        stk_rows_alloc(at->rows, stk__blob_room((int64_t)n_steps, most * value_bytes));
    if (!memory)
        return STK_MEMORY;
    struct stk__blob lists = stk__blob_begin(memory, (int64_t)n_steps);
    for (size_t i = 0; i < n_steps; i++) {
        struct stk__value_list values;
        lists.splits[i] = (int64_t)used;
        stk__feature_list_next(&list, &step);
        if (!open_step(at, spec, step, i, &values))
            return STK_OK;
        n = 0;
        if (values.kind &&
            !read_numbers(spec, &values, lists.data + used * value_bytes, most - used, &n)) {
            fail_damaged(at, spec, step);
            return STK_OK;
        }
        used += n;
    }
    lists.splits[n_steps] = (int64_t)used;
    size_t bytes = stk__blob_room((int64_t)n_steps, used * value_bytes);
    out->span[at->row] = (struct stk_span){ .data = memory, .bytes = bytes };
    return STK_OK;
}

static int put_steps(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                     struct stk__piece list, struct stk_column *out)
{
    struct stk__piece step = list;
    size_t n_steps, step_bytes = spec->n_values * stk_dtype_bytes(spec->field.dtype);
    if (!count_steps(list, &n_steps)) {
        fail_damaged(at, spec, list);
        return STK_OK;
    }
    if (spec->kind == STK__FEATURE_BYTES)
        return put_text_steps(at, spec, list, n_steps, out);
    if (spec->field.flags & STK_FIELD_PACKED)
        return put_list_steps(at, spec, list, n_steps, out);
    /* A value takes a byte at least, so a record cannot ask for more memory than it has values. */
    size_t fitting = list.bytes / spec->n_values;
    uint8_t *data = stk_rows_alloc(at->rows, (n_steps < fitting ? n_steps : fitting) * step_bytes);
    if (!data)
        return STK_MEMORY;
    for (size_t i = 0; i < n_steps; i++) {
        stk__feature_list_next(&list, &step);
        if (!put_step(at, spec, step, i, i < fitting ? data + i * step_bytes : NULL))
            return STK_OK;
    }
    out->span[at->row] = (struct stk_span){ .data = data, .bytes = n_steps * step_bytes };
    return STK_OK;
}

static void put_no_steps(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                         struct stk_column *out)
{
    if (spec->is_required)
        stk_rows_fail(at->rows, at->row, STK_DATA,
                      "Feature list '%.64s' is required but could not be found.", spec->key_text);
    else
        out->span[at->row] =
            spec->field.flags & STK_FIELD_PACKED ? stk__blob_empty() : (struct stk_span){ 0 };
}

int stk__feature_lists_put(const struct stk__feature_row *at,
                           const struct stk__feature_specs *specs, const struct stk__piece *found)
{
    struct stk_column *out = at->rows->out + specs->first;
    int code = STK_OK;
    for (int i = 0; i < specs->n && !code && at->rows->mask[at->row] == STK_LIVE; i++) {
        const struct stk__feature_spec *spec = &specs->spec[i];
        if (found[spec->key].data)
            code = put_steps(at, spec, found[spec->key], &out[i]);
        else
            put_no_steps(at, spec, &out[i]);
    }
    return code;
}
