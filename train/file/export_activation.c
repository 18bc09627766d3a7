/* SPDX-License-Identifier: Apache-2.0 */
/* export_activation.c: activations in the ops of ONNX, some of several. */
#include "train/file/export.h"

static void add_op(struct stk__exporting *e, const char *op, const char *a, const char *b,
                   const char *out)
{
    stk__export_node(e, &(struct stk__onnx_node){ op, out, { a, b }, { out }, { { 0 } } });
}

/* One op on a value, or a value and a number; the name of what comes out. */
static const char *apply(struct stk__exporting *e, const char *name, const char *part,
                         const char *op, const char *a, const char *b)
{
    const char *out = stk__export_name(e, name, part);
    if (out)
        add_op(e, op, a, b, out);
    return out;
}

/* x · ½(1 + erf(x/√2)) */
static void add_gelu(struct stk__exporting *e, const char *name, const char *in, const char *out)
{
    const char *root = stk__export_number(e, name, "root_of_2", 1.41421356237309504880f);
    const char *one = stk__export_number(e, name, "one", 1);
    const char *half = stk__export_number(e, name, "half", 0.5f);
    const char *x = apply(e, name, "quotient", "Div", in, root);
    x = apply(e, name, "erf", "Erf", x, NULL);
    x = apply(e, name, "sum", "Add", x, one);
    x = apply(e, name, "share", "Mul", x, half);
    add_op(e, "Mul", in, x, out);
}

/* x · ½(1 + tanh(√(2/π)(x + 0.044715 x³))) */
static void add_gelu_by_tanh(struct stk__exporting *e, const char *name, const char *in,
                             const char *out)
{
    const char *factor = stk__export_number(e, name, "factor", 0.79788456080286535588f);
    const char *cubic = stk__export_number(e, name, "cubic", 0.044715f);
    const char *one = stk__export_number(e, name, "one", 1);
    const char *half = stk__export_number(e, name, "half", 0.5f);
    const char *x = apply(e, name, "square", "Mul", in, in);
    x = apply(e, name, "cube", "Mul", x, in);
    x = apply(e, name, "small", "Mul", x, cubic);
    x = apply(e, name, "bent", "Add", in, x);
    x = apply(e, name, "scaled", "Mul", x, factor);
    x = apply(e, name, "tanh", "Tanh", x, NULL);
    x = apply(e, name, "sum", "Add", x, one);
    x = apply(e, name, "share", "Mul", x, half);
    add_op(e, "Mul", in, x, out);
}

static void add_relu6(struct stk__exporting *e, const char *name, const char *in, const char *out)
{
    const char *low = stk__export_number(e, name, "low", 0);
    const char *high = stk__export_number(e, name, "high", 6);
    stk__export_node(
        e, &(struct stk__onnx_node){ "Clip", out, { in, low, high }, { out }, { { 0 } } });
}

static void add_with(struct stk__exporting *e, const char *op, const char *in, const char *out,
                     struct stk__onnx_attribute attribute)
{
    stk__export_node(e, &(struct stk__onnx_node){ op, out, { in }, { out }, { attribute } });
}

void stk__export_activation(struct stk__exporting *e, const struct stk__activation *activation,
                            const char *name, const char *in, const char *out)
{
    switch (activation->kind) {
    case STK__GELU:
        (activation->is_approximate ? add_gelu_by_tanh : add_gelu)(e, name, in, out);
        break;
    case STK__LEAKY_RELU:
        add_with(e, "LeakyRelu", in, out,
                 stk__onnx_float("alpha", (float)activation->negative_slope));
        break;
    case STK__LINEAR:
        add_op(e, "Identity", in, NULL, out);
        break;
    case STK__RELU:
        add_op(e, "Relu", in, NULL, out);
        break;
    case STK__RELU6:
        add_relu6(e, name, in, out);
        break;
    case STK__SIGMOID:
        add_op(e, "Sigmoid", in, NULL, out);
        break;
    case STK__SOFTMAX: /* channels are the second axis, of features too */
        add_with(e, "Softmax", in, out, stk__onnx_int("axis", 1));
        break;
    case STK__SWISH:
        add_op(e, "Mul", in, apply(e, name, "sigmoid", "Sigmoid", in, NULL), out);
        break;
    case STK__TANH:
        add_op(e, "Tanh", in, NULL, out);
        break;
    }
}
