/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_write.c: JPEG files by libjpeg-turbo, with its accurate transform. */
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/encoder.h"
#include "codec/image/jpeg_memory.h"

#include <stdio.h> /* jpeglib.h wants size_t and FILE declared */

#include <ctype.h>
#include <jerror.h>
#include <jpeglib.h>
#include <setjmp.h>

/* Where the library writes: straight into the output, which grows when it is full. */
struct sink {
    struct jpeg_destination_mgr methods; /* first */
    struct stk__encoder *encoder;
};

struct writing {
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr faults;
    struct jpeg_progress_mgr progress;
    struct sink sink;
    struct stk__jpeg_memory memory;
    bool has_memory; /* it is installed */
    jmp_buf on_fault;
};

_Noreturn static void leave(j_common_ptr cinfo)
{
    longjmp(((struct writing *)cinfo->client_data)->on_fault, 1);
}

static void say_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

/* Called between rows, and rows of blocks. */
static void look_for_end(j_common_ptr cinfo)
{
    if (stk__cancel_is_asked())
        leave(cinfo);
}

static void offer_room(j_compress_ptr cinfo)
{
    enum { PIECE = 64 << 10 };
    struct sink *sink = (struct sink *)cinfo->dest;
    if (!stk__encoder_reserve(sink->encoder, PIECE))
        ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    sink->methods.next_output_byte = sink->encoder->bytes + sink->encoder->n_bytes;
    sink->methods.free_in_buffer = sink->encoder->cap - sink->encoder->n_bytes;
}

/* Called when all room is used. */
static boolean take_full(j_compress_ptr cinfo)
{
    struct stk__encoder *encoder = ((struct sink *)cinfo->dest)->encoder;
    encoder->n_bytes = encoder->cap;
    offer_room(cinfo);
    return TRUE;
}

static void take_rest(j_compress_ptr cinfo)
{
    struct sink *sink = (struct sink *)cinfo->dest;
    sink->encoder->n_bytes = sink->encoder->cap - sink->methods.free_in_buffer;
}

static void set_options(j_compress_ptr cinfo, const struct stk__pixels *pixels,
                        const struct stk__jpeg_options *options)
{
    cinfo->image_width = pixels->width;
    cinfo->image_height = pixels->height;
    cinfo->input_components = pixels->channels;
    cinfo->in_color_space = pixels->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(cinfo);
    jpeg_set_quality(cinfo, options->quality, TRUE);
    if (pixels->channels == 3) {
        cinfo->comp_info[0].h_samp_factor = options->across;
        cinfo->comp_info[0].v_samp_factor = options->down;
    }
    cinfo->dct_method = JDCT_ISLOW;
    cinfo->optimize_coding = options->is_optimized;
    if (options->is_progressive)
        jpeg_simple_progression(cinfo);
}

static void write_rows(j_compress_ptr cinfo, const struct stk__pixels *pixels)
{
    size_t stride = (size_t)pixels->width * (size_t)pixels->channels;
    while (cinfo->next_scanline < cinfo->image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels->data + cinfo->next_scanline * stride);
        jpeg_write_scanlines(cinfo, &row, 1);
    }
}

static int report(const struct writing *w, struct stk_error *err)
{
    if (w->faults.msg_code == JERR_OUT_OF_MEMORY)
        return stk__out_of_memory(err);
    char text[JMSG_LENGTH_MAX];
    w->faults.format_message((j_common_ptr)(uintptr_t)&w->cinfo, text);
    text[0] = (char)tolower((unsigned char)text[0]);
    return stk_fail(err, STK_DATA, "cannot be a JPEG: %s", text);
}

static int write_file(struct writing *w, const struct stk__pixels *pixels,
                      const struct stk__jpeg_options *options, struct stk_error *err)
{
    if (setjmp(w->on_fault))
        return report(w, err);
    jpeg_create_compress(&w->cinfo);
    stk__jpeg_memory_install(&w->memory, (j_common_ptr)&w->cinfo, &w->sink.encoder->work);
    w->has_memory = true;
    w->cinfo.client_data = w;
    w->cinfo.dest = &w->sink.methods;
    w->cinfo.progress = &w->progress;
    set_options(&w->cinfo, pixels, options);
    jpeg_start_compress(&w->cinfo, TRUE);
    write_rows(&w->cinfo, pixels);
    jpeg_finish_compress(&w->cinfo);
    return STK_OK;
}

/* Rows on their way, and all coefficients where there is a second pass over them. */
static size_t work_bytes(const struct stk__pixels *pixels, const struct stk__jpeg_options *options)
{
    enum { FIXED_BYTES = 64 << 10, ROWS = 64 };
    size_t pixel_bytes = stk__pixels_bytes(pixels);
    bool is_twice = options->is_progressive || options->is_optimized;
    size_t rows = (size_t)pixels->width * (size_t)pixels->channels * ROWS;
    return FIXED_BYTES + rows + (is_twice ? 2 * pixel_bytes : 0);
}

int stk__encode_jpeg(struct stk__encoder *encoder, const struct stk__pixels *pixels,
                     const struct stk__jpeg_options *options, struct stk__encoded *out,
                     struct stk_error *err)
{
    struct writing w = { .sink = { .methods = { .init_destination = offer_room,
                                                .empty_output_buffer = take_full,
                                                .term_destination = take_rest },
                                   .encoder = encoder } };
    w.cinfo.err = jpeg_std_error(&w.faults);
    w.cinfo.client_data = &w;
    w.faults.error_exit = leave;
    w.faults.output_message = say_nothing;
    w.progress.progress_monitor = look_for_end;
    stk__encoder_start(encoder, pixels, work_bytes(pixels, options), 0);
    int code = write_file(&w, pixels, options, err);
    if (w.has_memory)
        stk__jpeg_memory_remove(&w.memory, (j_common_ptr)&w.cinfo);
    jpeg_destroy_compress(&w.cinfo);
    stk__encoder_finish(encoder, out);
    return code;
}
