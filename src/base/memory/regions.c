/* SPDX-License-Identifier: Apache-2.0 */
/* regions.c: mapping regions, and the lists of their free pieces. */
#define _GNU_SOURCE
#include "base/memory/regions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#endif

#ifdef HAS_SANITIZER

void *stk__regions_take(struct stk__regions *regions, int class, size_t *bytes)
{
    (void)class;
    void *piece = aligned_alloc(64, *bytes);
    regions->bytes += piece ? *bytes : 0;
    return piece;
}

void stk__regions_give(struct stk__regions *regions, void *piece, size_t bytes)
{
    regions->bytes -= bytes;
    free(piece);
}

void stk__regions_trim(struct stk__regions *regions, size_t empty_bytes)
{
    (void)regions;
    (void)empty_bytes;
}

#else

static const size_t region_bytes = (size_t)256 << 10, page_bytes = 4096;

struct stk__memory_region {
    struct stk__memory_region *next,
        *before;          /* among those with free pieces; of empty ones, next alone */
    void *free;           /* pieces that were given back; each begins with the next */
    uint8_t *fresh, *end; /* those that nobody had yet */
    size_t piece_bytes;
    size_t touched_bytes; /* from its start on, by whatever pieces it had */
    int class, n_used;
    _Alignas(64) uint8_t data[];
};

static uint8_t *map(void *there, size_t bytes)
{
    void *memory = mmap(there, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Where one was before, or else wherever it is aligned. */
static struct stk__memory_region *map_region(void *vacant)
{
    uint8_t *memory = vacant ? map(vacant, region_bytes) : NULL;
    if (memory && (uintptr_t)memory % region_bytes == 0)
        return (struct stk__memory_region *)(void *)memory;
    if (memory)
        munmap(memory, region_bytes);
    memory = map(NULL, 2 * region_bytes);
    if (!memory)
        return NULL;
    size_t before = (region_bytes - (uintptr_t)memory % region_bytes) % region_bytes;
    if (before)
        munmap(memory, before);
    munmap(memory + before + region_bytes, region_bytes - before);
    return (struct stk__memory_region *)(void *)(memory + before);
}

static void link_region(struct stk__regions *regions, struct stk__memory_region *region)
{
    region->before = NULL;
    region->next = regions->open[region->class];
    if (region->next)
        region->next->before = region;
    regions->open[region->class] = region;
}

static void unlink_region(struct stk__regions *regions, struct stk__memory_region *region)
{
    *(region->before ? &region->before->next : &regions->open[region->class]) = region->next;
    if (region->next)
        region->next->before = region->before;
}

static bool is_full(const struct stk__memory_region *region)
{
    return !region->free && region->fresh == region->end;
}

static struct stk__memory_region *pop_empty(struct stk__regions *regions)
{
    struct stk__memory_region *region = regions->empty;
    regions->empty = region->next;
    regions->empty_bytes -= region->touched_bytes;
    return region;
}

static struct stk__memory_region *add_region(struct stk__regions *regions, int class, size_t bytes)
{
    struct stk__memory_region *region =
        regions->empty ? pop_empty(regions) : map_region(regions->vacant);
    if (!region)
        return NULL;
    size_t n = (region_bytes - offsetof(struct stk__memory_region, data)) / bytes;
    *region =
        (struct stk__memory_region){ .fresh = region->data,
                                     .end = region->data + n * bytes,
                                     .piece_bytes = bytes,
                                     .touched_bytes = region->touched_bytes, /* of a new one: 0 */
                                     .class = class };
    link_region(regions, region);
    return region;
}

/* One with a free piece of this class or, if there is none, of the next one. */
static struct stk__memory_region *find_open(const struct stk__regions *regions, int class)
{
    for (int c = class; c < class + 2 && c < STK__REGION_SIZES; c++)
        if (regions->open[c])
            return regions->open[c];
    return NULL;
}

static void *take_fresh(struct stk__regions *regions, struct stk__memory_region *region)
{
    void *piece = region->fresh;
    region->fresh += region->piece_bytes;
    size_t used = (size_t)(region->fresh - (uint8_t *)region);
    if (used > region->touched_bytes) {
        size_t touched = (used + page_bytes - 1) / page_bytes * page_bytes;
        regions->bytes += touched - region->touched_bytes;
        region->touched_bytes = touched;
    }
    return piece;
}

void *stk__regions_take(struct stk__regions *regions, int class, size_t *bytes)
{
    struct stk__memory_region *region = find_open(regions, class);
    if (!region && !(region = add_region(regions, class, *bytes)))
        return NULL;
    void *piece = region->free;
    if (piece)
        memcpy(&region->free, piece, sizeof piece);
    else
        piece = take_fresh(regions, region);
    *bytes = region->piece_bytes;
    region->n_used++;
    if (is_full(region))
        unlink_region(regions, region);
    return piece;
}

void stk__regions_give(struct stk__regions *regions, void *piece, size_t bytes)
{
    uint8_t *start = (uint8_t *)piece - (uintptr_t)piece % region_bytes;
    struct stk__memory_region *region = (struct stk__memory_region *)(void *)start;
    bool was_full = is_full(region);
    (void)bytes;
    memcpy(piece, &region->free, sizeof piece);
    region->free = piece;
    if (was_full)
        link_region(regions, region);
    if (--region->n_used)
        return;
    unlink_region(regions, region);
    region->next = regions->empty;
    regions->empty = region;
    regions->empty_bytes += region->touched_bytes;
}

void stk__regions_trim(struct stk__regions *regions, size_t empty_bytes)
{
    while (regions->empty && regions->empty_bytes > empty_bytes) {
        struct stk__memory_region *region = pop_empty(regions);
        regions->bytes -= region->touched_bytes;
        regions->vacant = region;
        munmap(region, region_bytes);
    }
}

#endif
