/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.c: digits to binary.
 *
 * A real is w * 10^e with a whole number w of up to 19 digits. There are three ways to round it
 * correctly, the first that applies is taken:
 *
 *   w < 2^53, |e| <= 22    w and 10^|e| are doubles, so one multiplication or division rounds once
 *   |e| <= 27              5^|e| fits in 64 bits: the quotient or product is exact in 128 bits, and
 *                          its upper 64 with a sticky bit below round once as they become a double
 *   anything else          the C library
 *
 * A float32 is the float64 rounded again, which goes wrong only if the float64 is exactly halfway
 * between two floats (or subnormal as a float): those few go to the C library.
 */
#define _GNU_SOURCE
#include "codec/text/decimal.h"

#include "base/text.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

_Static_assert(FLT_EVAL_METHOD == 0, "a double operation must round once");
__extension__ typedef unsigned __int128 u128;

enum { MAX_DIGITS = 19, MAX_EXACT_POWER = 22, MAX_POWER_OF_5 = 27, MAX_LEN = 1000 };

const double stk__power_of_10[MAX_EXACT_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static const uint64_t power_of_5[MAX_POWER_OF_5 + 1] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625u,
    30517578125u,
    152587890625u,
    762939453125u,
    3814697265625u,
    19073486328125u,
    95367431640625u,
    476837158203125u,
    2384185791015625u,
    11920928955078125u,
    59604644775390625u,
    298023223876953125u,
    1490116119384765625u,
    7450580596923828125u,
};

static const uint32_t small_power[9] = { 1,      10,      100,      1000,     10000,
                                         100000, 1000000, 10000000, 100000000 };

struct cursor {
    const uint8_t *at, *end;
};

/* Appends up to 8 digits to *value and returns how many there were. The bytes are digits of a
 * little number in base 256; three multiplications join neighbours. */
