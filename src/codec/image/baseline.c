/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c: the decoder of baseline.h: a picture in chunks of blocks, each decoded, transformed
 * and written while it is in cache. */
#include "codec/image/baseline.h"
#include "base/cancel.h"
#include "kernel/kernel.h"

#include <string.h>

/* Blocks decoded at a time. */
enum { CHUNK = 256 };

struct stk__baseline {
    struct stk__jpeg_chunk chunk; /* blocks are zero between chunks */
    struct stk__jpeg_pair pairs[STK__JPEG_MAX_BLOCKS];
    struct stk__jpeg_header header;
    struct stk__jpeg_tables tables;
    struct stk__jpeg_scan scan;
    struct stk__jpeg_rows rows;
    int prediction[3];          /* of DC */
    bool is_fast;               /* the transform */
    uint16_t fast_quant[3][64]; /* by component */
    struct stk_arena *arena;
    const struct stk__jpeg_kernels *kernels; /* to use instead of those in force, or NULL */
};

struct stk__baseline *stk__baseline_new(struct stk_arena *state, struct stk_arena *arena)
{
    struct stk__baseline *b = stk_arena_alloc(state, sizeof *b);
    if (b)
        b->arena = arena;
    return b;
}

void stk__baseline_use_kernels(struct stk__baseline *b, const struct stk__jpeg_kernels *kernels)
{
    b->kernels = kernels;
}

size_t stk__baseline_bytes(void)
{
    return sizeof(struct stk__baseline);
}

/* ---- chunks ---- */

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* MCUs of one row, and of one chunk. */
struct stretch {
    int mcu_row, first, n;
};

/* Tables for as many MCUs as a chunk may have. */
static void steer(struct stk__baseline *b)
{
    int n_luma = stk__jpeg_luma_blocks(&b->header), n = stk__jpeg_mcu_blocks(&b->header);
    for (int i = 0, here = 0, next; i < STK__JPEG_MAX_BLOCKS; i++, here = next) {
        next = here + 1 < n ? here + 1 : 0;
        b->chunk.steer[i].ac = b->tables.ac_of[here < n_luma ? 0 : here - n_luma + 1];
        b->chunk.steer[i].next_dc = b->tables.dc_of[next < n_luma ? 0 : next - n_luma + 1];
    }
}

/* After skipping: the DC differences are added up for the blocks to come. */
static void add_differences(struct stk__baseline *b, const int16_t *differences, int n_mcus)
{
    int n_luma = stk__jpeg_luma_blocks(&b->header);
    for (int m = 0; m < n_mcus; m++) {
        for (int i = 0; i < n_luma; i++)
            b->prediction[0] += *differences++;
        for (int c = 1; c < b->header.n_components; c++)
            b->prediction[c] += *differences++;
    }
}

/* The blocks of one component in a run of MCUs, and where their samples go. */
struct plot {
    int16_t *block; /* the first */
    int step;       /* coefficients from an MCU to the next */
    int across, down;
    int size; /* samples on a side of a block */
    uint8_t *dst;
    size_t below; /* bytes from a row of blocks to the next */
};

/* Pairs of neighbours within an MCU, in the order of the scan. Returns their number. */
static int list_wide(struct stk__jpeg_pair *pairs, struct plot plot, int n_mcus, int *prediction)
{
    struct stk__jpeg_pair *pair = pairs;
    int dc = *prediction;
    for (int m = 0; m < n_mcus; m++, plot.block += plot.step, plot.dst += plot.size * plot.across) {
        int16_t *block = plot.block;
        uint8_t *dst = plot.dst;
        for (int v = 0; v < plot.down; v++, dst += plot.below)
            for (int h = 0; h < plot.across; h += 2, block += 128, pair++) {
                pair->left = block;
                pair->right = block + 64;
                pair->dst = dst + plot.size * h;
                pair->dc[0] = (int16_t)(dc += block[0]);
                pair->dc[1] = (int16_t)(dc += block[64]);
            }
    }
    *prediction = dc;
    return (int)(pair - pairs);
}

/* Pairs of blocks of neighbouring MCUs; the last may be left alone. */
static int list_narrow(struct stk__jpeg_pair *pairs, struct plot plot, int n_mcus, int *prediction)
{
    struct stk__jpeg_pair *pair = pairs;
    int dc = *prediction;
    for (int m = 0; m < n_mcus; m += 2, plot.block += 2 * plot.step, plot.dst += 2 * plot.size) {
        bool is_alone = m + 1 == n_mcus;
        for (int v = 0; v < plot.down; v++) {
            int16_t *left = plot.block + 64 * v;
            pair[v].left = left;
            pair[v].right = is_alone ? left : left + plot.step;
            pair[v].dst = plot.dst + (size_t)v * plot.below;
            pair[v].dc[0] = pair[v].dc[1] = (int16_t)(dc += left[0]);
        }
        for (int v = 0; v < plot.down && !is_alone; v++)
            pair[v].dc[1] = (int16_t)(dc += pair[v].right[0]);
        pair += plot.down;
    }
    *prediction = dc;
    return (int)(pair - pairs);
}

