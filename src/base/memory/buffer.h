/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h: ref-counted bytes and the pools they return to.
 *
 * A buffer is 64-byte aligned and readable 64 bytes past its end. The last unref gives it back
 * to its pool, which keeps it for the next taker of about that size; a pool lives as long as the
 * last of its buffers, so a delivered batch may outlive its iterator.
 */
#pragma once
#include <stdatomic.h>
#include <stoker/op.h>

struct stk__pool;

struct stk_buffer {
    atomic_int refs; /* pairs with itself: acq_rel on the last unref */
    int memory;      /* enum stk_memory */
    uint8_t *data;
    size_t bytes, capacity; /* bytes: in use */
    struct stk__pool *pool; /* NULL for foreign memory */
    struct stk_buffer *next;
    void (*release)(void *context); /* memory that is not the pool's own */
    void *context;
};

/* Returns new. Thread-safe from here on. */
struct stk__pool *stk__pool_new(void);
struct stk__pool *stk__pool_ref(struct stk__pool *pool);
void stk__pool_unref(struct stk__pool *pool);

/* How much is kept for reuse at most; what is above is freed at once and from now on. At first:
 * no limit. */
void stk__pool_limit(struct stk__pool *pool, size_t keep_bytes);

/* What one row may take at most, which readers look at before they take it; at first SIZE_MAX. Set before anybody else
 * has the pool. */
void stk__pool_set_most(struct stk__pool *pool, size_t row_bytes);
size_t stk__pool_most(const struct stk__pool *pool);

/* Frees about that many bytes of what is kept for reuse. */
void stk__pool_trim(struct stk__pool *pool, size_t bytes);

/* Bytes in buffers, used or kept. */
size_t stk__pool_bytes(struct stk__pool *pool);

/* The most there were at a time. */
size_t stk__pool_peak(struct stk__pool *pool);

/* Returns new with at least `bytes` capacity, contents undefined; NULL when out of memory. */
struct stk_buffer *stk__buffer_new(struct stk__pool *pool, size_t bytes);

/* Returns new: data that lies in memory of somebody else, `total` bytes of it, counted here until `release` is called
 * with the context; NULL when out of memory. */
struct stk_buffer *stk__buffer_wrap(struct stk__pool *pool, struct stk_span data, size_t total,
                                    void (*release)(void *context), void *context);

static inline struct stk_buffer *stk__buffer_ref_n(struct stk_buffer *buffer, int n)
{
    atomic_fetch_add_explicit(&buffer->refs, n, memory_order_relaxed);
    return buffer;
}

static inline struct stk_buffer *stk__buffer_ref(struct stk_buffer *buffer)
{
    return stk__buffer_ref_n(buffer, 1);
}

void stk__buffer_unref(struct stk_buffer *buffer); /* NULL is fine */
void stk__buffer_unref_n(struct stk_buffer *buffer, int n);
