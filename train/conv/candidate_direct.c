/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_direct.c: convolutions as they are written down, by the kernels of conv_kernel.h. Takes
 * every task; within 1e-5 of the sum of the terms' sizes. */
#include "train/conv/candidate_direct.h"
#include "train/conv/candidate.h"
#include "train/kernel/train_kernel.h"

#include <math.h>

static const struct stk__conv_kernels *kernels_of(const struct stk__conv_way *way)
{
    return &stk__train_kernels_at(way->task.cpu_level)->conv;
}

static bool can(const struct stk__conv_task *task)
{
    const struct stk__conv *c = &task->conv;
    return c->kernel_height * c->kernel_width <= STK__MOST_TAPS;
}

static int open(struct stk__conv_way *way, struct stk_error *err)
{
    int block = kernels_of(way)->block;
    (void)err;
    way->row_unit = 1;
    way->writes_halves = stk__train_kernels_at(way->task.cpu_level)->takes_halves;
    way->packed_floats = way->task.direction == STK__TO_IMAGE
                             ? stk__direct_turned_floats(&way->task.conv, block)
                             : stk__direct_packed_floats(&way->task.conv, block);
    return 0;
}

static void pack(const struct stk__conv_way *way, const float *weights, float *packed, int part,
                 int n_parts)
{
    int block = kernels_of(way)->block;
    if (way->task.direction == STK__TO_IMAGE)
        stk__direct_turn(&way->task.conv, block, weights, packed, part, n_parts);
    else
        stk__direct_pack(&way->task.conv, block, weights, packed, part, n_parts);
}

static void unpack(const struct stk__conv_way *way, float *const *sums, int n_sums, float *weights,
                   int part, int n_parts)
{
    stk__direct_unpack(&way->task.conv, kernels_of(way)->block, sums, n_sums, weights, part,
                       n_parts);
}

/* Pieces of `n` by `m` taps of some values each; those that lie side by side are one. */
static void set_pieces(struct stk__patch *patch, int64_t *at, int n, int m, int64_t down,
                       int64_t across, int values)
{
    bool is_one = across == values;
    patch->at = at;
    patch->n_pieces = is_one ? n : n * m;
    patch->piece = is_one ? m * values : values;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < (is_one ? 1 : m); i++)
            *at++ = j * down + i * across;
}

/* What outputs look at in an image. */
static void set_patch(const struct stk__conv *c, const struct stk__rows *image,
                      struct stk__patch *patch, int64_t *at)
{
    patch->across = c->stride_x * image->across;
    patch->down = c->stride_y * image->down;
    set_pieces(patch, at, c->kernel_height, c->kernel_width, c->dilation_y * image->down,
               c->dilation_x * image->across, c->channels / c->groups);
}

static float *row_of(const struct stk__rows *rows, int row)
{
    return rows->at + (row - rows->first) * rows->down;
}

/* Where values are written, from a row on: to floats, or to halves. */
static void set_output(struct stk__conv_rows *job, const struct stk__rows *rows, int row,
                       int64_t more)
{
    int64_t at = (row - rows->first) * rows->down + more;
    if (rows->halves.at)
        job->y_halves = (struct stk__write_halves){ rows->halves.at + at, rows->halves.dtype };
    else
        job->y = rows->at + at;
}

/* Where the first output of a row begins to look. */
static float *place_of(const struct stk__conv *c, const struct stk__rows *image, int row)
{
    return row_of(image, row * c->stride_y - c->pad_top) - c->pad_left * image->across;
}

static void forward(const struct stk__conv_way *way, const struct stk__conv_job *job)
{
    const struct stk__conv *c = &way->task.conv;
    const struct stk__conv_kernels *kernels = kernels_of(way);
    int64_t at[STK__MOST_TAPS];
    struct stk__patch patch;
    int filters = c->filters / c->groups, channels = c->channels / c->groups;
    set_patch(c, &job->image, &patch, at);
    for (int group = 0; group < c->groups; group++) {
        struct stk__conv_rows rows = {
            .patch = &patch,
            .x = place_of(c, &job->image, job->from) + group * channels,
            .x_apart = job->image.apart,
            .y_across = job->output.across,
            .y_down = job->output.down,
            .y_apart = job->output.apart,
            .width = c->out_width,
            .height = job->to - job->from,
            .n_images = job->n_images,
            .filters = filters,
            .weights = job->packed + (size_t)group * (way->packed_floats / (size_t)c->groups),
            .bias = job->bias ? job->bias + group * filters : NULL,
            .low = job->low,
            .high = job->high
        };
        set_output(&rows, &job->output, job->from, group * filters);
        kernels->rows(&rows);
    }
}

