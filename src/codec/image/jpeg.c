/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg.c: JPEG by libjpeg-turbo's classic interface, rows straight into the caller's memory.
 *
 * One decompressor lives as long as its thread. The library reports faults by calling us; we leave
 * it with longjmp and take its own words as the message. Warnings about coded data mean pixels that
 * are missing or guessed, so they are faults too. After the others, listed in is_harmless, all pixels
 * are what the file says: it counts as flawed, and is read.
 *
 * Of its two loops over Huffman codes the faster one takes a code that there is not for a zero and
 * says nothing. It wants 512 bytes per block to be there, so the library gets its bytes in pieces
 * that are smaller: every picture is decoded by the loop that notices. That costs 4 % of a decode
 * (shared images, baseline), and files that this is much of are ours to decode (baseline.h).
 */
#include "base/cancel.h"
#include "base/error.h"
#include "codec/image/formats.h"
#include "codec/image/jpeg_memory.h"
#include "codec/image/jpeg_place.h"

#include <ctype.h>
#include <jerror.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SCANS = 100, /* encoders write about ten; a small file with thousands is to cost hours */
    PIECE_BYTES = 511,
};

struct stk__jpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr faults;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    struct stk__jpeg_memory memory;
    const struct stk__decode_request *request;
    const uint8_t *next, *end; /* bytes that the library has not got yet */
    const char *cause;         /* of a fault that we found ourselves, or NULL */
    bool has_ended;            /* all bytes were given, and more were asked for */
    bool is_cut;               /* the data ended too early, and that is accepted */
    bool has_warned;           /* about something that is accepted */
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

/* Bytes too many before a restart marker of a scan: what was decoded before it is not what was
 * encoded. Before the first scan such a marker means nothing. */
static bool is_lost_in_scan(j_common_ptr cinfo)
{
    int marker = cinfo->err->msg_parm.i[1];
    return marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7 &&
           ((j_decompress_ptr)cinfo)->input_scan_number > 0;
}

/* An unknown version number; a colour transform that has to be guessed; parameters of a sequential
 * scan, which mean nothing (some files have zeros there), and scans that refine what they should not;
 * bytes between segments. */
static bool is_harmless(j_common_ptr cinfo)
{
    switch (cinfo->err->msg_code) {
    case JWRN_JFIF_MAJOR:
    case JWRN_ADOBE_XFORM:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_BOGUS_PROGRESSION:
        return true;
    case JWRN_EXTRANEOUS_DATA:
        return !is_lost_in_scan(cinfo);
    default:
        return false;
    }
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
    if (level >= 0)
        return;
    jpeg->has_warned = true;
    if (is_harmless(cinfo) || jpeg->is_cut)
        return;
    if (!is_about_cut(cinfo) || !stk__is_tolerant(jpeg->request))
        leave(cinfo);
    jpeg->is_cut = true;
}

static void say_nothing(j_common_ptr cinfo)
{
    (void)cinfo;
}

/* How far the library has read. It keeps its place in the data of a scan to itself: there it is known
 * to a few blocks of pixels. Behind the last byte it is in an end mark of ours. */
static size_t n_read(const struct stk__jpeg *jpeg)
{
    const struct stk__decode_request *request = jpeg->request;
    size_t n_given = (size_t)(jpeg->next - request->bytes);
    return jpeg->has_ended ? n_given : n_given - jpeg->source.bytes_in_buffer;
}

static struct stk__jpeg_bytes file_of(const struct stk__jpeg *jpeg)
{
    return (struct stk__jpeg_bytes){ jpeg->request->bytes, jpeg->request->n_bytes };
}

/* Where the library is, what it noticed later about the frame, or a marker that it hit too early. */
enum subject { OF_FILE, OF_FRAME, OF_MARKER };

/* At which byte it is; false: somewhere behind that one. */
static bool find_place(const struct stk__jpeg *jpeg, enum subject subject, size_t *place)
{
    struct stk__jpeg_bytes file = file_of(jpeg);
    size_t n = n_read(jpeg);
    if (subject == OF_FRAME && stk__jpeg_find_frame(file, place))
        return true;
    if (stk__jpeg_find_segment(file, n, place))
        return true;
    int marker = jpeg->cinfo.unread_marker; /* may have been read: */
    if (subject == OF_MARKER && marker && stk__jpeg_find_marker(file, n - 2, marker, place))
        return true;
    *place = n;
    return false;
}

static int fail(const struct stk__jpeg *jpeg, const char *what, enum subject subject,
                const char *cause, struct stk_error *err)
{
    size_t place;
    const char *where = find_place(jpeg, subject, &place) ? "at" : "near";
    return stk_fail(err, STK_DATA, "%s JPEG %s byte %zu: %s", what, where, place, cause);
}

static enum subject subject_of(const struct jpeg_error_mgr *faults)
{
    switch (faults->msg_code) {
    case JERR_IMAGE_TOO_BIG:
    case JERR_BAD_PRECISION:
    case JERR_COMPONENT_COUNT:
    case JERR_BAD_SAMPLING:
        return OF_FRAME;
    case JWRN_HIT_MARKER:
        return OF_MARKER;
    default:
        return OF_FILE;
    }
}

