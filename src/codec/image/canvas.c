/* SPDX-License-Identifier: Apache-2.0 */
/* canvas.c: where decoded rows go; cutting a part out of them, turning them by EXIF orientation.
 *
 *     1 as stored    3 turned by 180    5 transposed          7 transposed over the other diagonal
 *     2 mirrored     4 upside down      6 turned clockwise    8 turned counter-clockwise
 */
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/formats.h"

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

int stk__check_frames(const struct stk__decode_request *request, const struct stk__image *picture,
                      struct stk_error *err)
{
    uint64_t n_pixels = (uint64_t)picture->width * picture->height;
    if (!picture->frames || picture->frames <= (uint64_t)request->max_pixels / n_pixels)
        return STK_OK;
    return stk_fail(err, STK_DATA,
                    "%u frames of %u x %u pixels are more than max_pixels=%" PRId64 " allows",
                    picture->frames, picture->width, picture->height, request->max_pixels);
}

static int orientation_of(const struct stk__decode_request *request)
{
    struct stk__image_info info;
    if (!request->is_oriented || stk__image_info(request->bytes, request->n_bytes, &info, NULL))
        return 1;
    return info.orientation;
}

static bool is_mirrored(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool is_flipped(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

/* From the picture as delivered to the picture as stored. */
static struct stk__region turn_back(struct stk__region region, const struct stk__image *picture,
                                    int orientation)
{
    if (orientation > 4)
        region = (struct stk__region){ region.y, region.x, region.height, region.width };
    if (is_mirrored(orientation))
        region.x = picture->width - region.x - region.width;
    if (is_flipped(orientation))
        region.y = picture->height - region.y - region.height;
    return region;
}

static int choose_part(struct stk__canvas *canvas, const struct stk__decode_request *request,
                       const struct stk__image *picture, struct stk_error *err)
{
    bool is_turned = canvas->orientation > 4;
    uint32_t width = is_turned ? picture->height : picture->width;
    uint32_t height = is_turned ? picture->width : picture->height;
    struct stk__region region = { 0, 0, width, height };
    if (request->choose)
        request->choose(request->ctx, width, height, &region);
    if (!region.width || !region.height || region.x > width || width - region.x < region.width ||
        region.y > height || height - region.y < region.height)
        return stk_fail(
            err, STK_VALUE,
            "the region %u x %u at %u, %u is not inside of the picture of %u x %u pixels",
            region.width, region.height, region.x, region.y, width, height);
    canvas->part = turn_back(region, picture, canvas->orientation);
    *canvas->out = (struct stk__image){ .height = region.height,
                                        .width = region.width,
                                        .channels = picture->channels,
                                        .is_wide = request->is_wide };
    if (request->max_frames)
        canvas->out->frames = picture->frames ? picture->frames : 1;
    return STK_OK;
}

static bool is_placed_for(const struct stk__canvas *canvas, const struct stk__image *picture)
{
    const struct stk__image *before = &canvas->placed_for;
    return before->height == picture->height && before->width == picture->width &&
           before->channels == picture->channels;
}

static int place(struct stk__canvas *canvas, const struct stk__decode_request *request,
                 const struct stk__image *picture, struct stk_error *err)
{
    if (is_placed_for(canvas, picture))
        return STK_OK;
    canvas->orientation = orientation_of(request);
    int code = choose_part(canvas, request, picture, err);
    if (code)
        return code;
    canvas->out->stride = canvas->out->width * stk__image_pixel_bytes(canvas->out);
    code = request->place(request->ctx, canvas->out, err);
    if (!code)
        canvas->placed_for = *picture;
    return code;
}

int stk__canvas_open(struct stk__canvas *canvas, const struct stk__decode_request *request,
                     struct stk__image picture, bool takes_part, struct stk_arena *arena,
                     struct stk_error *err)
{
    int code = place(canvas, request, &picture, err);
    if (code)
        return code;
    const struct stk__region *part = &canvas->part;
    bool is_whole = part->width == picture.width && part->height == picture.height;
    canvas->is_part = takes_part || is_whole;
    canvas->is_aside =
        canvas->orientation != 1 || !canvas->is_part || canvas->out->is_wide != picture.is_wide;
    if (!canvas->is_aside) {
        canvas->rows = *canvas->out;
        return STK_OK;
    }
    canvas->rows = picture;
    if (canvas->is_part) {
        canvas->rows.width = part->width;
        canvas->rows.height = part->height;
    }
    canvas->rows.stride = canvas->rows.width * stk__image_pixel_bytes(&canvas->rows);
    canvas->rows.data = stk__arena_take(arena, stk__image_bytes(&canvas->rows));
    return canvas->rows.data ? STK_OK : stk__out_of_memory(err);
}

void stk__canvas_fill(const struct stk__canvas *canvas, const struct stk__decode_request *request)
{
    const struct stk__image *rows = &canvas->rows;
    bool is_gray = request->on_truncated == STK__TRUNCATED_GRAY && !request->is_indexed;
    uint32_t n_rows = rows->height * (rows->frames ? rows->frames : 1);
    size_t pixel = stk__image_pixel_bytes(rows),
           alpha = rows->channels % 2 ? 0 : 1u << rows->is_wide;
    for (uint32_t y = 0; y < n_rows; y++) {
        uint8_t *row = stk__canvas_row(canvas, y);
        memset(row, is_gray ? 128 : 0, rows->width * pixel);
        for (uint32_t x = 0; x < rows->width && is_gray && alpha; x++)
            memset(row + (x + 1) * pixel - alpha, 255, alpha);
    }
}

/* The source as seen from the target: first pixel, bytes to go for one pixel right, one down. */
struct walk {
    const uint8_t *first;
    ptrdiff_t right, down;
};

static struct walk walk_of(const struct stk__image *src, int orientation)
{
    ptrdiff_t pixel = (ptrdiff_t)stk__image_pixel_bytes(src), row = (ptrdiff_t)src->stride;
    struct walk walk = { src->data, pixel, row };
    if (is_mirrored(orientation)) {
        walk.first += (ptrdiff_t)(src->width - 1) * pixel;
        walk.right = -pixel;
    }
    if (is_flipped(orientation)) {
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

/* 8-bit samples become 16-bit ones: 255 is 65535. */
static void widen_run(uint8_t *dst, const uint8_t *src, ptrdiff_t right, uint32_t n, int channels)
{
    for (uint32_t i = 0; i < n; i++, src += right)
        for (int c = 0; c < channels; c++, dst += 2)
            memset(dst, src[c], 2);
}

/* In columns of 64 pixels: a transposing walk then stays within 64 rows of the source. */
static void turn(const struct stk__image *dst, struct walk walk, bool is_widened)
{
    enum { COLUMN = 64 };
    size_t pixel = stk__image_pixel_bytes(dst);
    for (uint32_t x = 0; x < dst->width && !stk__cancel_is_asked(); x += COLUMN) {
        uint32_t n = dst->width - x < COLUMN ? dst->width - x : COLUMN;
        for (uint32_t y = 0; y < dst->height; y++) {
            uint8_t *to = dst->data + y * dst->stride + x * pixel;
            const uint8_t *from = walk.first + (ptrdiff_t)y * walk.down + (ptrdiff_t)x * walk.right;
            if (is_widened)
                widen_run(to, from, walk.right, n, dst->channels);
            else if (pixel == 3)
                turn_run(to, from, walk.right, n, 3);
            else if (pixel == 1)
                turn_run(to, from, walk.right, n, 1);
            else
                turn_run(to, from, walk.right, n, pixel);
        }
    }
}

/* The part that is wanted of the rows that are there. */
static struct stk__image part_of(const struct stk__canvas *canvas)
{
    struct stk__image part = canvas->rows;
    if (canvas->is_part)
        return part;
    part.data = stk__canvas_row(canvas, canvas->part.y) +
                canvas->part.x * stk__image_pixel_bytes(&canvas->rows);
    part.width = canvas->part.width;
    part.height = canvas->part.height;
    return part;
}

void stk__canvas_close(const struct stk__canvas *canvas)
{
    struct stk__image part = part_of(canvas), out = *canvas->out;
    uint32_t n_frames = out.frames ? out.frames : 1;
    for (uint32_t f = 0; f < n_frames && canvas->is_aside; f++) {
        turn(&out, walk_of(&part, canvas->orientation), out.is_wide && !part.is_wide);
        part.data += canvas->rows.stride * canvas->rows.height;
        out.data += out.stride * out.height;
    }
}
