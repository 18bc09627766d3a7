/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c: a hash table of strings that only grows. */
#include "base/counts.h"

#include "base/hash.h"

#include <stdlib.h>
#include <stoker/stoker.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

void stk__counts_begin(struct stk__counts *counts, size_t most, size_t most_bytes)
{
    *counts = (struct stk__counts){ .most = most, .most_bytes = most_bytes };
}

/* The slot of a string, or the free one where it belongs. */
static uint32_t *find(const struct stk__counts *counts, const void *data, size_t bytes)
{
    size_t mask = counts->n_slots - 1, i = stk__hash_bytes(0, data, bytes) & mask;
    for (;; i = (i + 1) & mask) {
        uint32_t *slot = &counts->slot[i];
        if (!*slot)
            return slot;
        const struct stk__count *item = &counts->item[*slot - 1];
        if (item->bytes == bytes && (!bytes || !memcmp(counts->text + item->at, data, bytes)))
            return slot;
    }
}

static int grow_slots(struct stk__counts *counts)
{
    size_t n_slots = counts->n_slots ? 2 * counts->n_slots : FIRST_SLOTS;
    uint32_t *slot = calloc(n_slots, sizeof *slot);
    if (!slot)
        return STK_MEMORY;
    free(counts->slot);
    counts->slot = slot;
    counts->n_slots = n_slots;
    for (size_t i = 0; i < counts->n; i++)
        *find(counts, counts->text + counts->item[i].at, counts->item[i].bytes) = (uint32_t)i + 1;
    return STK_OK;
}

static int grow_text(struct stk__counts *counts, size_t bytes)
{
    size_t need = counts->text_bytes + bytes, cap = counts->text_cap ? counts->text_cap : 1024;
    while (cap < need)
        cap *= 2;
    char *text = cap > counts->text_cap ? realloc(counts->text, cap) : counts->text;
    if (!text)
        return STK_MEMORY;
    counts->text = text;
    counts->text_cap = cap;
    return STK_OK;
}

static int grow_items(struct stk__counts *counts)
{
    if (counts->n < counts->cap)
        return STK_OK;
    size_t cap = counts->cap ? 2 * counts->cap : FIRST_SLOTS;
    struct stk__count *item = realloc(counts->item, cap * sizeof *item);
    if (!item)
        return STK_MEMORY;
    counts->item = item;
    counts->cap = cap;
    return STK_OK;
}

static int insert(struct stk__counts *counts, const void *data, size_t bytes)
{
    if (counts->n >= counts->most || bytes > counts->most_bytes - counts->text_bytes) {
        counts->n_left_out++;
        return STK_OK;
    }
    if (grow_items(counts) || grow_text(counts, bytes))
        return STK_MEMORY;
    uint32_t *slot = find(counts, data, bytes);
    if (bytes)
        memcpy(counts->text + counts->text_bytes, data, bytes);
    counts->item[counts->n] =
        (struct stk__count){ .at = counts->text_bytes, .bytes = bytes, .n = 1 };
    counts->text_bytes += bytes;
    *slot = (uint32_t)++counts->n;
    return STK_OK;
}

int stk__counts_add(struct stk__counts *counts, const void *data, size_t bytes)
{
    if (2 * (counts->n + 1) > counts->n_slots && grow_slots(counts))
        return STK_MEMORY;
    uint32_t *slot = find(counts, data, bytes);
    if (!*slot)
        return insert(counts, data, bytes);
    counts->item[*slot - 1].n++;
    return STK_OK;
}

static int compare(const void *a, const void *b)
{
    const struct stk__count *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    size_t shared = x->bytes < y->bytes ? x->bytes : y->bytes;
    int order = shared ? memcmp(x->data, y->data, shared) : 0;
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

struct stk__count *stk__counts_sorted(const struct stk__counts *counts)
{
    struct stk__count *sorted = malloc((counts->n + 1) * sizeof *sorted);
    if (!sorted)
        return NULL;
    for (size_t i = 0; i < counts->n; i++) {
        sorted[i] = counts->item[i];
        sorted[i].data = counts->text + sorted[i].at;
    }
    qsort(sorted, counts->n, sizeof *sorted, compare);
    return sorted;
}

void stk__counts_free(struct stk__counts *counts)
{
    free(counts->item);
    free(counts->slot);
    free(counts->text);
    *counts = (struct stk__counts){ 0 };
}
