/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_header.c: what a header says, checked. */
#include "base/error.h"
#include "codec/text/json.h"
#include "train/file/safetensors.h"

#include <stdlib.h>
#include <string.h>

const char *const stk__safetensors_types[STK_N_DTYPES] = {
    [STK_BOOL] = "BOOL", [STK_U8] = "U8",   [STK_I8] = "I8",   [STK_U16] = "U16", [STK_I16] = "I16",
    [STK_U32] = "U32",   [STK_I32] = "I32", [STK_U64] = "U64", [STK_I64] = "I64", [STK_F16] = "F16",
    [STK_BF16] = "BF16", [STK_F32] = "F32", [STK_F64] = "F64",
};

/* What is being read, for all functions. */
struct header {
    const uint8_t *start, *end;
    struct stk_arena *arena;
    struct stk_error *err;
};

static int refuse(const struct header *h, struct stk__json_piece at, const char *name,
                  const char *what)
{
    size_t offset = 8 + (size_t)(at.data - h->start);
    if (name)
        return stk_fail(h->err, STK_DATA, "byte %zu, tensor '%s': %s", offset, name, what);
    return stk_fail(h->err, STK_DATA, "byte %zu: %s", offset, what);
}

/* A string as text in the arena; NULL with a message. */
static const char *read_text(const struct header *h, struct stk__json_piece string)
{
    struct stk__json_fault fault;
    size_t bytes;
    if (stk__json_kind(string) != STK__JSON_STRING) {
        refuse(h, string, NULL, "a string is wanted here");
        return NULL;
    }
    char *text = stk__arena_take(h->arena, string.bytes);
    if (!text) {
        stk__out_of_memory(h->err);
        return NULL;
    }
    bool is_good = stk__json_unescape(string, (uint8_t *)text, &bytes, &fault);
    if (!is_good || memchr(text, 0, bytes)) {
        refuse(h, string, NULL, is_good ? "a string holds a NUL" : fault.what);
        return NULL;
    }
    text[bytes] = '\0'; /* there were quotes */
    return text;
}

/* Numbers from 0 to the greatest int64; returns how many, or -1. */
static int read_numbers(const struct header *h, struct stk__json_piece array, int most,
                        int64_t *out)
{
    struct stk__json_piece item;
    int n = 0;
    if (stk__json_kind(array) != STK__JSON_ARRAY)
        return -1;
    for (; stk__json_next(&array, &item); n++)
        if (n == most || stk__json_kind(item) != STK__JSON_NUMBER ||
            !stk__json_i64(item, h->end, &out[n]) || out[n] < 0)
            return -1;
    return n;
}

static int dtype_of(const char *name)
{
    for (int i = 0; i < STK_N_DTYPES; i++)
        if (!strcmp(stk__safetensors_types[i], name))
            return i;
    return -1;
}

/* What stands between the braces of a tensor. */
struct parts {
    struct stk__json_piece dtype, shape, offsets;
};

static int find_parts(const struct header *h, const char *name, struct stk__json_piece object,
                      struct parts *out)
{
    struct stk__json_piece at = object, key, value;
    if (stk__json_kind(object) != STK__JSON_OBJECT)
        return refuse(h, object, name, "an object with dtype, shape and data_offsets is wanted");
    *out = (struct parts){ { 0 }, { 0 }, { 0 } };
    while (stk__json_member(&at, &key, &value)) {
        const char *word = read_text(h, key);
        if (!word)
            return h->err->code;
        struct stk__json_piece *part = !strcmp(word, "dtype")          ? &out->dtype
                                       : !strcmp(word, "shape")        ? &out->shape
                                       : !strcmp(word, "data_offsets") ? &out->offsets
                                                                       : NULL;
        if (!part || part->data)
            return refuse(h, key, name, "dtype, shape and data_offsets are wanted, once each");
        *part = value;
    }
    if (!out->dtype.data || !out->shape.data || !out->offsets.data)
        return refuse(h, object, name, "one of dtype, shape and data_offsets is not there");
    return STK_OK;
}

/* Bytes of a tensor, or -1 where no file has so many. */
static int64_t tensor_bytes(const struct stk__saved_tensor *tensor)
{
    int64_t bytes = (int64_t)stk_dtype_bytes(tensor->dtype);
    for (int i = 0; i < tensor->rank; i++)
        if (__builtin_mul_overflow(bytes, tensor->shape[i], &bytes))
            return -1;
    return bytes;
}

static int read_tensor(const struct header *h, struct stk__json_piece object, const uint8_t *data,
                       uint64_t data_bytes, struct stk__saved_tensor *out)
{
    struct parts parts;
    int64_t range[2];
    int rc = find_parts(h, out->name, object, &parts);
    if (rc)
        return rc;
    const char *type = read_text(h, parts.dtype);
    if (!type)
        return h->err->code;
    out->dtype = dtype_of(type);
    if (out->dtype < 0)
        return refuse(h, parts.dtype, out->name, "values of this type are not known");
    out->rank = read_numbers(h, parts.shape, STK_MAX_RANK, out->shape);
    if (out->rank < 0)
        return refuse(h, parts.shape, out->name, "a shape is a list of at most 8 numbers");
    if (read_numbers(h, parts.offsets, 2, range) != 2)
        return refuse(h, parts.offsets, out->name, "data_offsets are two numbers");
    if (range[0] > range[1] || (uint64_t)range[1] > data_bytes)
        return refuse(h, parts.offsets, out->name, "data_offsets are not within the file");
    if (tensor_bytes(out) != range[1] - range[0])
        return refuse(h, parts.offsets, out->name, "as many bytes are not what its shape takes");
    out->data = data + range[0];
    out->bytes = (size_t)(range[1] - range[0]);
    return STK_OK;
}

