/* SPDX-License-Identifier: Apache-2.0 */
/* number.c: integers stay integers under + - *, everything else is real; nothing wraps silently. */
#include "lang/number.h"

#include <math.h>

bool stk__number_from(uint64_t magnitude, bool is_negative, struct stk_value *out)
{
    *out = (struct stk_value){ .kind = STK__INT };
    if (magnitude > (uint64_t)INT64_MAX + is_negative)
        return false;
    out->integer = is_negative && magnitude ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
    return true;
}

bool stk__number_negate(struct stk_value *number)
{
    if (number->kind == STK__INT)
        return !__builtin_sub_overflow(0, number->integer, &number->integer);
    number->real = -number->real;
    return true;
}

static bool join_integers(int64_t *left, int op, int64_t right)
{
    if (op == '*')
        return !__builtin_mul_overflow(*left, right, left);
    if (op == '+')
        return !__builtin_add_overflow(*left, right, left);
    return !__builtin_sub_overflow(*left, right, left);
}

static double join_reals(double left, int op, double right)
{
    switch (op) {
    case '*':
        return left * right;
    case '/':
        return left / right;
    case '+':
        return left + right;
    default:
        return left - right;
    }
}

static double as_real(const struct stk_value *number)
{
    return number->kind == STK__INT ? (double)number->integer : number->real;
}

const char *stk__number_join(struct stk_value *left, int op, const struct stk_value *right)
{
    if (left->kind == STK__INT && right->kind == STK__INT && op != '/')
        return join_integers(&left->integer, op, right->integer)
                   ? NULL
                   : "this integer does not fit in 64 bits";
    if (op == '/' && as_real(right) == 0)
        return "this divides by zero";
    left->real = join_reals(as_real(left), op, as_real(right));
    left->kind = STK__REAL;
    return isfinite(left->real) ? NULL : "this number is too large";
}
