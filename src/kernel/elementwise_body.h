/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise_body.h: the loops of elementwise.h, compiled once per instruction set by the file
 * that includes this one and vectorised by the compiler. Kernels are named <operation>_<type>:
 * add_u8, floordiv_i32, sqrt_f64, convert_f32_i8. Nothing here depends on the width of a vector:
 * sums have their lanes spelled out.
 */
#include "kernel/elementwise.h"

#include <math.h>

#define UNARY(name, To, Ti, value)                                                                 \
    static void name(void *restrict dst, const void *a, const void *b, const void *c, size_t n)    \
    {                                                                                              \
        To *restrict out = dst;                                                                    \
        const Ti *in = a;                                                                          \
        (void)b, (void)c;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            Ti x = in[i];                                                                          \
            out[i] = (To)(value);                                                                  \
        }                                                                                          \
    }

#define BINARY(name, To, Ti, value)                                                                \
    static void name(void *restrict dst, const void *a, const void *b, const void *c, size_t n)    \
    {                                                                                              \
        To *restrict out = dst;                                                                    \
        const Ti *left = a, *right = b;                                                            \
        (void)c;                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            Ti x = left[i], y = right[i];                                                          \
            out[i] = (To)(value);                                                                  \
        }                                                                                          \
    }

#define SELECT(name, T)                                                                            \
    static void name(void *restrict dst, const void *a, const void *b, const void *c, size_t n)    \
    {                                                                                              \
        T *restrict out = dst;                                                                     \
        const uint8_t *condition = a;                                                              \
        const T *yes = b, *no = c;                                                                 \
        for (size_t i = 0; i < n; i++) {                                                           \
            T x = yes[i], y = no[i];                                                               \
            out[i] = condition[i] ? x : y;                                                         \
        }                                                                                          \
    }

/* Whether C's quotient was cut towards zero where ours goes down. */
#define UNEVEN(x, y) ((x) % (y) && ((x) ^ (y)) < 0)

