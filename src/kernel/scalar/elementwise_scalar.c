/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_scalar.c: the portable elementwise kernels, and those that go through the C library, which
 * every instruction set shares so that their bits cannot differ.
 */
#include "kernel/elementwise_body.h"

static double mod_double(double x, double y)
{
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static float mod_float(float x, float y)
{
    float rest = fmodf(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

BINARY(mod_f32, float, float, mod_float(x, y))
BINARY(mod_f64, double, double, mod_double(x, y))
BINARY(pow_f32, float, float, powf(x, y))
BINARY(pow_f64, double, double, pow(x, y))
UNARY(exp_f32, float, float, expf(x))
UNARY(exp_f64, double, double, exp(x))
UNARY(log_f32, float, float, logf(x))
UNARY(log_f64, double, double, log(x))
UNARY(sin_f32, float, float, sinf(x))
UNARY(sin_f64, double, double, sin(x))
UNARY(cos_f32, float, float, cosf(x))
UNARY(cos_f64, double, double, cos(x))
UNARY(tanh_f32, float, float, tanhf(x))
UNARY(tanh_f64, double, double, tanh(x))

static void fill_library(struct stk__elementwise_kernels *k)
{
    k->op[STK__EW_MOD][STK_F32] = mod_f32;
    k->op[STK__EW_MOD][STK_F64] = mod_f64;
    k->op[STK__EW_POW][STK_F32] = pow_f32;
    k->op[STK__EW_POW][STK_F64] = pow_f64;
    k->op[STK__EW_EXP][STK_F32] = exp_f32;
    k->op[STK__EW_EXP][STK_F64] = exp_f64;
    k->op[STK__EW_LOG][STK_F32] = log_f32;
    k->op[STK__EW_LOG][STK_F64] = log_f64;
    k->op[STK__EW_SIN][STK_F32] = sin_f32;
    k->op[STK__EW_SIN][STK_F64] = sin_f64;
    k->op[STK__EW_COS][STK_F32] = cos_f32;
    k->op[STK__EW_COS][STK_F64] = cos_f64;
    k->op[STK__EW_TANH][STK_F32] = tanh_f32;
    k->op[STK__EW_TANH][STK_F64] = tanh_f64;
}

void stk__elementwise_fill_scalar(struct stk__elementwise_kernels *kernels)
{
    fill_all(kernels);
    fill_library(kernels);
}
