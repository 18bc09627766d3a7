/* SPDX-License-Identifier: Apache-2.0 */
/* log_table.h: entries of a log by their numbers. */
#pragma once
#include "io/row_log.h"

/* A flag of entries whose bytes could not be read. */
enum { STK__LOG_LOST = 1 << 16 };

/* An open hash table; zeroed before use. */
struct stk__log_table {
    struct stk__log_entry *entry; /* [n_slots]; bytes of a free one are UINT64_MAX */
    uint64_t n, n_slots;
};

/* NULL if it is not there. */
struct stk__log_entry *stk__log_table_find(const struct stk__log_table *table, uint64_t number);

/* In place of one with this number, if there is one. False when out of memory. */
bool stk__log_table_put(struct stk__log_table *table, const struct stk__log_entry *entry);

/* Bytes it takes with one more entry. */
size_t stk__log_table_bytes(const struct stk__log_table *table);
void stk__log_table_free(struct stk__log_table *table);
