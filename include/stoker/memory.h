/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: the memory budget of the process. Part of stoker.h. */
#ifndef STOKER_MEMORY_H
#define STOKER_MEMORY_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What all runs of the process together may use, in bytes; 0: a quarter of what is free when the
 * first one begins, within the limits of its control groups, 64 MiB to 2 GiB. Runs with
 * memory=auto share it; a run with a number of its own takes that many out of it. Runs that are on
 * give back what is too much as it comes free. */
STK_API int stk_memory_limit(int64_t bytes, struct stk_error *err);

/* Who has how much of it, as JSON. Returns new; release it with stk_text_free; NULL when out of
 * memory. */
STK_API char *stk_memory_json(void);

/* What one kind of memory of a run takes: batches, chunks, reads, state, scratch, cache; indices, which
 * belong to its dataset; and pool, buffers in which some of these lie, in use or kept for the next time. */
struct stk_memory_use {
    const char *owner;
    uint64_t held_bytes; /* now */
    uint64_t peak_bytes; /* the most; of several stages, those of each together */
};

/* The i-th kind; STK_END behind the last. */
STK_API int stk_iterator_memory(struct stk_iterator *it, int index, struct stk_memory_use *out);

#ifdef __cplusplus
}
#endif

#endif
