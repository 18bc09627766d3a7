/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: just enough of UTF-8 to print what users gave us. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Bytes of the valid character at text[0..n), written to *code; 0 when there is none. */
int cli_utf8_read(const char *text, size_t n, uint32_t *code);

/* Columns of a terminal that a character takes: 0, 1 or 2. */
int cli_utf8_columns(uint32_t code);
