/* SPDX-License-Identifier: Apache-2.0 */
/* pool_body.h: pools, behind a vector header. A vector is channels of one pixel. Gradients are gathered:
 * a pixel of the input looks which of its windows chose it, so each is written once.
 */
#include "train/kernel/pool_range.h"
#include "train/kernel/x86/channels.h"

#include <stdbool.h>

/* ---- maxima ---- */

struct best {
    vector value;
    cells cell;
};

INLINE struct best better(struct best a, vector value, int cell)
{
    const lanes is_more = is_above(value, a.value);
    return (struct best){ choose(is_more, a.value, value),
                          choose_cells(is_more, a.cell, spread_cell(cell)) };
}

/* A pixel of the output. */
struct pixel {
    int64_t y;      /* values from where the map begins */
    uint8_t *cells; /* or NULL */
};

INLINE void put_best(const struct stk__maxpool_rows *job, const struct pixel *to, struct best best,
                     int c, int n)
{
    const vector low = spread(job->low), high = spread(job->high);
    if (to->cells) {
        const lanes passes = is_both(is_above(best.value, low), is_below(best.value, high));
        store_cells(to->cells + c, choose_cells(passes, spread_cell(STK__NO_CELL), best.cell), n);
    }
    put_to(&job->y, to->y + c, within(best.value, low, high), n);
}

/* Windows of 2×2 without padding. x: the first cell. */
INLINE void max_of_4(const struct stk__maxpool_rows *job, const float *x, const struct pixel *to,
                     int c, const int n)
{
    const float *below = x + job->x.down;
    struct best best = { get(x + c, n), spread_cell(0) };
    best = better(best, get(x + job->x.across + c, n), 1);
    best = better(best, get(below + c, n), 2);
    best = better(best, get(below + job->x.across + c, n), 3);
    put_best(job, to, best, c, n);
}

/* Any window. x: the first cell, of the padding or not. */
INLINE void max_of_any(const struct stk__maxpool_rows *job, const float *x,
                       struct stk__pool_range down, struct stk__pool_range across,
                       const struct pixel *to, int c, const int n)
{
    const int width = job->pool->width;
    struct best best = { get(x + down.first * job->x.down + across.first * job->x.across + c, n),
                         spread_cell(down.first * width + across.first) };
    for (int ky = down.first; ky < down.end; ky++)
        for (int kx = across.first; kx < across.end; kx++)
            best = better(best, get(x + ky * job->x.down + kx * job->x.across + c, n),
                          ky * width + kx);
    put_best(job, to, best, c, n);
}

static void max_row(const struct stk__maxpool_rows *job, int row)
{
    const struct stk__pooling *p = job->pool;
    const int64_t at = row - job->first;
    const struct stk__pool_range down = stk__cells_y(p, row);
    const bool is_plain =
        p->height == 2 && p->width == 2 && !p->pad_left && down.end == 2 && down.first == 0;
    for (int column = 0; column < p->out_width; column++) {
        const struct stk__pool_range across = stk__cells_x(p, column);
        const float *x = job->x.at + (row * p->stride_y - p->pad_top - job->x_row) * job->x.down +
                         (column * p->stride_x - p->pad_left) * job->x.across;
        const struct pixel to = {
            at * job->y.down + column * job->y.across,
            job->cells ? job->cells + at * job->cells_down + (int64_t)column * p->channels : NULL
        };
#define MAX_OF_4(c, n) max_of_4(job, x, &to, c, n)
#define MAX_OF_ANY(c, n) max_of_any(job, x, down, across, &to, c, n)
        if (is_plain && across.end == 2)
            EACH_CHANNELS(p->channels, MAX_OF_4);
        else
            EACH_CHANNELS(p->channels, MAX_OF_ANY);
    }
}

static void max_rows(const struct stk__maxpool_rows *job)
{
    for (int row = job->first; row < job->first + job->n_rows; row++)
        max_row(job, row);
}

/* ---- gradients of maxima ---- */

static void zero_pixel(float *dx, int channels)
{
    memset(dx, 0, (size_t)channels * sizeof *dx);
}

/* A window that a pixel of the input is in, and the cell that the pixel is there. */
struct looker {
    int64_t dy; /* values from where the map begins */
    const uint8_t *cells;
    int cell;
};

