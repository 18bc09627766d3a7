/* SPDX-License-Identifier: Apache-2.0 */
/* json_string.c: strings: their ends, escapes and UTF-8. */
#include "codec/text/json_string.h"

#include <string.h>

/* ---- ends ---- */

/* A bit for each of 8 bytes that is a quote, a backslash, below a space or above 0x7f; the lowest
 * is right, those above may be false. */
static uint64_t find_special(const uint8_t *bytes)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t x;
    memcpy(&x, bytes, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    uint64_t quote = x ^ (ones * '"'), slash = x ^ (ones * '\\'); /* zero bytes where it is */
    uint64_t is_quote = (quote - ones) & ~quote, is_slash = (slash - ones) & ~slash;
    uint64_t is_control = (x - ones * 0x20) & ~x;
    return (is_quote | is_slash | is_control | x) & tops;
}

static const uint8_t *skip_plain(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8) {
        uint64_t special = find_special(at);
        if (special)
            return at + (__builtin_ctzll(special) >> 3);
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\' && *at >= 0x20 && *at < 0x80)
        at++;
    return at;
}

/* The length of the UTF-8 sequence here, or 0: too long, too large, a surrogate, or cut. */
static int sequence_bytes(const uint8_t *at, const uint8_t *end)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    int n = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    if (*at < 0xc2 || *at > 0xf4 || end - at < n)
        return 0;
    uint32_t code = *at & (0x7f >> n);
    for (int i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

static int hex_digit(uint8_t c)
{
    uint8_t letter = c | 0x20;
    return c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Four hexadecimal digits, or -1. */
static int hex4(const uint8_t *at, const uint8_t *end)
{
    int value = 0;
    for (int i = 0; i < 4 && value >= 0; i++) {
        int digit = end - at > i ? hex_digit(at[i]) : -1;
        value = digit < 0 ? -1 : value << 4 | digit;
    }
    return value;
}

/* The bytes of an escape, or 0. */
static int escape_bytes(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 2)
        return 0;
    if (at[1] == 'u')
        return hex4(at + 2, end) < 0 ? 0 : 6;
    return at[1] && strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
}

bool stk__json_string_end(const uint8_t **at, const uint8_t *end, const char **fault)
{
    for (;;) {
        *at = skip_plain(*at, end);
        if (*at == end) {
            *fault = "the text ends within a string";
            return false;
        }
        if (**at == '"') {
            ++*at;
            return true;
        }
        if (**at < 0x20) {
            *fault = "a control character is in a string, where \\u00.. is wanted";
            return false;
        }
        int n = **at == '\\' ? escape_bytes(*at, end) : sequence_bytes(*at, end);
        if (n == 0) {
            *fault = **at == '\\' ? "this is no escape" : "this is not UTF-8";
            return false;
        }
        *at += n;
    }
}

/* ---- content ---- */

struct stk__json_piece stk__json_plain(struct stk__json_piece string)
{
    struct stk__json_piece inside = { string.data + 1, string.bytes - 2 };
    if (memchr(inside.data, '\\', inside.bytes))
        inside.data = NULL;
    return inside;
}

static int put_utf8(uint32_t code, uint8_t *dst)
{
    if (code < 0x80) {
        dst[0] = (uint8_t)code;
        return 1;
    }
    int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, code >>= 6)
        dst[i] = (uint8_t)(0x80 | (code & 0x3f));
    dst[0] = (uint8_t)((0xf00 >> n) | code);
    return n;
}

/* The character of an escape, and how many bytes say it; UINT32_MAX for half a surrogate pair. */
static uint32_t read_escape(const uint8_t *at, const uint8_t *end, int *n_bytes)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    *n_bytes = 2;
    if (at[1] != 'u')
        return (uint8_t)values[strchr(names, at[1]) - names];
    *n_bytes = 6;
    uint32_t code = (uint32_t)hex4(at + 2, end);
    if (code < 0xd800 || code >= 0xe000)
        return code;
    int low = end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? hex4(at + 8, end) : -1;
    if (code >= 0xdc00 || low < 0xdc00 || low >= 0xe000)
        return UINT32_MAX;
    *n_bytes = 12;
    return 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

bool stk__json_unescape(struct stk__json_piece string, uint8_t *dst, size_t *bytes,
                        struct stk__json_fault *fault)
{
    const uint8_t *at = string.data + 1, *end = string.data + string.bytes - 1;
    uint8_t *out = dst;
    while (at < end) {
        const uint8_t *slash = memchr(at, '\\', (size_t)(end - at));
        size_t n = (size_t)((slash ? slash : end) - at);
        memcpy(out, at, n);
        out += n;
        at += n;
        if (!slash)
            break;
        int n_bytes;
        uint32_t code = read_escape(at, end, &n_bytes);
        if (code == UINT32_MAX) {
            *fault = (struct stk__json_fault){ "this is half of a surrogate pair",
                                               (size_t)(at - string.data) };
            return false;
        }
        out += put_utf8(code, out);
        at += n_bytes;
    }
    *bytes = (size_t)(out - dst);
    return true;
}

/* Goes along both, without memory; a name that is wanted may be of any length. */
bool stk__json_string_is(struct stk__json_piece string, const char *text, size_t bytes)
{
    const uint8_t *at = string.data + 1, *end = string.data + string.bytes - 1;
    const uint8_t *wanted = (const uint8_t *)text, *stop = wanted + bytes;
    while (at < end) {
        uint8_t utf8[4] = { *at };
        int n_bytes = 1, n = 1;
        if (*at == '\\') {
            uint32_t code = read_escape(at, end, &n_bytes);
            if (code == UINT32_MAX)
                return false;
            n = put_utf8(code, utf8);
        }
        if (stop - wanted < n || memcmp(wanted, utf8, (size_t)n) != 0)
            return false;
        wanted += n;
        at += n_bytes;
    }
    return wanted == stop;
}
