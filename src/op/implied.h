/* SPDX-License-Identifier: Apache-2.0 */
/* implied.h: how an op has another one put in before it: `read` before decode, `map` for a key that is
 * an expression, a source beside enumerate.
 *
 * There is one way: a stk__implied says which op, and before which input. Ops that never go without
 * the other one have it in their declaration (`implies`), and it is put in before they are opened.
 * Others call one of these functions in infer and return what it returns; infer is asked again when
 * the op is there. */
#pragma once
#include "op/declaration.h"

/* `map` with this expression before the first input. */
int stk__imply_map(struct stk_infer *inf, const char *expression, struct stk_error *err);

/* `ensure_shape` before an input, which gives its field of that name this kind and shape. */
int stk__imply_shape(struct stk_infer *inf, int input, const struct stk_field *field,
                     struct stk_error *err);

/* The op that is always there before the first input of this one, or NULL. */
static inline const struct stk__op *stk__op_begins_with(const struct stk__op *op)
{
    return op->implies.input ? NULL : op->implies.op;
}

/* Whether a source always stands beside its input, and is joined as zip joins. */
static inline bool stk__op_has_source_beside(const struct stk__op *op)
{
    return op->implies.input > 0;
}
