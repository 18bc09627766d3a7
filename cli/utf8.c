/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c: reading characters and knowing how wide they are, without a locale. */
#include "utf8.h"

static int sequence_length(unsigned char first)
{
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

int cli_utf8_read(const char *text, size_t n, uint32_t *code)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *p = (const unsigned char *)text;
    int len = n ? sequence_length(p[0]) : 0;
    if (!len || (size_t)len > n)
        return 0;
    uint32_t value = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (int i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (p[i] & 0x3fu);
    }
    if (value < smallest[len] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *code = value;
    return len;
}

int cli_utf8_columns(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        int columns;
    } ranges[] = {
        { 0x300, 0x36f, 0 },     { 0x1100, 0x115f, 2 },   { 0x200b, 0x200f, 0 },
        { 0x2e80, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
        { 0xfe00, 0xfe0f, 0 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
        { 0x1f300, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}
