/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.h: numbers from text: exact, whatever the locale, and fast for the numbers people store.
 *
 * A number is text[0 .. len) without spaces around it; 8 bytes behind it may be read. Reals are
 * rounded correctly, so a float64 has the bits that Python's float() gives: an optional sign,
 * digits with at most one point among them, an optional exponent. A real of more than 1000
 * characters is none. Integers are an optional sign and digits. False: the text is no such number,
 * or an integer does not fit.
 */
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

bool stk__decimal_f64(const uint8_t *text, size_t len, double *out);
bool stk__decimal_f32(const uint8_t *text, size_t len, float *out);
bool stk__decimal_i64(const uint8_t *text, size_t len, int64_t *out);
bool stk__decimal_u64(const uint8_t *text, size_t len, uint64_t *out);

/* ---- for numbers whose digits are known ---- */

extern const double stk__power_of_10[23];

/* whole / 10^places, rounded correctly. places is at most 22. */
double stk__decimal_quotient(int64_t whole, int places);

/* The same where that is one division. */
static inline bool stk__decimal_divide(int64_t whole, int places, double *out)
{
    *out = (double)whole / stk__power_of_10[places];
    return whole >= -((int64_t)1 << 53) && whole <= (int64_t)1 << 53;
}

/* A float64 as float32; false if that might not be what the number itself rounds to. `slack`: how
 * many units in the last place the float64 may be off, 0 if it was rounded correctly. */
static inline bool stk__decimal_narrow(double value, int slack, float *out)
{
    enum { BELOW_FLOAT = 0x1fffffff, HALF = 0x10000000 };
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *out = (float)value;
    int from_half = (int)(bits & BELOW_FLOAT) - HALF;
    return (from_half > slack || from_half < -slack) && (fabs(value) >= 0x1p-126 || value == 0);
}

/* What reals can be beside decimals: inf, infinity or nan behind an optional sign, in any case. */
bool stk__decimal_word(const uint8_t *text, size_t len, double *out);
