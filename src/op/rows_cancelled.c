/* SPDX-License-Identifier: Apache-2.0 */
/* rows_cancelled.c: how an op that takes long learns that nobody waits for it. */
#include "op/declaration.h"

#include <stdatomic.h>

bool stk_rows_is_cancelled(const struct stk_rows *rows)
{
    const atomic_bool *cancelled = rows->inside->cancelled;
    return cancelled && atomic_load_explicit(cancelled, memory_order_relaxed);
}
