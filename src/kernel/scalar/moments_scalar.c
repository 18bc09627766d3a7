/* SPDX-License-Identifier: Apache-2.0 */
/* moments_scalar.c: the sums of moments.h in plain C, and the counting of bytes. */
#include "kernel/moments_body.h"

#include <string.h>

void stk__moments_fill_scalar(struct stk__moment_kernels *kernels)
{
    fill_all(kernels);
}

enum { TABLES = 4, MOST_TABLED = 4, MOST_PIXELS = 1 << 28 };

/* Neighbouring pixels are often equal: they count in different tables, so that no addition waits
 * for the one before it. */
static inline void count_pixels(const uint8_t *src, size_t n, int channels,
                                uint32_t table[TABLES][MOST_TABLED][256])
{
    for (; n >= TABLES; n -= TABLES, src += TABLES * channels)
        for (int t = 0; t < TABLES; t++)
            for (int c = 0; c < channels; c++)
                table[t][c][src[t * channels + c]]++;
    for (; n; n--, src += channels)
        for (int c = 0; c < channels; c++)
            table[0][c][src[c]]++;
}

static void count_tabled(const uint8_t *src, size_t n_pixels, int channels, uint64_t *counts)
{
    uint32_t table[TABLES][MOST_TABLED][256];
    memset(table, 0, sizeof table);
    if (channels == 1)
        count_pixels(src, n_pixels, 1, table);
    else if (channels == 3)
        count_pixels(src, n_pixels, 3, table);
    else
        count_pixels(src, n_pixels, channels, table);
    for (int t = 0; t < TABLES; t++)
        for (int c = 0; c < channels; c++)
            for (int value = 0; value < 256; value++)
                counts[c * 256 + value] += table[t][c][value];
}

void stk__count_bytes(const uint8_t *src, size_t n, int channels, uint64_t *counts)
{
    size_t n_pixels = n / (size_t)channels, n_now;
    for (; channels <= MOST_TABLED && n_pixels >= 1024; n_pixels -= n_now) {
        n_now = n_pixels < MOST_PIXELS ? n_pixels : MOST_PIXELS;
        count_tabled(src, n_now, channels, counts);
        src += n_now * (size_t)channels;
    }
    for (; n_pixels; n_pixels--)
        for (int c = 0; c < channels; c++)
            counts[c * 256 + *src++]++;
}