/* Blocks of component c, as jobs for the transform. */
static int list_pairs(struct stk__baseline *b, int c, const struct stretch *stretch)
{
    const struct stk__jpeg_header *header = &b->header;
    int first = c ? stk__jpeg_luma_blocks(header) + c - 1 : 0;
    int size = stk__jpeg_rows_block(&b->rows, c);
    struct plot plot = { .block = b->chunk.block[first],
                         .step = 64 * stk__jpeg_mcu_blocks(header),
                         .across = c ? 1 : header->across,
                         .down = c ? 1 : header->down,
                         .size = size,
                         .below = (size_t)size * b->rows.planes.stride };
    plot.dst = stk__jpeg_rows_at(&b->rows, c, stretch->first * plot.across * size,
                                 stretch->mcu_row * plot.down * size);
    return (plot.across > 1 ? list_wide : list_narrow)(b->pairs, plot, stretch->n,
                                                       &b->prediction[c]);
}

/* Blocks that no output needs keep their DC for the prediction. */
static void drop_component(struct stk__baseline *b, int c, int n_mcus)
{
    int n = stk__jpeg_mcu_blocks(&b->header), first = stk__jpeg_luma_blocks(&b->header) + c - 1;
    for (int m = 0; m < n_mcus; m++) {
        int16_t *block = b->chunk.block[m * n + first];
        b->prediction[c] += block[0];
        memset(block, 0, 64 * sizeof *block);
    }
}

static bool transform_component(struct stk__baseline *b, int c, const struct stretch *stretch)
{
    const struct stk__jpeg_kernels *kernels = b->rows.kernels;
    const uint16_t *quant = b->header.quant[b->header.component[c].quant];
    int n = list_pairs(b, c, stretch), size = stk__jpeg_rows_block(&b->rows, c);
    size_t stride = b->rows.planes.stride;
    if (size < 8)
        return kernels->reduce(b->pairs, n, quant, stride, size);
    if (!b->is_fast)
        return kernels->transform(b->pairs, n, quant, stride);
    kernels->transform_fast(b->pairs, n, b->fast_quant[c], stride);
    return true;
}

static bool transform_chunk(struct stk__baseline *b, const struct stretch *stretch)
{
    for (int c = 0; c < b->header.n_components; c++) {
        if (c >= b->rows.n_wanted)
            drop_component(b, c, stretch->n);
        else if (!transform_component(b, c, stretch))
            return false;
    }
    return true;
}

/* DC values wrap at 16 bits, as in the library; a sum that leaves an int is its error to report. */
static bool is_sane(const struct stk__baseline *b)
{
    enum { LIMIT = 1 << 30 };
    for (int c = 0; c < 3; c++)
        if (b->prediction[c] > LIMIT || b->prediction[c] < -LIMIT)
            return false;
    return true;
}

/* Decodes n MCUs that no output needs. */
static bool skip(struct stk__baseline *b, int n)
{
    int16_t differences[STK__JPEG_MAX_BLOCKS];
    int n_blocks = n * stk__jpeg_mcu_blocks(&b->header);
    if (!stk__jpeg_scan_blocks(&b->scan, b->tables.dc_of[0], &b->chunk, n_blocks, differences))
        return false;
    add_differences(b, differences, n);
    return is_sane(b);
}

static bool decode_stretch(struct stk__baseline *b, const struct stretch *stretch)
{
    int n_blocks = stretch->n * stk__jpeg_mcu_blocks(&b->header);
    if (!stk__jpeg_scan_blocks(&b->scan, b->tables.dc_of[0], &b->chunk, n_blocks, NULL) ||
        !transform_chunk(b, stretch))
        return false;
    stk__jpeg_rows_write(&b->rows, stretch->mcu_row, stretch->first, stretch->first + stretch->n);
    return is_sane(b);
}

/* Begins anew where the scan does. */
static bool pass_restart(struct stk__baseline *b)
{
    bool is_restart;
    if (!stk__jpeg_scan_restart(&b->scan, &b->header, &is_restart))
        return false;
    if (is_restart)
        memset(b->prediction, 0, sizeof b->prediction);
    return true;
}

/* Takes n MCUs, in runs of about the same size that the scan does not restart in: skips them, or
 * decodes those of a row from `first` on. */
static bool take_mcus(struct stk__baseline *b, int n, const struct stretch *row)
{
    int n_blocks = stk__jpeg_mcu_blocks(&b->header);
    int n_runs = (n * n_blocks + CHUNK - 1) / CHUNK, most = n_runs ? (n + n_runs - 1) / n_runs : 0;
    for (int done = 0, now; done < n; done += now) {
        if (!pass_restart(b))
            return false;
        now = min(min(n - done, most), b->scan.mcus_left);
        struct stretch stretch = { row ? row->mcu_row : 0, row ? row->first + done : 0, now };
        if (!(row ? decode_stretch(b, &stretch) : skip(b, now)))
            return false;
        b->scan.mcus_left -= now;
    }
    return true;
}

