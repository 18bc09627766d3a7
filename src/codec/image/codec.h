/* SPDX-License-Identifier: Apache-2.0 */
/* codec.h: encoded pictures in, pixels out.
 *
 * The format is told from the content, never from a name. A codec belongs to one thread and keeps
 * what a library needs between pictures, so that decoding pictures of about the same size allocates
 * nothing. The pixels go where the caller's `place` says, once their number is known; nothing is
 * copied after that (turning by EXIF orientation is the exception).
 */
#pragma once
#include <stoker/op.h>

enum stk__format {
    STK__FORMAT_UNKNOWN,
    STK__FORMAT_JPEG,
    STK__FORMAT_PNG,
    STK__FORMAT_GIF,
    STK__FORMAT_WEBP,
    STK__FORMAT_BMP,
};

/* What a header says. Sizes are as stored: an orientation of 5 to 8 exchanges them on display. */
struct stk__image_info {
    enum stk__format format;
    uint32_t width, height;
    int channels;        /* what decoding with channels = 0 gives */
    bool is_progressive; /* JPEG: its scans refine one another, so all coefficients are kept */
    int orientation;     /* of EXIF or XMP, 1 to 8; 1 where the file says nothing sensible */
};

/* Reads headers only: no pixels, no allocation. Any thread. */
int stk__image_info(const uint8_t *bytes, size_t n_bytes, struct stk__image_info *out,
                    struct stk_error *err);

enum stk__format stk__image_format(const uint8_t *bytes, size_t n_bytes);

/* True if files of the formats above are usually named so: "jpg", "JPEG", "webp" (no dot). Only
 * listings of files, which cannot open each one, go by names. */
bool stk__is_image_ending(const char *ending);

/* Pixels, row-major, channels interleaved. */
struct stk__image {
    uint8_t *data;
    size_t stride; /* bytes from one row to the next */
    uint32_t height, width;
    int channels;
    bool is_wide;    /* samples have 16 bits, in the machine's byte order */
    uint32_t frames; /* one below the other, `height` rows each; 0: a plain picture */
};

static inline size_t stk__image_pixel_bytes(const struct stk__image *image)
{
    return (size_t)image->channels << image->is_wide;
}

/* Of all frames. */
static inline size_t stk__image_bytes(const struct stk__image *image)
{
    return image->stride * image->height * (image->frames ? image->frames : 1);
}

/* Part of a picture, in pixels. */
struct stk__region {
    uint32_t x, y, width, height;
};

/* What becomes of a file that ends too early, if its header is whole. GRAY: what is missing is 128.
 * KEEP: it is as the format's decoder leaves it: zero, or the frame before; libjpeg-turbo always
 * fills with gray. Where only finer scans or passes are missing, both show the coarse ones. */
enum stk__on_truncated { STK__TRUNCATED_ERROR, STK__TRUNCATED_GRAY, STK__TRUNCATED_KEEP };

struct stk__decode_request {
    const uint8_t *bytes;
    size_t n_bytes;
    int channels;        /* 1 gray, 3 RGB, 4 RGBA; 0: as in the file */
    bool is_wide;        /* 16-bit samples; those of 8 bits are multiplied by 257 */
    bool is_indexed;     /* files with a palette: its numbers, one channel; gray files as ever */
    uint32_t max_frames; /* up to that many frames; 0: the first, as a plain picture */
    enum stk__on_truncated on_truncated;
    bool is_fast_dct;   /* JPEG: the less exact of the two integer transforms */
    bool is_oriented;   /* turn the picture as its EXIF orientation says */
    int64_t max_pixels; /* refuse a header that promises more, before allocating for it */
    /* JPEG: makes the picture 2, 4 or 8 times smaller (sizes rounded up) while it is decoded; 0 and
     * 1: as it is. Other formats stay as they are. max_pixels is about the picture in the file. */
    int scale;
    bool is_by_library; /* JPEG: do not use our own decoder; for comparisons, nobody sees it */
    /* Chooses the part of the picture that is wanted, in the picture as delivered; NULL: all of
     * it. What lies outside is decoded as far as the format needs it: damage below the part may
     * go unnoticed, but not that the file is cut. */
    void (*choose)(void *ctx, uint32_t width, uint32_t height, struct stk__region *region);
    /* Finds memory for the picture, or the part: height, width and channels are set, and stride as
     * for packed rows; sets data, may set stride. Its result other than STK_OK ends the decoding
     * with that code. */
    int (*place)(void *ctx, struct stk__image *image, struct stk_error *err);
    void *ctx; /* of choose and place */
};

struct stk__codec;

/* Returns new; NULL when out of memory. */
struct stk__codec *stk__codec_new(void);
void stk__codec_free(struct stk__codec *codec); /* NULL is fine */

/* Decodes a picture, or the part asked for, or fails: STK_DATA with the cause, STK_MEMORY,
 * STK_VALUE for a part outside of the picture, or what place returned. A file that is cut (unless
 * on_truncated says otherwise), or damaged so that it shows, is an error and never a picture with
 * made-up pixels; the memory placed for it may then be half written. */
int stk__codec_decode(struct stk__codec *codec, const struct stk__decode_request *request,
                      struct stk__image *out, struct stk_error *err);

/* Memory the codec holds for itself. */
size_t stk__codec_bytes(const struct stk__codec *codec);

/* Pictures so far that were read although something is wrong in their files: what libjpeg warns about
 * (stray bytes, odd parameters of a scan), or missing data that on_truncated accepts. */
uint64_t stk__codec_n_flawed(const struct stk__codec *codec);

/* JPEG pictures that our own decoder decoded; the library did the others. */
uint64_t stk__codec_n_own(const struct stk__codec *codec);

/* Has our own decoder use these kernels, which it borrows, instead of those in force; for tests and
 * benchmarks. */
struct stk__jpeg_kernels;
void stk__codec_use_kernels(struct stk__codec *codec, const struct stk__jpeg_kernels *kernels);
