/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg.c: JPEG by libjpeg-turbo's classic interface, rows straight into the caller's memory.
 *
 * One decompressor lives as long as its thread. The library reports faults by calling us; we leave
 * it with longjmp and take its own words as the message. Its warnings mean pixels that are missing
 * or guessed, so they are faults too, but for those listed in is_harmless.
 */
#include "base/error.h"
#include "codec/formats.h"
#include "codec/jpeg_memory.h"

#include <ctype.h>
#include <jerror.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Encoders write about ten scans; a small file with thousands of them is meant to cost hours. */
enum { MAX_SCANS = 100 };

struct stk__jpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr faults;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    struct stk__jpeg_memory memory;
    const struct stk__decode_request *request;
    const char *cause; /* of a fault that we found ourselves, or NULL */
    bool is_cut;       /* the data ended too early, and that is accepted */
    jmp_buf on_fault;
};

static struct stk__jpeg *owner_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

/* ---- faults ---- */

_Noreturn static void leave(j_common_ptr cinfo)
{
    longjmp(owner_of(cinfo)->on_fault, 1);
}

/* An unknown version number, a colour transform that has to be guessed, bytes between the last
 * scan and the end. */
static bool is_harmless(const struct jpeg_error_mgr *faults)
{
    int code = faults->msg_code;
    return code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
           (code == JWRN_EXTRANEOUS_DATA && faults->msg_parm.i[1] == JPEG_EOI);
}

/* The file ends, or an end mark comes, in the middle of the data. */
static bool is_about_cut(j_common_ptr cinfo)
{
    int code = cinfo->err->msg_code;
    return code == JWRN_JPEG_EOF ||
           (code == JWRN_HIT_MARKER && ((j_decompress_ptr)cinfo)->unread_marker == JPEG_EOI);
}

/* The library goes on after a warning: it takes what is missing for zeros, and for gray from the
 * next block on. Of a file known to be cut nothing else is expected. */
static void hear(j_common_ptr cinfo, int level)
{
    struct stk__jpeg *jpeg = owner_of(cinfo);
    if (level >= 0 || is_harmless(cinfo->err) || jpeg->is_cut)
        return;
    if (!is_about_cut(cinfo) || !stk__is_tolerant(jpeg->request))
        leave(cinfo);
    jpeg->is_cut = true;
}

static void say_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

/* The library keeps its place in a block of data to itself: where a fault is is known to a few
 * blocks of pixels. */
static int report(struct stk__jpeg *jpeg, struct stk_error *err)
{
    if (jpeg->memory.is_exhausted)
        return stk__out_of_memory(err);
    size_t n_bytes = jpeg->request->n_bytes;
    size_t at = n_bytes - (jpeg->is_cut ? 0 : jpeg->source.bytes_in_buffer);
    if (jpeg->cause)
        return stk_fail(err, STK_DATA, "bad JPEG near byte %zu: %s", at, jpeg->cause);
    char text[JMSG_LENGTH_MAX];
    jpeg->faults.format_message((j_common_ptr)&jpeg->cinfo, text);
    text[0] = (char)tolower((unsigned char)text[0]);
    if (jpeg->faults.msg_code == JWRN_JPEG_EOF)
        return stk_fail(err, STK_DATA, "truncated JPEG at byte %zu: %s", n_bytes, text);
    bool is_cut = is_about_cut((j_common_ptr)&jpeg->cinfo);
    return stk_fail(err, STK_DATA, "%s JPEG near byte %zu: %s", is_cut ? "truncated" : "bad", at,
                    text);
}

/* ---- bytes ---- */

