/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_cache.h: the last chunks that were unpacked. Rows that follow each other lie in the same
 * chunk, but come in pieces to several threads; so it is unpacked about once, not once a piece.
 *
 * It only saves work: what is found in it is what unpacking would give. Thread-safe. */
#pragma once
#include "base/memory/buffer.h"

struct stk__chunk_cache;

/* Returns new; NULL when out of memory. */
struct stk__chunk_cache *stk__chunk_cache_new(void);
void stk__chunk_cache_free(struct stk__chunk_cache *cache); /* NULL is fine */

/* A chunk by its array and its number there, as a new reference; NULL if it is not there. */
struct stk_buffer *stk__chunk_cache_find(struct stk__chunk_cache *cache, const void *array,
                                         uint64_t number);

/* Room for a chunk. Returns new; NULL when out of memory. */
struct stk_buffer *stk__chunk_cache_room(struct stk__chunk_cache *cache, size_t bytes);

/* Keeps a chunk for others; it may not be written any more. Takes a reference of its own. */
void stk__chunk_cache_add(struct stk__chunk_cache *cache, const void *array, uint64_t number,
                          struct stk_buffer *chunk);

/* How many bytes of chunks may be kept from now on; what is above goes when the next one comes. At first, and
 * at most, 32 MiB. */
void stk__chunk_cache_limit(struct stk__chunk_cache *cache, size_t bytes);

/* Lets everything go that nobody uses. */
void stk__chunk_cache_empty(struct stk__chunk_cache *cache);

/* What it takes, chunks in use among it; and the most there was. */
size_t stk__chunk_cache_bytes(struct stk__chunk_cache *cache);
size_t stk__chunk_cache_peak(struct stk__chunk_cache *cache);
