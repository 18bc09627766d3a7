/* SPDX-License-Identifier: Apache-2.0 */
/* png_write.c: PNG files by libpng, with the filters it chooses by row. */
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/encoder.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>

enum { ZLIB_BYTES = 384 << 10 }; /* of zlib at its highest level, and libpng's own */

struct writing {
    struct stk__encoder *encoder;
    png_structp png;
    png_infop info;
    bool is_exhausted; /* the work */
    char cause[100];
    jmp_buf on_fault;
};

_Noreturn static void leave(png_structp png, const char *cause)
{
    struct writing *w = png_get_error_ptr(png);
    snprintf(w->cause, sizeof w->cause, "%s", cause);
    longjmp(w->on_fault, 1);
}

static void say_nothing(png_structp png, const char *text)
{
    (void)png, (void)text;
}

static void *alloc(png_structp png, png_alloc_size_t bytes)
{
    struct writing *w = png_get_mem_ptr(png);
    void *at = stk__arena_take(&w->encoder->work, bytes);
    w->is_exhausted |= !at;
    return at;
}

static void keep(png_structp png, void *at)
{
    (void)png, (void)at;
}

static void write_bytes(png_structp png, png_bytep bytes, size_t n)
{
    struct writing *w = png_get_io_ptr(png);
    if (!stk__encoder_write(w->encoder, bytes, n))
        png_error(png, "out of memory");
}

static void flush_nothing(png_structp png)
{
    (void)png;
}

static void write_header(const struct writing *w, const struct stk__pixels *pixels, int level)
{
    static const int types[] = { 0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                 PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA };
    const uint16_t one = 1;
    png_set_compression_level(w->png, level);
    png_set_user_limits(w->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(w->png, w->info, pixels->width, pixels->height, pixels->is_wide ? 16 : 8,
                 types[pixels->channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(w->png, w->info);
    if (pixels->is_wide && *(const uint8_t *)&one)
        png_set_swap(w->png);
}

static int write_file(struct writing *w, const struct stk__pixels *pixels, int level,
                      struct stk_error *err)
{
    if (setjmp(w->on_fault))
        return w->encoder->is_exhausted || w->is_exhausted
                   ? stk__out_of_memory(err)
                   : stk_fail(err, STK_DATA, "cannot be a PNG: %s", w->cause);
    w->png =
        png_create_write_struct_2(PNG_LIBPNG_VER_STRING, w, leave, say_nothing, w, alloc, keep);
    w->info = w->png ? png_create_info_struct(w->png) : NULL;
    if (!w->info)
        return stk__out_of_memory(err);
    png_set_write_fn(w->png, w, write_bytes, flush_nothing);
    write_header(w, pixels, level);
    size_t stride = (size_t)pixels->width * (size_t)pixels->channels << pixels->is_wide;
    for (uint32_t y = 0; y < pixels->height; y++) {
        if (stk__cancel_is_asked())
            png_error(w->png, "cancelled");
        png_write_row(w->png, pixels->data + y * stride);
    }
    png_write_end(w->png, NULL);
    return STK_OK;
}

int stk__encode_png(struct stk__encoder *encoder, const struct stk__pixels *pixels, int level,
                    struct stk__encoded *out, struct stk_error *err)
{
    struct writing w = { .encoder = encoder };
    size_t row_bytes = pixels->height ? stk__pixels_bytes(pixels) / pixels->height : 0;
    stk__encoder_start(encoder, pixels, ZLIB_BYTES + 8 * row_bytes, 0);
    int code = write_file(&w, pixels, level, err);
    png_destroy_write_struct(&w.png, &w.info);
    stk__encoder_finish(encoder, out);
    return code;
}
