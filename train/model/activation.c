/* SPDX-License-Identifier: Apache-2.0 */
/* activation.c: activations as they are written: declarations, and reading one. */
#include "train/model/activation.h"

#include "train/model/declared.h"

#include <float.h>

struct plain {
    char unused;
};

struct gelu {
    bool approximate;
};

struct leaky_relu {
    double negative_slope;
};

static const struct stk_param no_rows[] = { STK_ROWS_END };

static const struct stk_param gelu_rows[] = {
    STK_BOOL_ROW(gelu, approximate, false, 0, "by tanh, instead of the error function"),
    STK_ROWS_END,
};

static const struct stk_param leaky_relu_rows[] = {
    STK_REAL_ROW(leaky_relu, negative_slope, 0.2, -FLT_MAX, FLT_MAX, 0,
                 "what values below 0 are multiplied with"),
    STK_ROWS_END,
};

#define PLAIN(text, formula)                                                                       \
    {                                                                                              \
        text, 1, formula, "Example:\n\n    " text, no_rows, sizeof(struct plain)                   \
    }

enum { N_CALLS = STK__TANH + 1 };

static const struct stk_decl decls[N_CALLS] = {
    [STK__GELU] = { "gelu", 1, "x times the normal distribution up to x.",
                    "Example:\n\n    gelu(approximate=true)", gelu_rows, sizeof(struct gelu) },
    [STK__LEAKY_RELU] = { "leaky_relu", 1, "x, or a part of it below 0.",
                          "Example:\n\n    leaky_relu(0.1)", leaky_relu_rows,
                          sizeof(struct leaky_relu) },
    [STK__LINEAR] = PLAIN("linear", "x as it is."),
    [STK__RELU] = PLAIN("relu", "x, or 0 below 0."),
    [STK__RELU6] = PLAIN("relu6", "x kept within 0 and 6."),
    [STK__SIGMOID] = PLAIN("sigmoid", "1 / (1 + exp(-x))."),
    [STK__SOFTMAX] = PLAIN("softmax", "exp(x) divided by its sum over all channels."),
    [STK__SWISH] = PLAIN("swish", "x / (1 + exp(-x)), also called silu."),
    [STK__TANH] = PLAIN("tanh", "The hyperbolic tangent."),
};

static const struct stk_decl *const calls[N_CALLS] = { &decls[0], &decls[1], &decls[2],
                                                       &decls[3], &decls[4], &decls[5],
                                                       &decls[6], &decls[7], &decls[8] };
const struct stk__namespace stk__activations = { "activation", calls, N_CALLS };

int stk__activation_read(const struct stk_value *value, struct stk_arena *arena,
                         struct stk__activation *out, struct stk_error *err)
{
    const struct stk__call *call;
    union {
        struct plain plain;
        struct gelu gelu;
        struct leaky_relu leaky_relu;
    } p;
    int which;
    *out = (struct stk__activation){ .kind = STK__LINEAR };
    if (!value)
        return STK_OK;
    int rc = stk__declared_name(value, &stk__activations, "an activation is a name or", arena,
                                &call, &which, err);
    if (!rc)
        rc = stk__call_bind(call, &decls[which], arena, &p, err);
    if (rc)
        return rc;
    out->kind = (enum stk__activation_kind)which;
    if (out->kind == STK__GELU)
        out->is_approximate = p.gelu.approximate;
    if (out->kind == STK__LEAKY_RELU)
        out->negative_slope = p.leaky_relu.negative_slope;
    return STK_OK;
}

void stk__activation_print(const struct stk__activation *activation, struct stk__text *out)
{
    stk__text_add(out, "%s", decls[activation->kind].name);
    if (activation->kind == STK__GELU && activation->is_approximate)
        stk__text_add(out, "(true)");
    if (activation->kind == STK__LEAKY_RELU) {
        stk__text_add(out, "(");
        stk__text_add_real(out, activation->negative_slope);
        stk__text_add(out, ")");
    }
}
