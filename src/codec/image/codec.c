/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c: one codec per thread: tells formats apart; one arena holds the memory of all of them. */
#include "base/cancel.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory/gauge.h"
#include "codec/image/baseline.h"
#include "codec/image/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arena starts with room for the line buffers of common pictures. What one outsize picture
 * made it grow to is given back after that picture. */
enum { FIRST_BYTES = 256 << 10, KEEP_BYTES = 16 << 20 };

struct stk__codec {
    struct stk_arena arena; /* of one picture */
    /* Of our own decoder, which is there while this has memory: a run may take it back. */
    struct stk_arena state;
    struct stk__jpeg *jpeg;
    struct stk__baseline *baseline;
    uint64_t n_own, n_flawed;
    const struct stk__jpeg_kernels *kernels; /* that somebody chose, or NULL */
};

struct stk__codec *stk__codec_new(void)
{
    struct stk__codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return NULL;
    stk__arena_init(&codec->arena, FIRST_BYTES);
    stk__arena_init(&codec->state, stk__baseline_bytes());
    stk__gauge_join(&codec->arena);
    stk__gauge_join(&codec->state);
    codec->jpeg = stk__jpeg_new(&codec->arena);
    if (!codec->jpeg) {
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
    stk__gauge_part(&codec->arena);
    stk__gauge_part(&codec->state);
    stk__arena_free(&codec->arena);
    stk__arena_free(&codec->state);
    free(codec);
}

size_t stk__codec_bytes(const struct stk__codec *codec)
{
    return codec->arena.total_bytes + codec->state.total_bytes;
}

uint64_t stk__codec_n_own(const struct stk__codec *codec)
{
    return codec->n_own;
}

uint64_t stk__codec_n_flawed(const struct stk__codec *codec)
{
    return codec->n_flawed;
}

void stk__codec_use_kernels(struct stk__codec *codec, const struct stk__jpeg_kernels *kernels)
{
    codec->kernels = kernels;
}

/* Formats people mistake for ours, by their first bytes. */
static const struct {
    const char *magic;
    size_t at, len;
    const char *name;
} strangers[] = {
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
    static const char ours[] = "JPEG, PNG, GIF, WebP or BMP";
    if (!n_bytes)
        return stk_fail(err, STK_DATA, "the file is empty");
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        size_t end = strangers[i].at + strangers[i].len;
        if (n_bytes >= end &&
            !memcmp(bytes + strangers[i].at, strangers[i].magic, strangers[i].len))
            return stk_fail(err, STK_DATA, "not a %s: it looks like %s", ours, strangers[i].name);
    }
    char text[40] = "";
    quote(bytes, n_bytes, text);
    return stk_fail(err, STK_DATA, "not a %s: starts with '%s'", ours, text);
}

int stk__fail_without_palette(struct stk_error *err)
{
    return stk_fail(err, STK_DATA, "palette=index wants a palette or gray; the file has neither");
}

/* Formats without palettes may still be gray. */
static bool lacks_palette(const struct stk__decode_request *request, enum stk__format format)
{
    struct stk__image_info info;
    return request->is_indexed && (format == STK__FORMAT_JPEG || format == STK__FORMAT_WEBP) &&
           !stk__image_info(request->bytes, request->n_bytes, &info, NULL) && info.channels > 1;
}

static void free_all(struct stk_arena *arena)
{
    stk__arena_rewind(arena, (struct stk__arena_mark){ NULL, 0 });
}

/* In plain C throughout ours is slower than the library, which has vectors for most processors;
 * then it is used only where it is asked for. */
static bool is_ours_faster(const struct stk__codec *codec)
{
    return codec->kernels || stk__cpu_level() != STK__CPU_SCALAR;
}

static bool has_own(struct stk__codec *codec)
{
    if (!codec->state.total_bytes)
        codec->baseline = stk__baseline_new(&codec->state, &codec->arena);
    if (codec->baseline)
        stk__baseline_use_kernels(codec->baseline, codec->kernels);
    return codec->baseline;
}

