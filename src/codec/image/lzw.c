/* SPDX-License-Identifier: Apache-2.0 */
/* lzw.c: the compression of GIF, undone.
 *
 * A new code stands for the string before it and one byte more, the first of the string that
 * follows. In the output the two lie side by side, so a code is a place in the output and a length:
 *
 *     output   … t h e _ t h | e …        code n = 3 bytes at t
 *                        ^^^   ^
 *                 last string  first byte of the current one
 *
 * The byte behind the last string may be the one about to be written, which copying forwards gets
 * right.
 */
#include "codec/image/lzw.h"

#include "base/cancel.h"

#include <string.h>

enum { MAX_BITS = STK__LZW_MAX_BITS, MAX_CODES = 1 << MAX_BITS, LOOKS_EVERY = 1 << 16 };

struct lzw {
    const uint8_t *src, *end;
    uint32_t held; /* bits read and not used, the next one lowest */
    int n_held, width;
    unsigned n_codes; /* known, with the two that mean something else */
    uint32_t at[MAX_CODES];
    uint16_t len[MAX_CODES];
};

static int next_code(struct lzw *lzw)
{
    while (lzw->n_held < lzw->width) {
        if (lzw->src == lzw->end)
            return -1;
        lzw->held |= (uint32_t)*lzw->src++ << lzw->n_held;
        lzw->n_held += 8;
    }
    unsigned code = lzw->held & ((1u << lzw->width) - 1);
    lzw->held >>= lzw->width;
    lzw->n_held -= lzw->width;
    return (int)code;
}

static void learn(struct lzw *lzw, size_t last_at, size_t last_len)
{
    if (!last_len || lzw->n_codes >= MAX_CODES)
        return;
    lzw->at[lzw->n_codes] = (uint32_t)last_at;
    lzw->len[lzw->n_codes++] = (uint16_t)(last_len + 1);
    if (lzw->n_codes == 1u << lzw->width && lzw->width < MAX_BITS)
        lzw->width++;
}

/* Most strings are shorter than a call of memcpy is worth. */
static size_t copy_string(uint8_t *dst, size_t at, size_t n_dst, size_t from, size_t len)
{
    enum { SHORT = 12 };
    if (len > n_dst - at)
        len = n_dst - at;
    if (len > SHORT && from + len <= at)
        memcpy(dst + at, dst + from, len);
    else
        for (size_t i = 0; i < len; i++)
            dst[at + i] = dst[from + i];
    return len;
}

enum stk__lzw_end stk__lzw_decode(const uint8_t *src, size_t n_src, int n_bits, uint8_t *dst,
                                  size_t n_dst, size_t *n_written)
{
    const unsigned clear = 1u << n_bits, stop = clear + 1;
    struct lzw lzw;
    lzw.src = src;
    lzw.end = src + n_src;
    lzw.held = 0;
    lzw.n_held = 0;
    lzw.width = n_bits + 1;
    lzw.n_codes = clear + 2;
    size_t at = 0, last_at = 0, last_len = 0, n_codes = 0;
    for (; at < n_dst; at += last_len) {
        *n_written = at;
        if (++n_codes % LOOKS_EVERY == 0 && stk__cancel_is_asked())
            return STK__LZW_CUT;
        int next = next_code(&lzw);
        unsigned code = (unsigned)next;
        if (next < 0 || code == stop)
            return STK__LZW_CUT;
        if (code == clear) {
            lzw.width = n_bits + 1;
            lzw.n_codes = clear + 2;
            last_len = 0;
            continue;
        }
        learn(&lzw, last_at, last_len);
        if (code >= lzw.n_codes)
            return STK__LZW_BAD;
        last_at = at;
        if (code < clear) {
            dst[at] = (uint8_t)code;
            last_len = 1;
        } else {
            last_len = copy_string(dst, at, n_dst, lzw.at[code], lzw.len[code]);
        }
    }
    *n_written = at;
    return STK__LZW_FULL;
}
