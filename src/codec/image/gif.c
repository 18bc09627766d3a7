/* SPDX-License-Identifier: Apache-2.0 */
/* gif.c: GIF pictures and animations.
 *
 * A frame covers part of the screen. What it leaves out, and its transparent pixels, show what was
 * there: nothing at first (zero in every channel), then the frame before, after its disposal: kept,
 * cleared, or taken back. Frames are written one below the other, so that the screen before a frame
 * is another frame, perhaps with a hole in it (struct ground).
 */
#include "codec/image/gif.h"
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/formats.h"
#include "codec/image/lzw.h"

#include <string.h>

/* What the screen shows before a frame is drawn. */
struct ground {
    int64_t frame; /* -1: nothing yet */
    struct stk__gif_rect hole;
};

struct drawing {
    struct stk__gif gif;
    const struct stk__decode_request *request;
    struct stk_arena *arena;
    struct stk__canvas *canvas;
    struct ground ground;
};

static int fail_cut(const struct drawing *d, uint32_t frame, struct stk_error *err)
{
    return stk_fail(err, STK_DATA, "truncated GIF at byte %zu: it ends in frame %u",
                    d->gif.reader.at, frame + 1);
}

/* ---- before drawing ---- */

static int fail_without_frame(const struct drawing *d, enum stk__gif_next next, uint32_t frame,
                              struct stk_error *err)
{
    size_t at = d->gif.reader.at;
    if (next == STK__GIF_CUT)
        return stk_fail(err, STK_DATA, "truncated GIF at byte %zu: no end after %u frames", at,
                        frame);
    if (next == STK__GIF_STRANGE)
        return stk_fail(err, STK_DATA, "bad GIF at byte %zu: no block begins with 0x%02x", at - 1,
                        d->request->bytes[at - 1]);
    return stk_fail(err, STK_DATA, "bad GIF at byte %zu: it has no frames", at - 1);
}

