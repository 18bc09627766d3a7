/* SPDX-License-Identifier: Apache-2.0 */
/* regions.h: pieces of memory below 64 KB that go back to the system when they are freed.
 *
 * A region is 256 KB that are mapped, with pieces of one size; one without pieces is unmapped. malloc would
 * keep what is freed, in an arena for each thread: a run with 20 MB of buffers held 17 MB more. Under
 * AddressSanitizer pieces are malloc's, so that it sees each of them.
 *
 *      | head | piece | piece | … |      an address leads to its head: regions are aligned
 *
 * Guarded by a lock of whoever has it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { STK__REGION_SIZES = 33, STK__LARGEST_PIECE = 64 << 10 };

struct stk__regions {
    struct stk__region *open[STK__REGION_SIZES]; /* with pieces that are free */
};

/* All pieces of one `class` have the same size, a multiple of 64 up to STK__LARGEST_PIECE. 64-byte
 * aligned, contents undefined; NULL when out of memory. */
void *stk__regions_take(struct stk__regions *regions, int class, size_t bytes);
void stk__regions_give(struct stk__regions *regions, void *piece);
