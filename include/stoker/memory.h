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

#ifdef __cplusplus
}
#endif

#endif
