/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c: bump allocation in a list of blocks. */
#include "base/memory/arena.h"

#include "base/memory/buffer.h"
#include "base/memory/gauge.h"
#include "base/memory/pages.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, TAIL = 64, MOST_KEPT = 4 << 20 };

struct stk__arena_block {
    struct stk__arena_block *next;
    size_t bytes, total; /* of data, and of the whole block */
    _Alignas(ALIGN) unsigned char data[];
};

void stk__arena_init(struct stk_arena *arena, size_t block_bytes)
{
    *arena = (struct stk_arena){ .block_bytes = block_bytes };
}

static void count(struct stk_arena *arena, size_t more_bytes, size_t fewer_bytes)
{
    arena->total_bytes += more_bytes - fewer_bytes;
    if (arena->gauge)
        stk__gauge_count(arena->gauge, more_bytes, fewer_bytes);
}

void stk__arena_free(struct stk_arena *arena)
{
    for (struct stk__arena_block *b = arena->first, *next; b; b = next) {
        next = b->next;
        stk__memory_free(b, b->total);
    }
    count(arena, 0, arena->total_bytes);
    arena->first = arena->current = NULL;
    arena->used = 0;
}

/* Of a block for `bytes`: with room for more of them, unless that is beyond what was set aside for the worker. */
static size_t block_bytes(const struct stk_arena *arena, size_t bytes)
{
    const size_t small = (size_t)64 << 10; /* is not worth counting */
    size_t wanted = arena->block_bytes > bytes ? arena->block_bytes
                                               : (bytes + bytes / 8 + ALIGN - 1) / ALIGN * ALIGN;
    if (!arena->gauge || wanted <= small)
        return wanted;
    size_t room = stk__gauge_room(arena->gauge), least = bytes > small ? bytes : small;
    return wanted <= room ? wanted : least > room ? least : room / ALIGN * ALIGN;
}

static struct stk__arena_block *block_new(struct stk_arena *arena, size_t bytes)
{
    size_t size = block_bytes(arena, bytes);
    struct stk__arena_block *b = NULL;
    if (size > SIZE_MAX - sizeof *b - TAIL)
        return NULL;
    size_t total = stk__memory_bytes((sizeof *b + size + TAIL + ALIGN - 1) / ALIGN * ALIGN);
    if (arena->gauge)
        stk__gauge_grow(arena, total);
    b = stk__memory_take(total);
    if (!b)
        return NULL;
    memset(b->data + size, 0, TAIL);
    b->bytes = size;
    b->total = total;
    count(arena, total, 0);
    return b;
}

void *stk__arena_take(struct stk_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    size_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct stk__arena_block *b = arena->current;
    size_t used = arena->used;
    while (b && used + need > b->bytes && b->next) {
        b = b->next;
        used = 0;
    }
    if (!b || used + need > b->bytes) {
        struct stk__arena_block *fresh = block_new(arena, need);
        if (!fresh)
            return NULL;
        fresh->next = NULL;
        *(b ? &b->next : &arena->first) = fresh;
        b = fresh;
        used = 0;
    }
    arena->current = b;
    arena->used = used + need;
    return b->data + used;
}

void *stk_arena_alloc(struct stk_arena *arena, size_t bytes)
{
    void *at = stk__arena_take(arena, bytes);
    if (at)
        memset(at, 0, bytes);
    return at;
}

char *stk__arena_text_n(struct stk_arena *arena, const char *text, size_t len)
{
    char *copy = stk__arena_take(arena, len + 1);
    if (copy) {
        memcpy(copy, text, len);
        copy[len] = 0;
    }
    return copy;
}

char *stk_arena_text(struct stk_arena *arena, const char *text)
{
    return stk__arena_text_n(arena, text, strlen(text));
}

char *stk__arena_printf(struct stk_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        return NULL;
    char *text = stk__arena_take(arena, (size_t)len + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}

/* The size of one block instead of several that held `bytes`: twice that, so that somewhat larger ones find
 * room. Scratch for large images gets all that may be kept at once: growing with each larger image
 * would touch fresh pages each time. */
static size_t merged_bytes(size_t bytes)
{
    const size_t small = (size_t)256 << 10, medium = (size_t)1 << 20;
    if (bytes <= small)
        return bytes;
    return bytes <= medium ? 2 * bytes : MOST_KEPT - sizeof(struct stk__arena_block) - TAIL;
}

/* Keeps the first block if that is small and all there was was too much. */
void stk__arena_reset(struct stk_arena *arena)
{
    size_t bytes = 0;
    for (const struct stk__arena_block *b = arena->first; b; b = b->next)
        bytes += b->bytes;
    struct stk__arena_block *first = arena->first;
    if (first && (first->next || bytes > MOST_KEPT)) {
        bool is_kept = bytes > MOST_KEPT && first->bytes <= MOST_KEPT;
        if (is_kept)
            arena->first = first->next;
        stk__arena_free(arena);
        if (is_kept) {
            first->next = NULL;
            arena->first = first;
            count(arena, first->total, 0);
        } else if (bytes <= MOST_KEPT) {
            arena->block_bytes = merged_bytes(bytes);
        }
    }
    arena->current = arena->first;
    arena->used = 0;
}

static void free_block(void *block)
{
    stk__memory_free(block, ((struct stk__arena_block *)block)->total);
}

struct stk_buffer *stk__arena_hand_over(struct stk_arena *arena, struct stk_span piece,
                                        struct stk__pool *pool)
{
    struct stk__arena_block **link = &arena->first, *b;
    while ((b = *link) && b->data != piece.data)
        link = &b->next;
    if (!b || b->bytes <= MOST_KEPT || piece.bytes < b->bytes / 2)
        return NULL;
    struct stk_buffer *buffer = stk__buffer_wrap(pool, piece, b->total, free_block, b);
    if (!buffer)
        return NULL;
    *link = b->next;
    count(arena, 0, b->total);
    if (arena->current == b) {
        arena->current = arena->first;
        arena->used = arena->first ? arena->first->bytes : 0;
    }
    return buffer;
}

bool stk__arena_is_empty(const struct stk_arena *arena)
{
    return arena->current == arena->first && arena->used == 0;
}

struct stk__arena_mark stk__arena_mark(const struct stk_arena *arena)
{
    return (struct stk__arena_mark){ arena->current, arena->used };
}

void stk__arena_rewind(struct stk_arena *arena, struct stk__arena_mark mark)
{
    arena->current = mark.block ? mark.block : arena->first;
    arena->used = mark.block ? mark.used : 0;
}
