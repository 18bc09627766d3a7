/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_cache.c: a few slots, filled in turn, and never more than a number of bytes. */
#include "op/array/chunk_cache.h"

#include <pthread.h>
#include <stdlib.h>

enum { N_SLOTS = 32, MOST_BYTES = 32 << 20 };

struct slot {
    const void *array;
    uint64_t number;
    struct stk_buffer *chunk; /* NULL: free */
};

struct stk__chunk_cache {
    pthread_mutex_t lock; /* of all that follows but the pool */
    struct slot slot[N_SLOTS];
    int next;
    size_t bytes, most_bytes;
    struct stk__pool *pool;
};

struct stk__chunk_cache *stk__chunk_cache_new(void)
{
    struct stk__chunk_cache *cache = calloc(1, sizeof *cache);
    if (!cache || !(cache->pool = stk__pool_new())) {
        free(cache);
        return NULL;
    }
    pthread_mutex_init(&cache->lock, NULL);
    stk__chunk_cache_limit(cache, MOST_BYTES);
    return cache;
}

void stk__chunk_cache_free(struct stk__chunk_cache *cache)
{
    if (!cache)
        return;
    for (int i = 0; i < N_SLOTS; i++)
        stk__buffer_unref(cache->slot[i].chunk);
    stk__pool_unref(cache->pool);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

struct stk_buffer *stk__chunk_cache_find(struct stk__chunk_cache *cache, const void *array,
                                         uint64_t number)
{
    struct stk_buffer *found = NULL;
    pthread_mutex_lock(&cache->lock);
    for (int i = 0; i < N_SLOTS && !found; i++) {
        const struct slot *slot = &cache->slot[i];
        if (slot->chunk && slot->array == array && slot->number == number)
            found = stk__buffer_ref(slot->chunk);
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

struct stk_buffer *stk__chunk_cache_room(struct stk__chunk_cache *cache, size_t bytes)
{
    return stk__buffer_new(cache->pool, bytes);
}

/* Empties the next slot; what was in it is returned. */
static struct stk_buffer *evict(struct stk__chunk_cache *cache)
{
    struct slot *slot = &cache->slot[cache->next];
    struct stk_buffer *old = slot->chunk;
    cache->next = (cache->next + 1) % N_SLOTS;
    cache->bytes -= old ? old->capacity : 0;
    *slot = (struct slot){ 0 };
    return old;
}

void stk__chunk_cache_add(struct stk__chunk_cache *cache, const void *array, uint64_t number,
                          struct stk_buffer *chunk)
{
    pthread_mutex_lock(&cache->lock);
    while (cache->bytes && cache->bytes + chunk->capacity > cache->most_bytes)
        stk__buffer_unref(evict(cache));
    if (chunk->capacity <= cache->most_bytes) {
        int at = cache->next;
        stk__buffer_unref(evict(cache));
        cache->slot[at] = (struct slot){ array, number, stk__buffer_ref(chunk) };
        cache->bytes += chunk->capacity;
    }
    pthread_mutex_unlock(&cache->lock);
}

/* What the pool keeps for the next chunks counts as much as the chunks do. */
void stk__chunk_cache_limit(struct stk__chunk_cache *cache, size_t bytes)
{
    pthread_mutex_lock(&cache->lock);
    cache->most_bytes = bytes < MOST_BYTES ? bytes : MOST_BYTES;
    pthread_mutex_unlock(&cache->lock);
    stk__pool_limit(cache->pool, bytes < MOST_BYTES ? bytes / 4 : MOST_BYTES / 4);
}

void stk__chunk_cache_empty(struct stk__chunk_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    for (int i = 0; i < N_SLOTS; i++)
        stk__buffer_unref(evict(cache));
    pthread_mutex_unlock(&cache->lock);
    stk__pool_trim(cache->pool, SIZE_MAX);
}

size_t stk__chunk_cache_bytes(struct stk__chunk_cache *cache)
{
    return stk__pool_bytes(cache->pool);
}

size_t stk__chunk_cache_peak(struct stk__chunk_cache *cache)
{
    return stk__pool_peak(cache->pool);
}
