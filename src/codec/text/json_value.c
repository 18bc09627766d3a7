/* SPDX-License-Identifier: Apache-2.0 */
/* json_value.c: what a JSON value is, and numbers. */
#include "codec/text/decimal.h"
#include "codec/text/json.h"

#include <math.h>
#include <string.h>

enum stk__json_kind stk__json_kind(struct stk__json_piece value)
{
    switch (value.data[0]) {
    case 'n':
        return STK__JSON_NULL;
    case 't':
    case 'f':
        return STK__JSON_BOOL;
    case '"':
        return STK__JSON_STRING;
    case '[':
        return STK__JSON_ARRAY;
    case '{':
        return STK__JSON_OBJECT;
    default:
        return STK__JSON_NUMBER;
    }
}

const char *stk__json_kind_name(enum stk__json_kind kind)
{
    static const char *const names[] = { "null",     "true or false", "a number",
                                         "a string", "a list",        "an object" };
    return names[kind];
}

enum { COPY_BYTES = 1024, BEHIND = 8 };

/* The number where BEHIND bytes after it may be read: where it lies, or copied; NULL: too long. */
static const uint8_t *with_room(struct stk__json_piece number, const uint8_t *end, uint8_t *copy)
{
    if (end - (number.data + number.bytes) >= BEHIND)
        return number.data;
    if (number.bytes > COPY_BYTES - BEHIND)
        return NULL;
    memcpy(copy, number.data, number.bytes);
    memset(copy + number.bytes, 0, BEHIND);
    return copy;
}

bool stk__json_i64(struct stk__json_piece number, const uint8_t *end, int64_t *out)
{
    uint8_t copy[COPY_BYTES];
    const uint8_t *text = with_room(number, end, copy);
    return text && stk__decimal_i64(text, number.bytes, out);
}

/* The words that Python writes for numbers which JSON does not have. */
static bool is_word(struct stk__json_piece number, double *out)
{
    bool is_negative = number.data[0] == '-';
    uint8_t letter = number.data[is_negative];
    *out = letter == 'N' ? NAN : is_negative ? -INFINITY : INFINITY;
    return letter == 'N' || letter == 'I';
}

bool stk__json_f64(struct stk__json_piece number, const uint8_t *end, double *out)
{
    uint8_t copy[COPY_BYTES];
    const uint8_t *text = with_room(number, end, copy);
    return is_word(number, out) || (text && stk__decimal_f64(text, number.bytes, out));
}

bool stk__json_f32(struct stk__json_piece number, const uint8_t *end, float *out)
{
    uint8_t copy[COPY_BYTES];
    double word;
    const uint8_t *text = with_room(number, end, copy);
    bool has_word = is_word(number, &word);
    if (has_word)
        *out = (float)word;
    return has_word || (text && stk__decimal_f32(text, number.bytes, out));
}
