/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c: the flag that a thread's work looks at. */
#include "base/cancel.h"

#include <stoker/stoker.h>

#include <stddef.h>

static _Thread_local const atomic_bool *current;
static atomic_bool is_for_all;

const atomic_bool *stk__cancel_use(const atomic_bool *flag)
{
    const atomic_bool *before = current;
    current = flag;
    return before;
}

bool stk__cancel_is_for_all(void)
{
    return atomic_load_explicit(&is_for_all, memory_order_relaxed);
}

bool stk__cancel_is_asked(void)
{
    return stk__cancel_is_for_all() ||
           (current && atomic_load_explicit(current, memory_order_relaxed));
}

void stk_cancel_all(void)
{
    atomic_store(&is_for_all, true);
}
