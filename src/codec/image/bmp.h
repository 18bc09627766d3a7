/* SPDX-License-Identifier: Apache-2.0 */
/* bmp.h: the header of a BMP file and its run-length codes; private to this room. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stk__bmp_coding {
    STK__BMP_PLAIN,
    STK__BMP_RLE8,
    STK__BMP_RLE4,
    STK__BMP_MASKS,
    STK__BMP_ALPHA_MASKS = 6,
};

struct stk__bmp_header {
    uint32_t width, height;
    bool is_top_down;
    int bits; /* of a pixel: 1, 4, 8, 16, 24, 32 */
    enum stk__bmp_coding coding;
    uint32_t mask[4];       /* of red, green, blue, alpha in pixels of 16 and 32 bits */
    const uint8_t *colours; /* blue, green, red, and one byte more in most; for up to 8 bits */
    int n_colours, colour_bytes;
    bool is_gray; /* all of them are */
    size_t data_at;
};

/* NULL, or why it is none; is_cut: because the file ends. The header borrows the bytes. */
const char *stk__bmp_header_read(struct stk__bmp_header *header, const uint8_t *bytes,
                                 size_t n_bytes, bool *is_cut);

/* What decoding gives when all channels of the file are wanted. */
int stk__bmp_channels(const struct stk__bmp_header *header);

/* Undoes run-length codes: width * height numbers of colours, rows in the order of the file, 0 where
 * none are coded. False: the codes end before their end mark; rows from n_rows on are incomplete. */
bool stk__bmp_unpack(const struct stk__bmp_header *header, const uint8_t *src, size_t n_src,
                     uint8_t *dst, uint32_t *n_rows);
