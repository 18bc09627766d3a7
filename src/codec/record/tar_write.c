/* SPDX-License-Identifier: Apache-2.0 */
/* tar_write.c: elements as members of a tar archive, as WebDataset groups them: one file per field,
 * all with the element's number as the name up to the first dot.
 *
 *     000000007.jpg   000000007.cls              an element of two fields
 *     000000007.left.npy   000000007.right.npy   fields that would have the same extension
 *
 * The extension says how to read the content, and the readers of WebDataset go by it: pictures by
 * their content, txt for text, bin for other bytes, cls for a whole number, json for a real one, npy
 * for everything with dimensions. Heads are ustar with nothing of this machine in them (no owner, no
 * time); a name or size that does not fit is in a pax record before.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/type.h"
#include "codec/image/codec.h"
#include "codec/record/record_out.h"
#include "kernel/kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, NAME_BYTES = 100, KEY_DIGITS = 9, MAX_NAME = 4096 };

static const uint64_t most_ustar_bytes = ((uint64_t)1 << 33) - 1; /* 11 octal digits */

/* ---- names ---- */

/* Fields of one class would have the same extension. */
enum content { CONTENT_BYTES, CONTENT_TEXT, CONTENT_INT, CONTENT_REAL, CONTENT_ARRAY };

static enum content content_of(const struct stk_field *field)
{
    if (field->kind == STK_BYTES)
        return field->flags & (STK_FIELD_TEXT | STK_FIELD_PATH) ? CONTENT_TEXT : CONTENT_BYTES;
    if (field->rank)
        return CONTENT_ARRAY;
    return stk__dtype_kind(field->dtype) == 'f' ? CONTENT_REAL : CONTENT_INT;
}

static const char *describe(const struct stk_field *field)
{
    static const char *const names[] = { "jpg, png, gif, webp, bmp or bin, by content", "txt",
                                         "cls", "json", "npy" };
    return names[content_of(field)];
}

static const char *extension(const struct stk_field *field, const struct stk__record_value *value)
{
    static const char *const pictures[] = { "bin", "jpg", "png", "gif", "webp", "bmp" };
    if (content_of(field) == CONTENT_BYTES)
        return pictures[stk__image_format(value->data, value->bytes)];
    return describe(field);
}

static bool is_alone(const struct stk_type *type, int field)
{
    int n = 0;
    for (int f = 0; f < type->n_fields; f++)
        n += content_of(&type->field[f]) == content_of(&type->field[field]);
    return n == 1;
}

static int check_names(const struct stk__record_layout *layout, struct stk_error *err)
{
    for (int i = 0; i < layout->n_entries; i++)
        for (int k = 0; k < i; k++)
            if (layout->entry[i].key[0] && !strcmp(layout->entry[i].key, layout->entry[k].key))
                return stk_fail(err, STK_VALUE,
                                "fields '%s' and '%s' would have the same name in a tar archive; "
                                "rename one",
                                layout->type->field[k].name, layout->type->field[i].name);
    return STK_OK;
}

/* A slash would put the member into a directory, and so out of its group. */
static int lay_out(const struct stk_type *type, struct stk_arena *arena,
                   struct stk__record_layout *out, struct stk_error *err)
{
    *out = (struct stk__record_layout){ .type = type };
    for (int f = 0; f < type->n_fields; f++) {
        const char *name = type->field[f].name;
        if (type->field[f].flags & STK_FIELD_PACKED)
            return stk_fail(err, STK_TYPE,
                            "field '%s' has several texts per element, which a member of a tar "
                            "archive cannot hold; leave it out with select, or pack to tfrecord",
                            name);
        bool is_plain = is_alone(type, f);
        char *key = stk__arena_printf(arena, "%s%s", is_plain ? "" : name, is_plain ? "" : ".");
        if (!key)
            return stk__out_of_memory(err);
        if (strlen(key) > MAX_NAME / 2)
            return stk_fail(err, STK_VALUE,
                            "the name of field %d has %zu bytes; a member of a tar "
                            "archive has at most %d",
                            f, strlen(key), MAX_NAME / 2);
        for (char *c = key; *c; c++)
            *c = *c == '/' ? '_' : *c;
        out->entry[out->n_entries++] = (struct stk__record_entry){ key, f, false };
    }
    return check_names(out, err);
}

/* ---- heads ---- */

/* Offsets of ustar's fields. */
enum {
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_TIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
};

