/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_reduce_scalar.c: blocks of coefficients to 4 x 4, 2 x 2 or 1 sample, with the bits of
 * libjpeg-turbo's reduced transforms. Values beyond the 16 bits of its vectors are reported. */
#include "kernel/jpeg.h"

#include <string.h>

enum { MAX_INPUT = 8191, MAX_BETWEEN = 16383 };

/* One pass to four values, of eight values `step` apart; the fifth does not count. Constants are
 * times 2^13. `shift` bits are rounded off. */
static inline void pass_to_4(const int *v, int step, int *out, int out_step, int shift)
{
    int half = 1 << (shift - 1), dc = v[0] * 16384 + half;
    int even = v[2 * step] * 15137 - v[6 * step] * 6270;
    int z1 = v[7 * step], z2 = v[5 * step], z3 = v[3 * step], z4 = v[step];
    int inner = -z1 * 1730 + z2 * 11893 - z3 * 17799 + z4 * 8697;
    int outer = -z1 * 4176 - z2 * 4926 + z3 * 7373 + z4 * 20995;
    out[0] = (dc + even + outer) >> shift;
    out[out_step] = (dc - even + inner) >> shift;
    out[2 * out_step] = (dc - even - inner) >> shift;
    out[3 * out_step] = (dc + even - outer) >> shift;
}

/* The same to two values, of the first and the odd ones. */
static inline void pass_to_2(const int *v, int step, int *out, int out_step, int shift)
{
    int half = 1 << (shift - 1), dc = v[0] * 32768 + half;
    int odd = -v[7 * step] * 5906 + v[5 * step] * 6967 - v[3 * step] * 10426 + v[step] * 29692;
    out[0] = (dc + odd) >> shift;
    out[out_step] = (dc - odd) >> shift;
}

/* Whether all n values are from -limit to limit. */
static inline bool is_within(const int *values, int n, int limit)
{
    unsigned outside = 0;
    for (int i = 0; i < n; i++)
        outside |= (unsigned)(values[i] + limit) > 2 * (unsigned)limit;
    return !outside;
}

/* Around 128. libjpeg's table for this ends at -512 and 511. */
static inline bool store(uint8_t *dst, int value)
{
    *dst = (uint8_t)(value < -128 ? 0 : value > 127 ? 255 : value + 128);
    return value >= -512 && value <= 511;
}

static bool reduce_to_4(uint8_t *dst, size_t stride, const int *values)
{
    int between[4 * 8], out[4];
    bool is_tame = true;
    for (int x = 0; x < 8; x++)
        if (x == 4)
            between[4] = between[12] = between[20] = between[28] = 0;
        else
            pass_to_4(values + x, 8, between + x, 8, 12);
    is_tame &= is_within(between, 32, MAX_BETWEEN);
    for (int y = 0; y < 4 && is_tame; y++, dst += stride) {
        pass_to_4(between + 8 * y, 1, out, 1, 19);
        for (int x = 0; x < 4; x++)
            is_tame &= store(dst + x, out[x]);
    }
    return is_tame;
}

static bool reduce_to_2(uint8_t *dst, size_t stride, const int *values)
{
    int between[2 * 8] = { 0 }, out[2];
    bool is_tame = true;
    pass_to_2(values, 8, between, 8, 13);
    for (int x = 1; x < 8; x += 2)
        pass_to_2(values + x, 8, between + x, 8, 13);
    is_tame &= is_within(between, 16, MAX_BETWEEN);
    for (int y = 0; y < 2 && is_tame; y++, dst += stride) {
        pass_to_2(between + 8 * y, 1, out, 1, 20);
        is_tame &= store(dst, out[0]);
        is_tame &= store(dst + 1, out[1]);
    }
    return is_tame;
}

static bool reduce_block(uint8_t *dst, size_t stride, const int16_t *block, int dc,
                         const uint16_t *quant, int size)
{
    int values[64];
    values[0] = dc * quant[0];
    if (size == 1)
        return is_within(values, 1, MAX_INPUT) && store(dst, (values[0] + 4) >> 3);
    for (int i = 1; i < 64; i++)
        values[i] = block[i] * quant[i];
    for (int y = 0; y < 8; y++) {
        bool counts = size == 4 ? y != 4 : y == 0 || y % 2;
        if (counts && !is_within(values + 8 * y, 8, MAX_INPUT))
            return false;
    }
    return size == 4 ? reduce_to_4(dst, stride, values) : reduce_to_2(dst, stride, values);
}

static bool reduce_scalar(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                          size_t stride, int size)
{
    bool is_tame = true;
    for (const struct stk__jpeg_pair *pair = pairs; pair < pairs + n; pair++) {
        is_tame &= reduce_block(pair->dst, stride, pair->left, pair->dc[0], quant, size);
        is_tame &= reduce_block(pair->dst + size, stride, pair->right, pair->dc[1], quant, size);
        memset(pair->left, 0, 64 * sizeof *pair->left);
        memset(pair->right, 0, 64 * sizeof *pair->right);
    }
    return is_tame;
}

void stk__jpeg_fill_reduce_scalar(struct stk__jpeg_kernels *kernels)
{
    kernels->reduce = reduce_scalar;
}
