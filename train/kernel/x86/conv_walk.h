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

static void rows(const struct stk__conv_rows *job)
{
    for (int row = 0; row < job->height; row++)
        for (int first = 0; first < job->filters; first += BLOCK)
            for (int done = 0, n; done < job->width; done += n) {
                n = part(job->width, done);
                const struct pixels pixels = {
                    job->x + row * job->patch->down + done * job->patch->across, job->patch->across,
                    job->y + row * job->y_down + done * job->y_across, job->y_across
                };
                tile_of[n](job, first, &pixels);
            }
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

static void gradient(const struct stk__conv_gradient *job)
{
    enum { ROWS = 4 };
    struct stk__conv_gradient some = *job;
    for (int row = 0; row < job->height; row += ROWS) {
        some.height = job->height - row < ROWS ? job->height - row : ROWS;
        some.x = job->x + row * job->patch->down;
        some.dy = job->dy + row * job->dy_down;
        gather_rows(&some);
    }
}
