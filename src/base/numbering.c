/* SPDX-License-Identifier: Apache-2.0 */
/* numbering.c: an open hash table from words to numbers. */
#include "base/numbering.h"

#include "base/hash.h"

#include <stdlib.h>
#include <stoker/stoker.h>

/* The place of a word, or the free one where it belongs. */
static uint32_t place_of(const struct stk__numbering *t, uint64_t word)
{
    uint32_t at = (uint32_t)stk__hash_mix(0, word) & (t->cap - 1);
    while (t->number[at] && t->word[at] != word)
        at = (at + 1) & (t->cap - 1);
    return at;
}

static int grow(struct stk__numbering *t)
{
    struct stk__numbering wide = { .n = t->n, .cap = t->cap ? 2 * t->cap : 64 };
    wide.word = malloc(sizeof *wide.word * wide.cap);
    wide.number = calloc(wide.cap, sizeof *wide.number);
    if (!wide.word || !wide.number) {
        stk__numbering_free(&wide);
        return STK_MEMORY;
    }
    for (uint32_t i = 0; i < t->cap; i++) {
        if (!t->number[i])
            continue;
        uint32_t at = place_of(&wide, t->word[i]);
        wide.word[at] = t->word[i];
        wide.number[at] = t->number[i];
    }
    stk__numbering_free(t);
    *t = wide;
    return STK_OK;
}

int stk__numbering_find(struct stk__numbering *t, uint64_t word, uint32_t *out)
{
    if (2 * (uint64_t)t->n >= t->cap && (t->cap > UINT32_MAX / 2 || grow(t)))
        return STK_MEMORY;
    uint32_t at = place_of(t, word);
    if (!t->number[at]) {
        t->word[at] = word;
        t->number[at] = ++t->n;
    }
    *out = t->number[at] - 1;
    return STK_OK;
}

void stk__numbering_free(struct stk__numbering *t)
{
    free(t->word);
    free(t->number);
    *t = (struct stk__numbering){ 0 };
}
