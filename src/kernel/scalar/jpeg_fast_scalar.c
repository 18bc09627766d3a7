/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_fast_scalar.c: libjpeg-turbo's fast inverse transform, in plain C: that of Arai, Agui and Nakajima,
 * five products of eight values instead of eleven, in 16 bits throughout. The library's vectors
 * wrap where values that no encoder writes are too large, and so do we. */
#include "kernel/jpeg.h"

#include <string.h>

const uint16_t stk__jpeg_fast_scale[64] = {
    16384, 22725, 21407, 19266, 16384, 12873, 8867,  4520,  22725, 31521, 29692, 26722, 22725,
    17855, 12299, 6270,  21407, 29692, 27969, 25172, 21407, 16819, 11585, 5906,  19266, 26722,
    25172, 22654, 19266, 15137, 10426, 5315,  16384, 22725, 21407, 19266, 16384, 12873, 8867,
    4520,  12873, 17855, 16819, 15137, 12873, 10114, 6967,  3552,  8867,  12299, 11585, 10426,
    8867,  6967,  4799,  2446,  4520,  6270,  5906,  5315,  4520,  3552,  2446,  1247,
};

/* Factors times 2^8. */
enum { C_1_082 = 277, C_1_414 = 362, C_M1_613 = -413, C_1_847 = 473 };

static inline int16_t wrap(int value)
{
    return (int16_t)(uint16_t)value;
}

/* The high half of a product of 16 bits each, of which the value brings 2 bits and the factor 14.
 */
static inline int product(int value, int factor)
{
    return wrap(value * 4) * (factor * 64) >> 16;
}

/* One pass over values `step` apart. */
static inline void transform_8(int16_t *v, int step)
{
    int16_t sum_04 = wrap(v[0] + v[4 * step]), difference_04 = wrap(v[0] - v[4 * step]);
    int16_t sum_26 = wrap(v[2 * step] + v[6 * step]);
    int16_t odd_26 = wrap(product(v[2 * step] - v[6 * step], C_1_414) - sum_26);
    int16_t e0 = wrap(sum_04 + sum_26), e3 = wrap(sum_04 - sum_26);
    int16_t e1 = wrap(difference_04 + odd_26), e2 = wrap(difference_04 - odd_26);
    int16_t sum_53 = wrap(v[5 * step] + v[3 * step]), z10 = wrap(v[5 * step] - v[3 * step]);
    int16_t sum_17 = wrap(v[step] + v[7 * step]), z12 = wrap(v[step] - v[7 * step]);
    int16_t o7 = wrap(sum_17 + sum_53);
    int turn = product(z10 + z12, C_1_847);
    /* -2.613 is more than 16 bits hold */
    int16_t o6 = wrap(turn + product(z10, C_M1_613) - z10 - o7);
    int16_t o5 = wrap(product(sum_17 - sum_53, C_1_414) - o6);
    int16_t o4 = wrap(product(z12, C_1_082) - turn + o5);
    v[0] = wrap(e0 + o7);
    v[7 * step] = wrap(e0 - o7);
    v[step] = wrap(e1 + o6);
    v[6 * step] = wrap(e1 - o6);
    v[2 * step] = wrap(e2 + o5);
    v[5 * step] = wrap(e2 - o5);
    v[4 * step] = wrap(e3 + o4);
    v[3 * step] = wrap(e3 - o4);
}

static void transform_block(uint8_t *dst, size_t stride, int16_t *block, const uint16_t *quant)
{
    for (int i = 0; i < 64; i++)
        block[i] = (int16_t)(uint16_t)((uint32_t)(uint16_t)block[i] * quant[i]);
    for (int x = 0; x < 8; x++)
        transform_8(block + x, 8);
    for (int y = 0; y < 8; y++, dst += stride) {
        int16_t *row = block + 8 * y;
        transform_8(row, 1);
        for (int x = 0; x < 8; x++) {
            int value = row[x] >> 5;
            dst[x] = (uint8_t)((value < -128 ? -128 : value > 127 ? 127 : value) + 128);
        }
    }
}

static void transform_fast_scalar(const struct stk__jpeg_pair *pairs, int n, const uint16_t *quant,
                                  size_t stride)
{
    for (const struct stk__jpeg_pair *pair = pairs; pair < pairs + n; pair++) {
        for (int side = 0; side < 2; side++) {
            int16_t block[64];
            memcpy(block, side ? pair->right : pair->left, sizeof block);
            block[0] = pair->dc[side];
            transform_block(pair->dst + 8 * side, stride, block, quant);
        }
        memset(pair->left, 0, 64 * sizeof *pair->left);
        memset(pair->right, 0, 64 * sizeof *pair->right);
    }
}

void stk__jpeg_fill_fast_scalar(struct stk__jpeg_kernels *kernels)
{
    kernels->transform_fast = transform_fast_scalar;
}
