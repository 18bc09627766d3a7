/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: aligned memory. Large pieces are mapped, so that they go back to the system when
 * they are freed. */
#pragma once
#include <stddef.h>

/* 64-byte aligned, contents undefined; NULL when there is none. */
void *stk__memory_take(size_t bytes);

/* `bytes` as it was taken. NULL is fine. */
void stk__memory_free(void *memory, size_t bytes);
