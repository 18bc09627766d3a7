/* SPDX-License-Identifier: Apache-2.0 */
/* quote.h: texts as the language writes them. */
#pragma once
#include "base/text.h"

/* In quotes, with escapes where they are needed. */
void stk__quote(struct stk__text *out, const char *text);

/* A name as a bare word where that reads back as the same text. */
void stk__quote_name(struct stk__text *out, const char *name);
