/* SPDX-License-Identifier: Apache-2.0 */
/* pool_sparse.h: gradients of a convolution's weights behind a maxpool of 2×2, without the map in between.
 *
 * Where nobody wants the gradient of the image, as in a first layer, the gradient in front of the pool has
 * one use: to be multiplied with the image. Three of four values of it are 0, so it is not made: kernels
 * take the pooled gradient and the cells that were chosen (kernel/pool_kernel.h).
 */
#pragma once
#include "train/conv/conv.h"
#include "train/step/strips.h"

/* Whether a group's convolution and pool are of that kind. */
bool stk__pool_sparse_fits(const struct stk__step_plan *plan, const struct stk__step_group *group,
                           const struct stk__conv *conv, const struct stk__activation *activation);

/* Floats of scratch. */
size_t stk__pool_sparse_floats(const struct stk__step_plan *plan,
                               const struct stk__step_group *group, const struct stk__conv *conv);

/* Adds what the images of a lot give to sums of weights, as they lie in the model, and of biases, or NULL. */
void stk__pool_sparse_add(const struct stk__step_work *work, const struct stk__step_group *group,
                          const struct stk__conv *conv, float *weights, float *bias);