static int report(struct stk__jpeg *jpeg, struct stk_error *err)
{
    if (jpeg->memory.is_exhausted)
        return stk__out_of_memory(err);
    if (jpeg->cause)
        return fail(jpeg, "bad", OF_FILE, jpeg->cause, err);
    char text[JMSG_LENGTH_MAX];
    jpeg->faults.format_message((j_common_ptr)&jpeg->cinfo, text);
    if (islower((unsigned char)text[1]))
        text[0] = (char)tolower((unsigned char)text[0]);
    if (jpeg->faults.msg_code == JWRN_JPEG_EOF)
        return stk_fail(err, STK_DATA, "truncated JPEG at byte %zu: %s", jpeg->request->n_bytes,
                        text);
    bool is_cut = jpeg->is_cut || is_about_cut((j_common_ptr)&jpeg->cinfo);
    return fail(jpeg, is_cut ? "truncated" : "bad", subject_of(&jpeg->faults), text, err);
}

/* ---- bytes ---- */

static void start_source(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

/* Being asked for more than there is is the end of the file. */
static boolean fill_source(j_decompress_ptr cinfo)
{
    static const JOCTET end_mark[] = { 0xff, JPEG_EOI };
    struct stk__jpeg *jpeg = owner_of((j_common_ptr)cinfo);
    struct jpeg_source_mgr *source = cinfo->src;
    size_t n_left = (size_t)(jpeg->end - jpeg->next);
    if (n_left) {
        source->next_input_byte = jpeg->next;
        source->bytes_in_buffer = n_left < PIECE_BYTES ? n_left : PIECE_BYTES;
        jpeg->next += source->bytes_in_buffer;
        return TRUE;
    }
    jpeg->has_ended = true;
    WARNMS(cinfo, JWRN_JPEG_EOF);
    source->next_input_byte = end_mark;
    source->bytes_in_buffer = sizeof end_mark;
    return TRUE;
}

static void skip_source(j_decompress_ptr cinfo, long n)
{
    struct stk__jpeg *jpeg = owner_of((j_common_ptr)cinfo);
    struct jpeg_source_mgr *source = cinfo->src;
    if (n <= 0)
        return;
    size_t n_here = (size_t)n < source->bytes_in_buffer ? (size_t)n : source->bytes_in_buffer;
    size_t n_beyond = (size_t)n - n_here, n_left = (size_t)(jpeg->end - jpeg->next);
    source->next_input_byte += n_here;
    source->bytes_in_buffer -= n_here;
    jpeg->next += n_beyond < n_left ? n_beyond : n_left;
    if (n_beyond > n_left)
        fill_source(cinfo);
}

/* ---- life ---- */

/* Called between pieces of a file with many scans. */
static void watch_scans(j_common_ptr cinfo)
{
    if (stk__cancel_is_asked())
        leave(cinfo);
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
    stk__jpeg_memory_install(&jpeg->memory, (j_common_ptr)&jpeg->cinfo, arena);
    return jpeg;
}

void stk__jpeg_free(struct stk__jpeg *jpeg)
{
    if (!jpeg)
        return;
    stk__jpeg_memory_remove(&jpeg->memory, (j_common_ptr)&jpeg->cinfo);
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
    jpeg->is_cut = jpeg->has_ended = jpeg->has_warned = false;
}

/* ---- pixels ---- */

static int check_header(const struct stk__jpeg *jpeg, struct stk_error *err)
{
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    const struct stk__decode_request *request = jpeg->request;
    struct stk_error cause;
    char text[100];
    int n = cinfo->num_components;
    if (stk__check_size(request, cinfo->image_width, cinfo->image_height, &cause))
        return fail(jpeg, "refused", OF_FRAME, cause.text, err);
    if (n != 1 && n != 3 && n != 4) {
        snprintf(text, sizeof text, "it has %d components instead of 1, 3 or 4", n);
        return fail(jpeg, "bad", OF_FRAME, text, err);
    }
    if (cinfo->arith_code || stk__is_tolerant(request) ||
        !stk__jpeg_is_cut_short(cinfo->image_width, cinfo->image_height, request->n_bytes))
        return STK_OK;
    return stk_fail(err, STK_DATA, "truncated JPEG at byte %zu: that cannot hold %u x %u pixels",
                    request->n_bytes, cinfo->image_width, cinfo->image_height);
}

/* A component that no scan brought would be gray without a word. In files with many scans this is
 * known only after the last. */
static int check_components(const struct stk__jpeg *jpeg, struct stk_error *err)
{
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    char text[100];
    for (int i = 0; i < cinfo->num_components && !jpeg->is_cut; i++)
        if (!cinfo->comp_info[i].quant_table) {
            snprintf(text, sizeof text, "there is no data for component %d of %d", i + 1,
                     cinfo->num_components);
            return fail(jpeg, "truncated", OF_FILE, text, err);
        }
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
    int code = check_header(jpeg, err);
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
    canvas->is_flawed = jpeg->has_warned;
    return STK_OK;
}

static int decode_bytes(struct stk__jpeg *jpeg, size_t n_bytes, struct stk__canvas *canvas,
                        struct stk_error *err)
{
    int code;
    forget_picture(jpeg);
    jpeg->source.bytes_in_buffer = 0;
    jpeg->next = jpeg->request->bytes;
    jpeg->end = jpeg->next + n_bytes;
    if (setjmp(jpeg->on_fault))
        code = report(jpeg, err);
    else
        code = decode(jpeg, jpeg->request, canvas, err);
    jpeg_abort_decompress(&jpeg->cinfo);
    return code;
}

/* Where the last segment behind the first two bytes begins; 0 if there is none. */
static size_t find_last_segment(const struct stk__decode_request *request)
{
    enum { FIRST = 0xc0, FIRST_RESTART = 0xd0, LAST_RESTART = 0xd7, PADDING = 0xff };
    for (size_t i = request->n_bytes; i > 3; i--) {
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
    size_t n_before = code == STK_DATA && jpeg->is_cut ? find_last_segment(request) : 0;
    return n_before ? decode_bytes(jpeg, n_before, canvas, err) : code;
}
