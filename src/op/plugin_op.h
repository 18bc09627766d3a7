/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_op.h: the ops of plug-ins, as ops of the library. */
#pragma once
#include "op/declaration.h"

/* Whether a declaration can be used: a row op, with all that a chain, help and bounds need. */
int stk__plugin_op_check(const struct stk_op *op, struct stk_error *err);

/* The same op for the registry; borrows the declaration. */
struct stk__op stk__plugin_op(const struct stk_op *op);
