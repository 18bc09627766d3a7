/* SPDX-License-Identifier: Apache-2.0 */
/* webp.c: WebP by libwebp: a picture straight into the caller's memory, an animation by way of the
 * screen that the library keeps. */
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/formats.h"

#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

static int fail(int status, const struct stk__decode_request *request, struct stk_error *err)
{
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
        return stk__out_of_memory(err);
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
        return stk_fail(err, STK_DATA, "truncated WebP at byte %zu: premature end of WebP file",
                        request->n_bytes);
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return stk_fail(err, STK_DATA, "bad WebP: it uses a feature that libwebp does not know");
    default:
        return stk_fail(err, STK_DATA, "bad WebP: its data are damaged");
    }
}

/* Four channels, of which the picture has the first three or the gray of them. */
static void reduce_row(const uint8_t *src, uint8_t *dst, const struct stk__image *rows, int n_src)
{
    for (uint32_t x = 0; x < rows->width; x++, src += n_src, dst += rows->channels)
        stk__put_colour(dst, rows->channels, src);
}

/* ---- pictures ---- */

/* Fewer pixels than that are there in a fraction of a second. */
static bool takes_long(const WebPDecoderConfig *config)
{
    const size_t n_pixels = 16 << 20;
    return config->output.u.RGBA.size / 3 > n_pixels;
}

/* The library knows no way to stop it but to give it no more. */
static int decode_parts(WebPIDecoder *decoder, const struct stk__decode_request *request)
{
    const size_t part = 256 << 10;
    int status = VP8_STATUS_SUSPENDED;
    size_t end = 0;
    while (status == VP8_STATUS_SUSPENDED && end < request->n_bytes && !stk__cancel_is_asked()) {
        end = request->n_bytes - end < part ? request->n_bytes : end + part;
        status = WebPIUpdate(decoder, request->bytes, end);
    }
    return status;
}

/* A file that ends too early is decoded as far as it goes. */
static int decode_into(const struct stk__decode_request *request, WebPDecoderConfig *config)
{
    if (!stk__is_tolerant(request) && !takes_long(config))
        return WebPDecode(request->bytes, request->n_bytes, config);
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, config);
    if (!decoder)
        return VP8_STATUS_OUT_OF_MEMORY;
    int status = decode_parts(decoder, request);
    WebPIDelete(decoder);
    bool is_cut = status == VP8_STATUS_SUSPENDED || status == VP8_STATUS_NOT_ENOUGH_DATA;
    if (!is_cut)
        return status;
    return stk__is_tolerant(request) ? VP8_STATUS_OK : VP8_STATUS_NOT_ENOUGH_DATA;
}

/* The library has no gray: it decodes to colours aside. */
static int decode_gray(const struct stk__decode_request *request, WebPDecoderConfig *config,
                       const struct stk__canvas *canvas, struct stk_arena *arena)
{
    const struct stk__image *rows = &canvas->rows;
    struct stk__image colours = *rows;
    colours.channels = 3;
    colours.stride = (size_t)rows->width * 3;
    colours.data = stk__arena_take(arena, stk__image_bytes(&colours));
    if (!colours.data)
        return VP8_STATUS_OUT_OF_MEMORY;
    if (stk__is_tolerant(request))
        stk__canvas_fill(&(struct stk__canvas){ .rows = colours }, request);
    config->output.u.RGBA.rgba = colours.data;
    config->output.u.RGBA.stride = (int)colours.stride;
    config->output.u.RGBA.size = colours.stride * colours.height;
    int status = decode_into(request, config);
    for (uint32_t y = 0; y < rows->height && !status; y++)
        reduce_row(colours.data + y * colours.stride, stk__canvas_row(canvas, y), rows, 3);
    return status;
}

static int decode_picture(const struct stk__decode_request *request, struct stk__canvas *canvas,
                          struct stk_arena *arena)
{
    const struct stk__image *rows = &canvas->rows;
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return VP8_STATUS_UNSUPPORTED_FEATURE;
    config.output.colorspace = rows->channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    if (rows->channels == 1)
        return decode_gray(request, &config, canvas, arena);
    if (stk__is_tolerant(request))
        stk__canvas_fill(canvas, request);
    config.output.u.RGBA.rgba = rows->data;
    config.output.u.RGBA.stride = (int)rows->stride;
    config.output.u.RGBA.size = rows->stride * rows->height;
    return decode_into(request, &config);
}

/* ---- animations ---- */

