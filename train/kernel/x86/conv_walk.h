/* SPDX-License-Identifier: Apache-2.0 */
/* conv_walk.h: which tiles an image is made of; behind conv_tile.h and its functions by number,
 * tile_of[] and gather_of[].
 */

/* The part of n that comes next, where `done` are done: of about equal parts, none above MOST. */
static int part(int n, int done)
{
    int left = n - done, parts = (left + MOST - 1) / MOST;
    return (left + parts - 1) / parts;
}

/* One row of an image by a block of filters. */
static void row_of_tiles(const struct stk__conv_rows *job, int first, const float *x, int64_t y)
{
    for (int done = 0, n; done < job->width; done += n) {
        n = part(job->width, done);
        const struct pixels pixels = { x + done * job->patch->across, job->patch->across,
                                       y + done * job->y_across, job->y_across };
        tile_of[n](job, first, &pixels);
    }
}

/* All rows of all images by some filters: [first, end). */
static void rows_by(const struct stk__conv_rows *job, int first, int end)
{
    for (int image = 0; image < job->n_images; image++)
        for (int row = 0; row < job->height; row++)
            for (int f = first; f < end; f += BLOCK)
                row_of_tiles(job, f, job->x + image * job->x_apart + row * job->patch->down,
                             image * job->y_apart + row * job->y_down);
}

/* As many filters at a time as have weights that stay in the second cache. */
static void rows(const struct stk__conv_rows *job)
{
    enum { CACHED = 128 << 10 };
    int terms = job->patch->n_pieces * job->patch->piece;
    int n = terms > 0 ? CACHED / BLOCK / terms * BLOCK : job->filters;
    n = n < BLOCK ? BLOCK : n;
    for (int first = 0; first < job->filters; first += n)
        rows_by(job, first, job->filters - first < n ? job->filters : first + n);
}

/* All weights from some rows of the image, which stay in cache meanwhile. */
static void gather_rows(const struct stk__conv_gradient *job)
{
    const struct stk__patch *patch = job->patch;
    float *weights = job->weights;
    for (int first = 0; first < job->filters; first += BLOCK)
        for (int k = 0; k < patch->n_pieces; k++)
            for (int done = 0, n; done < patch->piece; done += n, weights += n * BLOCK) {
                n = part(patch->piece, done);
                gather_of[n](job, job->x + patch->at[k] + done, job->dy + first,
                             job->filters - first, weights);
            }
}

/* The sum of gradients of some filters. */
static void gather_bias(const struct stk__conv_gradient *job, int first)
{
    int n = job->filters - first < LANES ? job->filters - first : LANES;
    vector sum = load_some(job->bias + first, n);
    for (int row = 0; row < job->height; row++)
        for (int i = 0; i < job->width; i++)
            sum =
                plus(sum, load_some(job->dy + row * job->dy_down + i * job->dy_across + first, n));
    store_some(job->bias + first, sum, n);
}

static void gradient(const struct stk__conv_gradient *job)
{
    enum { ROWS = 4 };
    struct stk__conv_gradient some = *job;
    for (int image = 0; image < job->n_images; image++)
        for (int row = 0; row < job->height; row += ROWS) {
            some.height = job->height - row < ROWS ? job->height - row : ROWS;
            some.x = job->x + image * job->x_apart + row * job->patch->down;
            some.dy = job->dy + image * job->dy_apart + row * job->dy_down;
            gather_rows(&some);
            for (int first = 0; job->bias && first < job->filters; first += LANES)
                gather_bias(&some, first);
        }
}
