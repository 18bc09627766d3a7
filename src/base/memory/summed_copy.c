/* SPDX-License-Identifier: Apache-2.0 */
/* summed_copy.c: see summed_copy.h.
 *
 * 64 bytes that were loaded are stored and folded: a sum is a rest of polynomials, so what was read before may be
 * moved on by 64 bytes, by two products for each 16, and added to what comes next. In the end 64 bytes are
 * left that have the sum of all.
 */
#include "base/memory/summed_copy.h"

#include "base/cpu.h"
#include "base/crc32c.h"
#include "base/memory/stream_copy.h"

#include <stdbool.h>
#include <string.h>

enum { PAGE = 4096 };

/* Page by page through the first cache. */
static uint32_t copy_pages(uint8_t *dst, const uint8_t *src, size_t bytes, uint32_t crc)
{
    _Alignas(64) uint8_t page[PAGE];
    const bool is_streamed = bytes >= STK__STREAMED_BYTES;
    for (size_t at = 0; at < bytes; at += PAGE) {
        size_t n = bytes - at < PAGE ? bytes - at : PAGE;
        uint8_t *to = is_streamed ? page : dst + at;
        memcpy(to, src + at, n);
        crc = stk__crc32c(crc, to, n);
        if (is_streamed)
            stk__copy_streamed(dst + at, page, n, src + at + n);
    }
    stk__copy_streamed_end();
    return crc;
}

#ifdef __x86_64__
#include <immintrin.h>

enum { LINE = 64, LANES = 4, AHEAD = 4096 };
/* x^543 and x^479, lowest power in the highest bit: what moves the first and the second half of 16 bytes on. */
static const uint64_t FIRST_ON = 0x740eef02, SECOND_ON = 0x9e4addf8;

#define HAS_SUMS __attribute__((target("sse4.2,pclmul")))

HAS_SUMS static inline __m128i fold(__m128i sum, __m128i on, __m128i next)
{
    __m128i first = _mm_clmulepi64_si128(sum, on, 0x00);
    __m128i second = _mm_clmulepi64_si128(sum, on, 0x11);
    return _mm_xor_si128(next, _mm_xor_si128(first, second));
}

HAS_SUMS static uint32_t sum_of(const __m128i left[LANES])
{
    uint64_t word[2 * LANES], sum = 0;
    memcpy(word, left, sizeof word);
    for (int i = 0; i < 2 * LANES; i++)
        sum = _mm_crc32_u64(sum, word[i]);
    return (uint32_t)sum;
}

/* dst lies on a line; there is one line at least. */
HAS_SUMS static uint32_t copy_lines(uint8_t *dst, const uint8_t *src, size_t n, uint32_t crc)
{
    const __m128i on = _mm_set_epi64x((long long)SECOND_ON, (long long)FIRST_ON);
    const __m128i *from = (const __m128i *)(const void *)src;
    __m128i *to = (__m128i *)(void *)dst, left[LANES];
    for (int i = 0; i < LANES; i++)
        _mm_stream_si128(to + i, left[i] = _mm_loadu_si128(from + i));
    left[0] = _mm_xor_si128(left[0], _mm_cvtsi32_si128((int)~crc));
    for (size_t at = LANES; at < LANES * n; at += LANES) {
        __builtin_prefetch((const uint8_t *)(from + at) + AHEAD);
        for (int i = 0; i < LANES; i++) {
            __m128i next = _mm_loadu_si128(from + at + i);
            _mm_stream_si128(to + at + i, next);
            left[i] = fold(left[i], on, next);
        }
    }
    return ~sum_of(left);
}

static uint32_t copy_large(uint8_t *dst, const uint8_t *src, size_t bytes, uint32_t crc)
{
    size_t head = (LINE - (uintptr_t)dst % LINE) % LINE, n = (bytes - head) / LINE;
    crc = copy_pages(dst, src, head, crc);
    crc = copy_lines(dst + head, src + head, n, crc);
    head += n * LINE;
    return copy_pages(dst + head, src + head, bytes - head, crc); /* which ends streaming, too */
}

uint32_t stk__copy_summed(uint8_t *dst, const uint8_t *src, size_t bytes, uint32_t crc)
{
    bool is_streamed = bytes >= STK__STREAMED_BYTES && stk__cpu_level() >= STK__CPU_AVX2;
    return (is_streamed ? copy_large : copy_pages)(dst, src, bytes, crc);
}

#else

uint32_t stk__copy_summed(uint8_t *dst, const uint8_t *src, size_t bytes, uint32_t crc)
{
    return copy_pages(dst, src, bytes, crc);
}

#endif