static int decode_frames(WebPAnimDecoder *decoder, const struct stk__canvas *canvas)
{
    const struct stk__image *rows = &canvas->rows;
    uint32_t n_frames = rows->frames ? rows->frames : 1;
    for (uint32_t f = 0; f < n_frames && !stk__cancel_is_asked(); f++) {
        uint8_t *screen;
        int time;
        if (!WebPAnimDecoderGetNext(decoder, &screen, &time))
            return VP8_STATUS_BITSTREAM_ERROR;
        for (uint32_t y = 0; y < rows->height; y++)
            reduce_row(screen + (size_t)y * rows->width * 4,
                       stk__canvas_row(canvas, f * rows->height + y), rows, 4);
    }
    return VP8_STATUS_OK;
}

static int open_animation(WebPAnimDecoder *decoder, const struct stk__decode_request *request,
                          struct stk__image picture, struct stk__canvas *canvas,
                          struct stk_arena *arena, struct stk_error *err)
{
    WebPAnimInfo info;
    if (!WebPAnimDecoderGetInfo(decoder, &info))
        return fail(VP8_STATUS_BITSTREAM_ERROR, request, err);
    picture.frames = request->max_frames ? request->max_frames : 1;
    if (picture.frames > info.frame_count)
        picture.frames = info.frame_count;
    picture.width = info.canvas_width;
    picture.height = info.canvas_height;
    int code = stk__check_size(request, picture.width, picture.height, err);
    if (!code)
        code = stk__check_frames(request, &picture, err);
    if (!code)
        code = stk__canvas_open(canvas, request, picture, false, arena, err);
    return code;
}

static bool is_whole(const struct stk__decode_request *request)
{
    const uint8_t *size = request->bytes + 4;
    uint32_t n =
        size[0] | (uint32_t)size[1] << 8 | (uint32_t)size[2] << 16 | (uint32_t)size[3] << 24;
    return request->n_bytes - 8 >= n;
}

/* The library wants the whole file, and says no more than that it does not like it. */
static int decode_animation(const struct stk__decode_request *request, struct stk__image picture,
                            struct stk__canvas *canvas, struct stk_arena *arena,
                            struct stk_error *err)
{
    WebPAnimDecoderOptions options;
    WebPData data = { request->bytes, request->n_bytes };
    if (!is_whole(request))
        return fail(VP8_STATUS_NOT_ENOUGH_DATA, request, err);
    if (!WebPAnimDecoderOptionsInit(&options))
        return fail(VP8_STATUS_UNSUPPORTED_FEATURE, request, err);
    options.color_mode = MODE_RGBA;
    WebPAnimDecoder *decoder = WebPAnimDecoderNew(&data, &options);
    if (!decoder)
        return fail(VP8_STATUS_BITSTREAM_ERROR, request, err);
    int code = open_animation(decoder, request, picture, canvas, arena, err);
    if (!code) {
        int status = decode_frames(decoder, canvas);
        code = status ? fail(status, request, err) : STK_OK;
    }
    WebPAnimDecoderDelete(decoder);
    return code;
}

/* Measured: a lossless picture is decoded to words aside, so is a plane of alpha; an animation has two screens
 * beside the frame. */
size_t stk__webp_library_bytes(const struct stk__decode_request *request, size_t n_pixels)
{
    enum { LOSSY = 1, FIXED_BYTES = 256 << 10 };
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(request->bytes, request->n_bytes, &features))
        return 0;
    size_t words = features.has_animation ? 3 : features.format != LOSSY || features.has_alpha;
    return words * n_pixels * 4 + FIXED_BYTES;
}

int stk__webp_decode(struct stk_arena *arena, const struct stk__decode_request *request,
                     struct stk__canvas *canvas, struct stk_error *err)
{
    WebPBitstreamFeatures features;
    int status = WebPGetFeatures(request->bytes, request->n_bytes, &features);
    if (status)
        return fail(status, request, err);
    struct stk__image picture = { .height = (uint32_t)features.height,
                                  .width = (uint32_t)features.width,
                                  .channels = request->channels };
    if (!picture.channels)
        picture.channels = features.has_alpha ? 4 : 3;
    int code = stk__check_size(request, picture.width, picture.height, err);
    if (code)
        return code;
    if (features.has_animation) {
        code = decode_animation(request, picture, canvas, arena, err);
    } else {
        code = stk__canvas_open(canvas, request, picture, false, arena, err);
        status = code ? 0 : decode_picture(request, canvas, arena);
        code = status ? fail(status, request, err) : code;
    }
    if (!code)
        stk__canvas_close(canvas);
    canvas->is_flawed = !code && !is_whole(request);
    return code;
}
