/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.c: where decoded rows go, and turning them by EXIF orientation.
 *
 *     1 as stored    3 turned by 180    5 transposed          7 transposed over the other diagonal
 *     2 mirrored     4 upside down      6 turned clockwise    8 turned counter-clockwise
 */
#include "base/error.h"
#include "codec/formats.h"

#include <inttypes.h>
#include <string.h>

int stk__check_size(const struct stk__decode_request *request, uint64_t width, uint64_t height,
                    struct stk_error *err)
{
    if (!width || !height)
        return stk_fail(err, STK_DATA, "the picture is empty: %" PRIu64 " x %" PRIu64 " pixels",
                        width, height);
    if (width * height > (uint64_t)request->max_pixels)
        return stk_fail(err, STK_DATA,
                        "%" PRIu64 " x %" PRIu64 " pixels are more than max_pixels=%" PRId64
                        " allows",
                        width, height, request->max_pixels);
    return STK_OK;
}

static int orientation_of(const struct stk__decode_request *request)
{
    struct stk__image_info info;
    if (!request->is_oriented || stk__image_info(request->bytes, request->n_bytes, &info, NULL))
        return 1;
    return info.orientation;
}

int stk__canvas_open(struct stk__canvas *canvas, const struct stk__decode_request *request,
                     struct stk_arena *arena, struct stk_error *err)
{
    struct stk__image *rows = &canvas->rows, *out = canvas->out;
    canvas->orientation = orientation_of(request);
    rows->stride = (size_t)rows->width * (size_t)rows->channels;
    *out = *rows;
    if (canvas->orientation > 4) {
        out->width = rows->height;
        out->height = rows->width;
        out->stride = (size_t)out->width * (size_t)out->channels;
    }
    int code = request->place(request->ctx, out, err);
    if (code)
        return code;
    if (canvas->orientation == 1) {
        *rows = *out;
        return STK_OK;
    }
    rows->data = stk__arena_take(arena, rows->stride * rows->height);
    return rows->data ? STK_OK : stk__out_of_memory(err);
}

/* The source as seen from the target: first pixel, bytes to go for one pixel right, one down. */
struct walk {
    const uint8_t *first;
    ptrdiff_t right, down;
};

static struct walk walk_of(const struct stk__image *src, int orientation)
{
    ptrdiff_t pixel = src->channels, row = (ptrdiff_t)src->stride;
    bool is_mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    bool is_flipped = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    struct walk walk = { src->data, pixel, row };
    if (is_mirrored) {
        walk.first += (ptrdiff_t)(src->width - 1) * pixel;
        walk.right = -pixel;
    }
    if (is_flipped) {
        walk.first += (ptrdiff_t)(src->height - 1) * row;
        walk.down = -row;
    }
    if (orientation > 4) {
        ptrdiff_t right = walk.right;
        walk.right = walk.down;
        walk.down = right;
    }
    return walk;
}

/* Inlined with a constant number of channels, so that a pixel is a move or two. */
static inline void turn_run(uint8_t *dst, const uint8_t *src, ptrdiff_t right, uint32_t n,
                            size_t pixel)
{
    for (uint32_t i = 0; i < n; i++, dst += pixel, src += right)
        memcpy(dst, src, pixel);
}

/* In columns of 64 pixels: a transposing walk then stays within 64 rows of the source. */
static void turn(const struct stk__image *dst, struct walk walk)
{
    enum { COLUMN = 64 };
    for (uint32_t x = 0; x < dst->width; x += COLUMN) {
        uint32_t n = dst->width - x < COLUMN ? dst->width - x : COLUMN;
        for (uint32_t y = 0; y < dst->height; y++) {
            uint8_t *to = dst->data + y * dst->stride + (size_t)x * (size_t)dst->channels;
            const uint8_t *from = walk.first + (ptrdiff_t)y * walk.down + (ptrdiff_t)x * walk.right;
            if (dst->channels == 3)
                turn_run(to, from, walk.right, n, 3);
            else if (dst->channels == 1)
                turn_run(to, from, walk.right, n, 1);
            else
                turn_run(to, from, walk.right, n, (size_t)dst->channels);
        }
    }
}

void stk__canvas_close(const struct stk__canvas *canvas)
{
    if (canvas->orientation != 1)
        turn(canvas->out, walk_of(&canvas->rows, canvas->orientation));
}
