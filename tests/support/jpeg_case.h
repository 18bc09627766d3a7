/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_case.h: JPEG files made to order with libjpeg, and decoding them by our decoder and by the
 * library, for the tests that compare the two. */
#pragma once
#include "codec/image/codec.h"
#include "kernel/kernel.h"

enum jpeg_colours { JPEG_GRAY, JPEG_YCC, JPEG_RGB, JPEG_CMYK };

/* What is drawn: something for every coefficient; every pixel on its own; black or white alone. */
enum jpeg_motif { MOTIF_SCENE, MOTIF_NOISE, MOTIF_STARK };

struct jpeg_recipe {
    int width, height, quality;
    enum jpeg_colours colours;
    int across, down; /* luma samples per chroma sample; of a gray file: its sampling factors */
    int restart;      /* MCUs between restart markers; 0: none */
    bool is_optimized, is_progressive, is_arithmetic;
    bool has_no_marker; /* neither JFIF nor Adobe's */
    enum jpeg_motif motif;
};

/* Bytes on the heap, of exactly their size, so that a sanitizer sees a read too far. */
struct jpeg_file {
    uint8_t *bytes;
    size_t n;
};

/* The same recipe gives the same file. */
struct jpeg_file make_jpeg(const struct jpeg_recipe *recipe);
struct jpeg_file copy_bytes(const uint8_t *bytes, size_t n);

/* How to decode. A width of 0: the whole picture. */
struct jpeg_wish {
    int channels;
    int scale;
    bool is_oriented, is_by_library, is_fast; /* the last is the transform */
    enum stk__on_truncated on_truncated;
    struct stk__region region;
    const struct stk__jpeg_kernels *kernels; /* NULL: those in force */
};

/* What came of it. Rows in memory are `spare` bytes longer than they need to be, which the decoder
 * has to leave alone; decode_jpeg checks it. */
struct jpeg_shot {
    int code;
    bool is_own;
    struct stk__image image;
    struct stk_error err;
};

struct jpeg_shot decode_jpeg(struct stk__codec *codec, struct jpeg_file file,
                             const struct jpeg_wish *wish);
void free_shot(struct jpeg_shot *shot);

/* Whether both are the same error, or the same pixels. */
bool is_same_shot(const struct jpeg_shot *a, const struct jpeg_shot *b);

/* Whether `part` holds the pixels of `whole` at a region. */
bool is_part_of(const struct jpeg_shot *part, const struct jpeg_shot *whole,
                const struct stk__region *region);

/* Below n, from a sequence of the program's own. */
unsigned draw(unsigned n);
