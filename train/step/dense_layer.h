/* SPDX-License-Identifier: Apache-2.0 */
/* dense_layer.h: what dense groups of both kinds are made of. */
#pragma once
#include "train/step/strips.h"

struct stk__dense_layer {
    int kernel, bias; /* weights; -1: none */
    int k, m;         /* inputs, outputs */
    struct stk__activation activation;
};

struct stk__dense_layer stk__dense_layer(const struct stk__step_plan *plan,
                                         const struct stk__step_group *group);