/* Integers of one width. S: signed, U: unsigned; 1u keeps products of small types out of int. */
#define INTEGERS(w, S, U)                                                                          \
    BINARY(add_u##w, U, U, x + y)                                                                  \
    BINARY(sub_u##w, U, U, x - y)                                                                  \
    BINARY(mul_u##w, U, U, 1u * x * y)                                                             \
    BINARY(and_u##w, U, U, x &y)                                                                   \
    BINARY(or_u##w, U, U, x | y)                                                                   \
    BINARY(xor_u##w, U, U, x ^ y)                                                                  \
    BINARY(shl_u##w, U, U, x << (y & (w - 1)))                                                     \
    BINARY(shr_u##w, U, U, x >> (y & (w - 1)))                                                     \
    BINARY(shr_i##w, S, S, x >> (y & (w - 1)))                                                     \
    BINARY(eq_u##w, uint8_t, U, x == y)                                                            \
    BINARY(ne_u##w, uint8_t, U, x != y)                                                            \
    BINARY(lt_u##w, uint8_t, U, x < y)                                                             \
    BINARY(lt_i##w, uint8_t, S, x < y)                                                             \
    BINARY(le_u##w, uint8_t, U, x <= y)                                                            \
    BINARY(le_i##w, uint8_t, S, x <= y)                                                            \
    BINARY(min_u##w, U, U, x < y ? x : y)                                                          \
    BINARY(min_i##w, S, S, x < y ? x : y)                                                          \
    BINARY(max_u##w, U, U, x > y ? x : y)                                                          \
    BINARY(max_i##w, S, S, x > y ? x : y)                                                          \
    BINARY(floordiv_u##w, U, U, y ? x / y : 0)                                                     \
    BINARY(mod_u##w, U, U, y ? x % y : 0)                                                          \
    BINARY(floordiv_i##w, S, S, !y ? 0 : y == -1 ? (S)(0u - (U)x) : x / y - UNEVEN(x, y))          \
    BINARY(mod_i##w, S, S, !y || y == -1 ? 0 : x % y + (UNEVEN(x, y) ? y : 0))                     \
    UNARY(neg_u##w, U, U, 0u - x)                                                                  \
    UNARY(invert_u##w, U, U, ~x)                                                                   \
    UNARY(abs_i##w, U, S, x < 0 ? 0u - (U)x : (U)x)                                                \
    UNARY(convert_u##w##_bool, uint8_t, U, x != 0)                                                 \
    SELECT(select_u##w, U)

INTEGERS(8, int8_t, uint8_t)
INTEGERS(16, int16_t, uint16_t)
INTEGERS(32, int32_t, uint32_t)
INTEGERS(64, int64_t, uint64_t)

BINARY(and_bool, uint8_t, uint8_t, (x != 0) & (y != 0))
BINARY(or_bool, uint8_t, uint8_t, (x | y) != 0)
BINARY(eq_bool, uint8_t, uint8_t, !x == !y)
BINARY(ne_bool, uint8_t, uint8_t, !x != !y)
UNARY(not_bool, uint8_t, uint8_t, !x)

/* The one of x and y that comes first, and NaN before everything. */
#define PREFER(x, less, y) ((((x)less(y)) | ((x) != (x))) ? (x) : (y))

/* f: the suffix of C's functions for the type. */
#define FLOATS(s, T, f)                                                                            \
    BINARY(add_##s, T, T, x + y)                                                                   \
    BINARY(sub_##s, T, T, x - y)                                                                   \
    BINARY(mul_##s, T, T, x *y)                                                                    \
    BINARY(div_##s, T, T, x / y)                                                                   \
    BINARY(floordiv_##s, T, T, floor##f(x / y))                                                    \
    BINARY(eq_##s, uint8_t, T, x == y)                                                             \
    BINARY(ne_##s, uint8_t, T, x != y)                                                             \
    BINARY(lt_##s, uint8_t, T, x < y)                                                              \
    BINARY(le_##s, uint8_t, T, x <= y)                                                             \
    BINARY(min_##s, T, T, PREFER(x, <, y))                                                         \
    BINARY(max_##s, T, T, PREFER(x, >, y))                                                         \
    UNARY(neg_##s, T, T, -x)                                                                       \
    UNARY(abs_##s, T, T, fabs##f(x))                                                               \
    UNARY(sqrt_##s, T, T, sqrt##f(x))                                                              \
    UNARY(floor_##s, T, T, floor##f(x))                                                            \
    UNARY(ceil_##s, T, T, ceil##f(x))                                                              \
    UNARY(round_##s, T, T, rint##f(x))                                                             \
    UNARY(convert_##s##_bool, uint8_t, T, x != 0)

FLOATS(f32, float, f)
FLOATS(f64, double, )

/* Integer to integer: the source's sign decides what widening adds, narrowing drops it. */
UNARY(convert_u8_u16, uint16_t, uint8_t, x)
UNARY(convert_i8_u16, uint16_t, int8_t, x)
UNARY(convert_u8_u32, uint32_t, uint8_t, x)
UNARY(convert_i8_u32, uint32_t, int8_t, x)
UNARY(convert_u8_u64, uint64_t, uint8_t, x)
UNARY(convert_i8_u64, uint64_t, int8_t, x)
UNARY(convert_u16_u32, uint32_t, uint16_t, x)
UNARY(convert_i16_u32, uint32_t, int16_t, x)
UNARY(convert_u16_u64, uint64_t, uint16_t, x)
UNARY(convert_i16_u64, uint64_t, int16_t, x)
UNARY(convert_u32_u64, uint64_t, uint32_t, x)
UNARY(convert_i32_u64, uint64_t, int32_t, x)
UNARY(convert_u16_u8, uint8_t, uint16_t, x)
UNARY(convert_u32_u8, uint8_t, uint32_t, x)
UNARY(convert_u64_u8, uint8_t, uint64_t, x)
UNARY(convert_u32_u16, uint16_t, uint32_t, x)
UNARY(convert_u64_u16, uint16_t, uint64_t, x)
UNARY(convert_u64_u32, uint32_t, uint64_t, x)
UNARY(convert_u8_u8, uint8_t, uint8_t, x)
UNARY(convert_u16_u16, uint16_t, uint16_t, x)
UNARY(convert_u32_u32, uint32_t, uint32_t, x)
UNARY(convert_u64_u64, uint64_t, uint64_t, x)
UNARY(convert_f32_f64, double, float, x)
UNARY(convert_f64_f32, float, double, x)

/* x held inside [low, high], both exact in x's type; `high` itself stands for everything above. */
#define SATURATE(T, Tmax, low, high)                                                               \
    x >= (high) ? (Tmax) : (T)(x != x ? 0 : x > (low) ? (x < (high) ? x : 0) : (low))

#define INTEGER_FLOAT(s, T, Tmax, low, high)                                                       \
    UNARY(convert_##s##_f32, float, T, x)                                                          \
    UNARY(convert_##s##_f64, double, T, x)                                                         \
    UNARY(convert_f32_##s, T, float, SATURATE(T, Tmax, low##f, high##f))                           \
    UNARY(convert_f64_##s, T, double, SATURATE(T, Tmax, low, high))

INTEGER_FLOAT(u8, uint8_t, UINT8_MAX, 0x0p0, 0x1p8)
INTEGER_FLOAT(i8, int8_t, INT8_MAX, -0x1p7, 0x1p7)
INTEGER_FLOAT(u16, uint16_t, UINT16_MAX, 0x0p0, 0x1p16)
INTEGER_FLOAT(i16, int16_t, INT16_MAX, -0x1p15, 0x1p15)
INTEGER_FLOAT(u32, uint32_t, UINT32_MAX, 0x0p0, 0x1p32)
INTEGER_FLOAT(i32, int32_t, INT32_MAX, -0x1p31, 0x1p31)
INTEGER_FLOAT(u64, uint64_t, UINT64_MAX, 0x0p0, 0x1p64)
INTEGER_FLOAT(i64, int64_t, INT64_MAX, -0x1p63, 0x1p63)

/* The 16-bit floats, on the bits of float32 (which the callers pass as uint32_t). */
static inline uint32_t bits_of_half(uint32_t half)
{
    union {
        uint32_t bits;
        float value;
    } scaled = { .bits = (half & 0x7fff) << 13 };
    bool is_special = (half & 0x7c00) == 0x7c00, is_nan = is_special && (half & 0x3ff);
    scaled.value *= 0x1p112f; /* exact, and normalises subnormals */
    uint32_t special = 0x7f800000 | (half & 0x3ff) << 13 | (is_nan ? 0x400000 : 0);
    return (half & 0x8000) << 16 | (is_special ? special : scaled.bits);
}

static inline uint16_t half_of_bits(uint32_t bits)
{
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    union {
        float value;
        uint32_t bits;
    } tiny = { .bits = rest < 0x38800000 ? rest : 0 };
    tiny.value += 0.5f; /* its last bit is worth 2^-24, half's smallest: the addition rounds */
    uint32_t subnormal = tiny.bits - 0x3f000000;
    uint32_t normal = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
    uint32_t nan = 0x7e00 | (rest >> 13 & 0x3ff);
    uint32_t large = rest > 0x7f800000 ? nan : 0x7c00;
    return (uint16_t)(sign | (rest < 0x38800000 ? subnormal : rest >= 0x477ff000 ? large : normal));
}

static inline uint16_t bfloat_of_bits(uint32_t bits)
{
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    return (uint16_t)((is_nan ? bits | 0x400000 : rounded) >> 16);
}

UNARY(convert_f16_f32, uint32_t, uint16_t, bits_of_half(x))
UNARY(convert_f32_f16, uint16_t, uint32_t, half_of_bits(x))
UNARY(convert_bf16_f32, uint32_t, uint16_t, (uint32_t)x << 16)
UNARY(convert_f32_bf16, uint16_t, uint32_t, bfloat_of_bits(x))

/* Reductions. Integer sums wrap, so their order is free: 4096 values at a time in a type that holds
 * the sum of as many. Float sums have eight lanes. */
#define REDUCE_INTEGER(s, T, Part, Wide)                                                           \
    static uint64_t total_##s(const T *in, size_t n)                                               \
    {                                                                                              \
        uint64_t total = 0;                                                                        \
        for (size_t i = 0; i < n;) {                                                               \
            size_t end = n - i > 4096 ? i + 4096 : n;                                              \
            Part part = 0;                                                                         \
            for (; i < end; i++)                                                                   \
                part += (Part)in[i];                                                               \
            total += (uint64_t)part;                                                               \
        }                                                                                          \
        return total;                                                                              \
    }                                                                                              \
    static void sum_##s(void *dst, const void *src, size_t n)                                      \
    {                                                                                              \
        *(uint64_t *)dst = total_##s(src, n);                                                      \
    }                                                                                              \
    static void mean_##s(void *dst, const void *src, size_t n)                                     \
    {                                                                                              \
        *(float *)dst = (float)((double)(Wide)total_##s(src, n) / (double)n);                      \
    }                                                                                              \
    static void amin_##s(void *dst, const void *src, size_t n)                                     \
    {                                                                                              \
        const T *in = src;                                                                         \
        T best = in[0];                                                                            \
        for (size_t i = 1; i < n; i++)                                                             \
            best = in[i] < best ? in[i] : best;                                                    \
        *(T *)dst = best;                                                                          \
    }                                                                                              \
    static void amax_##s(void *dst, const void *src, size_t n)                                     \
    {                                                                                              \
        const T *in = src;                                                                         \
        T best = in[0];                                                                            \
        for (size_t i = 1; i < n; i++)                                                             \
            best = in[i] > best ? in[i] : best;                                                    \
        *(T *)dst = best;                                                                          \
    }

REDUCE_INTEGER(u8, uint8_t, uint32_t, uint64_t)
REDUCE_INTEGER(i8, int8_t, int32_t, int64_t)
REDUCE_INTEGER(u16, uint16_t, uint32_t, uint64_t)
REDUCE_INTEGER(i16, int16_t, int32_t, int64_t)
REDUCE_INTEGER(u32, uint32_t, uint64_t, uint64_t)
REDUCE_INTEGER(i32, int32_t, int64_t, int64_t)
REDUCE_INTEGER(u64, uint64_t, uint64_t, uint64_t)
REDUCE_INTEGER(i64, int64_t, uint64_t, int64_t)

enum { LANES = 8 };

/* NaN wins, and comes out as the same NaN whatever the input's payloads were. */
#define EXTREME_FLOAT(name, T, less)                                                               \
    static void name(void *dst, const void *src, size_t n)                                         \
    {                                                                                              \
        const T *in = src;                                                                         \
        T lane[LANES], best;                                                                       \
        size_t i = 0;                                                                              \
        for (int j = 0; j < LANES; j++)                                                            \
            lane[j] = in[0];                                                                       \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int j = 0; j < LANES; j++)                                                        \
                lane[j] = PREFER(in[i + j], less, lane[j]);                                        \
        for (int j = 0; i + (size_t)j < n; j++)                                                    \
            lane[j] = PREFER(in[i + j], less, lane[j]);                                            \
        best = lane[0];                                                                            \
        for (int j = 1; j < LANES; j++)                                                            \
            best = PREFER(lane[j], less, best);                                                    \
        *(T *)dst = best != best ? (T)NAN : best;                                                  \
    }

#define REDUCE_FLOAT(s, T)                                                                         \
    static double total_##s(const T *in, size_t n)                                                 \
    {                                                                                              \
        double lane[LANES] = { 0 };                                                                \
        size_t i = 0;                                                                              \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int j = 0; j < LANES; j++)                                                        \
                lane[j] += (double)in[i + j];                                                      \
        for (int j = 0; i + (size_t)j < n; j++)                                                    \
            lane[j] += (double)in[i + j];                                                          \
        return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +                                       \
               ((lane[4] + lane[5]) + (lane[6] + lane[7]));                                        \
    }                                                                                              \
    static void sum_##s(void *dst, const void *src, size_t n)                                      \
    {                                                                                              \
        *(T *)dst = (T)total_##s(src, n);                                                          \
    }                                                                                              \
    static void mean_##s(void *dst, const void *src, size_t n)                                     \
    {                                                                                              \
        *(T *)dst = (T)(total_##s(src, n) / (double)n);                                            \
    }                                                                                              \
    EXTREME_FLOAT(amin_##s, T, <)                                                                  \
    EXTREME_FLOAT(amax_##s, T, >)

REDUCE_FLOAT(f32, float)
REDUCE_FLOAT(f64, double)

static void any_bool(void *dst, const void *src, size_t n)
{
    const uint8_t *in = src;
    uint8_t found = 0;
    for (size_t i = 0; i < n; i++)
        found |= in[i];
    *(uint8_t *)dst = found != 0;
}

/* All integers may ask this one of their bytes' type: a divisor without zeros. */
#define ALL_NONZERO(name, T)                                                                       \
    static void name(void *dst, const void *src, size_t n)                                         \
    {                                                                                              \
        const T *in = src;                                                                         \
        T has_zero = 0;                                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            has_zero |= in[i] == 0;                                                                \
        *(uint8_t *)dst = !has_zero;                                                               \
    }

ALL_NONZERO(all_u8, uint8_t)
ALL_NONZERO(all_u16, uint16_t)
ALL_NONZERO(all_u32, uint32_t)
ALL_NONZERO(all_u64, uint64_t)

/* s: the type's suffix, u: that of the unsigned type of its width. */
#define FILL_INTEGER(id, s, u)                                                                     \
    k->op[STK__EW_ADD][id] = add_##u;                                                              \
    k->op[STK__EW_SUB][id] = sub_##u;                                                              \
    k->op[STK__EW_MUL][id] = mul_##u;                                                              \
    k->op[STK__EW_FLOORDIV][id] = floordiv_##s;                                                    \
    k->op[STK__EW_MOD][id] = mod_##s;                                                              \
    k->op[STK__EW_MIN][id] = min_##s;                                                              \
    k->op[STK__EW_MAX][id] = max_##s;                                                              \
    k->op[STK__EW_AND][id] = and_##u;                                                              \
    k->op[STK__EW_OR][id] = or_##u;                                                                \
    k->op[STK__EW_XOR][id] = xor_##u;                                                              \
    k->op[STK__EW_SHL][id] = shl_##u;                                                              \
    k->op[STK__EW_SHR][id] = shr_##s;                                                              \
    k->op[STK__EW_EQ][id] = eq_##u;                                                                \
    k->op[STK__EW_NE][id] = ne_##u;                                                                \
    k->op[STK__EW_LT][id] = lt_##s;                                                                \
    k->op[STK__EW_LE][id] = le_##s;                                                                \
    k->op[STK__EW_NEG][id] = neg_##u;                                                              \
    k->op[STK__EW_INVERT][id] = invert_##u;                                                        \
    k->reduce[STK__REDUCE_ALL][id] = all_##u;                                                      \
    k->convert[id][STK_BOOL] = convert_##u##_bool;                                                 \
    k->convert[id][STK_F32] = convert_##s##_f32;                                                   \
    k->convert[id][STK_F64] = convert_##s##_f64;                                                   \
    k->convert[STK_F32][id] = convert_f32_##s;                                                     \
    k->convert[STK_F64][id] = convert_f64_##s;                                                     \
    FILL_REDUCE(id, s)

#define FILL_REDUCE(id, s)                                                                         \
    k->reduce[STK__REDUCE_SUM][id] = sum_##s;                                                      \
    k->reduce[STK__REDUCE_MEAN][id] = mean_##s;                                                    \
    k->reduce[STK__REDUCE_AMIN][id] = amin_##s;                                                    \
    k->reduce[STK__REDUCE_AMAX][id] = amax_##s;

#define FILL_FLOAT(id, s)                                                                          \
    k->op[STK__EW_ADD][id] = add_##s;                                                              \
    k->op[STK__EW_SUB][id] = sub_##s;                                                              \
    k->op[STK__EW_MUL][id] = mul_##s;                                                              \
    k->op[STK__EW_DIV][id] = div_##s;                                                              \
    k->op[STK__EW_FLOORDIV][id] = floordiv_##s;                                                    \
    k->op[STK__EW_MIN][id] = min_##s;                                                              \
    k->op[STK__EW_MAX][id] = max_##s;                                                              \
    k->op[STK__EW_EQ][id] = eq_##s;                                                                \
    k->op[STK__EW_NE][id] = ne_##s;                                                                \
    k->op[STK__EW_LT][id] = lt_##s;                                                                \
    k->op[STK__EW_LE][id] = le_##s;                                                                \
    k->op[STK__EW_NEG][id] = neg_##s;                                                              \
    k->op[STK__EW_ABS][id] = abs_##s;                                                              \
    k->op[STK__EW_SQRT][id] = sqrt_##s;                                                            \
    k->op[STK__EW_FLOOR][id] = floor_##s;                                                          \
    k->op[STK__EW_CEIL][id] = ceil_##s;                                                            \
    k->op[STK__EW_ROUND][id] = round_##s;                                                          \
    k->convert[id][STK_BOOL] = convert_##s##_bool;                                                 \
    FILL_REDUCE(id, s)

/* Rows of the conversion table from one integer type: to each width, sign regardless. */
#define FILL_WIDTHS(id, to8, to16, to32, to64)                                                     \
    k->convert[id][STK_U8] = k->convert[id][STK_I8] = to8;                                         \
    k->convert[id][STK_U16] = k->convert[id][STK_I16] = to16;                                      \
    k->convert[id][STK_U32] = k->convert[id][STK_I32] = to32;                                      \
    k->convert[id][STK_U64] = k->convert[id][STK_I64] = to64;

static void fill_integers(struct stk__elementwise_kernels *k)
{
    FILL_INTEGER(STK_U8, u8, u8)
    FILL_INTEGER(STK_I8, i8, u8)
    FILL_INTEGER(STK_U16, u16, u16)
    FILL_INTEGER(STK_I16, i16, u16)
    FILL_INTEGER(STK_U32, u32, u32)
    FILL_INTEGER(STK_I32, i32, u32)
    FILL_INTEGER(STK_U64, u64, u64)
    FILL_INTEGER(STK_I64, i64, u64)
    FILL_WIDTHS(STK_U8, convert_u8_u8, convert_u8_u16, convert_u8_u32, convert_u8_u64)
    FILL_WIDTHS(STK_I8, convert_u8_u8, convert_i8_u16, convert_i8_u32, convert_i8_u64)
    FILL_WIDTHS(STK_U16, convert_u16_u8, convert_u16_u16, convert_u16_u32, convert_u16_u64)
    FILL_WIDTHS(STK_I16, convert_u16_u8, convert_u16_u16, convert_i16_u32, convert_i16_u64)
    FILL_WIDTHS(STK_U32, convert_u32_u8, convert_u32_u16, convert_u32_u32, convert_u32_u64)
    FILL_WIDTHS(STK_I32, convert_u32_u8, convert_u32_u16, convert_u32_u32, convert_i32_u64)
    FILL_WIDTHS(STK_U64, convert_u64_u8, convert_u64_u16, convert_u64_u32, convert_u64_u64)
    FILL_WIDTHS(STK_I64, convert_u64_u8, convert_u64_u16, convert_u64_u32, convert_u64_u64)
    k->op[STK__EW_ABS][STK_I8] = abs_i8;
    k->op[STK__EW_ABS][STK_I16] = abs_i16;
    k->op[STK__EW_ABS][STK_I32] = abs_i32;
    k->op[STK__EW_ABS][STK_I64] = abs_i64;
}

static void fill_bool(struct stk__elementwise_kernels *k)
{
    for (int to = STK_BOOL; to < STK_N_DTYPES; to++)
        k->convert[STK_BOOL][to] = k->convert[STK_U8][to];
    k->convert[STK_BOOL][STK_BOOL] = convert_u8_u8;
    k->op[STK__EW_AND][STK_BOOL] = and_bool;
    k->op[STK__EW_OR][STK_BOOL] = or_bool;
    k->op[STK__EW_EQ][STK_BOOL] = eq_bool;
    k->op[STK__EW_NE][STK_BOOL] = ne_bool;
    k->op[STK__EW_NOT][STK_BOOL] = not_bool;
    k->reduce[STK__REDUCE_ANY][STK_BOOL] = any_bool;
    k->reduce[STK__REDUCE_ALL][STK_BOOL] = all_u8;
}

static void fill_floats(struct stk__elementwise_kernels *k)
{
    FILL_FLOAT(STK_F32, f32)
    FILL_FLOAT(STK_F64, f64)
    k->convert[STK_F32][STK_F64] = convert_f32_f64;
    k->convert[STK_F64][STK_F32] = convert_f64_f32;
    k->convert[STK_F16][STK_F32] = convert_f16_f32;
    k->convert[STK_F32][STK_F16] = convert_f32_f16;
    k->convert[STK_BF16][STK_F32] = convert_bf16_f32;
    k->convert[STK_F32][STK_BF16] = convert_f32_bf16;
    k->convert[STK_F16][STK_F16] = k->convert[STK_BF16][STK_BF16] = convert_u16_u16;
    k->convert[STK_F32][STK_F32] = convert_u32_u32;
    k->convert[STK_F64][STK_F64] = convert_u64_u64;
}

static void fill_all(struct stk__elementwise_kernels *k)
{
    static const stk__elementwise_fn select[] = {
        [1] = select_u8, [2] = select_u16, [4] = select_u32, [8] = select_u64
    };
    fill_integers(k);
    fill_bool(k);
    fill_floats(k);
    for (int dtype = 0; dtype < STK_N_DTYPES; dtype++)
        k->op[STK__EW_SELECT][dtype] = select[stk_dtype_bytes(dtype)];
}
