/* SPDX-License-Identifier: Apache-2.0 */
/* timestamp.h: dates and times from text, as a number since 1970 in UTC. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stk__time_unit { STK__SECONDS, STK__MILLISECONDS, STK__MICROSECONDS, STK__NANOSECONDS };

/* ISO 8601 as people write it: 2024-05-31, or with 'T' or a space and 17:08, 17:08:30 or
 * 17:08:30.25, then nothing (taken as UTC), Z, +02, +0200 or +02:00. Years 0001 to 9999 of the
 * calendar in use today. What is finer than the unit is cut off, towards the past. False: the text
 * is no such time, or its number does not fit (nanoseconds reach from 1677 to 2262). */
bool stk__timestamp_read(const uint8_t *text, size_t len, enum stk__time_unit unit, int64_t *out);
