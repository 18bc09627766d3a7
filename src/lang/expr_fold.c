/* SPDX-License-Identifier: Apache-2.0 */
/* expr_fold.c: arithmetic on literals, in int64 and double. Its results are weak again. */
#include "lang/expr_build.h"

#include <math.h>

static struct stk__expr_value weak_int(int64_t value)
{
    return (
        struct stk__expr_value){ .form = STK__EXPR_INT, .integer = value, .real = (double)value };
}

static struct stk__expr_value weak_real(double value)
{
    return (struct stk__expr_value){ .form = STK__EXPR_REAL, .real = value };
}

static struct stk__expr_value truth(struct stk__expr_builder *b, bool value)
{
    return stk__expr_array(b, stk__expr_constant(b, STK_BOOL, value, 0));
}

static struct stk__expr_value fail_large(struct stk__expr_builder *b, uint32_t at)
{
    return stk__expr_fail(b, STK_VALUE, at, "this constant does not fit 64 bits");
}

static struct stk__expr_value power(struct stk__expr_builder *b, const struct stk__expr_value *x,
                                    int64_t exponent)
{
    int64_t result = 1;
    if (exponent > 64)
        return fail_large(b, x->at);
    for (int64_t i = 0; i < exponent; i++)
        if (__builtin_mul_overflow(result, x->integer, &result))
            return fail_large(b, x->at);
    return weak_int(result);
}

static int64_t floor_div(int64_t x, int64_t y)
{
    return x / y - (x % y && (x ^ y) < 0);
}

static struct stk__expr_value fold_int(struct stk__expr_builder *b, enum stk__expr_code code,
                                       struct stk__expr_value x, struct stk__expr_value y)
{
    int64_t result = 0, i = x.integer, j = y.integer;
    bool is_division = code == STK__EXPR_FLOORDIV || code == STK__EXPR_MOD, too_large = false;
    if (is_division && !j)
        return stk__expr_fail(b, STK_VALUE, y.at, "division by zero");
    if (is_division && j == -1)
        too_large = __builtin_sub_overflow(0, i, &result);
    switch (code) {
    case STK__EXPR_ADD:
        too_large = __builtin_add_overflow(i, j, &result);
        break;
    case STK__EXPR_SUB:
        too_large = __builtin_sub_overflow(i, j, &result);
        break;
    case STK__EXPR_MUL:
        too_large = __builtin_mul_overflow(i, j, &result);
        break;
    case STK__EXPR_FLOORDIV:
        result = j == -1 ? result : floor_div(i, j);
        break;
    case STK__EXPR_MOD:
        result = j == -1 ? 0 : i - floor_div(i, j) * j;
        break;
    case STK__EXPR_SHL:
        result = (int64_t)((uint64_t)i << (j & 63));
        break;
    case STK__EXPR_SHR:
        result = i >> (j & 63);
        break;
    case STK__EXPR_AND:
        result = i & j;
        break;
    case STK__EXPR_OR:
        result = i | j;
        break;
    case STK__EXPR_XOR:
        result = i ^ j;
        break;
    case STK__EXPR_MIN:
        result = i < j ? i : j;
        break;
    default:
        result = i > j ? i : j;
    }
    return too_large ? fail_large(b, x.at) : weak_int(result);
}

static struct stk__expr_value fold_real(struct stk__expr_builder *b, enum stk__expr_code code,
                                        struct stk__expr_value x, struct stk__expr_value y)
{
    double rest;
    switch (code) {
    case STK__EXPR_ADD:
        return weak_real(x.real + y.real);
    case STK__EXPR_SUB:
        return weak_real(x.real - y.real);
    case STK__EXPR_MUL:
        return weak_real(x.real * y.real);
    case STK__EXPR_DIV:
        return weak_real(x.real / y.real);
    case STK__EXPR_FLOORDIV:
        return weak_real(floor(x.real / y.real));
    case STK__EXPR_MOD:
        rest = fmod(x.real, y.real);
        return weak_real(rest != 0 && (rest < 0) != (y.real < 0) ? rest + y.real : rest);
    case STK__EXPR_POW:
        return weak_real(pow(x.real, y.real));
    case STK__EXPR_MIN:
        return weak_real(x.real < y.real ? x.real : y.real);
    case STK__EXPR_MAX:
        return weak_real(x.real > y.real ? x.real : y.real);
    default:
        return stk__expr_fail(b, STK_TYPE, x.at, "bit operations take integers");
    }
}

struct stk__expr_value stk__expr_fold(struct stk__expr_builder *b, enum stk__expr_code code,
                                      struct stk__expr_value x, struct stk__expr_value y)
{
    bool is_int = x.form == STK__EXPR_INT && y.form == STK__EXPR_INT;
    switch (code) {
    case STK__EXPR_EQ:
        return truth(b, is_int ? x.integer == y.integer : x.real == y.real);
    case STK__EXPR_NE:
        return truth(b, is_int ? x.integer != y.integer : x.real != y.real);
    case STK__EXPR_LT:
        return truth(b, is_int ? x.integer < y.integer : x.real < y.real);
    case STK__EXPR_LE:
        return truth(b, is_int ? x.integer <= y.integer : x.real <= y.real);
    case STK__EXPR_POW:
        if (is_int && y.integer >= 0)
            return power(b, &x, y.integer);
        return fold_real(b, code, x, y);
    case STK__EXPR_DIV:
        if (y.real == 0)
            return stk__expr_fail(b, STK_VALUE, y.at, "division by zero");
        return fold_real(b, code, x, y);
    default:
        return is_int ? fold_int(b, code, x, y) : fold_real(b, code, x, y);
    }
}

struct stk__expr_value stk__expr_fold_unary(struct stk__expr_builder *b, enum stk__expr_code code,
                                            struct stk__expr_value x)
{
    bool is_int = x.form == STK__EXPR_INT;
    struct stk__expr_value zero = weak_int(0);
    if (code == STK__EXPR_INVERT && is_int)
        return weak_int(~x.integer);
    if (code == STK__EXPR_NEG && is_int)
        return stk__expr_fold(b, STK__EXPR_SUB, zero, x);
    if (code == STK__EXPR_ABS && is_int)
        return x.integer < 0 ? stk__expr_fold(b, STK__EXPR_SUB, zero, x) : x;
    switch (code) {
    case STK__EXPR_NEG:
        return weak_real(-x.real);
    case STK__EXPR_ABS:
        return weak_real(fabs(x.real));
    case STK__EXPR_SQRT:
        return weak_real(sqrt(x.real));
    case STK__EXPR_EXP:
        return weak_real(exp(x.real));
    case STK__EXPR_LOG:
        return weak_real(log(x.real));
    case STK__EXPR_SIN:
        return weak_real(sin(x.real));
    case STK__EXPR_COS:
        return weak_real(cos(x.real));
    case STK__EXPR_TANH:
        return weak_real(tanh(x.real));
    case STK__EXPR_FLOOR:
        return weak_real(floor(x.real));
    case STK__EXPR_CEIL:
        return weak_real(ceil(x.real));
    case STK__EXPR_ROUND:
        return weak_real(rint(x.real));
    default:
        return stk__expr_fail(b, STK_TYPE, x.at, "%s",
                              code == STK__EXPR_NOT
                                  ? "not takes a bool; compare the number with something"
                                  : "~ takes an integer");
    }
}
