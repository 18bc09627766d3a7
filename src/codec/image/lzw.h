/* SPDX-License-Identifier: Apache-2.0 */
/* lzw.h: the compression of GIF, undone; private to this room. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Of codes, as they begin and as they grow. GIF wants 1 to 8 to begin with; Pillow takes these too. */
enum { STK__LZW_MAX_BITS = 12 };

enum stk__lzw_end {
    STK__LZW_FULL, /* all of dst is written */
    STK__LZW_CUT,  /* the codes, or their end mark, came before that */
    STK__LZW_BAD,  /* a code that stands for nothing */
};

/* Decodes codes that begin with n_bits + 1 bits (n_bits: 0 to 12; of values above 255 the low byte
 * counts); says in n_written how much of dst it wrote. dst holds fewer than 2^32 bytes. */
enum stk__lzw_end stk__lzw_decode(const uint8_t *src, size_t n_src, int n_bits, uint8_t *dst,
                                  size_t n_dst, size_t *n_written);
