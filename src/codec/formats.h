/* SPDX-License-Identifier: Apache-2.0 */
/* formats.h: what the decoders of codec.h share with each other; private to this room. */
#pragma once
#include "base/arena.h"
#include "codec/codec.h"

/* The memory a decoder writes rows to: the caller's, or a copy aside that is turned at the end. */
struct stk__canvas {
    struct stk__image rows; /* as stored in the file */
    struct stk__image *out; /* as the caller gets it */
    int orientation;
};

/* Checks a header's size against the request. */
int stk__check_size(const struct stk__decode_request *request, uint64_t width, uint64_t height,
                    struct stk_error *err);

/* Has the caller place the picture. canvas->rows has height, width and channels; `arena` gives
 * the copy aside if there must be one. */
int stk__canvas_open(struct stk__canvas *canvas, const struct stk__decode_request *request,
                     struct stk_arena *arena, struct stk_error *err);

/* All rows are there: turns them if need be. */
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
                     struct stk__image *out, struct stk_error *err);

int stk__png_decode(struct stk_arena *arena, const struct stk__decode_request *request,
                    struct stk__image *out, struct stk_error *err);
