/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c: pools with size classes a quarter of a power of two apart. */
#include "base/buffer.h"

#include "base/memory.h"
#include "base/regions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, TAIL = 64, N_CLASSES = 4 * 48, MIN_SHIFT = 8 };

struct stk__pool {
    pthread_mutex_t lock; /* guards all that follows */
    int refs;             /* the owner's and one per buffer in use */
    size_t bytes, kept_bytes, keep_bytes, peak_bytes;
    struct stk_buffer *kept[N_CLASSES];
    struct stk__regions regions; /* of the small ones */
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
    pool->keep_bytes = SIZE_MAX;
    return pool;
}

static size_t total_bytes(size_t capacity)
{
    return (capacity + TAIL + ALIGN - 1) / ALIGN * ALIGN;
}

static bool is_small(size_t capacity)
{
    return total_bytes(capacity) <= STK__LARGEST_PIECE;
}

/* Called with the lock held, before buffer_free without it. */
static void give_piece(struct stk__pool *pool, struct stk_buffer *buffer)
{
    if (!is_small(buffer->capacity))
        return;
    stk__regions_give(&pool->regions, buffer->data);
    buffer->data = NULL;
}

static void buffer_free(struct stk_buffer *buffer)
{
    stk__memory_free(buffer->data, total_bytes(buffer->capacity));
    free(buffer);
}

/* Called with the lock held; returns a list to free outside it. */
static struct stk_buffer *cut_kept(struct stk__pool *pool, size_t keep_bytes)
{
    struct stk_buffer *cut = NULL;
    for (int c = N_CLASSES - 1; c >= 0 && pool->kept_bytes > keep_bytes; c--) {
        while (pool->kept[c] && pool->kept_bytes > keep_bytes) {
            struct stk_buffer *b = pool->kept[c];
            pool->kept[c] = b->next;
            pool->kept_bytes -= b->capacity;
            pool->bytes -= b->capacity;
            give_piece(pool, b);
            b->next = cut;
            cut = b;
        }
    }
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
    struct stk_buffer *cut =
        cut_kept(pool, bytes < pool->kept_bytes ? pool->kept_bytes - bytes : 0);
    pthread_mutex_unlock(&pool->lock);
    free_list(cut);
}

size_t stk__pool_bytes(struct stk__pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t bytes = pool->bytes;
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

/* The lock is held where the buffer is small. */
static struct stk_buffer *buffer_alloc(struct stk__pool *pool, int class, size_t capacity)
{
    struct stk_buffer *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    size_t total = total_bytes(capacity);
    b->data = is_small(capacity) ? stk__regions_take(&pool->regions, class, total)
                                 : stk__memory_take(total);
    if (!b->data) {
        free(b);
        return NULL;
    }
    memset(b->data + capacity, 0, total - capacity);
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
            return b;
        }
    }
    return NULL;
}

struct stk_buffer *stk__buffer_new(struct stk__pool *pool, size_t bytes)
{
    size_t size;
    if (bytes > (size_t)1 << 46)
        return NULL;
    int c = class_of(bytes, &size);
    pthread_mutex_lock(&pool->lock);
    struct stk_buffer *b = take_kept(pool, c);
    if (b) {
        pool->kept_bytes -= b->capacity;
    } else {
        pool->bytes += size;
        pool->peak_bytes = pool->bytes > pool->peak_bytes ? pool->bytes : pool->peak_bytes;
    }
    pool->refs++;
    if (!b && is_small(size))
        b = buffer_alloc(pool, c, size);
    pthread_mutex_unlock(&pool->lock);
    if (!b && (is_small(size) || !(b = buffer_alloc(pool, c, size)))) {
        pthread_mutex_lock(&pool->lock);
        pool->bytes -= size;
        drop_ref(pool);
        return NULL;
    }
    b->bytes = bytes;
    b->pool = pool;
    b->next = NULL;
    atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
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
    if (!pool) {
        if (b->release)
            b->release(b->context);
        free(b);
        return;
    }
    size_t size;
    int c = class_of(b->capacity, &size);
    pthread_mutex_lock(&pool->lock);
    bool is_kept =
        b->capacity <= pool->keep_bytes && pool->kept_bytes <= pool->keep_bytes - b->capacity;
    if (is_kept) {
        b->next = pool->kept[c];
        pool->kept[c] = b;
        pool->kept_bytes += b->capacity;
    } else {
        pool->bytes -= b->capacity;
        give_piece(pool, b);
    }
    drop_ref(pool);
    if (!is_kept)
        buffer_free(b);
}
