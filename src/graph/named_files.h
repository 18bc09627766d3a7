/* SPDX-License-Identifier: Apache-2.0 */
/* named_files.h: the files that the texts in a chain stand for: by a name, a pattern or a directory. */
#pragma once
#include "lang/lang.h"

/* Calls `visit` with each path there is now. Texts that stand for no file are passed over. STK_OK or
 * STK_MEMORY. */
int stk__named_files(const struct stk_value *value, void (*visit)(void *context, const char *path),
                     void *context);