static inline int take_digits(struct cursor *c, uint64_t *value)
{
    uint64_t x;
    memcpy(&x, c->at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    x ^= 0x3030303030303030u;
    uint64_t others = ((x + 0x7676767676767676u) | x) & 0x8080808080808080u;
    int n = others ? __builtin_ctzll(others) >> 3 : 8;
    if (n > c->end - c->at)
        n = (int)(c->end - c->at);
    if (n == 0)
        return 0;
    x <<= 64 - 8 * n;
    x = (x * 2561) >> 8;
    x = ((x & 0x00ff00ff00ff00ffu) * 6553601) >> 16;
    x = ((x & 0x0000ffff0000ffffu) * 42949672960001u) >> 32;
    *value = *value * small_power[n] + x;
    c->at += n;
    return n;
}

/* All digits that come now; *value is right if there are at most 19 in all. */
static inline int take_run(struct cursor *c, uint64_t *value)
{
    int n = 0, more;
    do {
        more = take_digits(c, value);
        n += more;
    } while (more == 8 && n < MAX_LEN);
    return n;
}

static inline bool take_sign(struct cursor *c)
{
    bool is_negative = c->at < c->end && *c->at == '-';
    c->at += is_negative || (c->at < c->end && *c->at == '+');
    return is_negative;
}

/* What the text says, before it is made a double. */
struct decimal {
    uint64_t whole; /* right if n_digits <= 19 */
    int n_digits, exponent;
    bool is_negative;
};

static bool take_exponent(struct cursor *c, struct decimal *d)
{
    uint64_t value = 0;
    c->at++;
    bool is_negative = take_sign(c);
    int n = take_run(c, &value);
    if (n == 0)
        return false;
    int exponent = n > 8 || value > 100000 ? 100000 : (int)value;
    d->exponent += is_negative ? -exponent : exponent;
    return true;
}

static inline bool read_decimal(const uint8_t *text, size_t len, struct decimal *d)
{
    struct cursor c = { text, text + len };
    *d = (struct decimal){ .is_negative = take_sign(&c) };
    d->n_digits = take_run(&c, &d->whole);
    if (c.at < c.end && *c.at == '.') {
        c.at++;
        int n = take_run(&c, &d->whole);
        d->n_digits += n;
        d->exponent = -n;
    }
    if (d->n_digits == 0)
        return false;
    if (c.at < c.end && (*c.at | 0x20) == 'e' && !take_exponent(&c, d))
        return false;
    return c.at == c.end;
}

/* (top + sticky) * 2^exponent; the result is neither subnormal nor too large. */
static double scale(uint64_t top, bool is_sticky, int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return (double)(top | is_sticky) * factor;
}

/* whole / 10^power. Both sides are shifted to all 64 bits, so the quotient has at least 62. */
static double divide(uint64_t whole, int power)
{
    uint64_t divisor = power_of_5[power];
    int shift_whole = __builtin_clzll(whole), shift_divisor = __builtin_clzll(divisor);
    u128 dividend = (u128)(whole << shift_whole) << 63;
    divisor <<= shift_divisor;
    uint64_t quotient = (uint64_t)(dividend / divisor);
    bool is_sticky = (uint64_t)dividend != quotient * divisor; /* the low words tell */
    return scale(quotient, is_sticky, shift_divisor - shift_whole - 63 - power);
}

/* whole * 10^power. */
static double multiply(uint64_t whole, int power)
{
    u128 product = (u128)whole * power_of_5[power];
    uint64_t high = (uint64_t)(product >> 64);
    if (high == 0)
        return scale((uint64_t)product, false, power);
    int shift = __builtin_clzll(high);
    product <<= shift;
    return scale((uint64_t)(product >> 64), (uint64_t)product != 0, 64 - shift + power);
}

double stk__decimal_quotient(int64_t whole, int places)
{
    double value;
    if (stk__decimal_divide(whole, places, &value))
        return value;
    return whole < 0 ? -divide((uint64_t)-whole, places) : divide((uint64_t)whole, places);
}

/* Short enough to be copied with a NUL. */
static bool copy_text(const uint8_t *text, size_t len, char copy[MAX_LEN + 1])
{
    if (len > MAX_LEN)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    return true;
}

static bool ask_library(const uint8_t *text, size_t len, double *out)
{
    char copy[MAX_LEN + 1];
    return copy_text(text, len, copy) && stk__parse_real(copy, out);
}

bool stk__decimal_f64(const uint8_t *text, size_t len, double *out)
{
    struct decimal d;
    if (!read_decimal(text, len, &d))
        return false;
    double value;
    if (d.n_digits > MAX_DIGITS)
        return ask_library(text, len, out);
    if (d.whole >> 53 == 0 && d.exponent >= -MAX_EXACT_POWER && d.exponent <= MAX_EXACT_POWER)
        value = d.exponent < 0 ? (double)d.whole / stk__power_of_10[-d.exponent]
                               : (double)d.whole * stk__power_of_10[d.exponent];
    else if (d.whole == 0)
        value = 0;
    else if (d.exponent < 0 && d.exponent >= -MAX_POWER_OF_5)
        value = divide(d.whole, -d.exponent);
    else if (d.exponent >= 0 && d.exponent <= MAX_POWER_OF_5)
        value = multiply(d.whole, d.exponent);
    else
        return ask_library(text, len, out);
    *out = d.is_negative ? -value : value;
    return true;
}

bool stk__decimal_f32(const uint8_t *text, size_t len, float *out)
{
    double value;
    char copy[MAX_LEN + 1];
    if (!stk__decimal_f64(text, len, &value))
        return false;
    if (stk__decimal_narrow(value, 0, out))
        return true;
    return copy_text(text, len, copy) && stk__parse_single(copy, out);
}

bool stk__decimal_u64(const uint8_t *text, size_t len, uint64_t *out)
{
    struct cursor c = { text, text + len };
    c.at += len > 0 && *text == '+';
    *out = 0;
    int n = take_run(&c, out);
    if (n == 0 || c.at != c.end)
        return false;
    if (n < MAX_DIGITS)
        return true;
    *out = 0;
    for (const uint8_t *at = c.end - n; at < c.end; at++)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(*at - '0'), out))
            return false;
    return true;
}

bool stk__decimal_i64(const uint8_t *text, size_t len, int64_t *out)
{
    uint64_t magnitude;
    bool is_negative = len > 0 && *text == '-';
    bool has_two_signs = is_negative && len > 1 && text[1] == '+';
    if (has_two_signs || !stk__decimal_u64(text + is_negative, len - is_negative, &magnitude) ||
        magnitude > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = is_negative && magnitude ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
    return true;
}

bool stk__decimal_word(const uint8_t *text, size_t len, double *out)
{
    struct cursor c = { text, text + len };
    bool is_negative = take_sign(&c);
    size_t left = (size_t)(c.end - c.at);
    const char *word = (const char *)c.at;
    if ((left == 3 && !strncasecmp(word, "inf", 3)) ||
        (left == 8 && !strncasecmp(word, "infinity", 8)))
        *out = is_negative ? -INFINITY : INFINITY;
    else if (left == 3 && !strncasecmp(word, "nan", 3))
        *out = is_negative ? -NAN : NAN;
    else
        return false;
    return true;
}
