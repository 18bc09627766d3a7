/* SPDX-License-Identifier: Apache-2.0 */
/* encode.h: pixels in, encoded pictures out. The same pixels and options give the same bytes.
 *
 * An encoder belongs to one thread and keeps the memory of its output between pictures.
 */
#pragma once
#include <stoker/op.h>

/* Rows one after the other, channels interleaved. */
struct stk__pixels {
    const uint8_t *data;
    uint32_t height, width;
    int channels; /* 1 gray, 2 gray with alpha, 3 RGB, 4 RGB with alpha */
    bool is_wide; /* 16 bits, in the machine's byte order */
};

struct stk__encoded {
    const uint8_t *bytes; /* of the encoder, until it is used again */
    size_t n_bytes;
};

struct stk__encoder;

/* Returns new; NULL when out of memory. */
struct stk__encoder *stk__encoder_new(void);
void stk__encoder_free(struct stk__encoder *encoder); /* NULL is fine */

/* The last result is no longer needed: its memory may be given back while other ops run. */
void stk__encoder_rest(struct stk__encoder *encoder);

/* Results: STK_OK, STK_MEMORY, or STK_DATA with the cause: a picture that the format cannot hold. */

struct stk__jpeg_options {
    int quality;      /* 1 to 100 */
    int across, down; /* pixels per sample of colour: 1 or 2 */
    bool is_progressive;
    bool is_optimized; /* tables made for the picture, in a second pass */
};

/* 8 bits, 1 or 3 channels. */
int stk__encode_jpeg(struct stk__encoder *encoder, const struct stk__pixels *pixels,
                     const struct stk__jpeg_options *options, struct stk__encoded *out,
                     struct stk_error *err);

/* Any pixels; level: 0 (fast) to 9 (small). */
int stk__encode_png(struct stk__encoder *encoder, const struct stk__pixels *pixels, int level,
                    struct stk__encoded *out, struct stk_error *err);

/* 8 bits, 1, 3 or 4 channels. Quality 0 to 100; where lossless it is the effort for a small file. */
int stk__encode_webp(struct stk__encoder *encoder, const struct stk__pixels *pixels, double quality,
                     bool is_lossless, struct stk__encoded *out, struct stk_error *err);