enum { LOOKERS = 16 }; /* at a time */

/* Windows of a pixel from the place `done` on, row by row. Returns how many are listed. */
static int list_lookers(const struct stk__maxpool_gradient *job, int y, int x, int done,
                        struct looker *list)
{
    const struct stk__pooling *p = job->pool;
    const struct stk__pool_range rows = stk__windows_y(p, y), columns = stk__windows_x(p, x);
    const int across = columns.end - columns.first, all = across * (rows.end - rows.first);
    int n = 0;
    for (; done + n < all && n < LOOKERS; n++) {
        const int row = rows.first + (done + n) / across;
        const int column = columns.first + (done + n) % across;
        const int64_t at = row - job->dy_row;
        list[n] =
            (struct looker){ at * job->dy.down + column * job->dy.across,
                             job->cells + at * job->cells_down + (int64_t)column * p->channels,
                             (y + p->pad_top - row * p->stride_y) * p->width + x + p->pad_left -
                                 column * p->stride_x };
    }
    return n;
}

INLINE void add_lookers(const int dtype, const struct stk__read_map *dy, const struct looker *list,
                        int n_lookers, bool begins, float *dx, int c, const int n)
{
    vector sum = begins ? zero() : get(dx + c, n);
    for (int i = 0; i < n_lookers; i++) {
        const lanes is_chosen =
            is_cell(load_cells(list[i].cells + c, n), spread_cell(list[i].cell));
        sum = plus(sum, only(is_chosen, get_from(dtype, dy, list[i].dy + c, n)));
    }
    put(dx + c, sum, n);
}

INLINE void gather_pixel(const int dtype, const struct stk__maxpool_gradient *job, int y, int x,
                         float *dx)
{
    struct looker list[LOOKERS];
    int done = 0, n_lookers = LOOKERS;
    for (; n_lookers == LOOKERS; done += n_lookers) {
        n_lookers = list_lookers(job, y, x, done, list);
#define ADD_LOOKERS(c, n) add_lookers(dtype, &job->dy, list, n_lookers, done == 0, dx, c, n)
        EACH_CHANNELS(job->pool->channels, ADD_LOOKERS);
    }
}

INLINE void gather_row(const int dtype, const struct stk__maxpool_gradient *job, int row)
{
    float *dx = job->dx.at + (row - job->first) * job->dx.down;
    for (int x = 0; x < job->pool->in_width; x++, dx += job->dx.across)
        gather_pixel(dtype, job, row, x, dx);
}

/* The rows of a row of windows of 2×2, side by side and without padding, from one on. */
struct pair {
    int64_t dy; /* values from where the map begins */
    const uint8_t *cells;
    float *dx;
    int first, end; /* rows of the windows */
};

INLINE void scatter_to_4(const int dtype, const struct stk__maxpool_gradient *job,
                         const struct pair *pair, int c, const int n)
{
    const vector dy = get_from(dtype, &job->dy, pair->dy + c, n);
    const cells chosen = load_cells(pair->cells + c, n);
    for (int row = pair->first; row < pair->end; row++) {
        float *dx = pair->dx + (row - pair->first) * job->dx.down + c;
        put(dx, only(is_cell(chosen, spread_cell(2 * row)), dy), n);
        put(dx + job->dx.across, only(is_cell(chosen, spread_cell(2 * row + 1)), dy), n);
    }
}

/* Returns the row behind. */
INLINE int scatter_rows(const int dtype, const struct stk__maxpool_gradient *job, int row)
{
    const struct stk__pooling *p = job->pool;
    const int64_t at = row / 2 - job->dy_row;
    const int end = job->first + job->n_rows, window_end = row / 2 * 2 + 2;
    struct pair pair = { at * job->dy.down, job->cells + at * job->cells_down,
                         job->dx.at + (row - job->first) * job->dx.down, row % 2,
                         window_end < end ? 2 : end - row / 2 * 2 };
    const struct pair first = pair;
    for (int column = 0; column < p->out_width; column++) {
#define SCATTER_TO_4(c, n) scatter_to_4(dtype, job, &pair, c, n)
        EACH_CHANNELS(p->channels, SCATTER_TO_4);
        pair.dy += job->dy.across;
        pair.cells += p->channels;
        pair.dx += 2 * job->dx.across;
    }
    for (int r = first.first; r < first.end; r++)
        for (int x = 2 * p->out_width; x < p->in_width; x++)
            zero_pixel(first.dx + (r - first.first) * job->dx.down + x * job->dx.across,
                       p->channels);
    return row / 2 * 2 + first.end;
}

