/* SPDX-License-Identifier: Apache-2.0 */
/* numbering.h: numbers for words, in the order in which they first appear. */
#pragma once
#include <stdint.h>

/* An open table of at most half its places; all zero is an empty one. */
struct stk__numbering {
    uint64_t *word;
    uint32_t *number; /* counted from 1; 0: a free place */
    uint32_t n, cap;
};

/* The number of a word, counted from 0; STK_OK, or STK_MEMORY with the table as it was. */
int stk__numbering_find(struct stk__numbering *numbering, uint64_t word, uint32_t *out);
void stk__numbering_free(struct stk__numbering *numbering);
