/* SPDX-License-Identifier: Apache-2.0 */
/* stream_copy.h: copies of what is too large to be in a cache still when somebody looks at it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Rows from here on are copied so: some of them, as a batch has, are more than caches keep. */
enum { STK__STREAMED_BYTES = 1 << 17 };

/* memcpy that writes past the caches, so that what is written over is not read first. Meanwhile, as many bytes at
 * `next` are asked for, whatever is there. Others may not see what was written before stk__copy_streamed_end. */
void stk__copy_streamed(uint8_t *dst, const uint8_t *src, size_t bytes, const uint8_t *next);
void stk__copy_streamed_end(void);

/* The same for rows of any size: large ones past the caches. */
void stk__copy_row(uint8_t *dst, const uint8_t *src, size_t bytes);
