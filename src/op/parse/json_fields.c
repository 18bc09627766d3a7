/* SPDX-License-Identifier: Apache-2.0 */
/* json_fields.c: values of JSON texts as rows of fields. */
#include "op/parse/json_fields.h"

#include "op/field_map.h"
#include "op/table/lines.h"
#include "op/text/text_op.h"

#include <string.h>

/* ---- types ---- */

static bool is_json(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & (STK_FIELD_PACKED | STK_FIELD_PATH));
}

int stk__json_fields_infer(struct stk_infer *inf, const char *name, struct stk__json_fields *fields,
                           struct stk_error *err)
{
    enum { TYPICAL_LIST = 512 };
    const struct stk_type *in = inf->in[0];
    int code = STK_OK;
    fields->input = stk_infer_pick(inf, name, is_json, "a field with JSON texts", err);
    if (fields->input < 0)
        return err->code;
    inf->reads = UINT32_C(1) << fields->input;
    inf->is_optional = true;
    inf->out->n_fields = 0;
    for (int f = 0; f < in->n_fields && !code; f++) {
        if (f != fields->input) {
            code = stk__field_add(inf, &in->field[f], f, err);
            continue;
        }
        fields->first = inf->out->n_fields;
        for (int i = 0; i < fields->n && !code; i++) {
            code = stk__field_add(inf, &fields->field[i].field, -1, err);
            const struct stk_field *field = &fields->field[i].field;
            bool is_list = field->kind == STK_RAGGED || field->flags & STK_FIELD_PACKED;
            inf->scratch_bytes += is_list ? TYPICAL_LIST : 0;
        }
    }
    return code;
}

/* ---- one row ---- */

struct line {
    struct stk_rows *rows;
    int row;
    struct stk__json_piece text;
    struct stk_buffer *owner; /* of the text */
};

/* People count characters, from 1. */
static size_t column_of(const struct line *line, const uint8_t *at)
{
    size_t n = 1;
    for (const uint8_t *byte = line->text.data; byte < at; byte++)
        n += (*byte & 0xc0) != 0x80;
    return n;
}

static void fail_value(const struct line *line, const struct stk__json_field *field,
                       struct stk__json_piece value, const char *why)
{
    int shown = value.bytes < 40 ? (int)value.bytes : 40;
    stk_rows_fail(line->rows, line->row, STK_DATA, "column %zu: '%.64s' is %.*s%s, %s",
                  column_of(line, value.data), field->path, shown, (const char *)value.data,
                  value.bytes > 40 ? "…" : "", why);
}

static void fail_kind(const struct line *line, const struct stk__json_field *field,
                      struct stk__json_piece value, const char *wanted)
{
    stk_rows_fail(line->rows, line->row, STK_DATA, "column %zu: '%.64s' is %s, not %s",
                  column_of(line, value.data), field->path,
                  stk__json_kind_name(stk__json_kind(value)), wanted);
}

static void fail_length(const struct line *line, const struct stk__json_field *field,
                        struct stk__json_piece value, int64_t n, int64_t wanted)
{
    stk_rows_fail(line->rows, line->row, STK_DATA,
                  "column %zu: '%.64s' has a list of %lld, where the shape says %lld",
                  column_of(line, value.data), field->path, (long long)n, (long long)wanted);
}

static const char *wanted_name(const struct stk_field *field)
{
    return field->dtype == STK_BOOL  ? "true or false"
           : field->dtype == STK_I64 ? "a whole number"
                                     : "a number";
}

/* Numbers of one row on their way. */
struct filling {
    const struct line *line;
    const struct stk__json_field *field;
    uint8_t *dst;
    size_t n, room;
};

static bool convert(const struct filling *f, struct stk__json_piece value, void *dst)
{
    const uint8_t *end = f->line->text.data + f->line->text.bytes;
    switch (f->field->field.dtype) {
    case STK_BOOL:
        *(uint8_t *)dst = value.data[0] == 't';
        return true;
    case STK_I64:
        return stk__json_i64(value, end, dst);
    case STK_F32:
        return stk__json_f32(value, end, dst);
    default:
        return stk__json_f64(value, end, dst);
    }
}

static bool fill_value(struct filling *f, struct stk__json_piece value)
{
    const struct stk_field *field = &f->field->field;
    bool is_bool = field->dtype == STK_BOOL;
    if (stk__json_kind(value) != (is_bool ? STK__JSON_BOOL : STK__JSON_NUMBER)) {
        fail_kind(f->line, f->field, value, wanted_name(field));
        return false;
    }
    if (f->n == f->room) {
        fail_value(f->line, f->field, value, "one more than the shape has");
        return false;
    }
    if (!convert(f, value, f->dst + f->n * stk_dtype_bytes(field->dtype))) {
        fail_value(f->line, f->field, value,
                   field->dtype == STK_I64 ? "not a whole number of 64 bits" : "too long a number");
        return false;
    }
    f->n++;
    return true;
}

/* Lists within lists, as deep as the shape; a dimension of -1 has any length. */
static bool fill_values(struct filling *f, struct stk__json_piece value, int dim)
{
    const struct stk_field *field = &f->field->field;
    struct stk__json_piece item, rest = value;
    int64_t n = 0;
    if (dim == field->rank)
        return fill_value(f, value);
    if (stk__json_kind(value) != STK__JSON_ARRAY) {
        fail_kind(f->line, f->field, value, "a list");
        return false;
    }
    for (; stk__json_next(&rest, &item); n++)
        if (!fill_values(f, item, dim + 1))
            return false;
    if (field->shape[dim] < 0 || n == field->shape[dim])
        return true;
    fail_length(f->line, f->field, value, n, field->shape[dim]);
    return false;
}

