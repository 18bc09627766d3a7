/* SPDX-License-Identifier: Apache-2.0 */
/* dense_walk.h: which tiles dense layers are made of; behind dense_tile.h and its functions by number,
 * panel_of[] and beside_of[].
 */
#include "train/kernel/dense_kernel.h"

#include <math.h>

/* ---- values ---- */

/* Columns at a time: TERMS rows of them stay in the second cache level. */
enum { COLUMNS = 512 };

/* A panel of x. */
static void fill_inputs(const struct stk__dense_rows *job, int row, int rows, int k, int terms,
                        float *panel)
{
    const int64_t at = row * job->x_down + k, ahead = k + terms == job->k ? 0 : TERMS;
    if (job->x_halves.at)
        fill_panel_from_halves(
            (struct stk__read_halves){ job->x_halves.at + at, job->x_halves.dtype }, job->x_down,
            rows, terms, ahead, panel);
    else
        fill_panel(job->x + at, job->x_down, rows, terms, ahead, panel);
}

/* A range of columns for all rows of the batch, TERMS inputs from k on. */
static void add_inputs(const struct stk__dense_rows *job, int k, int column, int n_columns)
{
    float panel[MOST * PANEL];
    const int terms = lesser(TERMS, job->k - k);
    const bool is_last = k + terms == job->k;
    for (int row = 0, rows; row < job->n; row += rows) {
        rows = part(job->n, row);
        fill_inputs(job, row, rows, k, terms, panel);
        for (int c = column; c < column + n_columns; c += BLOCK) {
            float *y = job->y + row * job->y_down + c;
            const struct product product = {
                .a = panel,
                .step = 1,
                .b = job->weights + (int64_t)k * job->m + c,
                .b_down = job->m,
                .terms = terms,
                .columns = lesser(BLOCK, column + n_columns - c),
                .b_ahead = row || is_last ? 0 : (int64_t)TERMS * job->m,
                .start = k           ? y
                         : job->bias ? job->bias + c
                                     : NULL,
                .start_down = k ? job->y_down : 0,
                .out = y,
                .out_down = job->y_down,
                .keeps_within = is_last,
                .low = job->low,
                .high = job->high,
            };
            panel_of[rows](&product);
        }
    }
}

static void rows(const struct stk__dense_rows *job)
{
    for (int column = 0; column < job->m; column += COLUMNS)
        for (int k = 0; k < job->k; k += TERMS)
            add_inputs(job, k, column, lesser(COLUMNS, job->m - column));
}

INLINE void join_values(const struct stk__dense_parts *job, int row, int c, const int n)
{
    const float *part = job->part + (int64_t)row * job->m + c;
    vector sum = job->bias ? get(job->bias + c, n) : zero();
    for (int i = 0; i < job->n_parts; i++)
        sum = plus(sum, get(part + i * job->part_down, n));
    put(job->y + row * job->y_down + c, within(sum, spread(job->low), spread(job->high)), n);
}

static void join(const struct stk__dense_parts *job)
{
    for (int row = 0; row < job->n; row++) {
#define JOIN(c, n) join_values(job, row, c, n)
        EACH_CHANNELS(job->m, JOIN);
    }
}

/* ---- gradients of weights ---- */

enum { SOON = 48 }; /* inputs ahead, three lines; harmless behind the last one */

enum { BESIDE = 16 }; /* inputs of a row that are widened at a time: at least MOST */

/* Some inputs of all rows, from k on, widened: [n][BESIDE]. */
static void widen_inputs(const struct stk__dense_gradient *job, int k, int inputs, float *to)
{
    for (int row = 0; row < job->n; row++) {
        const int64_t at = row * job->x_down + k;
        _mm_prefetch((const char *)(job->x_halves.at + at + SOON), _MM_HINT_T1);
        widen_row(job->x_halves, at, inputs, to + row * BESIDE);
    }
}

