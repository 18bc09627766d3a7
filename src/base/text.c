/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: growing strings and locale-free numbers. */
#define _GNU_SOURCE
#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct stk__text *text, size_t more)
{
    if (text->failed)
        return false;
    size_t need = text->len + more + 1;
    if (need <= text->cap)
        return true;
    size_t cap = text->cap ? text->cap : 64;
    while (cap < need)
        cap *= 2;
    char *data = realloc(text->data, cap);
    if (!data) {
        stk__text_free(text);
        text->failed = true;
        return false;
    }
    text->data = data;
    text->cap = cap;
    return true;
}

void stk__text_add_n(struct stk__text *text, const char *data, size_t len)
{
    if (!reserve(text, len))
        return;
    memcpy(text->data + text->len, data, len);
    text->len += len;
    text->data[text->len] = 0;
}

/* What there is room for, of so many bytes as are returned. */
static int print(const struct stk__text *text, const char *format, va_list args)
{
    return vsnprintf(text->data ? text->data + text->len : NULL, text->cap - text->len, format,
                     args);
}

void stk__text_add(struct stk__text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = print(text, format, args);
    va_end(args);
    if (len < 0)
        return;
    bool is_whole = (size_t)len < text->cap - text->len;
    if (!is_whole && reserve(text, (size_t)len)) {
        va_start(args, format);
        print(text, format, args);
        va_end(args);
        is_whole = true;
    }
    text->len += is_whole ? (size_t)len : 0;
}

size_t stk__utf8_bytes(const char *text, size_t len)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char lead = (unsigned char)text[0];
    size_t n = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (n < 2 || n > len)
        return n <= len ? n : 0;
    uint32_t point = lead & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    bool is_surrogate = point >= 0xd800 && point < 0xe000;
    return point < least[n] || point > 0x10ffff || is_surrogate ? 0 : n;
}

void stk__text_add_json(struct stk__text *text, const char *value, size_t len)
{
    stk__text_add_n(text, "\"", 1);
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        unsigned char c = (unsigned char)value[i];
        n = stk__utf8_bytes(value + i, len - i);
        if (c == '"' || c == '\\')
            stk__text_add(text, "\\%c", c);
        else if (c == '\n' || c == '\t')
            stk__text_add_n(text, c == '\n' ? "\\n" : "\\t", 2);
        else if (c < 0x20 || c == 0x7f || !n)
            stk__text_add(text, "\\u%04x", c);
        else if (c == 0xc2 && (unsigned char)value[i + 1] < 0xa0) /* controls behind ASCII */
            stk__text_add(text, "\\u%04x", (unsigned char)value[i + 1]);
        else
            stk__text_add_n(text, value + i, n);
    }
    stk__text_add_n(text, "\"", 1);
}

/* The C locale's numbers whatever the program set; made once, never freed. */
static locale_t c_locale(void)
{
    static locale_t made;
    locale_t found = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
    if (found)
        return found;
    locale_t fresh = newlocale(LC_ALL_MASK, "C", (locale_t)0), none = (locale_t)0;
    if (!__atomic_compare_exchange_n(&made, &none, fresh, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        freelocale(fresh);
        return none;
    }
    return fresh;
}

void stk__text_add_real(struct stk__text *text, double value)
{
    if (isnan(value) || isinf(value)) {
        stk__text_add(text, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    char digits[40];
    if (value == floor(value) && fabs(value) < 1e15) {
        stk__text_add(text, "%.0f.0", value); /* no point: the same in every locale */
        return;
    }
    locale_t before = uselocale(c_locale());
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    uselocale(before);
    stk__text_add(text, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

void stk__text_add_rounded(struct stk__text *text, double value, int digits)
{
    locale_t before = uselocale(c_locale());
    stk__text_add(text, "%.*g", digits, value);
    uselocale(before);
}

const char *stk__parse_real(const char *text, double *out)
{
    char *end;
    *out = strtod_l(text, &end, c_locale());
    return end == text ? NULL : end;
}

const char *stk__parse_single(const char *text, float *out)
{
    char *end;
    *out = strtof_l(text, &end, c_locale());
    return end == text ? NULL : end;
}

char *stk__text_take(struct stk__text *text)
{
    if (!text->failed && !text->data)
        stk__text_add_n(text, "", 0);
    if (text->failed) /* perhaps for a part that came from another text */
        stk__text_free(text);
    char *data = text->data;
    *text = (struct stk__text){ 0 };
    return data;
}

void stk__text_free(struct stk__text *text)
{
    free(text->data);
    *text = (struct stk__text){ 0 };
}
