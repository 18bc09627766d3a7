/* SPDX-License-Identifier: Apache-2.0 */
/* baseline_rows.c: from planes of samples to rows of pixels.
 *
 * Only the last few rows of each plane are kept. Chroma that is coarser downwards is blended from
 * the two rows next to each pixel row, so the last pixel row of a row of MCUs has to wait for the
 * next; two rows of MCUs are kept then.
 *
 *     chroma row 0  ─┬─ pixel rows 0, 1
 *                1  ─┼─            2, 3     row 1 is 3/4 of chroma row 0 and 1/4 of row 1
 *                …
 *                7  ─┴─           14, 15    row 15 waits for chroma row 8
 */
#include "codec/image/baseline.h"

#include <string.h>

/* Kept free beside rows: for samples that repeat the edge, for a transform of two blocks that
 * needs one, and for loops that read in vectors. */
enum { MARGIN = 64 };

static int chroma_width(const struct stk__jpeg_rows *rows)
{
    return (rows->width + rows->across - 1) / rows->across;
}

static int chroma_height(const struct stk__jpeg_rows *rows)
{
    return (rows->height + rows->down - 1) / rows->down;
}

/* Chroma twice as coarse is smoothed with its neighbours; libjpeg does so from 3 samples on. */
static bool is_smooth_across(const struct stk__jpeg_rows *rows)
{
    return rows->across == 2 && chroma_width(rows) > 2;
}

static bool is_smooth_down(const struct stk__jpeg_rows *rows)
{
    return rows->down == 2 && (rows->across == 1 || chroma_width(rows) > 2);
}

/* Chroma as fine as luma, or none. */
static bool is_fine(const struct stk__jpeg_rows *rows)
{
    return rows->across * rows->down == 1;
}

/* Pixels, or what they depend on, in one direction. */
struct range {
    int from, to;
};

/* How chroma lies in one direction: pixels per sample, samples in all and per MCU. */
struct lattice {
    int ratio, n, n_mcu;
    bool is_smooth;
};

/* MCUs that pixels depend on. */
static struct range mcus_for(struct range pixels, struct lattice chroma)
{
    int from = pixels.from / chroma.ratio, to = (pixels.to - 1) / chroma.ratio + 1;
    if (chroma.is_smooth) {
        from -= from > 0;
        to += to < chroma.n;
    }
    return (struct range){ from / chroma.n_mcu, (to - 1) / chroma.n_mcu + 1 };
}

static void find_mcus(struct stk__jpeg_rows *rows)
{
    const struct stk__jpeg_area *area = &rows->area;
    bool has_chroma = rows->n_wanted == 3;
    struct lattice across = { rows->across, chroma_width(rows), rows->mcu_width / rows->across,
                              has_chroma && is_smooth_across(rows) };
    struct lattice down = { rows->down, chroma_height(rows), rows->mcu_height / rows->down,
                            has_chroma && is_smooth_down(rows) };
    struct range columns = mcus_for((struct range){ area->x0, area->x1 }, across);
    struct range lines = mcus_for((struct range){ area->y0, area->y1 }, down);
    rows->mcu0 = columns.from;
    rows->mcu1 = columns.to;
    rows->row0 = lines.from;
    rows->row1 = lines.to;
}

/* In a picture made smaller, blocks of coarse chroma are made smaller less, to be as fine as luma.
 */
static void measure(struct stk__jpeg_rows *rows)
{
    const struct stk__jpeg_header *header = rows->header;
    bool is_scaled = rows->scale > 1;
    rows->width = (header->width + rows->scale - 1) / rows->scale;
    rows->height = (header->height + rows->scale - 1) / rows->scale;
    rows->across = is_scaled ? 1 : header->across;
    rows->down = is_scaled ? 1 : header->down;
    rows->mcu_width = 8 / rows->scale * header->across;
    rows->mcu_height = 8 / rows->scale * header->down;
}

bool stk__jpeg_rows_open(struct stk__jpeg_rows *rows, struct stk_arena *arena)
{
    const struct stk__jpeg_header *header = rows->header;
    struct stk__jpeg_planes *planes = &rows->planes;
    rows->n_wanted =
        header->colours == STK__YCC && rows->out->channels == 1 ? 1 : header->n_components;
    rows->next_y = rows->area.y0;
    measure(rows);
    find_mcus(rows);
    size_t width = (size_t)stk__jpeg_mcus_across(header) * (size_t)rows->mcu_width;
    planes->stride = (width + 2 * MARGIN + 63) / 64 * 64;
    planes->luma_rows = rows->down == 2 ? 32 : 8;
    planes->chroma_rows = rows->down == 2 ? 16 : 8;
    size_t n_rows = (size_t)planes->luma_rows + 2 * (size_t)planes->chroma_rows + 2;
    uint8_t *at = stk__arena_take(arena, n_rows * planes->stride);
    if (!at)
        return false;
    at += MARGIN;
    for (int c = 0; c < 3; c++) {
        planes->plane[c] = at;
        at += (size_t)(c ? planes->chroma_rows : planes->luma_rows) * planes->stride;
    }
    planes->wide[0] = at;
    planes->wide[1] = at + planes->stride;
    return true;
}

