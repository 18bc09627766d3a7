/* SPDX-License-Identifier: Apache-2.0 */
/* pool_cells.h: which cell of a window was the largest, a byte of a pooled value in kernels. In half precision two
 * are kept in one, so that they take no larger part of the memory than in float32: of windows with up to
 * 15 cells, the first half of a row in the lower bits, the second in the upper ones.
 */
#pragma once
#include "train/step/step.h"

/* The pool of a node, in the terms of pool_kernel.h. */
struct stk__pooling stk__pool_shape(const struct stk__model_node *node, int height, int width);

/* The tensor of cells of a group that has one output for each. -1: out of memory. */
int stk__cells_tensor(struct stk__step_plan *plan, const struct stk__step_group *group, int window);

/* Whether rows of cells go through a strip, of a byte for each value. */
bool stk__cells_are_packed(const struct stk__step_plan *plan, const struct stk__step_group *group);

/* Where n rows of an image's cells are written, and that they are; rows that are read. Rows lie side by
 * side. */
uint8_t *stk__cells_to(const struct stk__step_work *work, const struct stk__step_group *group,
                       int image, int first, uint8_t *strip);
void stk__cells_store(const struct stk__step_work *work, const struct stk__step_group *group,
                      int image, int first, int n, const uint8_t *strip);
const uint8_t *stk__cells_load(const struct stk__step_work *work,
                               const struct stk__step_group *group, int image, int first, int n,
                               uint8_t *strip);
