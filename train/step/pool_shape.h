/* SPDX-License-Identifier: Apache-2.0 */
/* pool_shape.h: the pool of a node, in the terms of pool_kernel.h. */
#pragma once
#include "train/kernel/pool_kernel.h"
#include "train/model/model.h"

struct stk__pooling stk__pool_shape(const struct stk__model_node *node, int height, int width);
