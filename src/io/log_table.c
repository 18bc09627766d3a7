/* SPDX-License-Identifier: Apache-2.0 */
/* log_table.c: a hash table with linear probing, at most half full. */
#include "io/log_table.h"

#include "base/hash.h"

#include <stdlib.h>

static bool is_free(const struct stk__log_entry *entry)
{
    return entry->bytes == UINT64_MAX;
}

/* The slot of a number: its own, or the free one where it would go. */
static struct stk__log_entry *slot_of(const struct stk__log_table *table, uint64_t number)
{
    uint64_t i = stk__hash_mix(number, 1);
    while (!is_free(&table->entry[i & (table->n_slots - 1)]) &&
           table->entry[i & (table->n_slots - 1)].number != number)
        i++;
    return &table->entry[i & (table->n_slots - 1)];
}

struct stk__log_entry *stk__log_table_find(const struct stk__log_table *table, uint64_t number)
{
    struct stk__log_entry *slot = table->n_slots ? slot_of(table, number) : NULL;
    return slot && !is_free(slot) ? slot : NULL;
}

static bool grow(struct stk__log_table *table)
{
    struct stk__log_table grown = { .n = table->n,
                                    .n_slots = table->n_slots ? 2 * table->n_slots : 64 };
    grown.entry = malloc(grown.n_slots * sizeof *grown.entry);
    if (!grown.entry)
        return false;
    for (uint64_t i = 0; i < grown.n_slots; i++)
        grown.entry[i] = (struct stk__log_entry){ .bytes = UINT64_MAX };
    for (uint64_t i = 0; i < table->n_slots; i++)
        if (!is_free(&table->entry[i]))
            *slot_of(&grown, table->entry[i].number) = table->entry[i];
    free(table->entry);
    *table = grown;
    return true;
}

static bool is_full(const struct stk__log_table *table)
{
    return 2 * (table->n + 1) > table->n_slots;
}

size_t stk__log_table_bytes(const struct stk__log_table *table)
{
    uint64_t n_slots = table->n_slots ? table->n_slots : 32;
    return (size_t)(is_full(table) ? 2 * n_slots : n_slots) * sizeof *table->entry;
}

bool stk__log_table_put(struct stk__log_table *table, const struct stk__log_entry *entry)
{
    if (is_full(table) && !grow(table))
        return false;
    struct stk__log_entry *slot = slot_of(table, entry->number);
    table->n += is_free(slot);
    *slot = *entry;
    return true;
}

void stk__log_table_free(struct stk__log_table *table)
{
    free(table->entry);
    *table = (struct stk__log_table){ 0 };
}