INLINE void max_gradient_of(const int dtype, const struct stk__maxpool_gradient *job)
{
    const struct stk__pooling *p = job->pool;
    const bool is_plain = p->height == 2 && p->width == 2 && p->stride_y == 2 && p->stride_x == 2 &&
                          !p->pad_top && !p->pad_left && p->in_width >= 2 * p->out_width &&
                          p->in_height >= 2 * p->out_height;
    for (int row = job->first; row < job->first + job->n_rows;) {
        if (is_plain && row / 2 < p->out_height)
            row = scatter_rows(dtype, job, row);
        else
            gather_row(dtype, job, row++);
    }
}

static void max_gradient(const struct stk__maxpool_gradient *job)
{
    BY_DTYPE(&job->dy, max_gradient_of, job);
}

/* ---- means ---- */

static float part_of(struct stk__pool_range down, struct stk__pool_range across)
{
    return 1 / (float)((down.end - down.first) * (across.end - across.first));
}

INLINE void mean_of(const struct stk__avgpool_rows *job, const float *x,
                    struct stk__pool_range down, struct stk__pool_range across, float *y, int c,
                    const int n)
{
    vector sum = zero();
    for (int ky = down.first; ky < down.end; ky++)
        for (int kx = across.first; kx < across.end; kx++)
            sum = plus(sum, get(x + ky * job->x.down + kx * job->x.across + c, n));
    put(y + c, times(sum, spread(part_of(down, across))), n);
}

static void mean_row(const struct stk__avgpool_rows *job, int row)
{
    const struct stk__pooling *p = job->pool;
    const struct stk__pool_range down = stk__cells_y(p, row);
    float *y = job->y.at + (row - job->first) * job->y.down;
    for (int column = 0; column < p->out_width; column++, y += job->y.across) {
        const struct stk__pool_range across = stk__cells_x(p, column);
        const float *x = job->x.at + (row * p->stride_y - p->pad_top - job->x_row) * job->x.down +
                         (column * p->stride_x - p->pad_left) * job->x.across;
#define MEAN_OF(c, n) mean_of(job, x, down, across, y, c, n)
        EACH_CHANNELS(p->channels, MEAN_OF);
    }
}

static void mean_rows(const struct stk__avgpool_rows *job)
{
    for (int row = job->first; row < job->first + job->n_rows; row++)
        mean_row(job, row);
}

/* Adds a window's part to a pixel, or begins with it. */
INLINE void add_part(const float *dy, vector part, bool begins, float *dx, int c, const int n)
{
    put(dx + c, begins ? times(get(dy + c, n), part) : fuse(get(dy + c, n), part, get(dx + c, n)),
        n);
}

static void mean_gradient_pixel(const struct stk__avgpool_gradient *job, int y, int x, float *dx)
{
    const struct stk__pooling *p = job->pool;
    const struct stk__pool_range rows = stk__windows_y(p, y), columns = stk__windows_x(p, x);
    bool begins = true;
    for (int row = rows.first; row < rows.end; row++)
        for (int column = columns.first; column < columns.end; column++, begins = false) {
            const vector part = spread(part_of(stk__cells_y(p, row), stk__cells_x(p, column)));
            const float *dy =
                job->dy.at + (row - job->dy_row) * job->dy.down + column * job->dy.across;
#define ADD_PART(c, n) add_part(dy, part, begins, dx, c, n)
            EACH_CHANNELS(p->channels, ADD_PART);
        }
    if (begins)
        zero_pixel(dx, p->channels);
}

static void mean_gradient(const struct stk__avgpool_gradient *job)
{
    for (int row = 0; row < job->n_rows; row++)
        for (int x = 0; x < job->pool->in_width; x++)
            mean_gradient_pixel(job, job->first + row, x,
                                job->dx.at + row * job->dx.down + x * job->dx.across);
}
