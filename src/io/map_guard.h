/* SPDX-License-Identifier: Apache-2.0 */
/* map_guard.h: reading mapped files that somebody may cut short.
 *
 * Touching a page of a map that lies behind the end of its file raises SIGBUS. A guarded copy turns
 * that into `false`. The handler is put in once per process, when the first file is mapped; signals
 * that no guarded copy caused go to whoever handled them before.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Puts the handler in; false if that cannot be done, and then nothing may be copied. */
bool stk__guard_start(void);

struct stk__copy {
    uint8_t *dst;
    const uint8_t *src;
    size_t bytes;
};

/* Copies n pieces; returns how many were copied before one whose source could not be read. What lies
 * ahead is asked for in time, since shuffled records of a map are in no cache. */
int stk__guarded_copies(const struct stk__copy *copy, int n);

/* The same; what was copied is added to a checksum (base/crc32c.h) page by page, while it is in the first
 * cache. */
int stk__guarded_copies_summed(const struct stk__copy *copy, int n, uint32_t *crc);
