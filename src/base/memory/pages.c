/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c: small pieces from malloc, large ones mapped.
 *
 * malloc keeps large pieces that were freed once (its threshold for mapping grows), per thread:
 * a run with a few large images held 60 MB more than it used, one with chunks of 48 KB 15 MB.
 */
#define _GNU_SOURCE
#include "base/memory/pages.h"

#include "base/clock.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 };

static const size_t mapped_from = (size_t)16 << 10, huge_page = (size_t)2 << 20;

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

size_t stk__memory_bytes(size_t bytes)
{
    return bytes < mapped_from ? bytes : whole_pages(bytes);
}

static void *map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Asks for huge pages: one page fault on the first touch instead of 512. */
static void *map_huge(size_t bytes)
{
    size_t length = whole_pages(bytes);
    uint8_t *memory = map(length + huge_page);
    if (!memory)
        return NULL;
    size_t before = (huge_page - (uintptr_t)memory % huge_page) % huge_page;
    if (before)
        munmap(memory, before);
    if (before < huge_page)
        munmap(memory + before + length, huge_page - before);
    madvise(memory + before, length, MADV_HUGEPAGE); /* a hint */
    return memory + before;
}

void *stk__memory_take(size_t bytes)
{
    if (bytes < mapped_from)
        return aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
    if (bytes > SIZE_MAX / 2)
        return NULL;
    return bytes < 2 * huge_page ? map(bytes) : map_huge(bytes);
}

void stk__memory_free(void *memory, size_t bytes)
{
    if (memory && bytes >= mapped_from)
        munmap(memory, bytes);
    else
        free(memory);
}

bool stk__memory_trim(void)
{
    static _Atomic uint64_t not_before; /* pairs with itself: whoever moves it trims */
    const uint64_t times = 4;
    uint64_t now = stk__clock_ns(), due = atomic_load(&not_before);
    if (now < due || !atomic_compare_exchange_strong(&not_before, &due, UINT64_MAX))
        return false;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    uint64_t took = stk__clock_ns() - now;
    atomic_store(&not_before, now + times * took);
    return true;
}

/* Pages within a piece; its first and last bytes are malloc's. */
static void empty_piece(uint8_t *piece, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *from = piece + page - (uintptr_t)piece % page;
    uint8_t *end = piece + bytes - (uintptr_t)(piece + bytes) % page;
    madvise(from, (size_t)(end - from), MADV_DONTNEED);
}

static void empty_pieces(size_t bytes, size_t piece_bytes)
{
    void **first = NULL, **next;
    for (size_t n = bytes / piece_bytes + 1; n && (next = malloc(piece_bytes)); n--) {
        empty_piece((uint8_t *)(next + 1), piece_bytes - sizeof *next);
        *next = first;
        first = next;
    }
    for (; first; first = next) {
        next = *first;
        free(first);
    }
}

/* Takes all of it in pieces and frees them without their pages. Small pieces malloc never maps, but a page of each
 * stays. Who left much had large ones itself, which malloc may no longer map since: then they cover those pages. */
void stk__memory_give_back(size_t bytes)
{
    const size_t much = (size_t)4 << 20, large = (size_t)1 << 20, small = (size_t)96 << 10;
    empty_pieces(bytes, small);
    if (bytes >= much)
        empty_pieces(bytes, large);
}
