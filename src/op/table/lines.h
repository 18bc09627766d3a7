/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h: what jsonl needs of the op lines. */
#pragma once
#include "op/declaration.h"
#include <stdbool.h>

/* The op lines, but that files which are read at random have no rows for blank lines: how many rows there
 * are is known without them. A stream has them all. Not in the registry. */
extern const struct stk__op stk__filled_lines;

/* Nothing but spaces. */
bool stk__is_blank_line(const uint8_t *text, size_t bytes);
