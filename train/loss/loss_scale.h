/* SPDX-License-Identifier: Apache-2.0 */
/* loss_scale.h: the factor by which losses are multiplied so that gradients in float16 do not vanish.
 *
 *     dynamic()   dynamic(form=pytorch, growth_steps=1000)   fixed(1024)
 *
 * A dynamic scale doubles after so many steps with finite gradients, and is halved by a step without,
 * which is left out. Keras 3, Keras 2 and PyTorch differ in where they begin, in the least scale, and
 * in what happens where doubling would be infinite.
 */
#pragma once
#include "lang/lang.h"

enum stk__loss_scale_form { STK__SCALE_KERAS3, STK__SCALE_KERAS2, STK__SCALE_PYTORCH };

struct stk__loss_scale {
    bool is_dynamic;
    enum stk__loss_scale_form form;
    float scale;
    int64_t good_steps; /* finite ones since the scale changed: what a checkpoint keeps beside it */
    int64_t growth_steps;
    double growth, backoff;
};

/* What can be called. */
extern const struct stk__namespace stk__loss_scales;

/* A call, or a number, which is a fixed scale. */
int stk__loss_scale_read(const struct stk_value *value, struct stk_arena *arena,
                         struct stk__loss_scale *out, struct stk_error *err);

/* What gradients are multiplied with. Exact where the scale is a power of two, as it is unless
 * somebody chose another; else rounded once, as PyTorch does it. */
float stk__loss_scale_inverse(const struct stk__loss_scale *scale);

/* After each step: whether all its gradients were finite. The next step's scale is in scale->scale.
 * False: this step's gradients are not to be used. */
bool stk__loss_scale_update(struct stk__loss_scale *scale, bool is_finite);
