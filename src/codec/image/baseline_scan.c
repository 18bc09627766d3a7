/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_scan.c: from the coded bytes of a file to the loops that decode them.
 *
 *     file      … 3f ff 00 a1 7c ff d9        buffer   … 3f ff a1 7c
 *                       └ stuffed   └ marker                        └ filled
 *
 * The loops do not look where the data end. They are given room to run on over whatever is in the
 * buffer, for as long as the blocks they were asked for can take, and are judged afterwards.
 */
#include "codec/image/baseline.h"

#include <limits.h>
#include <string.h>

enum { RESTART = 0xd0 };

/* A window of bits reaches that far beyond the last byte. */
enum { OVERRUN = 8 };

static uint8_t *end_of_buffer(struct stk__jpeg_scan *scan)
{
    return scan->buffer + STK__SCAN_BUFFER;
}

/* Appends up to n bytes of what the file has up to the next marker. */
static void append(struct stk__jpeg_scan *scan, size_t n)
{
    size_t room = (size_t)(end_of_buffer(scan) - scan->filled);
    struct stk__jpeg_copy copy = { .dst = scan->filled,
                                   .dst_end = scan->filled + (n < room ? n : room),
                                   .src = scan->src,
                                   .src_end = scan->end };
    scan->is_complete = scan->kernels->unstuff(&copy);
    scan->filled = copy.dst;
    scan->src = copy.src;
}

/* Sees to it that the next n bytes lie within the buffer, and are filled as far as there are any.
 * A piece at a time, so that what no region needs is not touched. */
static void prepare(struct stk__jpeg_scan *scan, size_t n)
{
    enum { PIECE = 64 << 10 };
    _Static_assert((int)PIECE >= (int)STK__JPEG_MAX_RUN_BYTES, "one piece is enough");
    ptrdiff_t n_unread = scan->filled - scan->bits.next;
    if ((size_t)(end_of_buffer(scan) - scan->bits.next) < n) {
        uint8_t *front = scan->buffer + OVERRUN;
        if (n_unread > 0)
            memmove(front, scan->bits.next, (size_t)n_unread);
        scan->bits.next = front;
        scan->filled = front + n_unread;
    }
    if (!scan->is_complete && n_unread < (ptrdiff_t)n)
        append(scan, PIECE);
}

static void begin(struct stk__jpeg_scan *scan, const struct stk__jpeg_header *header)
{
    scan->bits = (struct stk__jpeg_bits){ .next = scan->buffer };
    scan->filled = scan->buffer;
    scan->is_complete = false;
    scan->mcus_left = header->restart_interval ? header->restart_interval : INT_MAX;
}

void stk__jpeg_scan_open(struct stk__jpeg_scan *scan, const struct stk__jpeg_header *header,
                         const struct stk__jpeg_kernels *kernels)
{
    scan->kernels = kernels;
    scan->src = header->scan;
    scan->end = header->end;
    scan->next_restart = 0;
    begin(scan, header);
}

/* Bits between the last one used and the end of the buffer's bytes; negative: there were not
 * enough. */
static ptrdiff_t bits_left(const struct stk__jpeg_scan *scan)
{
    return (scan->filled - scan->bits.next) * 8 + (ptrdiff_t)scan->bits.n_bits;
}

bool stk__jpeg_scan_restart(struct stk__jpeg_scan *scan, const struct stk__jpeg_header *header,
                            bool *is_restart)
{
    *is_restart = scan->mcus_left == 0;
    if (!*is_restart)
        return true;
    if (!scan->is_complete)
        append(scan, 1);
    if (!scan->is_complete || bits_left(scan) >= 8 || scan->end - scan->src < 2 ||
        scan->src[1] != RESTART + scan->next_restart)
        return false;
    scan->src += 2;
    scan->next_restart = (scan->next_restart + 1) & 7;
    begin(scan, header);
    return true;
}

bool stk__jpeg_scan_blocks(struct stk__jpeg_scan *scan, const struct stk__jpeg_table *dc,
                           struct stk__jpeg_chunk *chunk, int n, int16_t *differences)
{
    prepare(scan, (size_t)n * STK__JPEG_MAX_BLOCK_BYTES + 16);
    const struct stk__jpeg_kernels *kernels = scan->kernels;
    bool is_good = differences ? kernels->skip(&scan->bits, dc, chunk, n, differences)
                               : kernels->decode(&scan->bits, dc, chunk, n);
    return is_good && bits_left(scan) >= 0;
}

/* The library reads a few bytes ahead: if they are not there it complains. */
bool stk__jpeg_scan_is_clean(struct stk__jpeg_scan *scan)
{
    enum { A_FEW = 64 };
    prepare(scan, A_FEW);
    if (!scan->is_complete)
        return true;
    return scan->end - scan->src >= 2 && scan->src[1] != 0xff;
}
