/* SPDX-License-Identifier: Apache-2.0 */
/* regions.c: mapping regions, and the lists of their free pieces. */
#define _GNU_SOURCE
#include "base/regions.h"

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

void *stk__regions_take(struct stk__regions *regions, int class, size_t bytes)
{
    (void)regions;
    (void)class;
    return aligned_alloc(64, bytes);
}

void stk__regions_give(struct stk__regions *regions, void *piece)
{
    (void)regions;
    free(piece);
}

#else

static const size_t region_bytes = (size_t)256 << 10;

struct stk__region {
    struct stk__region *next, *before; /* among those with free pieces */
    void *free;                        /* pieces that were given back; each begins with the next */
    uint8_t *fresh, *end;              /* those that nobody had yet */
    size_t piece_bytes;
    int class, n_used;
    _Alignas(64) uint8_t data[];
};

static struct stk__region *map_region(void)
{
    uint8_t *memory =
        mmap(NULL, 2 * region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    size_t before = (region_bytes - (uintptr_t)memory % region_bytes) % region_bytes;
    if (before)
        munmap(memory, before);
    munmap(memory + before + region_bytes, region_bytes - before);
    return (struct stk__region *)(void *)(memory + before);
}

static void link_region(struct stk__regions *regions, struct stk__region *region)
{
    region->before = NULL;
    region->next = regions->open[region->class];
    if (region->next)
        region->next->before = region;
    regions->open[region->class] = region;
}

static void unlink_region(struct stk__regions *regions, struct stk__region *region)
{
    *(region->before ? &region->before->next : &regions->open[region->class]) = region->next;
    if (region->next)
        region->next->before = region->before;
}

static bool is_full(const struct stk__region *region)
{
    return !region->free && region->fresh == region->end;
}

static struct stk__region *add_region(struct stk__regions *regions, int class, size_t bytes)
{
    struct stk__region *region = map_region();
    if (!region)
        return NULL;
    size_t n = (region_bytes - offsetof(struct stk__region, data)) / bytes;
    *region = (struct stk__region){ .fresh = region->data,
                                    .end = region->data + n * bytes,
                                    .piece_bytes = bytes,
                                    .class = class };
    link_region(regions, region);
    return region;
}

void *stk__regions_take(struct stk__regions *regions, int class, size_t bytes)
{
    struct stk__region *region = regions->open[class];
    if (!region && !(region = add_region(regions, class, bytes)))
        return NULL;
    void *piece = region->free;
    if (piece) {
        memcpy(&region->free, piece, sizeof piece);
    } else {
        piece = region->fresh;
        region->fresh += region->piece_bytes;
    }
    region->n_used++;
    if (is_full(region))
        unlink_region(regions, region);
    return piece;
}

void stk__regions_give(struct stk__regions *regions, void *piece)
{
    uint8_t *start = (uint8_t *)piece - (uintptr_t)piece % region_bytes;
    struct stk__region *region = (struct stk__region *)(void *)start;
    bool was_full = is_full(region);
    memcpy(piece, &region->free, sizeof piece);
    region->free = piece;
    if (was_full)
        link_region(regions, region);
    if (--region->n_used)
        return;
    unlink_region(regions, region);
    munmap(region, region_bytes);
}

#endif
