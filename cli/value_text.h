/* SPDX-License-Identifier: Apache-2.0 */
/* value_text.h: single values of every dtype, as numbers and as JSON. */
#pragma once
#include "base/json_out.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stoker/stoker.h>

/* 'b', 'u', 'i' or 'f'. */
char cli_dtype_kind(int dtype);

double cli_value_read(int dtype, const void *value);

/* A value with digits enough to read back the same. Returns `out`. */
enum { CLI_VALUE_TEXT = 40 };
const char *cli_value_text(char out[CLI_VALUE_TEXT], int dtype, const void *value);

/* The same as JSON: "nan", "inf", "-inf" in quotes. */
void cli_value_json(struct stk__text *out, const char *name, int dtype, const void *value);

/* A name, or where something came from, for people: control characters as \n or \x1b. Returns the
 * columns it takes. */
size_t cli_name_print(FILE *file, const char *text);

/* The same in so many columns, or more. */
void cli_name_pad(FILE *file, const char *text, int width);