static void add_head(struct stk__text *out, const char *name, char type, uint64_t bytes)
{
    char head[BLOCK] = { 0 };
    unsigned sum = 0;
    memcpy(head, name, strnlen(name, NAME_BYTES));
    memcpy(head + AT_MODE, "0000644", 7);
    memcpy(head + AT_UID, "0000000", 7);
    memcpy(head + AT_GID, "0000000", 7);
    snprintf(head + AT_SIZE, 12, "%011llo",
             (unsigned long long)(bytes < most_ustar_bytes ? bytes : most_ustar_bytes));
    memcpy(head + AT_TIME, "00000000000", 11);
    memset(head + AT_SUM, ' ', 8);
    head[AT_TYPE] = type;
    memcpy(head + AT_MAGIC,
           "ustar\0"
           "00",
           8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    snprintf(head + AT_SUM, 7, "%06o", sum);
    stk__text_add_n(out, head, sizeof head);
}

static void add_padding(struct stk__text *out, uint64_t bytes)
{
    static const char zeros[BLOCK];
    stk__text_add_n(out, zeros, (size_t)(BLOCK - bytes % BLOCK) % BLOCK);
}

/* "LENGTH name=value\n", where LENGTH counts its own digits. */
static void add_pax_record(struct stk__text *out, const char *name, const char *value)
{
    size_t rest = strlen(name) + strlen(value) + 3, len = rest + 1;
    while ((size_t)snprintf(NULL, 0, "%zu", len) + rest != len)
        len++;
    stk__text_add(out, "%zu %s=%s\n", len, name, value);
}

static void add_pax(struct stk__text *out, const char *name, uint64_t bytes)
{
    struct stk__text records = { 0 };
    char digits[24];
    if (strlen(name) > NAME_BYTES)
        add_pax_record(&records, "path", name);
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)bytes);
    if (bytes > most_ustar_bytes)
        add_pax_record(&records, "size", digits);
    if (records.len) {
        add_head(out, name, 'x', records.len);
        stk__text_add_n(out, records.data, records.len);
        add_padding(out, records.len);
    }
    out->failed = out->failed || records.failed;
    stk__text_free(&records);
}

/* ---- contents ---- */

static void add_real(struct stk__text *out, int dtype, const void *data)
{
    double value = 0;
    float single = 0;
    const stk__elementwise_fn(*convert)[STK_N_DTYPES] = stk__kernels()->elementwise.convert;
    if (dtype == STK_F64)
        memcpy(&value, data, sizeof value);
    else if (dtype == STK_F32)
        memcpy(&single, data, sizeof single);
    else
        convert[dtype][STK_F32](&single, data, NULL, NULL, 1);
    value = dtype == STK_F64 ? value : (double)single;
    if (isfinite(value))
        stk__text_add_real(out, value);
    else /* as Python's json has them */
        stk__text_add(out, "%s", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
}

static void add_int(struct stk__text *out, int dtype, const void *data)
{
    bool is_signed = stk__dtype_kind(dtype) == 'i';
    uint64_t bits = 0;
    memcpy(&bits, data, stk_dtype_bytes(dtype));
    int unused = 64 - 8 * (int)stk_dtype_bytes(dtype);
    if (is_signed)
        stk__text_add(out, "%lld", (long long)((int64_t)(bits << unused) >> unused));
    else
        stk__text_add(out, "%llu", (unsigned long long)bits);
}

/* NumPy has no bfloat16; float32 holds each of its values. */
static void add_array(struct stk__text *out, const struct stk_field *field,
                      const struct stk__record_value *value)
{
    bool is_bfloat = field->dtype == STK_BF16;
    const uint16_t *half = value->data;
    stk__npy_head(is_bfloat ? STK_F32 : field->dtype, field->rank, value->shape, out);
    if (!is_bfloat && value->bytes)
        stk__text_add_n(out, value->data, value->bytes);
    for (size_t i = 0; is_bfloat && i < value->bytes / sizeof *half; i++) {
        uint32_t bits = (uint32_t)half[i] << 16;
        stk__text_add_n(out, (const char *)&bits, sizeof bits);
    }
}

/* What stands in the member where that is not the value as it is. */
static void add_content(struct stk__text *out, const struct stk_field *field,
                        const struct stk__record_value *value)
{
    if (field->rank)
        add_array(out, field, value);
    else if (content_of(field) == CONTENT_REAL)
        add_real(out, field->dtype, value->data);
    else
        add_int(out, field->dtype, value->data);
}

static void add_member(struct stk__text *out, const char *name, const void *data, size_t bytes)
{
    add_pax(out, name, bytes);
    add_head(out, name, '0', bytes);
    if (bytes)
        stk__text_add_n(out, data, bytes);
    add_padding(out, bytes);
}

static int write(const struct stk__record_layout *layout, const struct stk__record_value *value,
                 uint64_t number, struct stk__text *out, struct stk_error *err)
{
    (void)err;
    for (int i = 0; i < layout->n_entries; i++) {
        const struct stk__record_entry *entry = &layout->entry[i];
        const struct stk_field *field = &layout->type->field[entry->field];
        const struct stk__record_value *cell = &value[entry->field];
        struct stk__text content = { 0 };
        char name[MAX_NAME];
        snprintf(name, sizeof name, "%0*llu.%s%s", KEY_DIGITS, (unsigned long long)number,
                 entry->key, extension(field, cell));
        if (field->kind != STK_BYTES)
            add_content(&content, field, cell);
        add_member(out, name, field->kind == STK_BYTES ? cell->data : content.data,
                   field->kind == STK_BYTES ? cell->bytes : content.len);
        out->failed = out->failed || content.failed;
        stk__text_free(&content);
    }
    return STK_OK;
}

/* Two blocks of zeros. */
static void finish(struct stk__text *out)
{
    static const char zeros[2 * BLOCK];
    stk__text_add_n(out, zeros, sizeof zeros);
}

const struct stk__record_format stk__record_tar = {
    .name = "tar",
    .lay_out = lay_out,
    .write = write,
    .finish = finish,
    .describe = describe,
};
