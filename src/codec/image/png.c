/* SPDX-License-Identifier: Apache-2.0 */
/* png.c: PNG by libpng, rows straight into the caller's memory, its allocations in an arena.
 *
 * libpng rather than libspng: on 500 x 375 photographs it takes 5.1 against 5.9 ms (RGB), 1.9
 * against 2.9 (gray), 6.4 against 7.8 (RGBA) and 1.4 against 1.3 (palette); it converts between all
 * colour types as TensorFlow does, which uses it too; and its allocator has a context, where
 * libspng's would need a global one.
 */
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/formats.h"
#include "codec/image/reader.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* One picture's way through the library. */
struct reading {
    const struct stk__decode_request *request;
    struct stk_arena *arena;
    const uint8_t *at;
    size_t left;
    bool is_exhausted, is_cut;
    bool is_open; /* the canvas is, and rows come */
    char cause[100];
    jmp_buf on_fault;
    png_structp png;
    png_infop info;
    struct stk__canvas *canvas;
};

static void *alloc(png_structp png, png_alloc_size_t bytes)
{
    struct reading *reading = png_get_mem_ptr(png);
    void *at = stk__arena_take(reading->arena, bytes);
    reading->is_exhausted |= !at;
    return at;
}

static void keep(png_structp png, void *at)
{
    (void)png, (void)at;
}

_Noreturn static void leave(png_structp png, const char *cause)
{
    struct reading *reading = png_get_error_ptr(png);
    snprintf(reading->cause, sizeof reading->cause, "%s", cause);
    longjmp(reading->on_fault, 1);
}

/* Warnings are about colour profiles and the like; missing or wrong pixels are errors to libpng. */
static void say_nothing(png_structp png, const char *text)
{
    (void)png, (void)text;
}

static void read_bytes(png_structp png, png_bytep dst, size_t n)
{
    struct reading *reading = png_get_io_ptr(png);
    if (n > reading->left) {
        reading->is_cut = true;
        reading->left = 0;
        png_error(png, "premature end of PNG file");
    }
    memcpy(dst, reading->at, n);
    reading->at += n;
    reading->left -= n;
}

/* Leaves texts, times and the like unread. Colour information matters to one conversion, colour
 * to gray, which libpng does in linear light when it knows the curve. */
static void ignore_chunks(png_structp png, bool is_colour_kept)
{
    static const png_byte names[] =
        "bKGD\0eXIf\0hIST\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0tEXt\0"
        "tIME\0zTXt";
    if (is_colour_kept)
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, names, sizeof names / 5);
    else
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
}

/* A byte of deflated data becomes at most 1032. */
static bool is_cut_short(const struct reading *reading, uint64_t width, uint64_t height)
{
    uint64_t bits = (uint64_t)png_get_bit_depth(reading->png, reading->info) *
                    png_get_channels(reading->png, reading->info);
    return width * bits / 8 * height / 1032 > reading->request->n_bytes;
}

/* Whether the last chunk is there. */
static bool is_whole(const struct stk__decode_request *request)
{
    struct stk__reader r = { request->bytes, request->n_bytes, 0, true, false };
    const uint8_t *name;
    stk__read_bytes(&r, 8); /* what every file begins with */
    do {
        uint32_t len = stk__read(&r, 4);
        name = stk__read_bytes(&r, 4);
        stk__read_bytes(&r, (size_t)len + 4);
    } while (!r.is_short && memcmp(name, "IEND", 4));
    return !r.is_short;
}

/* libpng wants pixels by the 8 KiB, and loses the last ones of a file that is cut. By the byte it
 * finds them all. */
static void prepare_for_cut(const struct reading *reading)
{
    stk__canvas_fill(reading->canvas, reading->request);
    if (!is_whole(reading->request))
        png_set_compression_buffer_size(reading->png, 1);
}

static int check_header(const struct reading *reading, struct stk_error *err)
{
    uint32_t width = png_get_image_width(reading->png, reading->info);
    uint32_t height = png_get_image_height(reading->png, reading->info);
    int code = stk__check_size(reading->request, width, height, err);
    if (code)
        return code;
    int type = png_get_color_type(reading->png, reading->info);
    if (reading->request->is_indexed && type & PNG_COLOR_MASK_COLOR &&
        !(type & PNG_COLOR_MASK_PALETTE))
        return stk__fail_without_palette(err);
    if (!stk__is_tolerant(reading->request) && is_cut_short(reading, width, height))
        return stk_fail(err, STK_DATA, "truncated PNG: %zu bytes cannot hold %u x %u pixels",
                        reading->request->n_bytes, width, height);
    return STK_OK;
}

static int channels_of(const struct reading *reading)
{
    if (reading->request->is_indexed)
        return 1;
    if (reading->request->channels)
        return reading->request->channels;
    if (png_get_color_type(reading->png, reading->info) != PNG_COLOR_TYPE_PALETTE)
        return png_get_channels(reading->png, reading->info);
    return png_get_valid(reading->png, reading->info, PNG_INFO_tRNS) ? 4 : 3;
}

