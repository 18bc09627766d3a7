/* SPDX-License-Identifier: Apache-2.0 */
/* planes_avx2.c: three interleaved channels to three planes for AVX2. */
#include "kernel/image.h"

#include <immintrin.h>

/* Each lane of three vectors of eight holds each channel once: two blends gather a channel, a
 * permutation puts it in order. */
static int split_floats(float *const dst[3], const float *src, int n)
{
    const __m256i red = _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5);
    const __m256i green = _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6);
    const __m256i blue = _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7);
    int i = 0;
    for (; i + 8 <= n; i += 8, src += 24) {
        __m256 a = _mm256_loadu_ps(src), b = _mm256_loadu_ps(src + 8);
        __m256 c = _mm256_loadu_ps(src + 16);
        __m256 r = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x92), c, 0x24);
        __m256 g = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x24), c, 0x49);
        __m256 l = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x49), c, 0x92);
        _mm256_storeu_ps(dst[0] + i, _mm256_permutevar8x32_ps(r, red));
        _mm256_storeu_ps(dst[1] + i, _mm256_permutevar8x32_ps(g, green));
        _mm256_storeu_ps(dst[2] + i, _mm256_permutevar8x32_ps(l, blue));
    }
    return i;
}

/* Which bytes of the v-th of three vectors of values of w bytes go to a vector of channel c. */
#define FROM(c, w, j) (((j) / (w)*3 + (c)) * (w) + (j) % (w))
#define AT(c, v, w, j) (FROM(c, w, j) / 16 == (v) ? FROM(c, w, j) % 16 : 0x80)
#define FOUR(c, v, w, j) AT(c, v, w, j), AT(c, v, w, j + 1), AT(c, v, w, j + 2), AT(c, v, w, j + 3)
#define ORDER(c, v, w)                                                                             \
    {                                                                                              \
        FOUR(c, v, w, 0), FOUR(c, v, w, 4), FOUR(c, v, w, 8), FOUR(c, v, w, 12)                    \
    }
#define ORDERS(c, w)                                                                               \
    {                                                                                              \
        ORDER(c, 0, w), ORDER(c, 1, w), ORDER(c, 2, w)                                             \
    }
_Alignas(16) static const uint8_t orders[2][3][3][16] = {
    { ORDERS(0, 1), ORDERS(1, 1), ORDERS(2, 1) },
    { ORDERS(0, 2), ORDERS(1, 2), ORDERS(2, 2) },
};

static inline __m128i gather_channel(const __m128i from[3], const __m128i order[3])
{
    __m128i a = _mm_shuffle_epi8(from[0], order[0]), b = _mm_shuffle_epi8(from[1], order[1]);
    return _mm_or_si128(_mm_or_si128(a, b), _mm_shuffle_epi8(from[2], order[2]));
}

static int split_small(uint8_t *dst, size_t plane_bytes, const uint8_t *src, int n, int value_bytes)
{
    __m128i order[3][3];
    int step = 16 / value_bytes, i = 0;
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 3; v++)
            order[c][v] = _mm_load_si128((const __m128i *)orders[value_bytes - 1][c][v]);
    for (; i + step <= n; i += step, src += 48, dst += 16) {
        const __m128i from[3] = { _mm_loadu_si128((const __m128i *)src),
                                  _mm_loadu_si128((const __m128i *)(src + 16)),
                                  _mm_loadu_si128((const __m128i *)(src + 32)) };
        for (int c = 0; c < 3; c++)
            _mm_storeu_si128((__m128i *)(dst + (size_t)c * plane_bytes),
                             gather_channel(from, order[c]));
    }
    return i;
}

void stk__split_planes_avx2(uint8_t *dst, size_t plane_bytes, const uint8_t *src, int n,
                            int channels, int value_bytes)
{
    int done = 0;
    if (channels == 3 && value_bytes == 4) {
        float *const planes[3] = { (float *)(void *)dst, (float *)(void *)(dst + plane_bytes),
                                   (float *)(void *)(dst + 2 * plane_bytes) };
        done = split_floats(planes, (const float *)(const void *)src, n);
    } else if (channels == 3 && value_bytes <= 2) {
        done = split_small(dst, plane_bytes, src, n, value_bytes);
    }
    size_t at = (size_t)done * (size_t)value_bytes;
    stk__split_planes_scalar(dst + at, plane_bytes, src + at * (size_t)channels, n - done, channels,
                             value_bytes);
}
