/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.h: how work deep inside a run learns that nobody waits for it any more.
 *
 * A decoder or a decompressor may be at one element for many seconds, and knows nothing of runs. So
 * the thread that works for a run says whose flag counts, and loops look at it now and then: once
 * per some rows of a picture, or some hundred kilobytes. What they leave half done is thrown away.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>

/* From now on this thread works for the run with this flag, which it borrows; NULL: for none.
 * Returns what was in force before, to be put back. */
const atomic_bool *stk__cancel_use(const atomic_bool *flag);

/* True once the run of this thread was cancelled, or all runs were (stk_cancel_all). */
bool stk__cancel_is_asked(void);

/* True once stk_cancel_all was called. */
bool stk__cancel_is_for_all(void);
