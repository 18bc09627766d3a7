/* SPDX-License-Identifier: Apache-2.0 */
/* json_string.h: the inside of JSON's strings; for json_scan.c. */
#pragma once
#include "codec/text/json.h"

/* Moves *at from behind the opening quote to behind the closing one. False: *fault says what is
 * wrong at *at. */
bool stk__json_string_end(const uint8_t **at, const uint8_t *end, const char **fault);

/* True if a string, with its quotes, stands for this text. */
bool stk__json_string_is(struct stk__json_piece string, const char *text, size_t bytes);
