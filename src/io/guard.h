/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h: reading mapped files that somebody may cut short.
 *
 * Touching a page of a map that lies behind the end of its file raises SIGBUS. A guarded copy turns
 * that into `false`. The handler is put in once per process, when the first file is mapped; signals
 * that no guarded copy caused go to whoever handled them before.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Puts the handler in; false if that cannot be done, and then nothing may be copied. */
bool stk__guard_start(void);

/* As memcpy; false if not all of src could be read. */
bool stk__guarded_copy(void *dst, const void *src, size_t bytes);