/* Goes over the file, a copy of the way through it, to count the frames to be drawn. */
static int count_frames(struct drawing d, uint32_t *n, struct stk_error *err)
{
    struct stk__gif_frame frame;
    size_t n_bytes;
    uint32_t limit = d.request->max_frames ? d.request->max_frames : 1;
    for (*n = 0; *n < limit; ++*n) {
        enum stk__gif_next next = stk__gif_next(&d.gif, &frame);
        bool is_end = next == STK__GIF_END || (next == STK__GIF_CUT && stk__is_tolerant(d.request));
        if (*n && is_end) {
            d.canvas->is_flawed |= next == STK__GIF_CUT;
            return STK_OK;
        }
        if (next != STK__GIF_FRAME)
            return fail_without_frame(&d, next, *n, err);
        if (!stk__gif_data(&d.gif, NULL, &n_bytes) && !stk__is_tolerant(d.request))
            return fail_cut(&d, *n, err);
    }
    return STK_OK;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The screen, made larger where the first frame needs it. */
static int open_canvas(struct drawing *d, struct stk_error *err)
{
    struct drawing ahead = *d;
    struct stk__gif_frame first;
    enum stk__gif_next next = stk__gif_next(&ahead.gif, &first);
    if (next != STK__GIF_FRAME)
        return fail_without_frame(&ahead, next, 0, err);
    struct stk__image picture = { .height = larger(d->gif.height, first.rect.y + first.rect.height),
                                  .width = larger(d->gif.width, first.rect.x + first.rect.width),
                                  .channels = d->request->channels };
    if (d->request->is_indexed)
        picture.channels = 1;
    else if (!picture.channels)
        picture.channels = 3;
    int code = stk__check_size(d->request, picture.width, picture.height, err);
    if (!code)
        code = count_frames(*d, &picture.frames, err);
    if (!code)
        code = stk__check_frames(d->request, &picture, err);
    if (!code)
        code = stk__canvas_open(d->canvas, d->request, picture, false, d->arena, err);
    return code;
}

/* ---- drawing ---- */

static uint8_t *pixel_at(const struct drawing *d, uint32_t frame, uint32_t x, uint32_t y)
{
    const struct stk__image *rows = &d->canvas->rows;
    return rows->data + ((size_t)frame * rows->height + y) * rows->stride +
           (size_t)x * (size_t)rows->channels;
}

/* The part of a frame that is on the screen. */
static struct stk__gif_rect clip(const struct drawing *d, struct stk__gif_rect rect)
{
    const struct stk__image *rows = &d->canvas->rows;
    if (rect.x >= rows->width || rect.y >= rows->height)
        return (struct stk__gif_rect){ 0 };
    if (rect.width > rows->width - rect.x)
        rect.width = rows->width - rect.x;
    if (rect.height > rows->height - rect.y)
        rect.height = rows->height - rect.y;
    return rect;
}

static void draw_ground(const struct drawing *d, uint32_t frame)
{
    const struct stk__image *rows = &d->canvas->rows;
    size_t row_bytes = (size_t)rows->width * (size_t)rows->channels;
    struct stk__gif_rect hole = clip(d, d->ground.hole);
    for (uint32_t y = 0; y < rows->height; y++) {
        uint8_t *row = pixel_at(d, frame, 0, y);
        if (d->ground.frame < 0)
            memset(row, 0, row_bytes);
        else
            memcpy(row, pixel_at(d, (uint32_t)d->ground.frame, 0, y), row_bytes);
        if (y - hole.y < hole.height)
            memset(pixel_at(d, frame, hole.x, y), 0, (size_t)hole.width * (size_t)rows->channels);
    }
}

static struct ground ground_after(const struct drawing *d, const struct stk__gif_frame *frame,
                                  uint32_t number)
{
    if (frame->disposal == STK__GIF_GO_BACK)
        return d->ground;
    struct ground ground = { .frame = number };
    if (frame->disposal == STK__GIF_CLEAR)
        ground.hole = frame->rect;
    return ground;
}

/* The colours of a frame in the channels of the picture. */
struct paint {
    uint8_t colour[256][4];
};

static void mix_paint(const struct drawing *d, const struct stk__gif_frame *frame,
                      struct paint *paint)
{
    bool is_ramp = stk__is_gray_ramp(frame->colours, frame->n_colours, 3);
    for (int i = 0; i < 256; i++) {
        uint8_t gray = stk__uncoloured(is_ramp, i);
        const uint8_t missing[] = { gray, gray, gray };
        const uint8_t *rgb = i < frame->n_colours ? frame->colours + i * 3 : missing;
        const uint8_t rgba[4] = { rgb[0], rgb[1], rgb[2], 255 };
        stk__put_colour(paint->colour[i], d->canvas->rows.channels, rgba);
        if (d->request->is_indexed)
            paint->colour[i][0] = (uint8_t)i;
    }
}

/* The row that comes n-th in an interlaced frame: every 8th, those between, and so on. */
static uint32_t interlaced_row(uint32_t n, uint32_t height)
{
    static const struct {
        uint32_t first, step;
    } passes[] = { { 0, 8 }, { 4, 8 }, { 2, 4 }, { 1, 2 } };
    for (int i = 0; i < 4; i++) {
        uint32_t n_rows = (height + passes[i].step - 1 - passes[i].first) / passes[i].step;
        if (n < n_rows)
            return passes[i].first + n * passes[i].step;
        n -= n_rows;
    }
    return 0;
}

/* Inlined with a constant number of channels, so that a pixel is a move or two. */
static inline void draw_run(uint8_t *dst, const uint8_t *src, uint32_t n, size_t channels,
                            const struct stk__gif_frame *frame, const struct paint *paint)
{
    int transparent = frame->transparent;
    for (uint32_t x = 0; x < n; x++, dst += channels)
        if (src[x] != transparent)
            memcpy(dst, paint->colour[src[x]], channels);
}

static void draw_row(uint8_t *dst, const uint8_t *src, uint32_t n, int channels,
                     const struct stk__gif_frame *frame, const struct paint *paint)
{
    if (channels == 3)
        draw_run(dst, src, n, 3, frame, paint);
    else if (channels == 1)
        draw_run(dst, src, n, 1, frame, paint);
    else
        draw_run(dst, src, n, 4, frame, paint);
}

/* Draws the pixels that are there; those that are missing are gray, or as the ground is. */
static void draw_pixels(const struct drawing *d, const struct stk__gif_frame *frame,
                        uint32_t number, const uint8_t *pixels, size_t n_pixels)
{
    static const uint8_t gray[4] = { 128, 128, 128, 255 };
    struct stk__gif_rect seen = clip(d, frame->rect);
    int channels = d->canvas->rows.channels;
    bool is_gray = d->request->on_truncated == STK__TRUNCATED_GRAY && !d->request->is_indexed;
    struct paint paint;
    mix_paint(d, frame, &paint);
    for (uint32_t i = 0; i < frame->rect.height; i++) {
        uint32_t y = frame->is_interlaced ? interlaced_row(i, frame->rect.height) : i;
        size_t from = (size_t)i * frame->rect.width;
        size_t left = n_pixels > from ? n_pixels - from : 0;
        uint32_t n = left < seen.width ? (uint32_t)left : seen.width;
        if (y >= seen.height)
            continue;
        uint8_t *row = pixel_at(d, number, seen.x, seen.y + y);
        draw_row(row, pixels + from, n, channels, frame, &paint);
        for (uint32_t x = n; x < seen.width && is_gray; x++)
            memcpy(row + (size_t)x * (size_t)channels, gray, (size_t)channels);
    }
}

/* Whether a number without a colour is shown. */
static bool has_uncoloured(const struct stk__gif_frame *frame, const uint8_t *pixels, size_t n)
{
    int highest = -1;
    for (size_t i = 0; i < n; i++)
        highest = pixels[i] > highest && pixels[i] != frame->transparent ? pixels[i] : highest;
    return highest >= frame->n_colours;
}

/* ---- decoding ---- */

static int decode_pixels(struct drawing *d, const struct stk__gif_frame *frame, uint32_t number,
                         uint8_t *pixels, size_t *n_pixels, struct stk_error *err)
{
    size_t n_coded, at = frame->data_at, n_wanted = *n_pixels;
    if (frame->code_bits > STK__LZW_MAX_BITS)
        return stk_fail(err, STK_DATA, "bad GIF at byte %zu: frame %u has codes of %d bits", at - 1,
                        number + 1, frame->code_bits);
    uint8_t *coded = stk__arena_take(d->arena, d->request->n_bytes - at);
    if (!coded)
        return stk__out_of_memory(err);
    stk__gif_data(&d->gif, coded, &n_coded);
    enum stk__lzw_end end =
        stk__lzw_decode(coded, n_coded, frame->code_bits, pixels, n_wanted, n_pixels);
    if (end == STK__LZW_BAD)
        return stk_fail(err, STK_DATA, "bad GIF: frame %u, at byte %zu, has a code without meaning",
                        number + 1, at);
    if (end == STK__LZW_CUT && !stk__is_tolerant(d->request))
        return stk_fail(err, STK_DATA,
                        "truncated GIF: frame %u, at byte %zu, has %zu of %zu pixels", number + 1,
                        at, *n_pixels, n_wanted);
    d->canvas->is_flawed |= end == STK__LZW_CUT || frame->code_bits > 8;
    return STK_OK;
}

static int draw_frame(struct drawing *d, const struct stk__gif_frame *frame, uint32_t number,
                      struct stk_error *err)
{
    struct stk__arena_mark mark = stk__arena_mark(d->arena);
    size_t n_pixels = (size_t)frame->rect.width * frame->rect.height;
    int code = stk__check_size(d->request, frame->rect.width, frame->rect.height, err);
    if (code)
        return code;
    uint8_t *pixels = stk__arena_take(d->arena, n_pixels);
    if (!pixels)
        return stk__out_of_memory(err);
    code = decode_pixels(d, frame, number, pixels, &n_pixels, err);
    if (code)
        return code;
    d->canvas->is_flawed |= has_uncoloured(frame, pixels, n_pixels);
    draw_ground(d, number);
    draw_pixels(d, frame, number, pixels, n_pixels);
    stk__arena_rewind(d->arena, mark);
    return STK_OK;
}

int stk__gif_decode(struct stk_arena *arena, const struct stk__decode_request *request,
                    struct stk__canvas *canvas, struct stk_error *err)
{
    struct drawing d = { .request = request, .arena = arena, .canvas = canvas, .ground.frame = -1 };
    if (!stk__gif_open(&d.gif, request->bytes, request->n_bytes))
        return stk_fail(err, STK_DATA, "truncated GIF at byte %zu: it ends in the header",
                        request->n_bytes);
    int code = open_canvas(&d, err);
    uint32_t n_frames = code ? 0 : canvas->rows.frames ? canvas->rows.frames : 1;
    for (uint32_t i = 0; i < n_frames && !stk__cancel_is_asked(); i++) {
        struct stk__gif_frame frame;
        stk__gif_next(&d.gif, &frame);
        code = draw_frame(&d, &frame, i, err);
        if (code)
            return code;
        d.ground = ground_after(&d, &frame, i);
    }
    if (!code)
        stk__canvas_close(canvas);
    return code;
}