/* The places of one class within the rows of a job. */
static void to_places(const struct stk__conv_way *way, const struct stk__conv_job *job,
                      struct stk__taps_class y, struct stk__taps_class x, const float *turned)
{
    const struct stk__conv *c = &way->task.conv;
    const struct stk__conv_kernels *kernels = kernels_of(way);
    int64_t at[STK__MOST_TAPS];
    struct stk__patch patch = { .across = job->output.across, .down = job->output.down };
    int filters = c->filters / c->groups, channels = c->channels / c->groups;
    int skipped = job->from > y.first ? (job->from - y.first + c->stride_y - 1) / c->stride_y : 0;
    int row = y.first + skipped * c->stride_y;
    int n_rows = job->to > row ? (job->to - row - 1) / c->stride_y + 1 : 0;
    int left = x.from - (x.n_taps ? x.n_taps - 1 : 0) * c->dilation_x;
    set_pieces(&patch, at, y.n_taps, x.n_taps, -c->dilation_y * job->output.down,
               c->dilation_x * job->output.across, filters);
    for (int group = 0; group < c->groups; group++) {
        struct stk__conv_rows rows = {
            .patch = &patch,
            .x = row_of(&job->output, y.from + skipped) + left * job->output.across +
                 group * filters,
            .x_apart = job->output.apart,
            .y_across = c->stride_x * job->image.across,
            .y_down = c->stride_y * job->image.down,
            .y_apart = job->image.apart,
            .width = x.n,
            .height = n_rows,
            .n_images = job->n_images,
            .filters = channels,
            .weights = turned + (size_t)group * stk__direct_class_floats(c, kernels->block, y, x),
            .low = -INFINITY,
            .high = INFINITY
        };
        set_output(&rows, &job->image, row, x.first * job->image.across + group * channels);
        kernels->rows(&rows);
    }
}

static void to_image(const struct stk__conv_way *way, const struct stk__conv_job *job)
{
    const struct stk__conv *c = &way->task.conv;
    const float *turned = job->packed;
    for (int a = 0; a < c->stride_y; a++)
        for (int b = 0; b < c->stride_x; b++) {
            struct stk__taps_class y = stk__class_y(c, a), x = stk__class_x(c, b);
            to_places(way, job, y, x, turned);
            turned += (size_t)c->groups * stk__direct_class_floats(c, kernels_of(way)->block, y, x);
        }
}

static void to_weights(const struct stk__conv_way *way, const struct stk__conv_job *job)
{
    const struct stk__conv *c = &way->task.conv;
    const struct stk__conv_kernels *kernels = kernels_of(way);
    int64_t at[STK__MOST_TAPS];
    struct stk__patch patch;
    int filters = c->filters / c->groups, channels = c->channels / c->groups;
    set_patch(c, &job->image, &patch, at);
    for (int group = 0; group < c->groups; group++)
        kernels->gradient(&(struct stk__conv_gradient){
            .patch = &patch,
            .x = place_of(c, &job->image, job->from) + group * channels,
            .x_apart = job->image.apart,
            .dy = row_of(&job->output, job->from) + group * filters,
            .dy_across = job->output.across,
            .dy_down = job->output.down,
            .dy_apart = job->output.apart,
            .width = c->out_width,
            .height = job->to - job->from,
            .n_images = job->n_images,
            .filters = filters,
            .weights = job->sums + (size_t)group * (way->packed_floats / (size_t)c->groups),
            .bias = job->bias_sums ? job->bias_sums + group * filters : NULL });
}

static void run(const struct stk__conv_way *way, const struct stk__conv_job *job)
{
    if (way->task.direction == STK__FORWARD)
        forward(way, job);
    else if (way->task.direction == STK__TO_IMAGE)
        to_image(way, job);
    else
        to_weights(way, job);
}

const struct stk__conv_candidate stk__conv_direct = {
    .name = "direct", .can = can, .open = open, .pack = pack, .unpack = unpack, .run = run
};