static int read_metadata(const struct header *h, struct stk__json_piece object,
                         struct stk_pairs *out)
{
    struct stk__json_piece at = object, key, value;
    int n = 0;
    if (stk__json_kind(object) != STK__JSON_OBJECT)
        return refuse(h, object, NULL, "__metadata__ is an object of strings");
    if (out->name)
        return refuse(h, object, NULL, "__metadata__ is there twice");
    while (stk__json_member(&at, &key, &value))
        n++;
    const char **names = stk_arena_alloc(h->arena, (size_t)(n + 1) * sizeof *names);
    const char **values = stk_arena_alloc(h->arena, (size_t)(n + 1) * sizeof *values);
    if (!names || !values)
        return stk__out_of_memory(h->err);
    at = object;
    for (int i = 0; stk__json_member(&at, &key, &value); i++) {
        names[i] = read_text(h, key);
        values[i] = names[i] ? read_text(h, value) : NULL;
        if (!values[i])
            return h->err->code;
    }
    *out = (struct stk_pairs){ names, values, n };
    return STK_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct stk__saved_tensor *left = a, *right = b;
    const uint8_t *l = left->data, *r = right->data;
    return l != r ? (l > r) - (l < r) : (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct stk__saved_tensor *)a)->name,
                  ((const struct stk__saved_tensor *)b)->name);
}

/* Sorts tensors by name. No byte of the data may belong to none of them, or to two. */
static int check_all(struct stk__saved_tensor *tensor, int n, const uint8_t *data,
                     uint64_t data_bytes, struct stk_error *err)
{
    const uint8_t *at = data;
    if (n)
        qsort(tensor, (size_t)n, sizeof *tensor, by_place);
    for (int i = 0; i < n; i++) {
        if (tensor[i].data != at)
            return stk_fail(err, STK_DATA, "tensor '%s' does not begin where the one before ends",
                            tensor[i].name);
        at += tensor[i].bytes;
    }
    if ((uint64_t)(at - data) != data_bytes)
        return stk_fail(err, STK_DATA, "tensors take %zu bytes, but there are %llu",
                        (size_t)(at - data), (unsigned long long)data_bytes);
    if (n)
        qsort(tensor, (size_t)n, sizeof *tensor, by_name);
    for (int i = 1; i < n; i++)
        if (!strcmp(tensor[i - 1].name, tensor[i].name))
            return stk_fail(err, STK_DATA, "tensor '%s' is there twice", tensor[i].name);
    return STK_OK;
}

static int read_members(const struct header *h, struct stk__json_piece object, const uint8_t *data,
                        uint64_t data_bytes, struct stk__safetensors *file)
{
    struct stk__json_piece at = object, key, value;
    int n = 0, rc = STK_OK;
    while (stk__json_member(&at, &key, &value))
        n++;
    struct stk__saved_tensor *tensor = stk_arena_alloc(h->arena, (size_t)(n + 1) * sizeof *tensor);
    if (!tensor)
        return stk__out_of_memory(h->err);
    at = object;
    n = 0;
    while (!rc && stk__json_member(&at, &key, &value)) {
        const char *name = read_text(h, key);
        if (!name)
            return h->err->code;
        if (!strcmp(name, "__metadata__")) {
            rc = read_metadata(h, value, &file->metadata);
            continue;
        }
        tensor[n].name = name;
        rc = read_tensor(h, value, data, data_bytes, &tensor[n++]);
    }
    file->tensor = tensor;
    file->n_tensors = n;
    return rc ? rc : check_all(tensor, n, data, data_bytes, h->err);
}

int stk__safetensors_parse(struct stk__safetensors *file, const uint8_t *header,
                           size_t header_bytes, const uint8_t *data, uint64_t data_bytes,
                           struct stk_error *err)
{
    const struct header h = { header, header + header_bytes, &file->arena, err };
    const struct stk__json_tree whole = { .root.want = 0, .n_wants = 1 };
    struct stk__json_piece object;
    struct stk__json_fault fault;
    if (!stk__json_scan(&whole, (struct stk__json_piece){ header, header_bytes }, &object, &fault))
        return stk_fail(err, STK_DATA, "byte %zu: the header is not JSON: %s", 8 + fault.at,
                        fault.what);
    if (header[0] != '{') /* not even a space, so that a file is not of two formats */
        return refuse(&h, object, NULL, "the header does not begin with an object");
    return read_members(&h, object, data, data_bytes, file);
}
