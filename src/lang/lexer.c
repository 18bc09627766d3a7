/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.c: names, numbers, strings and punctuation. */
#include "lang/lexer.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c)
{
    return is_name_start(c) || is_digit(c);
}

bool stk__is_name(const char *text, size_t len)
{
    if (!len || !is_name_start(text[0]))
        return false;
    for (size_t i = 1; i < len; i++)
        if (!is_name_char(text[i]))
            return false;
    return true;
}

static uint32_t skip_space(const char *text, uint32_t pos)
{
    for (;; pos++) {
        if (text[pos] == '#')
            pos += (uint32_t)strcspn(text + pos, "\n");
        if (!text[pos] || !strchr(" \t\r\n\f\v", text[pos]))
            return pos;
    }
}

static int lex_name(struct stk__lexer *lexer, struct stk__token *out, struct stk_error *err)
{
    const char *start = lexer->text + lexer->pos;
    while (is_name_char(lexer->text[lexer->pos]))
        lexer->pos++;
    out->text_len = (size_t)(lexer->text + lexer->pos - start);
    out->text = stk__arena_text_n(lexer->arena, start, out->text_len);
    return out->text ? STK_OK : stk__out_of_memory(err);
}

static int lex_object(struct stk__lexer *lexer, struct stk__token *out, struct stk_error *err)
{
    lexer->pos++;
    if (is_name_start(lexer->text[lexer->pos])) {
        out->kind = STK__TOKEN_OBJECT;
        return lex_name(lexer, out, err);
    }
    out->kind = STK__TOKEN_VERSION;
    uint32_t first = lexer->pos;
    for (; is_digit(lexer->text[lexer->pos]) && lexer->pos - first < 9; lexer->pos++)
        out->integer = out->integer * 10 + (uint64_t)(lexer->text[lexer->pos] - '0');
    if (!out->integer || is_name_char(lexer->text[lexer->pos]))
        return stk__fail_at(err, STK_SYNTAX, out->at, 1,
                            "expected a name or a version number from 1 on after '@'");
    return STK_OK;
}

static const char *skip_digits(const char *s)
{
    while (is_digit(*s))
        s++;
    return s;
}

/* The end of a decimal number; says whether it has a point or an exponent. */
static const char *scan_decimal(const char *s, bool *is_real)
{
    s = skip_digits(s);
    *is_real = *s == '.';
    if (*is_real)
        s = skip_digits(s + 1);
    if (*s == 'e' || *s == 'E') {
        const char *exponent = s + (s[1] == '+' || s[1] == '-' ? 2 : 1);
        if (is_digit(*exponent)) {
            *is_real = true;
            s = skip_digits(exponent);
        }
    }
    return s;
}

/* Digits, hexadecimal ones after 0x, to a number of at most 2^63. */
static bool read_integer(const char *s, const char *end, unsigned base, uint64_t *out)
{
    *out = 0;
    for (; s < end; s++) {
        unsigned digit = is_digit(*s) ? (unsigned)(*s - '0') : (unsigned)((*s | 32) - 'a' + 10);
        if (__builtin_mul_overflow(*out, base, out) || __builtin_add_overflow(*out, digit, out))
            return false;
    }
    return *out <= (uint64_t)1 << 63;
}

static int lex_number(struct stk__lexer *lexer, struct stk__token *out, struct stk_error *err)
{
    const char *start = lexer->text + out->at, *end;
    bool is_hex = start[0] == '0' && (start[1] | 32) == 'x', is_real = false;
    if (is_hex)
        end = start + 2 + strspn(start + 2, "0123456789abcdefABCDEF");
    else
        end = scan_decimal(start, &is_real);
    bool is_whole = !is_name_char(*end) && *end != '.' && !(is_hex && end == start + 2);
    while (is_name_char(*end) || *end == '.')
        end++;
    uint32_t len = (uint32_t)(end - start);
    if (!is_whole)
        return stk__fail_at(err, STK_SYNTAX, out->at, len, "'%.*s' is not a number",
                            len < 40 ? (int)len : 40, start);
    bool fits;
    if (is_real)
        fits = stk__parse_real(start, &out->real) && isfinite(out->real);
    else
        fits = read_integer(start + (is_hex ? 2 : 0), end, is_hex ? 16 : 10, &out->integer);
    if (!fits)
        return stk__fail_at(err, STK_VALUE, out->at, len, "this number is too large%s",
                            is_real ? "" : "; integers have 64 bits (write 1e30 for a real)");
    out->kind = is_real ? STK__TOKEN_REAL : STK__TOKEN_INTEGER;
    lexer->pos += len;
    return STK_OK;
}

