/* SPDX-License-Identifier: Apache-2.0 */
/* unicode_case.h: UTF-8 in upper and lower case. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STK__CASE_GROWTH = 3 }; /* a text becomes at most so many times as long */

/* Writes the text to dst, and returns its new length. Characters map by themselves, whatever stands
 * around them; bytes that are no UTF-8 stay as they are. */
size_t stk__utf8_change_case(const uint8_t *text, size_t len, bool to_upper, uint8_t *dst);