static void gradient(const struct stk__dense_gradient *job)
{
    float widened[STK__DENSE_HALF_ROWS * BESIDE];
    const bool is_half = job->x_halves.at != NULL;
    for (int k = 0, rows; k < job->k; k += rows) {
        rows = part(job->k, k);
        if (is_half)
            widen_inputs(job, k, rows, widened);
        for (int c = 0; c < job->m; c += BLOCK) {
            float *weights = job->weights + (int64_t)k * job->m + c;
            const struct product product = {
                .a = is_half ? widened : job->x + k,
                .step = is_half ? BESIDE : job->x_down,
                .b = job->dy + c,
                .b_down = job->dy_down,
                .terms = job->n,
                .columns = lesser(BLOCK, job->m - c),
                .a_ahead = c || is_half ? 0 : SOON,
                .start = job->adds ? weights : NULL,
                .start_down = job->m,
                .out = weights,
                .out_down = job->m,
            };
            beside_of[rows](&product);
        }
    }
}

/* ---- gradients of inputs ----
 *
 * Vectors are rows of the batch, so that a value of the weights is spread for all of them. What comes out
 * is a few inputs by rows, and is turned on its way to dx.
 */

/* to[i][r] = from[r][i], or added; both up to a vector's size. */
static void turn(const float *from, int64_t from_down, int rows, int columns, bool adds, float *to,
                 int64_t to_down)
{
    if (rows == LANES && columns == LANES) {
        turn_block(from, from_down, adds, to, to_down);
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < columns; i++)
            to[i * to_down + r] = from[r * from_down + i] + (adds ? to[i * to_down + r] : 0);
}

/* All of a matrix. */
static void turn_all(const float *from, int64_t from_down, int rows, int columns, bool adds,
                     float *to, int64_t to_down)
{
    for (int r = 0; r < rows; r += LANES)
        for (int c = 0; c < columns; c += LANES)
            turn(from + r * from_down + c, from_down, lesser(LANES, rows - r),
                 lesser(LANES, columns - c), adds, to + c * to_down + r, to_down);
}

enum { INPUTS = 3 * LANES }; /* at a time: whole blocks are turned */

/* What image_part found, [inputs][BLOCK], as halves. */
static void give_halves(const struct stk__dense_image *job, int k, int row, int inputs, int rows,
                        const float *sums)
{
    float turned[BLOCK * INPUTS];
    turn_all(sums, BLOCK, inputs, rows, false, turned, INPUTS);
    for (int r = 0; r < rows; r++) {
        uint16_t *to = job->dx_halves.at + (row + r) * job->dx_down + k;
#define GIVE_HALVES(c, n)                                                                          \
    store_halves(job->dx_halves.dtype, to + c, load(turned + r * INPUTS + c), n)
        EACH_CHANNELS(inputs, GIVE_HALVES);
    }
}

/* Some inputs from k on, some rows of the batch. dy: turned, [terms][BLOCK]. */
static void image_part(const struct stk__dense_image *job, int k, int row, const float *dy, int m)
{
    float panel[MOST * PANEL], sums[INPUTS * BLOCK];
    const int inputs = lesser(INPUTS, job->k - k), rows = lesser(BLOCK, job->n - row);
    const int terms = lesser(TERMS, job->m - m);
    for (int r = 0; !job->dx_halves.at && r < rows; r++)
        fetch(job->dx + (row + r) * job->dx_down + k, inputs);
    for (int done = 0, n; done < inputs; done += n) {
        n = part(inputs, done);
        fill_panel(job->weights + (int64_t)(k + done) * job->m + m, job->m, n, terms,
                   (int64_t)n * job->m, panel);
        const struct product product = {
            .a = panel,
            .step = 1,
            .b = dy,
            .b_down = BLOCK,
            .terms = terms,
            .columns = rows,
            .out = sums + done * BLOCK,
            .out_down = BLOCK,
        };
        panel_of[n](&product);
    }
    if (job->dx_halves.at)
        give_halves(job, k, row, inputs, rows, sums);
    else
        turn_all(sums, BLOCK, inputs, rows, m > 0, job->dx + row * job->dx_down + k, job->dx_down);
}

static void image(const struct stk__dense_image *job)
{
    float dy[TERMS * BLOCK];
    for (int row = 0; row < job->n; row += BLOCK)
        for (int m = 0; m < job->m; m += TERMS) {
            turn_all(job->dy + row * job->dy_down + m, job->dy_down, lesser(BLOCK, job->n - row),
                     lesser(TERMS, job->m - m), false, dy, BLOCK);
            for (int k = 0; k < job->k; k += INPUTS)
                image_part(job, k, row, dy, m);
        }
}
