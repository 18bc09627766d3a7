/* SPDX-License-Identifier: Apache-2.0 */
/* batching.h: `batch` where it is not the last op: a serial stage that makes one row of many. */
#pragma once
#include "graph/program.h"

extern const struct stk_serial_table stk__batching; /* all but begin */

int stk__batching_begin(const struct stk__node *node, struct stk__pool *pool, bool has_keys, void **run,
                        struct stk_error *err);