/* What lies between the parts of rows that are needed is skipped in one go. Behind the last part
 * nothing is read, unless the picture ends in that row. */
static bool decode_rows(struct stk__baseline *b)
{
    const struct stk__jpeg_rows *rows = &b->rows;
    int n_mcus = stk__jpeg_mcus_across(&b->header), n_needed = rows->mcu1 - rows->mcu0;
    bool is_to_end = rows->row1 == stk__jpeg_mcus_down(&b->header);
    memset(b->prediction, 0, sizeof b->prediction);
    steer(b);
    stk__jpeg_scan_open(&b->scan, &b->header, rows->kernels);
    int n_before = rows->row0 * n_mcus + rows->mcu0;
    for (int row = rows->row0; row < rows->row1; row++, n_before = n_mcus - n_needed) {
        const struct stretch needed = { row, rows->mcu0, n_needed };
        if (stk__cancel_is_asked() || !take_mcus(b, n_before, NULL) ||
            !take_mcus(b, n_needed, &needed))
            return false;
    }
    if (!is_to_end)
        return true;
    return take_mcus(b, n_mcus - rows->mcu1, NULL) && stk__jpeg_scan_is_clean(&b->scan);
}

/* ---- pictures ---- */

/* A file without the end marker behind its scan is cut; the library is to say so. Coded bytes never
 * look like that marker, and most files end with it. */
static bool has_end(const struct stk__jpeg_header *header)
{
    for (const uint8_t *at = header->end; at - header->scan >= 2; at--)
        if (at[-2] == 0xff && at[-1] == 0xd9)
            return true;
    return false;
}

static int scale_of(const struct stk__decode_request *request)
{
    return request->scale ? request->scale : 1;
}

/* Smaller pictures are made where that leaves chroma as fine as luma. */
static bool accept_scale(const struct stk__jpeg_header *header, int scale)
{
    bool is_square = header->across == header->down && header->across <= 2;
    return scale == 1 || ((scale == 2 || scale == 4 || scale == 8) && is_square);
}

static bool accept(struct stk__baseline *b, const struct stk__decode_request *request)
{
    const struct stk__jpeg_header *header = &b->header;
    if (!stk__jpeg_header_read(&b->header, request->bytes, request->n_bytes))
        return false;
    uint64_t width = (uint64_t)header->width, height = (uint64_t)header->height;
    return !stk__check_size(request, width, height, NULL) &&
           !stk__jpeg_is_cut_short(width, height, request->n_bytes) &&
           accept_scale(header, scale_of(request)) && stk__jpeg_tables_make(&b->tables, header);
}

/* The fast transform leaves out factors of rows and columns; they are in what its input is
 * multiplied by, times 4. Steps so large that this leaves 16 bits wrap, as in the library. */
static void make_fast_quants(struct stk__baseline *b)
{
    for (int c = 0; c < b->header.n_components; c++) {
        const uint16_t *quant = b->header.quant[b->header.component[c].quant];
        for (int i = 0; i < 64; i++)
            b->fast_quant[c][i] =
                (uint16_t)(((uint32_t)quant[i] * stk__jpeg_fast_scale[i] + 2048) >> 12);
    }
}

static bool decode_part(struct stk__baseline *b, const struct stk__canvas *canvas, int scale)
{
    int x = (int)canvas->part.x, y = (int)canvas->part.y;
    b->rows = (struct stk__jpeg_rows){ .header = &b->header,
                                       .kernels = b->kernels ? b->kernels : &stk__kernels()->jpeg,
                                       .scale = scale,
                                       .area = { x, y, x + (int)canvas->part.width,
                                                 y + (int)canvas->part.height },
                                       .out = &canvas->rows };
    if (!stk__jpeg_rows_open(&b->rows, b->arena))
        return false;
    bool ends_early = b->rows.row1 < stk__jpeg_mcus_down(&b->header);
    if (ends_early && !has_end(&b->header))
        return false;
    if (decode_rows(b))
        return true;
    memset(b->chunk.block, 0, sizeof b->chunk.block);
    return false;
}

bool stk__baseline_decode(struct stk__baseline *b, const struct stk__decode_request *request,
                          struct stk__canvas *canvas, int *code, struct stk_error *err)
{
    if (!accept(b, request))
        return false;
    b->is_fast = request->is_fast_dct;
    if (b->is_fast)
        make_fast_quants(b);
    int scale = scale_of(request);
    struct stk__image picture = { .height = (uint32_t)((b->header.height + scale - 1) / scale),
                                  .width = (uint32_t)((b->header.width + scale - 1) / scale),
                                  .channels = request->channels ? request->channels
                                                                : b->header.n_components };
    *code = stk__canvas_open(canvas, request, picture, true, b->arena, err);
    if (*code)
        return true;
    if (!decode_part(b, canvas, scale))
        return false;
    stk__canvas_close(canvas);
    return true;
}
