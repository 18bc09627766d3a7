/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c: the decoder of baseline.h: a picture in chunks of blocks, each decoded, transformed
 * and written while it is in cache. */
#include "codec/baseline.h"
#include "kernel/kernel.h"

#include <stdlib.h>
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
    int prediction[3]; /* of DC */
    struct stk_arena *arena;
    const struct stk__jpeg_kernels *kernels; /* to use instead of those in force, or NULL */
};

struct stk__baseline *stk__baseline_new(struct stk_arena *arena)
{
    size_t bytes = (sizeof(struct stk__baseline) + 63) / 64 * 64;
    struct stk__baseline *b = aligned_alloc(64, bytes);
    if (!b)
        return NULL;
    memset(b, 0, bytes);
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

void stk__baseline_free(struct stk__baseline *b)
{
    free(b);
}

/* ---- chunks ---- */

/* MCUs of one row, and of one chunk. */
struct stretch {
    int mcu_row, first, n;
};

/* Tables for as many MCUs as a chunk may have. */
static void steer(struct stk__baseline *b)
{
    int n_luma = stk__jpeg_luma_blocks(&b->header), n = stk__jpeg_mcu_blocks(&b->header);
    for (int i = 0; i < STK__JPEG_MAX_BLOCKS; i++) {
        int here = i % n < n_luma ? 0 : i % n - n_luma + 1;
        int next = (i + 1) % n < n_luma ? 0 : (i + 1) % n - n_luma + 1;
        b->chunk.steer[i].ac = b->tables.ac_of[here];
        b->chunk.steer[i].next_dc = b->tables.dc_of[next];
    }
}

/* Adds up DC differences of the blocks that are not needed, and clears them if there is more in
 * them. */
static void drop_blocks(struct stk__baseline *b, int from, int to, bool is_skipped)
{
    int n_luma = stk__jpeg_luma_blocks(&b->header), n = stk__jpeg_mcu_blocks(&b->header);
    for (int i = from * n; i < to * n; i++) {
        int c = i % n < n_luma ? 0 : i % n - n_luma + 1;
        b->prediction[c] += b->chunk.block[i][0];
        memset(b->chunk.block[i], 0, is_skipped ? 2 * sizeof(int16_t) : sizeof b->chunk.block[i]);
    }
}

static int16_t next_dc(int *prediction, const int16_t *block)
{
    *prediction += block[0];
    return (int16_t)*prediction;
}

/* Blocks of component c in MCUs from..to - 1 of the chunk, as jobs in the order of the scan. */
static int list_pairs(struct stk__baseline *b, int c, const struct stretch *stretch, int from,
                      int to)
{
    const struct stk__jpeg_header *header = &b->header;
    int n_blocks = stk__jpeg_mcu_blocks(header), n_luma = stk__jpeg_luma_blocks(header);
    int across = c ? 1 : header->across, down = c ? 1 : header->down;
    int first = c ? n_luma + c - 1 : 0, n = 0;
    int *prediction = &b->prediction[c];
    if (across > 1) {
        for (int m = from; m < to; m++)
            for (int i = 0; i < across * down; i += 2) {
                int16_t *left = b->chunk.block[m * n_blocks + i];
                struct stk__jpeg_pair *pair = &b->pairs[n++];
                pair->left = left;
                pair->right = left + 64;
                pair->dc[0] = next_dc(prediction, left);
                pair->dc[1] = next_dc(prediction, left + 64);
                pair->dst =
                    stk__jpeg_rows_at(&b->rows, c, (stretch->first + m) * across + i % across,
                                      stretch->mcu_row * down + i / across);
            }
        return n;
    }
    for (int m = from; m < to; m += 2) {
        for (int v = 0; v < down; v++) {
            int16_t *left = b->chunk.block[m * n_blocks + first + v];
            struct stk__jpeg_pair *pair = &b->pairs[n + v];
            pair->left = pair->right = left;
            pair->dc[0] = pair->dc[1] = next_dc(prediction, left);
            pair->dst =
                stk__jpeg_rows_at(&b->rows, c, stretch->first + m, stretch->mcu_row * down + v);
        }
        for (int v = 0; v < down && m + 1 < to; v++) {
            int16_t *right = b->chunk.block[(m + 1) * n_blocks + first + v];
            b->pairs[n + v].right = right;
            b->pairs[n + v].dc[1] = next_dc(prediction, right);
        }
        n += down;
    }
    return n;
}

/* Blocks that no output needs keep their DC for the prediction. */
static void drop_component(struct stk__baseline *b, int c, int from, int to)
{
    int n = stk__jpeg_mcu_blocks(&b->header), first = stk__jpeg_luma_blocks(&b->header) + c - 1;
    for (int m = from; m < to; m++) {
        int16_t *block = b->chunk.block[m * n + first];
        b->prediction[c] += block[0];
        memset(block, 0, 64 * sizeof *block);
    }
}

static bool transform_chunk(struct stk__baseline *b, const struct stretch *stretch)
{
    const struct stk__jpeg_rows *rows = &b->rows;
    int from = rows->mcu0 - stretch->first, to = rows->mcu1 - stretch->first;
    from = from < 0 ? 0 : from < stretch->n ? from : stretch->n;
    to = to < from ? from : to < stretch->n ? to : stretch->n;
    drop_blocks(b, 0, from, false);
    for (int c = 0; c < b->header.n_components; c++) {
        if (c >= rows->n_wanted) {
            drop_component(b, c, from, to);
            continue;
        }
        int n = list_pairs(b, c, stretch, from, to);
        if (!rows->kernels->transform(b->pairs, n, b->header.quant[b->header.component[c].quant],
                                      rows->planes.stride))
            return false;
    }
    drop_blocks(b, to, stretch->n, false);
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

static bool decode_stretch(struct stk__baseline *b, const struct stretch *stretch)
{
    bool is_skipped = stretch->mcu_row < b->rows.row0;
    int n_blocks = stretch->n * stk__jpeg_mcu_blocks(&b->header);
    if (!stk__jpeg_scan_blocks(&b->scan, b->tables.dc_of[0], &b->chunk, n_blocks, is_skipped))
        return false;
    if (is_skipped) {
        drop_blocks(b, 0, stretch->n, true);
        return is_sane(b);
    }
    if (!transform_chunk(b, stretch))
        return false;
    stk__jpeg_rows_write(&b->rows, stretch->mcu_row, stretch->first, stretch->first + stretch->n);
    return is_sane(b);
}

/* Chunks of about the same size, cut where the scan restarts. */
static bool decode_mcu_row(struct stk__baseline *b, int mcu_row)
{
    int n_mcus = stk__jpeg_mcus_across(&b->header), n_blocks = stk__jpeg_mcu_blocks(&b->header);
    bool is_last = mcu_row + 1 == b->rows.row1 && mcu_row + 1 < stk__jpeg_mcus_down(&b->header);
    if (is_last)
        n_mcus = b->rows.mcu1;
    int n_chunks = (n_mcus * n_blocks + CHUNK - 1) / CHUNK;
    int most = (n_mcus + n_chunks - 1) / n_chunks;
    for (int first = 0; first < n_mcus;) {
        bool is_restart;
        if (!stk__jpeg_scan_restart(&b->scan, &b->header, &is_restart))
            return false;
        if (is_restart)
            memset(b->prediction, 0, sizeof b->prediction);
        struct stretch stretch = { mcu_row, first, n_mcus - first < most ? n_mcus - first : most };
        if (stretch.n > b->scan.mcus_left)
            stretch.n = b->scan.mcus_left;
        if (!decode_stretch(b, &stretch))
            return false;
        b->scan.mcus_left -= stretch.n;
        first += stretch.n;
    }
    return true;
}

static bool decode_rows(struct stk__baseline *b)
{
    memset(b->prediction, 0, sizeof b->prediction);
    steer(b);
    stk__jpeg_scan_open(&b->scan, &b->header, b->rows.kernels);
    for (int row = 0; row < b->rows.row1; row++)
        if (!decode_mcu_row(b, row))
            return false;
    return b->rows.row1 < stk__jpeg_mcus_down(&b->header) || stk__jpeg_scan_is_clean(&b->scan);
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

static bool accept(struct stk__baseline *b, const struct stk__decode_request *request)
{
    const struct stk__jpeg_header *header = &b->header;
    if (!stk__jpeg_header_read(&b->header, request->bytes, request->n_bytes))
        return false;
    uint64_t width = (uint64_t)header->width, height = (uint64_t)header->height;
    return !stk__check_size(request, width, height, NULL) &&
           !stk__jpeg_is_cut_short(width, height, request->n_bytes) &&
           stk__jpeg_tables_make(&b->tables, header);
}

static bool decode_part(struct stk__baseline *b, const struct stk__canvas *canvas)
{
    int x = (int)canvas->part.x, y = (int)canvas->part.y;
    b->rows = (struct stk__jpeg_rows){ .header = &b->header,
                                       .kernels = b->kernels ? b->kernels : &stk__kernels()->jpeg,
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
    struct stk__image picture = { .height = (uint32_t)b->header.height,
                                  .width = (uint32_t)b->header.width,
                                  .channels = request->channels ? request->channels
                                                                : b->header.n_components };
    *code = stk__canvas_open(canvas, request, picture, true, b->arena, err);
    if (*code)
        return true;
    if (!decode_part(b, canvas))
        return false;
    stk__canvas_close(canvas);
    return true;
}
