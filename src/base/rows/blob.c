/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c: packing rows of different lengths. */
#include "base/rows/blob.h"

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

int64_t stk__texts_of(const struct stk_field *field)
{
    int64_t n = field->kind == STK_BYTES && field->rank ? 1 : -1;
    for (int d = 0; d < field->rank && n >= 0; d++)
        n = field->shape[d] < 0 ? -1 : n * field->shape[d];
    return n;
}

/* A blob at the beginning of so many bytes whose rows come one behind the other; else -1. */
static int64_t values_of(uint8_t *packed, size_t bytes)
{
    const size_t word = sizeof(int64_t);
    if (bytes < 2 * word)
        return -1;
    struct stk__blob blob = { .splits = (int64_t *)(void *)packed + 1 };
    memcpy(&blob.n, packed, word);
    if (blob.n < 0 || (uint64_t)blob.n > bytes / word - 2 || head_bytes(blob.n) > bytes ||
        blob.splits[0] != 0)
        return -1;
    for (int64_t i = 0; i < blob.n; i++)
        if (blob.splits[i + 1] < blob.splits[i])
            return -1;
    return blob.splits[blob.n];
}

/* As many texts in every list as its field says. */
static bool are_even(const struct stk_field *field, const struct stk__blob *blob)
{
    int64_t n = stk__texts_of(field);
    if (n < 0 || !(field->flags & STK_FIELD_LISTS))
        return n < 0 || blob->n == n;
    for (int64_t i = 0; i < blob->n; i++)
        if (blob->splits[i + 1] - blob->splits[i] != n)
            return false;
    return true;
}

bool stk__blob_is_sound(const struct stk_field *field, struct stk_span row)
{
    int64_t n = values_of(row.data, row.bytes);
    struct stk__blob rows = n >= 0 ? stk__blob_open(row.data) : (struct stk__blob){ 0 };
    if (n >= 0 && !are_even(field, &rows))
        return false;
    if (n >= 0 && field->flags & STK_FIELD_LISTS) {
        size_t head = head_bytes(stk__blob_open(row.data).n);
        row.data += head;
        row.bytes -= head;
        int64_t n_entries = n;
        n = values_of(row.data, row.bytes);
        if (n >= 0 && stk__blob_open(row.data).n != n_entries)
            return false;
    }
    return n >= 0 && (uint64_t)n <= (row.bytes - head_bytes(stk__blob_open(row.data).n)) /
                                        stk__blob_unit(field);
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

struct stk_span stk__blob_empty(void)
{
    static int64_t nothing[16] __attribute__((aligned(64))); /* never written; readable behind */
    return (struct stk_span){ .data = (uint8_t *)nothing, .bytes = head_bytes(0) };
}

/* ---- blobs of blobs ---- */

static struct stk__blob list_at(const struct stk__lists *lists, int i)
{
    return stk__blob_open(lists->span[i * lists->step].data);
}

int64_t stk__lists_longest(const struct stk__lists *lists)
{
    int64_t longest = 0;
    for (int i = 0; i < lists->n; i++) {
        int64_t n = list_at(lists, i).n;
        longest = n > longest ? n : longest;
    }
    return longest;
}

/* Entries of an array; -1: more than can be counted. */
static int64_t length_of(const struct stk__list_fill *fill)
{
    int64_t n = 1;
    for (int d = 0; d < fill->rank; d++)
        if (__builtin_mul_overflow(n, (int64_t)fill->to[d], &n) || n > INT64_MAX / 64)
            return -1;
    return n;
}

/* Whether entry k of an array is one of the list's. */
static bool is_inside(const struct stk__list_fill *fill, int64_t k, int64_t n)
{
    if (fill->rank == 1)
        return k < n;
    for (int d = fill->rank; d-- > 0; k /= fill->to[d])
        if (k % fill->to[d] >= fill->from[d])
            return false;
    return true;
}

size_t stk__lists_bytes(const struct stk__lists *lists, const struct stk__list_fill *fill)
{
    size_t n = 0, bytes = 0, filled;
    for (int i = 0; i < lists->n; i++) {
        struct stk__blob list = list_at(lists, i);
        n += (size_t)list.n;
        bytes += (size_t)list.splits[list.n] * lists->unit;
    }
    if (fill) {
        size_t all;
        int64_t length = length_of(fill);
        if (length < 0 || __builtin_mul_overflow((size_t)lists->n, (size_t)length, &all) ||
            all > PTRDIFF_MAX / 16 || __builtin_mul_overflow(all - n, fill->bytes, &filled) ||
            __builtin_add_overflow(bytes, filled, &bytes) || bytes > PTRDIFF_MAX / 2)
            return SIZE_MAX;
        n = all;
    }
    return head_bytes(lists->n) + stk__blob_room((int64_t)n, bytes);
}

/* Adds the entries of a list to those that are there; returns how many values there are then. */
static int64_t add_entries(const struct stk__blob *all, int64_t n, int64_t n_values,
                           const struct stk__blob *list, size_t unit)
{
    for (int64_t k = 0; k < list->n; k++)
        all->splits[n + k] = n_values + list->splits[k];
    if (list->splits[list->n])
        memcpy(all->data + (size_t)n_values * unit, list->data,
               (size_t)list->splits[list->n] * unit);
    return n_values + list->splits[list->n];
}

/* The same of a list of texts with what fills it up, `length` entries in all. */
static int64_t add_filled(const struct stk__blob *all, int64_t n, int64_t n_values,
                          const struct stk__blob *list, const struct stk__list_fill *fill,
                          int64_t length)
{
    int64_t used = 0;
    for (int64_t k = 0; k < length; k++) {
        const void *text = fill->text;
        size_t bytes = fill->bytes;
        if (is_inside(fill, k, list->n)) {
            text = list->data + list->splits[used];
            bytes = (size_t)(list->splits[used + 1] - list->splits[used]);
            used++;
        }
        all->splits[n + k] = n_values;
        if (bytes)
            memcpy(all->data + n_values, text, bytes);
        n_values += (int64_t)bytes;
    }
    return n_values;
}

void stk__lists_join(const struct stk__lists *lists, const struct stk__list_fill *fill,
                     uint8_t *joined)
{
    struct stk__blob rows = stk__blob_begin(joined, lists->n);
    int64_t n = 0, n_values = 0, length = fill ? length_of(fill) : 0;
    for (int i = 0; i < lists->n; i++) {
        rows.splits[i] = n;
        n += fill ? length : list_at(lists, i).n;
    }
    rows.splits[lists->n] = n;
    struct stk__blob all = stk__blob_begin(rows.data, n);
    for (int i = 0; i < lists->n; i++) {
        struct stk__blob list = list_at(lists, i);
        n_values = fill ? add_filled(&all, rows.splits[i], n_values, &list, fill, length)
                        : add_entries(&all, rows.splits[i], n_values, &list, lists->unit);
    }
    all.splits[n] = n_values;
}

size_t stk__blob_part_bytes(const struct stk__blob *blob, int64_t first, int64_t n, size_t unit)
{
    return stk__blob_room(n, (size_t)(blob->splits[first + n] - blob->splits[first]) * unit);
}

void stk__blob_part_write(const struct stk__blob *blob, int64_t first, int64_t n, size_t unit,
                          uint8_t *packed)
{
    struct stk__blob part = stk__blob_begin(packed, n);
    int64_t from = blob->splits[first], n_values = blob->splits[first + n] - from;
    for (int64_t i = 0; i <= n; i++)
        part.splits[i] = blob->splits[first + i] - from;
    if (n_values)
        memcpy(part.data, blob->data + (size_t)from * unit, (size_t)n_values * unit);
}
