/* SPDX-License-Identifier: Apache-2.0 */
/* features.c: the values of features as rows of fields. */
#include "op/features.h"

#include "base/error.h"
#include "op/field_map.h"

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

static int add_specs(struct stk_infer *inf, struct stk__feature_specs *specs, struct stk_error *err)
{
    enum { TYPICAL_LIST = 512 };
    int code = STK_OK;
    specs->first = inf->out->n_fields;
    for (int i = 0; i < specs->n && !code; i++) {
        code = stk__field_add(inf, &specs->spec[i].field, -1, err);
        inf->scratch_bytes += specs->spec[i].is_list ? TYPICAL_LIST : 0;
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
    size_t at = (size_t)snprintf(text, size, "[");
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
    struct stk__piece value = { 0 };
    size_t n;
    if (!stk__value_list_bytes(list, &value, 1, &n))
        fail_damaged(at, spec, feature);
    else if (n != 1)
        fail_count(at, spec, n);
    else
        out->span[at->row] =
            (struct stk_span){ (uint8_t *)(uintptr_t)value.data, value.bytes, at->record->owner };
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
    for (int i = 0; i < specs->n && !code && at->rows->mask[at->row] == STK_LIVE; i++)
        code = put_feature(at, &specs->spec[i], found[specs->spec[i].key], &out[i]);
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

/* Every step has one entry; a step without a kind has no values. dst NULL: there is no room,
 * because it cannot have as many as it should. False: the row is bad. */
static bool put_step(const struct stk__feature_row *at, const struct stk__feature_spec *spec,
                     struct stk__piece step, size_t index, void *dst)
{
    char shape[STK_MAX_RANK * 24];
    struct stk__value_list list;
    size_t n = 0;
    if (!stk__value_list_open(step, &list)) {
        fail_damaged(at, spec, step);
        return false;
    }
    if (list.kind && list.kind != spec->kind) {
        stk_rows_fail(at->rows, at->row, STK_DATA,
                      "Feature list: %.64s, Index: %zu.  Data types don't match. Data type: %s but "
                      "expected type: %s",
                      spec->key_text, index, stk__feature_kind_name(list.kind),
                      stk__feature_kind_name(spec->kind));
        return false;
    }
    if (list.kind && !read_numbers(spec, &list, dst, dst ? spec->n_values : 0, &n)) {
        fail_damaged(at, spec, step);
        return false;
    }
    if (n == spec->n_values)
        return true;
    stk_rows_fail(
        at->rows, at->row, STK_DATA,
        "Feature list: %.64s, Index: %zu.  Number of values != expected.  values size: %zu "
        "but output shape: %s",
        spec->key_text, index, n, shape_text(&spec->field, shape, sizeof shape));
    return false;
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
        out->span[at->row] = (struct stk_span){ 0 };
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