static int put_list(const struct line *line, const struct stk__json_field *field,
                    struct stk__json_piece value, struct stk_column *out)
{
    size_t bytes = stk_dtype_bytes(field->field.dtype);
    struct filling f = { .line = line, .field = field, .room = 1 };
    for (size_t i = 0; i < value.bytes; i++)
        f.room += value.data[i] == ',';
    f.dst = stk_rows_alloc(line->rows, f.room * bytes);
    if (!f.dst)
        return STK_MEMORY;
    if (fill_values(&f, value, 0))
        out->span[line->row] = (struct stk_span){ .data = f.dst, .bytes = f.n * bytes };
    return STK_OK;
}

/* A string without escapes stays where it is. What is wrong with it marks the row. */
static int read_text(const struct line *line, const struct stk__json_field *field,
                     struct stk__json_piece value, struct stk_span *out)
{
    if (stk__json_kind(value) != STK__JSON_STRING) {
        fail_kind(line, field, value, "a string");
        return STK_OK;
    }
    struct stk__json_piece plain = stk__json_plain(value);
    if (plain.data) {
        *out = (struct stk_span){ (uint8_t *)(uintptr_t)plain.data, plain.bytes, line->owner };
        return STK_OK;
    }
    struct stk__json_fault fault;
    size_t bytes;
    uint8_t *text = stk_rows_alloc(line->rows, value.bytes);
    if (!text)
        return STK_MEMORY;
    if (stk__json_unescape(value, text, &bytes, &fault))
        *out = (struct stk_span){ .data = text, .bytes = bytes };
    else
        stk_rows_fail(line->rows, line->row, STK_DATA, "column %zu: %s, which UTF-8 cannot say",
                      column_of(line, value.data + fault.at), fault.what);
    return STK_OK;
}

static int put_texts(const struct line *line, const struct stk__json_field *field,
                     struct stk__json_piece value, struct stk_column *out)
{
    struct stk__json_piece item, rest = value;
    size_t n = 0, room = 1;
    int code = STK_OK;
    if (stk__json_kind(value) != STK__JSON_ARRAY) {
        fail_kind(line, field, value, "a list");
        return STK_OK;
    }
    for (size_t i = 0; i < value.bytes; i++)
        room += value.data[i] == ',';
    struct stk_span *text = stk_rows_alloc(line->rows, room * sizeof *text);
    if (!text)
        return STK_MEMORY;
    for (; !code && stk__json_next(&rest, &item); n++)
        code = read_text(line, field, item, &text[n]);
    if (code || line->rows->mask[line->row] != STK_LIVE)
        return code;
    if (field->field.rank && (int64_t)n != field->field.shape[0]) {
        fail_length(line, field, value, (int64_t)n, field->field.shape[0]);
        return STK_OK;
    }
    return stk__texts_pack(line->rows, text, n, &out->span[line->row]) ? STK_OK : STK_MEMORY;
}

static void put_missing(const struct line *line, const struct stk__json_field *field,
                        struct stk__json_piece value, struct stk_column *out)
{
    if (!field->fallback)
        stk_rows_fail(line->rows, line->row, STK_DATA, "'%.64s' is %s, and has no default_value",
                      field->path, value.data ? "null" : "missing");
    else if (field->field.kind == STK_FIXED)
        memcpy(out->data + (size_t)line->row * out->stride, field->fallback, field->fallback_bytes);
    else
        out->span[line->row] = (struct stk_span){ .data = (uint8_t *)(uintptr_t)field->fallback,
                                                  .bytes = field->fallback_bytes };
}

static int put_value(const struct line *line, const struct stk__json_field *field,
                     struct stk__json_piece value, struct stk_column *out)
{
    if (!value.data || stk__json_kind(value) == STK__JSON_NULL) {
        put_missing(line, field, value, out);
        return STK_OK;
    }
    if (field->field.flags & STK_FIELD_PACKED)
        return put_texts(line, field, value, out);
    if (field->field.kind == STK_BYTES)
        return read_text(line, field, value, &out->span[line->row]);
    if (field->field.kind == STK_RAGGED)
        return put_list(line, field, value, out);
    struct filling f = { .line = line,
                         .field = field,
                         .dst = out->data + (size_t)line->row * out->stride,
                         .room =
                             stk_field_bytes(&field->field) / stk_dtype_bytes(field->field.dtype) };
    fill_values(&f, value, 0);
    return STK_OK;
}

static int put_row(const struct line *line, const struct stk__json_fields *fields)
{
    struct stk__json_piece found[STK_MAX_FIELDS];
    struct stk__json_fault fault;
    int code = STK_OK;
    if (!stk__json_scan(&fields->tree, line->text, found, &fault)) {
        stk_rows_fail(line->rows, line->row, STK_DATA, "column %zu: %s",
                      column_of(line, line->text.data + fault.at), fault.what);
        return STK_OK;
    }
    for (int i = 0; i < fields->n && !code && line->rows->mask[line->row] == STK_LIVE; i++) {
        const struct stk__json_field *field = &fields->field[i];
        code = put_value(line, field, found[field->want], &line->rows->out[fields->first + i]);
    }
    return code;
}

int stk__json_fields_run(struct stk_rows *rows, const struct stk__json_fields *fields,
                         bool drops_blank)
{
    int code = STK_OK;
    for (int row = 0; row < rows->n && !code; row++) {
        const struct stk_span *span = &rows->in[fields->input].span[row];
        const struct line line = { rows, row, { span->data, span->bytes }, span->owner };
        if (rows->mask[row] != STK_LIVE)
            continue;
        if (drops_blank && stk__is_blank_line(line.text.data, line.text.bytes))
            rows->mask[row] = STK_DEAD;
        else
            code = put_row(&line, fields);
    }
    return code;
}
