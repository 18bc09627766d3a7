/* SPDX-License-Identifier: Apache-2.0 */
/* gif.h: the blocks of a GIF file; private to this room. */
#pragma once
#include "codec/image/reader.h"

struct stk__gif_rect {
    uint32_t x, y, width, height;
};

enum stk__gif_disposal { STK__GIF_KEEP = 1, STK__GIF_CLEAR = 2, STK__GIF_GO_BACK = 3 };

struct stk__gif_frame {
    struct stk__gif_rect rect; /* on the screen, perhaps beyond it */
    bool is_interlaced;
    const uint8_t *colours; /* red, green, blue; NULL: there are none */
    int n_colours;
    int transparent; /* number of a colour, or -1 */
    int disposal;    /* what becomes of it before the next frame */
    int code_bits;
    size_t data_at; /* blocks of coded bytes, ended by one of length 0 */
};

struct stk__gif {
    struct stk__reader reader;
    uint32_t width, height; /* of the screen */
    const uint8_t *colours; /* of frames without their own, or NULL */
    int n_colours;
};

/* Reads up to the first frame or extension. False: the file ends there. */
bool stk__gif_open(struct stk__gif *gif, const uint8_t *bytes, size_t n_bytes);

enum stk__gif_next {
    STK__GIF_FRAME,   /* here is one */
    STK__GIF_END,     /* that was the last */
    STK__GIF_CUT,     /* the file ends before there is one */
    STK__GIF_STRANGE, /* the reader stands behind a byte that begins no block */
};

/* Goes on to the data of the next frame. */
enum stk__gif_next stk__gif_next(struct stk__gif *gif, struct stk__gif_frame *frame);

/* Copies the data to dst, if it is not NULL, and goes on behind them; n_bytes is how many there are.
 * False: the file ends in them. */
bool stk__gif_data(struct stk__gif *gif, uint8_t *dst, size_t *n_bytes);
