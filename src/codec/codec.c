/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c: one codec per thread: tells formats apart; one arena holds the memory of all of them. */
#include "base/error.h"
#include "codec/baseline.h"
#include "codec/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arena starts with room for the line buffers of common pictures. What one outsize picture
 * made it grow to is given back after that picture. */
enum { FIRST_BYTES = 256 << 10, KEEP_BYTES = 16 << 20 };

struct stk__codec {
    struct stk_arena arena; /* of one picture */
    struct stk__jpeg *jpeg;
    struct stk__baseline *baseline;
    uint64_t n_own;
};

struct stk__codec *stk__codec_new(void)
{
    struct stk__codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return NULL;
    stk__arena_init(&codec->arena, FIRST_BYTES);
    codec->jpeg = stk__jpeg_new(&codec->arena);
    codec->baseline = stk__baseline_new(&codec->arena);
    if (!codec->jpeg || !codec->baseline) {
        stk__codec_free(codec);
        return NULL;
    }
    return codec;
}

void stk__codec_free(struct stk__codec *codec)
{
    if (!codec)
        return;
    stk__jpeg_free(codec->jpeg);
    stk__baseline_free(codec->baseline);
    stk__arena_free(&codec->arena);
    free(codec);
}

size_t stk__codec_bytes(const struct stk__codec *codec)
{
    return codec->arena.total_bytes + stk__baseline_bytes();
}

uint64_t stk__codec_n_own(const struct stk__codec *codec)
{
    return codec->n_own;
}

void stk__codec_use_kernels(struct stk__codec *codec, const struct stk__jpeg_kernels *kernels)
{
    stk__baseline_use_kernels(codec->baseline, kernels);
}

/* Formats people mistake for ours, by their first bytes. */
static const struct {
    const char *magic;
    size_t at, len;
    const char *name;
} strangers[] = {
    { "GIF8", 0, 4, "GIF" },
    { "WEBP", 8, 4, "WebP" },
    { "BM", 0, 2, "BMP" },
    { "II*\0", 0, 4, "TIFF" },
    { "MM\0*", 0, 4, "TIFF" },
    { "ftypavif", 4, 8, "AVIF" },
    { "ftyphei", 4, 7, "HEIF" },
    { "\xff\x0a", 0, 2, "JPEG XL" },
    { "\0\0\0\x0cJXL ", 0, 8, "JPEG XL" },
    { "\0\0\0\x0cjP  ", 0, 8, "JPEG 2000" },
};

/* The first bytes as people can read them: up to eight, escapes where they are no text. */
static void quote(const uint8_t *bytes, size_t n_bytes, char text[40])
{
    size_t at = 0;
    for (size_t i = 0; i < n_bytes && i < 8; i++) {
        bool is_plain = bytes[i] >= ' ' && bytes[i] < 127;
        at += (size_t)snprintf(text + at, 40 - at, is_plain ? "%c" : "\\x%02x", bytes[i]);
    }
}

static int fail_unknown(const uint8_t *bytes, size_t n_bytes, struct stk_error *err)
{
    if (!n_bytes)
        return stk_fail(err, STK_DATA, "the file is empty");
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        size_t end = strangers[i].at + strangers[i].len;
        if (n_bytes >= end &&
            !memcmp(bytes + strangers[i].at, strangers[i].magic, strangers[i].len))
            return stk_fail(err, STK_DATA, "not a JPEG or PNG: it looks like %s",
                            strangers[i].name);
    }
    char text[40] = "";
    quote(bytes, n_bytes, text);
    return stk_fail(err, STK_DATA, "not a JPEG or PNG: starts with '%s'", text);
}

static void free_all(struct stk_arena *arena)
{
    stk__arena_rewind(arena, (struct stk__arena_mark){ NULL, 0 });
}

/* Our own decoder first; what it declines goes to the library, into the same place. */
static int decode_jpeg(struct stk__codec *codec, const struct stk__decode_request *request,
                       struct stk__canvas *canvas, struct stk_error *err)
{
    if (!request->is_fast_dct && !request->is_by_library) {
        int code;
        if (stk__baseline_decode(codec->baseline, request, canvas, &code, err)) {
            codec->n_own += !code;
            return code;
        }
        free_all(&codec->arena);
    }
    return stk__jpeg_decode(codec->jpeg, request, canvas, err);
}

int stk__codec_decode(struct stk__codec *codec, const struct stk__decode_request *request,
                      struct stk__image *out, struct stk_error *err)
{
    struct stk__canvas canvas = { .out = out };
    int code;
    free_all(&codec->arena);
    switch (stk__image_format(request->bytes, request->n_bytes)) {
    case STK__FORMAT_JPEG:
        code = decode_jpeg(codec, request, &canvas, err);
        break;
    case STK__FORMAT_PNG:
        code = stk__png_decode(&codec->arena, request, &canvas, err);
        break;
    default:
        code = fail_unknown(request->bytes, request->n_bytes, err);
    }
    if (codec->arena.total_bytes > KEEP_BYTES)
        stk__arena_free(&codec->arena);
    return code;
}
