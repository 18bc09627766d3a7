/* SPDX-License-Identifier: Apache-2.0 */
/* raw_values.c: byte order and texts of array files. */
#include "codec/array/raw_values.h"

#include <string.h>

bool stk__raw_is_big_endian(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 0;
}

static void swap_2(uint8_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t x;
        memcpy(&x, values + 2 * i, 2);
        x = __builtin_bswap16(x);
        memcpy(values + 2 * i, &x, 2);
    }
}

static void swap_4(uint8_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t x;
        memcpy(&x, values + 4 * i, 4);
        x = __builtin_bswap32(x);
        memcpy(values + 4 * i, &x, 4);
    }
}

static void swap_8(uint8_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x;
        memcpy(&x, values + 8 * i, 8);
        x = __builtin_bswap64(x);
        memcpy(values + 8 * i, &x, 8);
    }
}

void stk__raw_settle(const struct stk__raw *raw, uint8_t *values, size_t n)
{
    if (raw->dtype == STK_BOOL)
        for (size_t i = 0; i < n; i++)
            values[i] = values[i] != 0;
    if (!raw->is_swapped)
        return;
    if (raw->item_bytes == 2)
        swap_2(values, n);
    else if (raw->item_bytes == 4)
        swap_4(values, n);
    else if (raw->item_bytes == 8)
        swap_8(values, n);
}

/* Four bytes of a character become four of UTF-8 at most. */
size_t stk__raw_text_room(const struct stk__raw *raw)
{
    return raw->item_bytes;
}

/* Appends a character; false if there is no such one. */
static bool add_utf8(uint32_t c, uint8_t *dst, size_t *len)
{
    uint8_t *to = dst + *len;
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };
    to[0] = (uint8_t)(lead[more] | c >> (6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (uint8_t)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    *len += (size_t)more + 1;
    return true;
}

static const uint8_t *unicode_text(const struct stk__raw *raw, const uint8_t *src, uint8_t *dst,
                                   size_t *len)
{
    size_t written = 0;
    *len = 0;
    for (size_t i = 0; i + 4 <= raw->item_bytes; i += 4) {
        uint32_t c;
        memcpy(&c, src + i, 4);
        if (raw->is_swapped)
            c = __builtin_bswap32(c);
        if (!add_utf8(c, dst, &written))
            return NULL;
        if (c)
            *len = written;
    }
    return dst;
}

const uint8_t *stk__raw_text(const struct stk__raw *raw, const uint8_t *src, uint8_t *dst,
                             size_t *len)
{
    if (raw->kind == STK__RAW_UNICODE)
        return unicode_text(raw, src, dst, len);
    uint8_t filler = raw->kind == STK__RAW_SPACED ? ' ' : 0;
    size_t n = raw->item_bytes;
    if (raw->kind == STK__RAW_STOPPED) {
        const uint8_t *zero = memchr(src, 0, n);
        n = zero ? (size_t)(zero - src) : n;
    } else {
        while (n && src[n - 1] == filler)
            n--;
    }
    *len = n;
    return src;
}
