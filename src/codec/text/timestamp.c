/* SPDX-License-Identifier: Apache-2.0 */
/* timestamp.c: ISO 8601 to a number. */
#include "codec/text/timestamp.h"

enum { NANOS_PER_SECOND = 1000000000 };

struct cursor {
    const uint8_t *at, *end;
};

/* Exactly n digits, as a number up to `most`; -1 if they are not there. */
static int take_number(struct cursor *c, int n, int most)
{
    int value = 0;
    if (c->end - c->at < n)
        return -1;
    for (int i = 0; i < n; i++) {
        if (c->at[i] < '0' || c->at[i] > '9')
            return -1;
        value = value * 10 + (c->at[i] - '0');
    }
    c->at += n;
    return value <= most ? value : -1;
}

static bool take_byte(struct cursor *c, uint8_t byte)
{
    bool is_there = c->at < c->end && *c->at == byte;
    c->at += is_there;
    return is_there;
}

static int days_of_month(int year, int month)
{
    static const uint8_t days[13] = { 0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month] + (month == 2 && is_leap);
}

/* Days since 1970-01-01. Years are counted from March, so that the leap day is the last. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = year - (month < 3);
    int64_t day_of_year = (153 * (month + (month < 3 ? 9 : -3)) + 2) / 5 + day - 1;
    return 365 * y + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool take_date(struct cursor *c, int64_t *days)
{
    int year = take_number(c, 4, 9999);
    if (year < 1 || !take_byte(c, '-'))
        return false;
    int month = take_number(c, 2, 12);
    if (month < 1 || !take_byte(c, '-'))
        return false;
    int day = take_number(c, 2, days_of_month(year, month));
    if (day < 1)
        return false;
    *days = days_since_1970(year, month, day);
    return true;
}

/* Digits behind a point, as nanoseconds; further ones are cut off. */
static bool take_fraction(struct cursor *c, int64_t *nanos)
{
    int n = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, n++)
        if (n < 9)
            *nanos = *nanos * 10 + (*c->at - '0');
    for (int i = n; i < 9; i++)
        *nanos *= 10;
    return n > 0;
}

static bool take_time(struct cursor *c, int64_t *seconds, int64_t *nanos)
{
    int hour = take_number(c, 2, 23);
    if (hour < 0 || !take_byte(c, ':'))
        return false;
    int minute = take_number(c, 2, 59);
    int second = minute >= 0 && take_byte(c, ':') ? take_number(c, 2, 59) : 0;
    if (minute < 0 || second < 0)
        return false;
    *seconds = hour * 3600 + minute * 60 + second;
    return !take_byte(c, '.') || take_fraction(c, nanos);
}

/* Seconds to take off for the zone. */
static bool take_zone(struct cursor *c, int64_t *offset)
{
    if (c->at == c->end || take_byte(c, 'Z'))
        return true;
    bool is_west = *c->at == '-';
    if (!take_byte(c, '-') && !take_byte(c, '+'))
        return false;
    int hours = take_number(c, 2, 23), minutes = 0;
    if (hours >= 0 && c->at < c->end) {
        take_byte(c, ':');
        minutes = take_number(c, 2, 59);
    }
    *offset = (hours * 60 + minutes) * (is_west ? -60 : 60);
    return hours >= 0 && minutes >= 0;
}

static bool put_in_unit(int64_t seconds, int64_t nanos, enum stk__time_unit unit, int64_t *out)
{
    static const int64_t per_second[] = { 1, 1000, 1000000, NANOS_PER_SECOND };
    int64_t parts = nanos / (NANOS_PER_SECOND / per_second[unit]);
    /* Before 1970 the product may not fit though the sum does. */
    if (seconds < 0) {
        seconds++;
        parts -= per_second[unit];
    }
    return !__builtin_mul_overflow(seconds, per_second[unit], out) &&
           !__builtin_add_overflow(*out, parts, out);
}

bool stk__timestamp_read(const uint8_t *text, size_t len, enum stk__time_unit unit, int64_t *out)
{
    struct cursor c = { text, text + len };
    int64_t days, seconds = 0, nanos = 0, offset = 0;
    if (!take_date(&c, &days))
        return false;
    if (c.at < c.end) {
        if (!take_byte(&c, 'T') && !take_byte(&c, ' '))
            return false;
        if (!take_time(&c, &seconds, &nanos) || !take_zone(&c, &offset))
            return false;
    }
    return c.at == c.end && put_in_unit(days * 86400 + seconds - offset, nanos, unit, out);
}
