/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c: packing rows of different lengths. */
#include "base/blob.h"

#include <string.h>

static size_t head_bytes(int64_t n)
{
    return (((size_t)n + 2) * sizeof(int64_t) + 63) / 64 * 64;
}

size_t stk__blob_unit(const struct stk_field *field)
{
    size_t bytes = stk_dtype_bytes(field->dtype);
    for (int d = 1; d < field->rank; d++)
        bytes *= (size_t)field->shape[d];
    return field->kind == STK_BYTES || !bytes ? 1 : bytes;
}

struct stk__blob stk__blob_open(uint8_t *packed)
{
    int64_t *head = (int64_t *)(void *)packed;
    return (struct stk__blob){ head[0], head + 1, packed + head_bytes(head[0]) };
}

size_t stk__blob_room(int64_t n, size_t bytes)
{
    return head_bytes(n) + bytes;
}

struct stk__blob stk__blob_begin(uint8_t *memory, int64_t n)
{
    int64_t *head = (int64_t *)(void *)memory;
    size_t used = ((size_t)n + 2) * sizeof *head;
    head[0] = n;
    memset(memory + used, 0, head_bytes(n) - used); /* equal rows have equal bytes */
    return stk__blob_open(memory);
}

size_t stk__blob_bytes(const struct stk_span *span, int step, int n)
{
    size_t bytes = head_bytes(n);
    for (int i = 0; i < n; i++)
        bytes += span[i * step].bytes;
    return bytes;
}

void stk__blob_write(const struct stk_span *span, int step, int n, size_t unit, uint8_t *packed)
{
    struct stk__blob blob = stk__blob_begin(packed, n);
    size_t used = 0;
    for (int i = 0; i < n; i++) {
        const struct stk_span *row = &span[i * step];
        blob.splits[i] = (int64_t)(used / unit);
        if (row->bytes)
            memcpy(blob.data + used, row->data, row->bytes);
        used += row->bytes;
    }
    blob.splits[n] = (int64_t)(used / unit);
}