static void start_source(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

/* All bytes were there from the start: being asked for more is the end of the file. */
static boolean fill_source(j_decompress_ptr cinfo)
{
    static const JOCTET end_mark[] = { 0xff, JPEG_EOI };
    WARNMS(cinfo, JWRN_JPEG_EOF);
    cinfo->src->next_input_byte = end_mark;
    cinfo->src->bytes_in_buffer = sizeof end_mark;
    return TRUE;
}

static void skip_source(j_decompress_ptr cinfo, long n)
{
    struct jpeg_source_mgr *source = cinfo->src;
    if (n <= 0)
        return;
    if ((size_t)n > source->bytes_in_buffer) {
        fill_source(cinfo);
        return;
    }
    source->next_input_byte += n;
    source->bytes_in_buffer -= (size_t)n;
}

/* ---- life ---- */

/* Called between pieces of a file with many scans. */
static void watch_scans(j_common_ptr cinfo)
{
    if (((j_decompress_ptr)cinfo)->input_scan_number <= MAX_SCANS)
        return;
    owner_of(cinfo)->cause = "it has more than 100 scans";
    leave(cinfo);
}

static void set_up(struct stk__jpeg *jpeg)
{
    jpeg->cinfo.err = jpeg_std_error(&jpeg->faults);
    jpeg->faults.error_exit = leave;
    jpeg->faults.emit_message = hear;
    jpeg->faults.output_message = say_nothing;
    jpeg->cinfo.client_data = jpeg;
    jpeg->source = (struct jpeg_source_mgr){
        .init_source = start_source,
        .fill_input_buffer = fill_source,
        .skip_input_data = skip_source,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = start_source,
    };
    jpeg->progress.progress_monitor = watch_scans;
}

static bool create(struct stk__jpeg *jpeg)
{
    if (setjmp(jpeg->on_fault))
        return false;
    jpeg_create_decompress(&jpeg->cinfo);
    return true;
}

struct stk__jpeg *stk__jpeg_new(struct stk_arena *arena)
{
    struct stk__jpeg *jpeg = calloc(1, sizeof *jpeg);
    if (!jpeg)
        return NULL;
    set_up(jpeg);
    if (!create(jpeg)) {
        jpeg_destroy_decompress(&jpeg->cinfo);
        free(jpeg);
        return NULL;
    }
    jpeg->cinfo.src = &jpeg->source;
    jpeg->cinfo.progress = &jpeg->progress;
    stk__jpeg_memory_install(&jpeg->memory, &jpeg->cinfo, arena);
    return jpeg;
}

void stk__jpeg_free(struct stk__jpeg *jpeg)
{
    if (!jpeg)
        return;
    stk__jpeg_memory_remove(&jpeg->memory, &jpeg->cinfo);
    jpeg_destroy_decompress(&jpeg->cinfo);
    free(jpeg);
}

/* Tables of the last picture are gone with the arena. A file without its own must not find any,
 * or its pixels would depend on what this thread decoded before. */
static void forget_picture(struct stk__jpeg *jpeg)
{
    j_decompress_ptr cinfo = &jpeg->cinfo;
    memset(cinfo->quant_tbl_ptrs, 0, sizeof cinfo->quant_tbl_ptrs);
    memset(cinfo->dc_huff_tbl_ptrs, 0, sizeof cinfo->dc_huff_tbl_ptrs);
    memset(cinfo->ac_huff_tbl_ptrs, 0, sizeof cinfo->ac_huff_tbl_ptrs);
    jpeg->memory.is_exhausted = false;
    jpeg->cause = NULL;
    jpeg->is_cut = false;
}

/* ---- pixels ---- */

static int check_header(const struct jpeg_decompress_struct *cinfo,
                        const struct stk__decode_request *request, struct stk_error *err)
{
    int code = stk__check_size(request, cinfo->image_width, cinfo->image_height, err);
    if (code)
        return code;
    int n = cinfo->num_components;
    if (n != 1 && n != 3 && n != 4)
        return stk_fail(err, STK_DATA, "bad JPEG: it has %d components instead of 1, 3 or 4", n);
    if (!cinfo->arith_code && !stk__is_tolerant(request) &&
        stk__jpeg_is_cut_short(cinfo->image_width, cinfo->image_height, request->n_bytes))
        return stk_fail(err, STK_DATA, "truncated JPEG: %zu bytes cannot hold %u x %u pixels",
                        request->n_bytes, cinfo->image_width, cinfo->image_height);
    return STK_OK;
}

/* A component that no scan brought would be gray without a word. In files with many scans this is
 * known only after the last. */
static int check_components(const struct stk__jpeg *jpeg, struct stk_error *err)
{
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    for (int i = 0; i < cinfo->num_components && !jpeg->is_cut; i++)
        if (!cinfo->comp_info[i].quant_table)
            return stk_fail(err, STK_DATA,
                            "truncated JPEG: there is no data for component %d of %d", i + 1,
                            cinfo->num_components);
    return STK_OK;
}

static bool is_ink(const struct jpeg_decompress_struct *cinfo)
{
    return cinfo->jpeg_color_space == JCS_CMYK || cinfo->jpeg_color_space == JCS_YCCK;
}

static int choose_output(j_decompress_ptr cinfo, const struct stk__decode_request *request)
{
    int channels = request->channels;
    if (!channels)
        channels = cinfo->num_components == 1 ? 1 : 3;
    if (is_ink(cinfo))
        cinfo->out_color_space = JCS_CMYK;
    else if (channels == 1)
        cinfo->out_color_space = JCS_GRAYSCALE;
    else
        cinfo->out_color_space = channels == 3 ? JCS_RGB : JCS_EXT_RGBA;
    cinfo->dct_method = request->is_fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    cinfo->scale_num = 1;
    cinfo->scale_denom = request->scale ? (unsigned)request->scale : 1;
    return channels;
}

/* Row pointers are made for many rows at a time; the library takes as many as it has. */
static void read_rows(j_decompress_ptr cinfo, const struct stk__canvas *canvas)
{
    enum { N_ROWS = 64 };
    JSAMPROW rows[N_ROWS];
    uint32_t end = 0;
    while (cinfo->output_scanline < cinfo->output_height) {
        uint32_t begin = end;
        end = cinfo->output_height - begin < N_ROWS ? cinfo->output_height : begin + N_ROWS;
        for (uint32_t y = begin; y < end; y++)
            rows[y - begin] = stk__canvas_row(canvas, y);
        while (cinfo->output_scanline < end)
            jpeg_read_scanlines(cinfo, rows + (cinfo->output_scanline - begin),
                                end - cinfo->output_scanline);
    }
}

/* One row of CMYK. Adobe's files hold 255 - ink; others hold ink. Light = paper left by ink and
 * black, rounded down. */
static void convert_ink(const uint8_t *src, uint8_t *dst, const struct stk__canvas *canvas,
                        bool is_inverted)
{
    int channels = canvas->rows.channels;
    unsigned flip = is_inverted ? 0 : 255;
    for (uint32_t x = 0; x < canvas->rows.width; x++, src += 4, dst += channels) {
        unsigned black = src[3] ^ flip;
        unsigned r = (src[0] ^ flip) * black / 255;
        unsigned g = (src[1] ^ flip) * black / 255;
        unsigned b = (src[2] ^ flip) * black / 255;
        if (channels == 1) {
            dst[0] = stk__gray_of(r, g, b);
            continue;
        }
        dst[0] = (uint8_t)r;
        dst[1] = (uint8_t)g;
        dst[2] = (uint8_t)b;
        if (channels == 4)
            dst[3] = 255;
    }
}

static void read_ink_rows(j_decompress_ptr cinfo, const struct stk__canvas *canvas)
{
    JSAMPARRAY row =
        cinfo->mem->alloc_sarray((j_common_ptr)cinfo, JPOOL_IMAGE, cinfo->output_width * 4, 1);
    while (cinfo->output_scanline < cinfo->output_height) {
        uint32_t y = cinfo->output_scanline;
        jpeg_read_scanlines(cinfo, row, 1);
        convert_ink(row[0], stk__canvas_row(canvas, y), canvas, cinfo->saw_Adobe_marker);
    }
}

static int decode(struct stk__jpeg *jpeg, const struct stk__decode_request *request,
                  struct stk__canvas *canvas, struct stk_error *err)
{
    j_decompress_ptr cinfo = &jpeg->cinfo;
    jpeg_read_header(cinfo, TRUE);
    int code = check_header(cinfo, request, err);
    if (code)
        return code;
    int channels = choose_output(cinfo, request);
    jpeg_start_decompress(cinfo);
    code = check_components(jpeg, err);
    if (code)
        return code;
    struct stk__image picture = { .height = cinfo->output_height,
                                  .width = cinfo->output_width,
                                  .channels = channels };
    code = stk__canvas_open(canvas, request, picture, false, jpeg->memory.arena, err);
    if (code)
        return code;
    if (is_ink(cinfo))
        read_ink_rows(cinfo, canvas);
    else
        read_rows(cinfo, canvas);
    stk__canvas_close(canvas);
    return STK_OK;
}

static int decode_bytes(struct stk__jpeg *jpeg, size_t n_bytes, struct stk__canvas *canvas,
                        struct stk_error *err)
{
    int code;
    forget_picture(jpeg);
    jpeg->source.next_input_byte = jpeg->request->bytes;
    jpeg->source.bytes_in_buffer = n_bytes;
    if (setjmp(jpeg->on_fault))
        code = report(jpeg, err);
    else
        code = decode(jpeg, jpeg->request, canvas, err);
    jpeg_abort_decompress(&jpeg->cinfo);
    return code;
}

/* Where the last segment begins; 0 if there is none. */
static size_t find_last_segment(const struct stk__decode_request *request)
{
    enum { FIRST = 0xc0, FIRST_RESTART = 0xd0, LAST_RESTART = 0xd7, PADDING = 0xff };
    for (size_t i = request->n_bytes; i >= 2; i--) {
        int marker = request->bytes[i - 1];
        bool is_segment = marker >= FIRST && marker < PADDING &&
                          (marker < FIRST_RESTART || marker > LAST_RESTART);
        if (request->bytes[i - 2] == 0xff && is_segment)
            return i - 2;
    }
    return 0;
}

/* A file that is cut in the tables between two scans has an end mark in them, which the library
 * does not forgive: it is cut before them instead. */
int stk__jpeg_decode(struct stk__jpeg *jpeg, const struct stk__decode_request *request,
                     struct stk__canvas *canvas, struct stk_error *err)
{
    jpeg->request = request;
    int code = decode_bytes(jpeg, request->n_bytes, canvas, err);
    if (code == STK_DATA && jpeg->is_cut)
        code = decode_bytes(jpeg, find_last_segment(request), canvas, err);
    return code;
}
