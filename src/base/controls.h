/* SPDX-License-Identifier: Apache-2.0 */
/* controls.h: control characters of names and data, shown as escapes.
 *
 * Names of files and members, cells, keys and classes get into messages, tables and listings. Their
 * control characters would act on a terminal, or look like a line of their own in a log.
 */
#pragma once
#include "base/text.h"

/* The control character at text, of ASCII or one of the 32 behind it in UTF-8, as \n or \x1b. Returns
 * its bytes; 0: there is none. */
size_t stk__control_escape(const char *text, char out[8]);

/* Writes text with escapes. What does not fit is left out. */
void stk__controls_show(const char *text, char *out, size_t size);

/* Adds text with escapes, and spaces up to `width` bytes. */
void stk__text_add_shown(struct stk__text *text, const char *value, int width);
