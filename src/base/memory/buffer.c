/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c: pools with size classes a quarter of a power of two apart. Small buffers are pieces of regions, which
 * keep them; large ones are mapped each, and kept in lists. */
#include "base/memory/buffer.h"

#include "base/memory/pages.h"
#include "base/memory/regions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, TAIL = 64, N_CLASSES = 4 * 48, MIN_SHIFT = 8 };

_Static_assert(sizeof(struct stk_buffer) % ALIGN == 0, "data of small buffers lies behind it");

struct stk__pool {
    size_t most_row_bytes;         /* never changes once it is shared */
    pthread_mutex_t lock;          /* guards all that follows */
    int refs;                      /* the owner's and one per buffer in use */
    size_t large_bytes;            /* of large buffers, in use or kept */
    size_t kept_bytes, keep_bytes; /* of large ones that are kept; the most of all that is */
    size_t peak_bytes;
    struct stk_buffer *kept[N_CLASSES]; /* large ones */
    struct stk__regions regions;        /* small ones, each behind its struct */
};

/* The class whose size is the smallest that holds `bytes`: 256, 320, 384, 448, 512, 640, … */
static int class_of(size_t bytes, size_t *size)
{
    int shift = MIN_SHIFT;
    while (bytes > (size_t)1 << (shift + 1) && shift < 54)
        shift++;
    for (int quarter = 0; quarter < 4; quarter++) {
        *size = ((size_t)1 << shift) + (size_t)quarter * ((size_t)1 << (shift - 2));
        if (bytes <= *size)
            return 4 * (shift - MIN_SHIFT) + quarter;
    }
    *size = (size_t)1 << (shift + 1);
    return 4 * (shift - MIN_SHIFT) + 4;
}

struct stk__pool *stk__pool_new(void)
{
    struct stk__pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pool->refs = 1;
    pool->keep_bytes = pool->most_row_bytes = SIZE_MAX;
    return pool;
}

void stk__pool_set_most(struct stk__pool *pool, size_t row_bytes)
{
    pool->most_row_bytes = row_bytes;
}

size_t stk__pool_most(const struct stk__pool *pool)
{
    return pool->most_row_bytes;
}

/* Of a large one's data. What may be read behind them is never written: where it begins a page there is none. */
static size_t mapped_bytes(size_t capacity)
{
    return stk__memory_bytes(capacity);
}

