/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_op.h: what holds for the ops of plug-ins. */
#pragma once
#include <stoker/op.h>

/* Whether a declaration can be used: a row op, with all that a chain, help and bounds need. */
int stk__plugin_op_check(const struct stk_op *op, struct stk_error *err);
