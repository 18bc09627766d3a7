/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h: aligned memory. Large pieces are mapped, so that they go back to the system when
 * they are freed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* 64-byte aligned, contents undefined; NULL when there is none. */
void *stk__memory_take(size_t bytes);

/* What a piece of so many bytes takes of the system: whole pages where it is mapped. */
size_t stk__memory_bytes(size_t bytes);

/* Pieces that malloc keeps go back to the system, too. False: not now, since it takes as long as the heap of the
 * program is large, and is to take at most a fifth of the time. */
bool stk__memory_trim(void);

/* About so many bytes that malloc keeps for this thread, since libraries took and freed them, go back to the system.
 * Trimming does not reach them: malloc trims the end of its first heap alone, other threads have their own. */
void stk__memory_give_back(size_t bytes);

/* `bytes` as it was taken. NULL is fine. */
void stk__memory_free(void *memory, size_t bytes);