/* Decodes the escape at `s`, which begins with a backslash; its bytes, or 0 if it is none. */
static uint32_t unescape(const char *s, char *out)
{
    static const char letters[] = "nt\\'\"", meanings[] = "\n\t\\'\"";
    const char *letter = s[1] ? strchr(letters, s[1]) : NULL;
    if (letter) {
        *out = meanings[letter - letters];
        return 2;
    }
    uint64_t byte;
    if (s[1] != 'x' || strspn(s + 2, "0123456789abcdefABCDEF") < 2)
        return 0;
    read_integer(s + 2, s + 4, 16, &byte);
    *out = (char)(unsigned char)byte;
    return 4;
}

static int lex_string(struct stk__lexer *lexer, struct stk__token *out, struct stk_error *err)
{
    const char *text = lexer->text, quote = text[out->at];
    uint32_t pos = out->at + 1, end = pos;
    while (text[end] && text[end] != quote)
        end += text[end] == '\\' && text[end + 1] ? 2 : 1;
    if (!text[end])
        return stk__fail_at(err, STK_SYNTAX, out->at, 1, "this string has no closing %c", quote);
    char *decoded = stk__arena_take(lexer->arena, end - out->at);
    if (!decoded)
        return stk__out_of_memory(err);
    while (pos < end) {
        uint32_t used = 1;
        decoded[out->text_len] = text[pos];
        if (text[pos] == '\\')
            used = unescape(text + pos, decoded + out->text_len);
        if (!used)
            return stk__fail_at(err, STK_SYNTAX, pos, 2,
                                "unknown escape in a string; a backslash is written \\\\");
        out->text_len++;
        pos += used;
    }
    decoded[out->text_len] = 0;
    out->text = decoded;
    lexer->pos = end + 1;
    return STK_OK;
}

static int lex_other(struct stk__lexer *lexer, struct stk__token *out, struct stk_error *err)
{
    const char *s = lexer->text + out->at;
    if (strchr("()[]{},.:=+-*/", *s)) {
        out->kind = *s;
        lexer->pos++;
        return STK_OK;
    }
    size_t bytes = stk__utf8_bytes(s, 4); /* the final NUL ends every sequence */
    if (!bytes || (bytes == 1 && (*s < 0x20 || *s == 0x7f)))
        return stk__fail_at(err, STK_SYNTAX, out->at, 1, "the byte 0x%02x has no meaning here",
                            (unsigned char)*s);
    return stk__fail_at(err, STK_SYNTAX, out->at, (uint32_t)bytes, "'%.*s' has no meaning here",
                        (int)bytes, s);
}

int stk__lexer_next(struct stk__lexer *lexer, struct stk__token *out, struct stk_error *err)
{
    uint32_t last = lexer->pos, at = skip_space(lexer->text, last);
    const char *s = lexer->text + at;
    int status = STK_OK;
    *out = (struct stk__token){ .kind = STK__TOKEN_END, .at = last, .len = 1 };
    if (!*s)
        return STK_OK;
    out->at = lexer->pos = at;
    if (is_name_start(*s)) {
        out->kind = STK__TOKEN_NAME;
        status = lex_name(lexer, out, err);
    } else if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
        status = lex_number(lexer, out, err);
    } else if (*s == '\'' || *s == '"') {
        out->kind = STK__TOKEN_STRING;
        status = lex_string(lexer, out, err);
    } else if (*s == '@') {
        status = lex_object(lexer, out, err);
    } else {
        status = lex_other(lexer, out, err);
    }
    out->len = lexer->pos - out->at;
    return status;
}
