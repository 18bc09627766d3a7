/* SPDX-License-Identifier: Apache-2.0 */
/* colour_scalar.c: the colour kernels in plain C. */
#include <stddef.h>
#include <stdint.h>

enum { BLOCK = 64 };

static void split_bytes(uint8_t plane[3][BLOCK], const uint8_t *src)
{
    for (int i = 0; i < BLOCK; i++)
        for (int c = 0; c < 3; c++)
            plane[c][i] = src[3 * i + c];
}

static void join_bytes(uint8_t *dst, const uint8_t plane[3][BLOCK])
{
    for (int i = 0; i < BLOCK; i++)
        for (int c = 0; c < 3; c++)
            dst[3 * i + c] = plane[c][i];
}

#include "kernel/colour_body.h"

static void map_u8(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256])
{
    for (size_t i = 0; i < n; i++)
        dst[i] = table[src[i]];
}

void stk__colour_fill_scalar(struct stk__colour_kernels *kernels)
{
    fill_all(kernels);
    kernels->map_u8 = map_u8;
}