/* False: the file is for the library. */
static bool decode_own(struct stk__codec *codec, const struct stk__decode_request *request,
                       struct stk__canvas *canvas, int *code, struct stk_error *err)
{
    if (!has_own(codec)) {
        *code = stk__out_of_memory(err);
        return true;
    }
    if (!stk__baseline_decode(codec->baseline, request, canvas, code, err))
        return false;
    codec->n_own += !*code;
    return true;
}

/* Our own decoder first; what it declines goes to the library, into the same place. Where the
 * library is first it may find damage outside of the part that is wanted, of which ours knows
 * nothing: it is asked then, so that no file is bad on one processor and good on another. */
static int decode_jpeg(struct stk__codec *codec, const struct stk__decode_request *request,
                       struct stk__canvas *canvas, struct stk_error *err)
{
    bool is_ours_first = !request->is_by_library && is_ours_faster(codec);
    int own_code;
    if (is_ours_first && decode_own(codec, request, canvas, &own_code, err))
        return own_code;
    free_all(&codec->arena);
    int code = stk__jpeg_decode(codec->jpeg, request, canvas, err);
    if (code != STK_DATA || is_ours_first || request->is_by_library || !request->choose)
        return code;
    free_all(&codec->arena);
    return decode_own(codec, request, canvas, &own_code, err) ? own_code : code;
}

static stk__format_decode *const decoders[] = {
    [STK__FORMAT_PNG] = stk__png_decode,
    [STK__FORMAT_GIF] = stk__gif_decode,
    [STK__FORMAT_WEBP] = stk__webp_decode,
    [STK__FORMAT_BMP] = stk__bmp_decode,
};

/* What a picture takes while it is decoded, by its header: its pixels, and all coefficients where
 * they come in several scans. */
static size_t needed_bytes(const struct stk__decode_request *request,
                           const struct stk__image_info *info)
{
    size_t n_pixels = (size_t)info->width * info->height;
    size_t channels = (size_t)(request->channels ? request->channels : info->channels);
    size_t shrunk = request->scale > 1 && info->format == STK__FORMAT_JPEG
                        ? (size_t)request->scale * (size_t)request->scale
                        : 1;
    size_t bytes = n_pixels * channels / shrunk << request->is_wide;
    return bytes + (info->is_progressive ? n_pixels * (size_t)info->channels * 2 : 0);
}

static void expect(const struct stk__decode_request *request)
{
    struct stk__image_info info;
    if (stk__image_info(request->bytes, request->n_bytes, &info, NULL))
        return;
    size_t n_pixels = (size_t)info.width * info.height;
    if (request->max_pixels && n_pixels > (size_t)request->max_pixels)
        return; /* it will be refused */
    stk__gauge_expect(needed_bytes(request, &info));
    if (info.format == STK__FORMAT_WEBP)
        stk__gauge_expect_more(0, stk__webp_library_bytes(request, n_pixels));
}

static int decode(struct stk__codec *codec, const struct stk__decode_request *request,
                  struct stk__image *out, struct stk_error *err)
{
    struct stk__canvas canvas = { .out = out };
    enum stk__format format = stk__image_format(request->bytes, request->n_bytes);
    int code;
    free_all(&codec->arena);
    if (lacks_palette(request, format))
        code = stk__fail_without_palette(err);
    else if (format == STK__FORMAT_JPEG)
        code = decode_jpeg(codec, request, &canvas, err);
    else if (decoders[format])
        code = decoders[format](&codec->arena, request, &canvas, err);
    else
        code = fail_unknown(request->bytes, request->n_bytes, err);
    codec->n_flawed += !code && canvas.is_flawed;
    free_all(&codec->arena); /* what it keeps may be given back while other ops run */
    if (codec->arena.total_bytes > KEEP_BYTES)
        stk__arena_free(&codec->arena);
    return code;
}

int stk__codec_decode(struct stk__codec *codec, const struct stk__decode_request *request,
                      struct stk__image *out, struct stk_error *err)
{
    if (codec->arena.gauge)
        expect(request);
    int code = decode(codec, request, out, err);
    /* decoders that were told to stop call it damage, or take it for a cut file */
    return stk__cancel_is_asked() ? stk_fail(err, STK_CANCELLED, "cancelled") : code;
}
