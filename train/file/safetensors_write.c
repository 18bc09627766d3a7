/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_write.c: tensors to a file, byte for byte as the package does it. */
#include "base/error.h"
#include "base/json_out.h"
#include "io/file_out.h"
#include "train/file/safetensors.h"

#include <stdlib.h>
#include <string.h>

/* Types by the package's order, in which larger ones come first in a file, so that all are aligned. */
static const uint8_t place_of[STK_N_DTYPES] = {
    [STK_BOOL] = 0, [STK_U8] = 1,   [STK_I8] = 2,   [STK_I16] = 3, [STK_U16] = 4,
    [STK_F16] = 5,  [STK_BF16] = 6, [STK_I32] = 7,  [STK_U32] = 8, [STK_F32] = 9,
    [STK_F64] = 10, [STK_I64] = 11, [STK_U64] = 12,
};

static int in_file_order(const void *a, const void *b)
{
    const struct stk__saved_tensor *left = *(const struct stk__saved_tensor *const *)a;
    const struct stk__saved_tensor *right = *(const struct stk__saved_tensor *const *)b;
    int order = place_of[right->dtype] - place_of[left->dtype];
    return order ? order : strcmp(left->name, right->name);
}

static void add_metadata(const struct stk_pairs *metadata, struct stk__text *out)
{
    stk__json_open(out, "__metadata__", '{');
    for (int i = 0; i < metadata->n; i++)
        stk__json_string(out, metadata->name[i], metadata->value[i]);
    stk__json_close(out, '}');
}

static void add_tensor(const struct stk__saved_tensor *tensor, uint64_t at, struct stk__text *out)
{
    stk__json_open(out, tensor->name, '{');
    stk__json_string(out, "dtype", stk__safetensors_types[tensor->dtype]);
    stk__json_wholes(out, "shape", tensor->shape, tensor->rank);
    stk__json_open(out, "data_offsets", '[');
    stk__json_count(out, NULL, at);
    stk__json_count(out, NULL, at + tensor->bytes);
    stk__json_close(out, ']');
    stk__json_close(out, '}');
}

/* The header with its length before it. */
static void add_header(const struct stk__saved_tensor *const *tensor, int n,
                       const struct stk_pairs *metadata, struct stk__text *out)
{
    uint64_t at = 0;
    out->is_tight = true;
    stk__text_add_n(out, "\0\0\0\0\0\0\0\0", 8);
    stk__text_add(out, "{");
    if (metadata && metadata->n)
        add_metadata(metadata, out);
    for (int i = 0; i < n; i++) {
        add_tensor(tensor[i], at, out);
        at += tensor[i]->bytes;
    }
    stk__json_close(out, '}');
    while (!out->failed && out->len % 8)
        stk__text_add(out, " ");
    for (int i = 0; i < 8 && !out->failed; i++)
        out->data[i] = (char)((uint64_t)(out->len - 8) >> 8 * i);
}

static int write_parts(struct stk__file_out *file, const struct stk__text *header,
                       const struct stk__saved_tensor *const *tensor, int n, struct stk_error *err)
{
    int rc = stk__file_out_write(file, header->data, header->len, err);
    for (int i = 0; i < n && !rc; i++)
        rc = stk__file_out_write(file, tensor[i]->data, tensor[i]->bytes, err);
    if (!rc)
        rc = stk__file_out_sync(file, err);
    return rc ? rc : stk__file_out_commit(file, err);
}

int stk__safetensors_write(const char *path, const struct stk__saved_tensor *tensor, int n,
                           const struct stk_pairs *metadata, struct stk_error *err)
{
    const struct stk__saved_tensor **order = malloc(((size_t)n + 1) * sizeof *order);
    struct stk__text header = { 0 };
    struct stk__file_out file;
    if (!order)
        return stk__out_of_memory(err);
    for (int i = 0; i < n; i++)
        order[i] = &tensor[i];
    if (n)
        qsort(order, (size_t)n, sizeof *order, in_file_order);
    add_header(order, n, metadata, &header);
    int rc = header.failed ? stk__out_of_memory(err) : STK_OK;
    if (!rc && header.len - 8 > STK__SAFETENSORS_MOST_HEADER)
        rc = stk_fail(err, STK_VALUE,
                      "cannot write %s: names and texts take %zu bytes; %d are the most", path,
                      header.len - 8, STK__SAFETENSORS_MOST_HEADER);
    if (!rc) {
        rc = stk__file_out_open(&file, path, err);
        if (!rc)
            rc = write_parts(&file, &header, order, n, err);
        stk__file_out_discard(&file);
    }
    stk__text_free(&header);
    free(order);
    return rc;
}