/* Of a small one: struct, data and what may be read behind them. */
static size_t piece_bytes(size_t capacity)
{
    return (sizeof(struct stk_buffer) + capacity + TAIL + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_small(size_t capacity)
{
    return piece_bytes(capacity) <= STK__LARGEST_PIECE;
}

/* Called with the lock held, as what follows. */
static size_t bytes_of(const struct stk__pool *pool)
{
    return pool->large_bytes + pool->regions.bytes;
}

static size_t kept_bytes(const struct stk__pool *pool)
{
    return pool->kept_bytes + pool->regions.empty_bytes;
}

static void buffer_free(struct stk_buffer *buffer)
{
    stk__memory_free(buffer->data, buffer->capacity + TAIL);
    free(buffer);
}

/* Returns a list to free without the lock. */
static struct stk_buffer *cut_kept(struct stk__pool *pool, size_t keep_bytes)
{
    struct stk_buffer *cut = NULL;
    for (int c = N_CLASSES - 1; c >= 0 && kept_bytes(pool) > keep_bytes; c--) {
        while (pool->kept[c] && kept_bytes(pool) > keep_bytes) {
            struct stk_buffer *b = pool->kept[c];
            pool->kept[c] = b->next;
            pool->kept_bytes -= mapped_bytes(b->capacity);
            pool->large_bytes -= mapped_bytes(b->capacity);
            b->next = cut;
            cut = b;
        }
    }
    stk__regions_trim(&pool->regions,
                      keep_bytes > pool->kept_bytes ? keep_bytes - pool->kept_bytes : 0);
    return cut;
}

static void free_list(struct stk_buffer *list)
{
    for (struct stk_buffer *next; list; list = next) {
        next = list->next;
        buffer_free(list);
    }
}

static void drop_ref(struct stk__pool *pool) /* called with the lock held, leaves it released */
{
    bool is_last = --pool->refs == 0;
    struct stk_buffer *cut = is_last ? cut_kept(pool, 0) : NULL;
    pthread_mutex_unlock(&pool->lock);
    free_list(cut);
    if (is_last) {
        pthread_mutex_destroy(&pool->lock);
        free(pool);
    }
}

struct stk__pool *stk__pool_ref(struct stk__pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->refs++;
    pthread_mutex_unlock(&pool->lock);
    return pool;
}

void stk__pool_unref(struct stk__pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    drop_ref(pool);
}

void stk__pool_limit(struct stk__pool *pool, size_t keep_bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->keep_bytes = keep_bytes;
    struct stk_buffer *cut = cut_kept(pool, keep_bytes);
    pthread_mutex_unlock(&pool->lock);
    free_list(cut);
}

void stk__pool_trim(struct stk__pool *pool, size_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    size_t kept = kept_bytes(pool);
    struct stk_buffer *cut = cut_kept(pool, bytes < kept ? kept - bytes : 0);
    pthread_mutex_unlock(&pool->lock);
    free_list(cut);
}

size_t stk__pool_bytes(struct stk__pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t bytes = bytes_of(pool);
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}

size_t stk__pool_peak(struct stk__pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t bytes = pool->peak_bytes;
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}

/* ---- small buffers; the lock is held ---- */

static struct stk_buffer *small_new(struct stk__pool *pool, int class, size_t capacity)
{
    size_t total = piece_bytes(capacity);
    struct stk_buffer *b = stk__regions_take(&pool->regions, class, &total);
    if (!b)
        return NULL;
    *b = (struct stk_buffer){ .memory = STK_HEAP,
                              .data = (uint8_t *)(b + 1),
                              .capacity = total - sizeof *b - TAIL };
    memset(b->data + b->capacity, 0, TAIL);
    return b;
}

static void small_free(struct stk__pool *pool, struct stk_buffer *b)
{
    stk__regions_give(&pool->regions, b, piece_bytes(b->capacity));
    if (kept_bytes(pool) > pool->keep_bytes)
        stk__regions_trim(&pool->regions, pool->keep_bytes - pool->kept_bytes);
}

/* ---- large ones ---- */

static struct stk_buffer *large_new(size_t capacity)
{
    struct stk_buffer *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->data = stk__memory_take(capacity + TAIL);
    if (!b->data) {
        free(b);
        return NULL;
    }
    b->capacity = capacity;
    b->memory = STK_HEAP;
    return b;
}

/* The smallest buffer that fits and is less than twice too large: files of all sizes would otherwise
 * fill every class. Called with the lock held. */
static struct stk_buffer *take_kept(struct stk__pool *pool, int class)
{
    int last = class + 3 < N_CLASSES - 1 ? class + 3 : N_CLASSES - 1;
    for (int c = class; c <= last; c++) {
        struct stk_buffer *b = pool->kept[c];
        if (b) {
            pool->kept[c] = b->next;
            pool->kept_bytes -= mapped_bytes(b->capacity);
            return b;
        }
    }
    return NULL;
}

/* Called with the lock held: gives one back to those that are kept, if it may be. */
static bool put_kept(struct stk__pool *pool, struct stk_buffer *b)
{
    size_t size, bytes = mapped_bytes(b->capacity);
    int class = class_of(b->capacity, &size);
    if (bytes > pool->keep_bytes || kept_bytes(pool) > pool->keep_bytes - bytes) {
        pool->large_bytes -= bytes;
        return false;
    }
    b->next = pool->kept[class];
    pool->kept[class] = b;
    pool->kept_bytes += bytes;
    return true;
}

/* ---- both ---- */

struct stk_buffer *stk__buffer_new(struct stk__pool *pool, size_t bytes)
{
    size_t size;
    if (bytes > (size_t)1 << 46)
        return NULL;
    int c = class_of(bytes, &size);
    bool is_large = !is_small(size);
    pthread_mutex_lock(&pool->lock);
    struct stk_buffer *b = is_large ? take_kept(pool, c) : small_new(pool, c, size);
    bool is_missing = !b && is_large;
    pool->large_bytes += is_missing ? mapped_bytes(size) : 0;
    pool->peak_bytes = bytes_of(pool) > pool->peak_bytes ? bytes_of(pool) : pool->peak_bytes;
    pool->refs++;
    pthread_mutex_unlock(&pool->lock);
    if (is_missing)
        b = large_new(size);
    if (!b) {
        pthread_mutex_lock(&pool->lock);
        pool->large_bytes -= is_missing ? mapped_bytes(size) : 0;
        drop_ref(pool);
        return NULL;
    }
    b->bytes = bytes;
    b->pool = pool;
    b->next = NULL;
    atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

struct stk_buffer *stk__buffer_wrap(struct stk__pool *pool, struct stk_span data, size_t total,
                                    void (*release)(void *context), void *context)
{
    struct stk_buffer *b = malloc(sizeof *b);
    if (!b)
        return NULL;
    *b = (struct stk_buffer){ .refs = 1,
                              .memory = STK_HEAP,
                              .data = data.data,
                              .bytes = data.bytes,
                              .capacity = total,
                              .pool = pool,
                              .release = release,
                              .context = context };
    pthread_mutex_lock(&pool->lock);
    pool->refs++;
    pool->large_bytes += total;
    pool->peak_bytes = bytes_of(pool) > pool->peak_bytes ? bytes_of(pool) : pool->peak_bytes;
    pthread_mutex_unlock(&pool->lock);
    return b;
}

static void free_wrapped(struct stk_buffer *b)
{
    struct stk__pool *pool = b->pool;
    if (pool) {
        pthread_mutex_lock(&pool->lock);
        pool->large_bytes -= b->capacity;
        drop_ref(pool);
    }
    if (b->release)
        b->release(b->context);
    free(b);
}

void stk__buffer_unref(struct stk_buffer *b)
{
    stk__buffer_unref_n(b, 1);
}

void stk__buffer_unref_n(struct stk_buffer *b, int n)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, n, memory_order_acq_rel) > n)
        return;
    struct stk__pool *pool = b->pool;
    if (!pool || b->release) {
        free_wrapped(b);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    bool is_large = !is_small(b->capacity), is_surplus = is_large && !put_kept(pool, b);
    if (!is_large)
        small_free(pool, b);
    drop_ref(pool);
    if (is_surplus)
        buffer_free(b);
}
