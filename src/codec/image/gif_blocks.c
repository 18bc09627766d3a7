/* SPDX-License-Identifier: Apache-2.0 */
/* gif_blocks.c: the blocks of a GIF file, without decoding what is in them. */
#include "codec/image/gif.h"

#include <string.h>

static const uint8_t *read_colours(struct stk__reader *r, uint32_t flags, int *n)
{
    enum { HAS_COLOURS = 0x80 };
    *n = flags & HAS_COLOURS ? 2 << (flags & 7) : 0;
    return *n ? stk__read_bytes(r, (size_t)*n * 3) : NULL;
}

bool stk__gif_open(struct stk__gif *gif, const uint8_t *bytes, size_t n_bytes)
{
    *gif = (struct stk__gif){ .reader = { .bytes = bytes, .n_bytes = n_bytes } };
    struct stk__reader *r = &gif->reader;
    stk__read_bytes(r, 6);
    gif->width = stk__read(r, 2);
    gif->height = stk__read(r, 2);
    uint32_t flags = stk__read(r, 1);
    stk__read(r, 2); /* background and shape of pixels: nobody heeds them */
    gif->colours = read_colours(r, flags, &gif->n_colours);
    return !r->is_short;
}

bool stk__gif_data(struct stk__gif *gif, uint8_t *dst, size_t *n_bytes)
{
    struct stk__reader *r = &gif->reader;
    *n_bytes = 0;
    while (!r->is_short) {
        size_t n = stk__read(r, 1), left = r->n_bytes - r->at;
        if (!n)
            break;
        if (dst)
            memcpy(dst + *n_bytes, r->bytes + r->at, n < left ? n : left);
        *n_bytes += n < left ? n : left;
        stk__read_bytes(r, n);
    }
    return !r->is_short;
}

/* How the frame that follows is to be shown. */
static void read_control(struct stk__gif *gif, struct stk__gif_frame *frame)
{
    enum { IS_TRANSPARENT = 1 };
    struct stk__reader block = gif->reader;
    uint32_t n = stk__read(&block, 1), flags = stk__read(&block, 1);
    stk__read(&block, 2); /* how long to show it */
    uint32_t transparent = stk__read(&block, 1);
    if (block.is_short || n < 4)
        return;
    frame->disposal = (int)(flags >> 2 & 7);
    frame->transparent = flags & IS_TRANSPARENT ? (int)transparent : -1;
}

static void read_frame(struct stk__gif *gif, struct stk__gif_frame *frame)
{
    enum { IS_INTERLACED = 0x40 };
    struct stk__reader *r = &gif->reader;
    frame->rect.x = stk__read(r, 2);
    frame->rect.y = stk__read(r, 2);
    frame->rect.width = stk__read(r, 2);
    frame->rect.height = stk__read(r, 2);
    uint32_t flags = stk__read(r, 1);
    frame->is_interlaced = flags & IS_INTERLACED;
    frame->colours = read_colours(r, flags, &frame->n_colours);
    if (!frame->colours) {
        frame->colours = gif->colours;
        frame->n_colours = gif->n_colours;
    }
    frame->code_bits = (int)stk__read(r, 1);
    frame->data_at = r->at;
}

enum stk__gif_next stk__gif_next(struct stk__gif *gif, struct stk__gif_frame *frame)
{
    enum { EXTENSION = 0x21, IMAGE = 0x2c, TRAILER = 0x3b, CONTROL = 0xf9 };
    struct stk__reader *r = &gif->reader;
    size_t n_bytes;
    *frame = (struct stk__gif_frame){ .transparent = -1 };
    for (;;) {
        uint32_t kind = stk__read(r, 1);
        if (r->is_short)
            return STK__GIF_CUT;
        if (kind == TRAILER)
            return STK__GIF_END;
        if (kind == IMAGE) {
            read_frame(gif, frame);
            return r->is_short ? STK__GIF_CUT : STK__GIF_FRAME;
        }
        if (kind != EXTENSION)
            return STK__GIF_STRANGE;
        if (stk__read(r, 1) == CONTROL)
            read_control(gif, frame);
        stk__gif_data(gif, NULL, &n_bytes);
    }
}
