/* SPDX-License-Identifier: Apache-2.0 */
/* webp_write.c: WebP files by libwebp. */
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/encoder.h"

#include <webp/encode.h>

static int write_bytes(const uint8_t *bytes, size_t n, const WebPPicture *picture)
{
    return stk__encoder_write(picture->custom_ptr, bytes, n);
}

static int goes_on(int percent, const WebPPicture *picture)
{
    (void)percent, (void)picture;
    return !stk__cancel_is_asked();
}

/* The library has no gray. */
static int import_gray(WebPPicture *picture, const struct stk__pixels *pixels)
{
    size_t n = (size_t)pixels->width * pixels->height;
    struct stk__encoder *encoder = picture->custom_ptr;
    uint8_t *rgb = stk__arena_take(&encoder->work, n * 3);
    if (!rgb) {
        picture->error_code = VP8_ENC_ERROR_OUT_OF_MEMORY;
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        rgb[3 * i] = rgb[3 * i + 1] = rgb[3 * i + 2] = pixels->data[i];
    return WebPPictureImportRGB(picture, rgb, (int)pixels->width * 3);
}

static int import(WebPPicture *picture, const struct stk__pixels *pixels)
{
    int stride = (int)pixels->width * pixels->channels;
    if (pixels->channels == 1)
        return import_gray(picture, pixels);
    return pixels->channels == 3 ? WebPPictureImportRGB(picture, pixels->data, stride)
                                 : WebPPictureImportRGBA(picture, pixels->data, stride);
}

static int report(const WebPPicture *picture, struct stk_error *err)
{
    int fault = picture->error_code;
    const struct stk__encoder *encoder = picture->custom_ptr;
    if (encoder->is_exhausted || fault == VP8_ENC_ERROR_OUT_OF_MEMORY ||
        fault == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY)
        return stk__out_of_memory(err);
    return stk_fail(err, STK_DATA, "cannot be a WebP: libwebp's error %d", fault);
}

/* Of a lossless picture: measured, 38 bytes a pixel, and statistics of each tile, twice. Tiles are of 8 x 8 pixels, or
 * the next power of two where that would be more of them than the library allows. A photograph with few colours has
 * twice the statistics of noise. */
static size_t lossless_bytes(size_t n_pixels)
{
    const size_t fixed = (size_t)1100 << 10, of_tile = (size_t)17 << 10, most_tiles = 2600;
    size_t tile = 8 * 8;
    while (n_pixels / tile > most_tiles)
        tile *= 4;
    return fixed + n_pixels * 38 + (n_pixels / tile + 1) * of_tile;
}

/* About what the library takes by malloc; measured with noise, which takes most: 16 bytes a pixel at quality 75,
 * 28 at 100 and 25 more for alpha. */
static size_t library_bytes(const struct stk__pixels *pixels, double quality, bool is_lossless)
{
    const size_t alpha = 25;
    size_t n = (size_t)pixels->width * pixels->height;
    if (is_lossless)
        return lossless_bytes(n);
    return n * (8 + (size_t)(quality / 5)) + (pixels->channels == 4 ? n * alpha : 0);
}

int stk__encode_webp(struct stk__encoder *encoder, const struct stk__pixels *pixels, double quality,
                     bool is_lossless, struct stk__encoded *out, struct stk_error *err)
{
    WebPConfig config;
    WebPPicture picture;
    if (!pixels->width || !pixels->height || pixels->width > WEBP_MAX_DIMENSION ||
        pixels->height > WEBP_MAX_DIMENSION)
        return stk_fail(err, STK_DATA, "cannot be a WebP: it has from 1 to %d rows and columns",
                        WEBP_MAX_DIMENSION);
    if (!WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, (float)quality) ||
        !WebPPictureInit(&picture))
        return stk_fail(err, STK_DATA, "libwebp is of another version");
    config.lossless = is_lossless;
    config.exact = is_lossless; /* colours of transparent pixels too */
    picture.use_argb = is_lossless;
    picture.width = (int)pixels->width;
    picture.height = (int)pixels->height;
    picture.writer = write_bytes;
    picture.progress_hook = goes_on;
    picture.custom_ptr = encoder;
    stk__encoder_start(encoder, pixels, pixels->channels == 1 ? 3 * stk__pixels_bytes(pixels) : 0,
                       library_bytes(pixels, quality, is_lossless));
    bool is_good = import(&picture, pixels) && WebPEncode(&config, &picture);
    int code = is_good ? STK_OK : report(&picture, err);
    WebPPictureFree(&picture);
    stk__encoder_finish(encoder, out);
    return code;
}
