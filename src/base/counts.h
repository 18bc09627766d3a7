/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h: how often strings of bytes occur, of which only so many are kept. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stk__count {
    const char *data; /* set by stk__counts_sorted */
    size_t at, bytes;
    uint64_t n;
};

struct stk__counts {
    struct stk__count *item; /* [n] in the order they came */
    size_t n, cap, most;
    uint32_t *slot; /* [n_slots] number of an item + 1; 0: free */
    size_t n_slots;
    char *text; /* the strings, one behind the other */
    size_t text_bytes, text_cap, most_bytes;
    uint64_t n_left_out; /* occurrences of strings that were not kept */
};

/* Keeps up to `most` strings with `most_bytes` in all; those that come later are left out. */
void stk__counts_begin(struct stk__counts *counts, size_t most, size_t most_bytes);

/* Counts one occurrence. STK_OK or STK_MEMORY. */
int stk__counts_add(struct stk__counts *counts, const void *data, size_t bytes);

/* The strings by number, then by bytes; data is filled in until more are added. Returns new, for
 * free; NULL when out of memory. */
struct stk__count *stk__counts_sorted(const struct stk__counts *counts);
void stk__counts_free(struct stk__counts *counts);
