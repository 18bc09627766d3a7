/* SPDX-License-Identifier: Apache-2.0 */
/* regions.h: pieces of memory up to 20 KB that go back to the system when they are freed.
 *
 * A region is 256 KB that are mapped, with pieces of one size. malloc would keep what is freed, in an arena for
 * each thread: a run with 20 MB of buffers held 17 MB more. Under AddressSanitizer pieces are malloc's, so
 * that it sees each of them.
 *
 *      | head | piece | piece | … |      an address leads to its head: regions are aligned
 *
 * Pieces that are free in a region with others that are not stay with the system's pages: so what is counted
 * is what was touched of every region, and a piece is taken from regions that have some before there is
 * another region. One without pieces in use is empty: it serves any size, or is unmapped.
 *
 * Guarded by a lock of whoever has it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { STK__REGION_SIZES = 25, STK__LARGEST_PIECE = 20 << 10 };

struct stk__regions {
    struct stk__memory_region
        *open[STK__REGION_SIZES]; /* with pieces in use, and some that are free */
    struct stk__memory_region *empty;
    void *vacant;              /* where one was: the next may lie there */
    size_t bytes, empty_bytes; /* touched, of all and of those that are empty */
};

/* A piece of at least `bytes`, and sets them to its size. All pieces of one `class` have the same size, a multiple of
 * 64 up to STK__LARGEST_PIECE; those of the next class are somewhat larger, and better than another region.
 * 64-byte aligned, contents undefined; NULL when out of memory. */
void *stk__regions_take(struct stk__regions *regions, int class, size_t *bytes);

/* `bytes` as it was set. */
void stk__regions_give(struct stk__regions *regions, void *piece, size_t bytes);

/* Unmaps empty regions until those have at most so many bytes. */
void stk__regions_trim(struct stk__regions *regions, size_t empty_bytes);
