/* SPDX-License-Identifier: Apache-2.0 */
/* formats.h: what the decoders of codec.h share with each other; private to this room. */
#pragma once
#include "base/memory/arena.h"
#include "codec/image/codec.h"

/* The memory a decoder writes rows to: the caller's, or a copy aside of which the part asked for
 * is copied, or turned, at the end. */
struct stk__canvas {
    struct stk__image rows;  /* as stored in the file: all, or the part if the decoder takes it */
    struct stk__image *out;  /* as the caller gets it */
    struct stk__region part; /* of the picture as stored */
    int orientation;
    bool is_aside;                /* rows are not the caller's memory */
    bool is_part;                 /* rows are the part alone */
    bool is_flawed;               /* set by a decoder that read a file with something wrong in it */
    struct stk__image placed_for; /* the picture that the caller placed `out` for, if any */
};

/* Checks a header's size against the request. */
int stk__check_size(const struct stk__decode_request *request, uint64_t width, uint64_t height,
                    struct stk_error *err);

/* The same of all frames together, once one of them has passed. */
int stk__check_frames(const struct stk__decode_request *request, const struct stk__image *picture,
                      struct stk_error *err);

/* Has the caller choose a part and place the picture. `picture` has height, width and channels as
 * stored; takes_part: the decoder writes the part alone. `arena` gives the copy aside if there must
 * be one. Opened again for the same picture, by another decoder, a canvas keeps its place. */
int stk__canvas_open(struct stk__canvas *canvas, const struct stk__decode_request *request,
                     struct stk__image picture, bool takes_part, struct stk_arena *arena,
                     struct stk_error *err);

/* Gives all pixels the value of missing ones, before a file is decoded that may be cut: gray and
 * opaque, or zero. */
void stk__canvas_fill(const struct stk__canvas *canvas, const struct stk__decode_request *request);

/* All rows are there: copies or turns them if need be. */
void stk__canvas_close(const struct stk__canvas *canvas);

static inline uint8_t *stk__canvas_row(const struct stk__canvas *canvas, uint32_t y)
{
    return canvas->rows.data + y * canvas->rows.stride;
}

struct stk__jpeg;

/* Borrows the arena, which must be rewound before each picture. Returns new; NULL when out of
 * memory. */
struct stk__jpeg *stk__jpeg_new(struct stk_arena *arena);
void stk__jpeg_free(struct stk__jpeg *jpeg);
int stk__jpeg_decode(struct stk__jpeg *jpeg, const struct stk__decode_request *request,
                     struct stk__canvas *canvas, struct stk_error *err);

/* Every block of 64 samples takes at least one bit, and there is one per 64 pixels (one per 128, if
 * each component is halved the other way). With fewer bytes a file need not be given memory. */
static inline bool stk__jpeg_is_cut_short(uint64_t width, uint64_t height, size_t n_bytes)
{
    return n_bytes < width * height / 128 / 8;
}

typedef int stk__format_decode(struct stk_arena *arena, const struct stk__decode_request *request,
                               struct stk__canvas *canvas, struct stk_error *err);
/* About what libwebp takes by malloc for a picture of so many pixels. */
size_t stk__webp_library_bytes(const struct stk__decode_request *request, size_t n_pixels);

stk__format_decode stk__png_decode, stk__gif_decode, stk__webp_decode, stk__bmp_decode;

/* For is_indexed. */
int stk__fail_without_palette(struct stk_error *err);

/* Gray by the weights 0.299, 0.587, 0.114 in 16 bits, as Pillow's. */
static inline uint8_t stk__gray_of(unsigned r, unsigned g, unsigned b)
{
    return (uint8_t)((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
}

/* True if every colour of a palette, `step` bytes each, is the gray of its own number. */
static inline bool stk__is_gray_ramp(const uint8_t *colours, int n, int step)
{
    for (int i = 0; i < n; i++, colours += step)
        if (colours[0] != i || colours[1] != i || colours[2] != i)
            return false;
    return true;
}

/* What Pillow shows for numbers that a palette lacks: the gray of that number if the palette is the
 * beginning of such grays, or is not there at all, else black. */
static inline uint8_t stk__uncoloured(bool is_gray_ramp, int number)
{
    return is_gray_ramp ? (uint8_t)number : 0;
}

/* A colour in each of the channels that a picture may have. */
static inline void stk__put_colour(uint8_t *dst, int channels, const uint8_t rgba[4])
{
    if (channels < 3) {
        dst[0] = stk__gray_of(rgba[0], rgba[1], rgba[2]);
        return;
    }
    for (int c = 0; c < channels; c++)
        dst[c] = rgba[c];
}

static inline bool stk__is_tolerant(const struct stk__decode_request *request)
{
    return request->on_truncated != STK__TRUNCATED_ERROR;
}
