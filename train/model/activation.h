/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h: functions of one value, or of one pixel's channels, as Keras 3 has them.
 *
 *     activation(relu)   conv2d(32, 3, activation=relu6)   dense(10, activation=leaky_relu(0.1))
 */
#pragma once
#include "lang/lang.h"

enum stk__activation_kind {
    STK__GELU,
    STK__LEAKY_RELU,
    STK__LINEAR,
    STK__RELU,
    STK__RELU6,
    STK__SIGMOID,
    STK__SOFTMAX, /* over the channels */
    STK__SWISH,
    STK__TANH,
};

struct stk__activation {
    enum stk__activation_kind kind;
    double negative_slope; /* leaky_relu */
    bool is_approximate;   /* gelu: by tanh */
};

/* What can be called, in the order of the enum. */
extern const struct stk__namespace stk__activations;

/* A name or a call: relu, leaky_relu(0.1). NULL: linear. */
int stk__activation_read(const struct stk_value *value, struct stk_arena *arena,
                         struct stk__activation *out, struct stk_error *err);

/* "leaky_relu(0.1)": what reads as the same again; appended. */
void stk__activation_print(const struct stk__activation *activation, struct stk__text *out);