uint8_t *stk__jpeg_rows_at(const struct stk__jpeg_rows *rows, int c, int x, int y)
{
    const struct stk__jpeg_planes *planes = &rows->planes;
    y &= (c ? planes->chroma_rows : planes->luma_rows) - 1;
    return planes->plane[c] + (size_t)y * planes->stride + x;
}

/* ---- chroma at full width ---- */

static uint8_t *chroma_row(const struct stk__jpeg_rows *rows, int c, int y)
{
    const struct stk__jpeg_planes *planes = &rows->planes;
    return planes->plane[c] + (size_t)(y & (planes->chroma_rows - 1)) * planes->stride;
}

/* The edges go on for one sample. */
static uint8_t *with_edges(uint8_t *row, int width)
{
    row[-1] = row[0];
    row[width] = row[width - 1];
    return row;
}

static void repeat_samples(uint8_t *dst, const uint8_t *src, int n, int times)
{
    for (int i = 0; i < n; i++, dst += times)
        memset(dst, src[i], (size_t)times);
}

/* The row of chroma for pixel row y: samples of the area's columns, at their pixels' places. */
static const uint8_t *widen(const struct stk__jpeg_rows *rows, int c, int y)
{
    const struct stk__jpeg_kernels *kernels = rows->kernels;
    int across = rows->across, width = chroma_width(rows), height = chroma_height(rows);
    int from = rows->area.x0 / across, n = (rows->area.x1 - 1) / across + 1 - from;
    uint8_t *wide = rows->planes.wide[c - 1], *dst = wide + from * across;
    uint8_t *near = with_edges(chroma_row(rows, c, y / rows->down), width);
    if (is_smooth_down(rows)) {
        int other = y & 1 ? y / 2 + 1 : y / 2 - 1;
        other = other < 0 ? 0 : other < height ? other : height - 1;
        uint8_t *far = with_edges(chroma_row(rows, c, other), width);
        if (across == 2)
            kernels->widen_h2v2(dst, near + from, far + from, n);
        else
            kernels->widen_h1v2(dst, near + from, far + from, n, y & 1 ? 2 : 1);
    } else if (is_smooth_across(rows)) {
        kernels->widen_h2v1(dst, near + from, n);
    } else {
        repeat_samples(dst, near + from, n, across);
    }
    return wide;
}

/* ---- pixels ---- */

/* Gray of an RGB file, by libjpeg's weights. */
static void mix_gray(uint8_t *dst, const uint8_t *const planes[3], int n)
{
    for (int i = 0; i < n; i++)
        dst[i] =
            (uint8_t)((19595 * planes[0][i] + 38470 * planes[1][i] + 7471 * planes[2][i] + 32768) >>
                      16);
}

static void write_pixels(const struct stk__jpeg_rows *rows, uint8_t *dst,
                         const uint8_t *const planes[3], int n)
{
    const struct stk__jpeg_kernels *kernels = rows->kernels;
    int channels = rows->out->channels;
    if (rows->n_wanted == 1 && channels == 1)
        memcpy(dst, planes[0], (size_t)n);
    else if (channels == 1)
        mix_gray(dst, planes, n);
    else if (rows->header->colours == STK__YCC)
        kernels->ycc_to_rgb(dst, planes, n, channels);
    else
        kernels->interleave(dst, planes, n, channels);
}

/* Pixels x0 to x1 of row y. */
static void write_row(const struct stk__jpeg_rows *rows, int y, int x0, int x1)
{
    const struct stk__jpeg_planes *p = &rows->planes;
    const struct stk__image *out = rows->out;
    const uint8_t *luma = p->plane[0] + (size_t)(y & (p->luma_rows - 1)) * p->stride + x0;
    const uint8_t *planes[3] = { luma, luma, luma };
    for (int c = 1; c < rows->n_wanted; c++)
        planes[c] = (is_fine(rows) ? chroma_row(rows, c, y) : widen(rows, c, y)) + x0;
    uint8_t *dst = out->data + (size_t)(y - rows->area.y0) * out->stride +
                   (size_t)(x0 - rows->area.x0) * (size_t)out->channels;
    write_pixels(rows, dst, planes, x1 - x0);
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

static int min(int a, int b)
{
    return a < b ? a : b;
}

/* Chroma as fine as luma: columns are written as they come, while they are in the first cache
 * level. */
static void write_columns(const struct stk__jpeg_rows *rows, int mcu_row, int first, int last)
{
    const struct stk__jpeg_area *area = &rows->area;
    int x0 = max(first * rows->mcu_width, area->x0), x1 = min(last * rows->mcu_width, area->x1);
    int end = min((mcu_row + 1) * rows->mcu_height, area->y1);
    for (int y = max(mcu_row * rows->mcu_height, area->y0); y < end && x0 < x1; y++)
        write_row(rows, y, x0, x1);
}

void stk__jpeg_rows_write(struct stk__jpeg_rows *rows, int mcu_row, int first, int last)
{
    if (is_fine(rows)) {
        write_columns(rows, mcu_row, first, last);
        return;
    }
    if (last < rows->mcu1)
        return;
    int end = (mcu_row + 1) * rows->mcu_height;
    bool waits = rows->n_wanted == 3 && is_smooth_down(rows);
    if (waits && mcu_row + 1 < stk__jpeg_mcus_down(rows->header))
        end--;
    for (end = min(end, rows->area.y1); rows->next_y < end; rows->next_y++)
        write_row(rows, rows->next_y, rows->area.x0, rows->area.x1);
}
