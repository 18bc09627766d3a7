/* SPDX-License-Identifier: Apache-2.0 */
/* csv_digits_scalar.c: plain numbers of delimited text, digit by digit. */
#include "kernel/csv_kernel.h"

enum { MAX_CHARACTERS = 19 };

static void read_one(const struct stk__csv_cell *cell, int64_t *whole, int8_t *places)
{
    const uint8_t *at = cell->at, *end = at + cell->len;
    bool is_negative = cell->len && *at == '-';
    at += cell->len && (*at == '-' || *at == '+');
    uint64_t value = 0; /* 19 digits fit */
    int n_digits = 0, n_points = 0, n_behind = 0;
    *whole = 0;
    *places = -1;
    if (end - at > MAX_CHARACTERS)
        return;
    for (; at < end; at++) {
        bool is_digit = *at >= '0' && *at <= '9';
        n_points += *at == '.';
        if ((!is_digit && *at != '.') || n_points > 1)
            return;
        value = is_digit ? value * 10 + (uint64_t)(*at - '0') : value;
        n_digits += is_digit;
        n_behind += is_digit && n_points;
    }
    bool is_long = n_digits > 16 && (n_points == 0 || n_digits > 18);
    if (n_digits == 0 || is_long || (is_negative && value == 0))
        return;
    *whole = is_negative ? -(int64_t)value : (int64_t)value;
    *places = (int8_t)n_behind;
}

void stk__csv_digits_scalar(const struct stk__csv_cell *cell, int step, int n, int64_t *whole,
                            int8_t *places)
{
    for (int i = 0; i < n; i++, cell += step)
        read_one(cell, &whole[i], &places[i]);
}
