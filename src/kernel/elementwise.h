/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h: loops over contiguous values, for expressions, cast and scale.
 *
 * One signature for all of them, so that a program can call them through a table. A constant
 * operand is a block of equal values that stays in cache; there are no forms with scalars.
 * Destinations never overlap sources. Every version gives the same bits; only where two NaNs meet
 * is it open which payload the result carries.
 */
#pragma once
#include <stoker/stoker.h>

/* Operations by operand type. Integers wrap, shift counts count modulo the width, // and % round
 * down, and give 0 for a divisor of 0. MIN and MAX yield NaN if either side is. Comparisons yield
 * 0 or 1 bytes. float16 and bfloat16 only convert. */
/* clang-format off */
#define STK__ELEMENTWISE_LIST(X)                                                                   \
    X(ADD) X(SUB) X(MUL) X(DIV) X(FLOORDIV) X(MOD) X(POW) X(MIN) X(MAX)                            \
    X(AND) X(OR) X(XOR) X(SHL) X(SHR) X(EQ) X(NE) X(LT) X(LE)                                      \
    X(NEG) X(INVERT) X(NOT) X(ABS) X(SQRT) X(EXP) X(LOG) X(SIN) X(COS) X(TANH)                     \
    X(FLOOR) X(CEIL) X(ROUND) X(SELECT)
/* clang-format on */

enum stk__elementwise_op {
#define STK__ELEMENTWISE_ENUM(name) STK__EW_##name,
    STK__ELEMENTWISE_LIST(STK__ELEMENTWISE_ENUM)
#undef STK__ELEMENTWISE_ENUM
        STK__EW_N_OPS
};

/* Many values to one. SUM: int64/uint64 of integers, float32 and float64 of themselves, added as
 * doubles in eight lanes. MEAN: float32, or float64 of itself. AMIN and AMAX want at least one
 * value. ALL also takes integers: none is zero. */
enum stk__reduce_op {
    STK__REDUCE_SUM,
    STK__REDUCE_MEAN,
    STK__REDUCE_AMIN,
    STK__REDUCE_AMAX,
    STK__REDUCE_ANY,
    STK__REDUCE_ALL,
    STK__REDUCE_N_OPS
};

/* a, b, c: operands; unary ones ignore b and c. SELECT: a is the condition. */
typedef void (*stk__elementwise_fn)(void *dst, const void *a, const void *b, const void *c,
                                    size_t n);
typedef void (*stk__reduce_fn)(void *dst, const void *src, size_t n);

struct stk__elementwise_kernels {
    stk__elementwise_fn op[STK__EW_N_OPS][STK_N_DTYPES]; /* NULL where there is none */
    /* [from][to]. Float to integer truncates and saturates, NaN to 0; integers wrap; bool is != 0.
     * float16 and bfloat16 convert only to and from float32, and round to nearest even. */
    stk__elementwise_fn convert[STK_N_DTYPES][STK_N_DTYPES];
    stk__reduce_fn reduce[STK__REDUCE_N_OPS][STK_N_DTYPES];
};

void stk__elementwise_fill_scalar(struct stk__elementwise_kernels *kernels);
void stk__elementwise_fill_avx2(struct stk__elementwise_kernels *kernels);
void stk__half_fill_avx2(struct stk__elementwise_kernels *kernels); /* float16 alone */
void stk__elementwise_fill_avx512(struct stk__elementwise_kernels *kernels);
