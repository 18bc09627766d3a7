/* SPDX-License-Identifier: Apache-2.0 */
/* op_names.h: what messages call an op. */
#pragma once
#include "op/declaration.h"

/* The name that users wrote: its own, or that of the op it is the beginning of. */
const char *stk__op_said(const struct stk__op *op);
