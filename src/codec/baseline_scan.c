/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_scan.c: from the coded bytes of a file to the loops that decode them.
 *
 *     file      … 3f ff 00 a1 7c ff d9        buffer   … 3f ff a1 7c
 *                       └ stuffed   └ marker                        └ filled
 *
 * The loops do not look where the data end. They are given room to run on over whatever is in the
 * buffer, for as long as the blocks they were asked for can take, and are judged afterwards.
 */
#include "codec/baseline.h"

#include <limits.h>
#include <string.h>

enum { RESTART = 0xd0 };

/* Bytes in the buffer that were not yet looked at. */
static size_t unread(const struct stk__jpeg_scan *scan)
{
    return (size_t)(scan->filled - scan->bits.next);
}

static uint8_t *end_of_buffer(struct stk__jpeg_scan *scan)
{
    return scan->buffer + STK__SCAN_BUFFER;
}

/* Appends what the file has up to the next marker, as far as there is room. */
static void unstuff(struct stk__jpeg_scan *scan)
{
    uint8_t *dst = scan->filled;
    const uint8_t *src = scan->src;
    while (dst < end_of_buffer(scan)) {
        size_t n = (size_t)(scan->end - src), room = (size_t)(end_of_buffer(scan) - dst);
        const uint8_t *ff = memchr(src, 0xff, n < room ? n : room);
        if (ff)
            n = (size_t)(ff - src);
        bool is_stuffed = ff && scan->end - ff > 1 && ff[1] == 0;
        n = n < room ? n : room;
        memcpy(dst, src, n);
        dst += n;
        src += n;
        if (is_stuffed) {
            *dst++ = 0xff;
            src += 2;
        } else if (ff || src == scan->end) {
            scan->is_complete = true;
            break;
        }
    }
    scan->filled = dst;
    scan->src = src;
}

/* Moves the bytes that are left to the front of the buffer, and appends more. */
static void refill(struct stk__jpeg_scan *scan)
{
    size_t n = unread(scan);
    memmove(scan->buffer, scan->bits.next, n);
    scan->bits.next = scan->buffer;
    scan->filled = scan->buffer + n;
    if (!scan->is_complete)
        unstuff(scan);
}

static void begin(struct stk__jpeg_scan *scan, const struct stk__jpeg_header *header)
{
    scan->bits = (struct stk__jpeg_bits){ .next = scan->buffer };
    scan->filled = scan->buffer;
    scan->is_complete = false;
    scan->mcus_left = header->restart_interval ? header->restart_interval : INT_MAX;
    unstuff(scan);
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
    if (!scan->is_complete || bits_left(scan) >= 8 || scan->end - scan->src < 2 ||
        scan->src[1] != RESTART + scan->next_restart)
        return false;
    scan->src += 2;
    scan->next_restart = (scan->next_restart + 1) & 7;
    begin(scan, header);
    return true;
}

bool stk__jpeg_scan_blocks(struct stk__jpeg_scan *scan, const struct stk__jpeg_table *dc,
                           struct stk__jpeg_chunk *chunk, int n, bool is_skipped)
{
    size_t most = (size_t)n * STK__JPEG_MAX_BLOCK_BYTES + 16;
    if ((size_t)(end_of_buffer(scan) - scan->bits.next) < most ||
        (!scan->is_complete && unread(scan) < most))
        refill(scan);
    const struct stk__jpeg_kernels *kernels = scan->kernels;
    bool is_decoded = (is_skipped ? kernels->skip : kernels->decode)(&scan->bits, dc, chunk, n);
    return is_decoded && bits_left(scan) >= 0;
}

/* The library reads a few bytes ahead: if they are not there it complains. */
bool stk__jpeg_scan_is_clean(struct stk__jpeg_scan *scan)
{
    if (!scan->is_complete)
        refill(scan);
    if (!scan->is_complete)
        return true;
    return scan->end - scan->src >= 2 && scan->src[1] != 0xff;
}
