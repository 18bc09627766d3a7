/* SPDX-License-Identifier: Apache-2.0 */
/* unicode_case.c: looks characters up in the table of runs. */
#include "op/text/unicode_case.h"

#include "base/text.h"

#include <string.h>

struct case_run {
    uint32_t first, last;
    int32_t step, delta;
};
struct case_text {
    uint32_t code;
    const char *text;
};

#include "op/text/unicode_case_table.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The last run that begins at or before a character. */
static const struct case_run *find_run(const struct case_run *run, size_t n, uint32_t code)
{
    size_t low = 0, high = n;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (run[middle].first <= code)
            low = middle;
        else
            high = middle;
    }
    return &run[low];
}

static uint32_t map_code(uint32_t code, bool to_upper)
{
    const struct case_run *run = to_upper ? find_run(upper_runs, COUNT(upper_runs), code)
                                          : find_run(lower_runs, COUNT(lower_runs), code);
    bool is_in = code >= run->first && code <= run->last;
    if (!is_in || (code - run->first) % (uint32_t)run->step)
        return code;
    return (uint32_t)((int32_t)code + run->delta);
}

static const char *find_text(uint32_t code, bool to_upper)
{
    const struct case_text *text = to_upper ? upper_texts : lower_texts;
    size_t low = 0, high = to_upper ? COUNT(upper_texts) : COUNT(lower_texts);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (text[middle].code == code)
            return text[middle].text;
        if (text[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Of a valid character of 2 to 4 bytes. */
static uint32_t decode(const uint8_t *at, size_t bytes)
{
    uint32_t code = at[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (at[i] & 0x3fu);
    return code;
}

static size_t encode(uint32_t code, uint8_t *dst)
{
    size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
        dst[i] = (uint8_t)(0x80 | (code & 0x3f));
    dst[0] = (uint8_t)(lead[bytes] | code);
    return bytes;
}

static uint8_t change_ascii(uint8_t byte, bool to_upper)
{
    uint8_t first = to_upper ? 'a' : 'A';
    return byte >= first && byte < first + 26 ? byte ^ 0x20 : byte;
}

size_t stk__utf8_change_case(const uint8_t *text, size_t len, bool to_upper, uint8_t *dst)
{
    size_t at = 0, used = 0;
    while (at < len) {
        size_t bytes = text[at] < 0x80 ? 1 : stk__utf8_bytes((const char *)text + at, len - at);
        if (bytes <= 1) {
            dst[used++] = change_ascii(text[at++], to_upper);
            continue;
        }
        uint32_t code = decode(text + at, bytes);
        const char *several = find_text(code, to_upper);
        if (several) {
            size_t n = strlen(several);
            memcpy(dst + used, several, n);
            used += n;
        } else {
            used += encode(map_code(code, to_upper), dst + used);
        }
        at += bytes;
    }
    return used;
}