/* Pixels without alpha are opaque. TensorFlow gives them the largest value of the file's depth, which
 * is 1, 3 or 15 below 8 bits, and so nearly transparent. */
static void choose_alpha(const struct reading *reading, bool is_wanted)
{
    png_structp png = reading->png;
    int type = png_get_color_type(png, reading->info);
    bool is_marked = png_get_valid(png, reading->info, PNG_INFO_tRNS);
    bool is_there = type & PNG_COLOR_MASK_ALPHA;
    if (!is_wanted && (is_there || is_marked))
        png_set_strip_alpha(png);
    else if (is_wanted && !is_there && is_marked)
        png_set_tRNS_to_alpha(png);
    else if (is_wanted && !is_there)
        png_set_add_alpha(png, UINT16_MAX, PNG_FILLER_AFTER);
}

/* 8 bits, or 16 in the machine's order. Those of 16 lose their low byte without rounding. */
static void choose_depth(const struct reading *reading)
{
    const uint16_t one = 1;
    if (!reading->request->is_wide) {
        png_set_strip_16(reading->png);
        return;
    }
    png_set_expand_16(reading->png);
    if (*(const uint8_t *)&one)
        png_set_swap(reading->png);
}

/* Everything in the channels that are wanted; gray weighs red 0.299, green 0.587, blue 0.114. */
static void choose_output(const struct reading *reading, int channels)
{
    png_structp png = reading->png;
    int type = png_get_color_type(png, reading->info);
    bool is_coloured = type & PNG_COLOR_MASK_COLOR;
    png_set_packing(png);
    if (reading->request->is_indexed && type == PNG_COLOR_TYPE_PALETTE)
        return;
    choose_alpha(reading, channels % 2 == 0);
    choose_depth(reading);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (!is_coloured && png_get_bit_depth(png, reading->info) < 8)
        png_set_expand_gray_1_2_4_to_8(png);
    if (is_coloured && channels < 3)
        png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    else if (!is_coloured && channels >= 3)
        png_set_gray_to_rgb(png);
}

/* Interlaced files come in several passes over the same rows. */
static void read_rows(const struct reading *reading, int n_passes)
{
    while (n_passes-- > 0)
        for (uint32_t y = 0; y < reading->canvas->rows.height; y++) {
            if (stk__cancel_is_asked())
                png_error(reading->png, "cancelled");
            png_read_row(reading->png, stk__canvas_row(reading->canvas, y), NULL);
        }
}

static int decode(struct reading *reading, struct stk_error *err)
{
    png_structp png = reading->png;
    reading->info = png_create_info_struct(png);
    if (!reading->info)
        return stk__out_of_memory(err);
    png_set_read_fn(png, reading, read_bytes);
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    ignore_chunks(png, reading->request->channels == 1);
    png_read_info(png, reading->info);
    int code = check_header(reading, err);
    if (code)
        return code;
    int channels = channels_of(reading);
    choose_output(reading, channels);
    int n_passes = png_set_interlace_handling(png);
    png_read_update_info(png, reading->info);
    struct stk__image picture = { .height = png_get_image_height(png, reading->info),
                                  .width = png_get_image_width(png, reading->info),
                                  .channels = channels,
                                  .is_wide = reading->request->is_wide };
    code = stk__canvas_open(reading->canvas, reading->request, picture, false, reading->arena, err);
    if (code)
        return code;
    reading->is_open = true;
    if (stk__is_tolerant(reading->request))
        prepare_for_cut(reading);
    read_rows(reading, n_passes);
    png_read_end(png, NULL);
    stk__canvas_close(reading->canvas);
    return STK_OK;
}

static int report(const struct reading *reading, struct stk_error *err)
{
    if (reading->is_exhausted)
        return stk__out_of_memory(err);
    if (reading->is_cut && reading->is_open && stk__is_tolerant(reading->request)) {
        stk__canvas_close(reading->canvas);
        reading->canvas->is_flawed = true;
        return STK_OK;
    }
    return stk_fail(err, STK_DATA, "%s PNG at byte %zu: %s", reading->is_cut ? "truncated" : "bad",
                    reading->request->n_bytes - reading->left, reading->cause);
}

static int run(struct reading *reading, struct stk_error *err)
{
    if (setjmp(reading->on_fault))
        return report(reading, err);
    reading->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, reading, leave, say_nothing,
                                            reading, alloc, keep);
    return reading->png ? decode(reading, err) : stk__out_of_memory(err);
}

int stk__png_decode(struct stk_arena *arena, const struct stk__decode_request *request,
                    struct stk__canvas *canvas, struct stk_error *err)
{
    struct reading reading = { .request = request,
                               .arena = arena,
                               .at = request->bytes,
                               .left = request->n_bytes,
                               .canvas = canvas };
    int code = run(&reading, err);
    if (reading.png)
        png_destroy_read_struct(&reading.png, &reading.info, NULL);
    return code;
}
