/* SPDX-License-Identifier: Apache-2.0 */
/* norm_group.c: batch normalisation with its activation.
 *
 *     forward     sums of each channel, while a thread has the images    ║ mean and variance of the batch
 *                 values, by a factor and an offset of each channel
 *     backward    sums of gradients and of gradients by values           ║ what every gradient takes of them
 *                 gradients
 *
 * Sums of squares are those of the distance from the first pixel that a thread sees, so that the variance is
 * exact where it is small beside the mean; threads' means and variances are joined in double.
 */
#include "train/step/strips.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

/* Of each channel. */
struct norm {
    int channels;
    int gamma, beta, moving_mean, moving_variance; /* weights; -1: none */
    double epsilon, momentum;
    bool is_unbiased;
    int64_t pixels; /* of an image */
    struct stk__activation activation;
    float *mean, *scale, *offset, *slope, *mean_dy; /* kernels' numbers of this batch */
    double *batch_mean, *batch_variance;
};

/* What a thread sums up: its pixels, the distances from `shift` and their squares; then gradients. */
struct sums {
    double *count, *sum, *squares, *gradient, *products;
    float *shift;
};

static struct sums sums_of(const struct stk__step_work *work, const struct stk__step_group *group,
                           int thread)
{
    const struct norm *norm = group->state;
    size_t n = (size_t)norm->channels;
    double *at = (double *)stk__sums_at(work, group, thread);
    return (struct sums){
        at, at + 1, at + 1 + n, at + 1 + 2 * n, at + 1 + 3 * n, (float *)(at + 1 + 4 * n)
    };
}

static size_t sums_floats(int channels)
{
    return 2 * (1 + 4 * (size_t)channels) + (size_t)channels;
}

/* Some rows: where they lie, if kernels take what they are, or a strip of them. Kernels take one type of all
 * that they read. */
static struct stk__read_map read_rows(const struct stk__step_work *work,
                                      const struct stk__step_group *group,
                                      const struct stk__map *map, int first, int n, float *strip)
{
    if (stk__map_is_taken(work, map) && map->dtype == stk__dtype_of(work, group->in[0]) &&
        map->dtype == stk__dtype_of(work, group->out))
        return stk__map_reads(map, first * map->down);
    struct stk__step_image rows = stk__map_load(map, first, n, strip);
    return stk__reads(&rows);
}

/* Of gradients that an activation kept within bounds, its values: elsewhere they do not count. */
static struct stk__read_map read_mask(const struct stk__step_work *work,
                                      const struct stk__step_group *group, int i, int first, int n,
                                      float *strip)
{
    const struct norm *norm = group->state;
    struct stk__map out = stk__map_at(work, group->out, i);
    if (norm->activation.kind == STK__LINEAR || !stk__activation_is_clamp(&norm->activation))
        return (struct stk__read_map){ 0 };
    return read_rows(work, group, &out, first, n, strip);
}

/* ---- forward ---- */

static void set_shift(const struct stk__map *in, int first, float *strip, float *shift)
{
    struct stk__step_image row = stk__map_load(in, first, 1, strip);
    memcpy(shift, row.at, (size_t)in->channels * sizeof *shift);
}

static void sum_rows(const struct stk__step_work *work, const struct stk__step_group *group, int i,
                     int first, int n)
{
    struct sums s = sums_of(work, group, work->thread);
    struct stk__map in = stk__input_map(work, group, 0, i);
    float *strip = stk__strip(work, group, 0);
    if (*s.count == 0)
        set_shift(&in, first, strip, s.shift);
    work->run->kernels->norm.sums(
        &(struct stk__norm_sums){ .x = read_rows(work, group, &in, first, n, strip),
                                  .width = in.width,
                                  .height = n,
                                  .channels = in.channels,
                                  .shift = s.shift,
                                  .sum = s.sum,
                                  .squares = s.squares });
    *s.count += (double)in.width * n;
}

static void sum_values(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, sum_rows);
}

/* Joins what threads found of a channel. */
static void join_threads(const struct stk__step_work *work, const struct stk__step_group *group,
                         int c, double *mean, double *variance)
{
    double count = 0, joined_mean = 0, squares = 0;
    for (int t = 0; t < work->n_threads; t++) {
        struct sums s = sums_of(work, group, t);
        if (*s.count == 0)
            continue;
        double own_mean = s.shift[c] + s.sum[c] / *s.count, all = count + *s.count;
        double distance = own_mean - joined_mean;
        squares += s.squares[c] - s.sum[c] * s.sum[c] / *s.count +
                   distance * distance * count * *s.count / all;
        joined_mean += distance * *s.count / all;
        count = all;
    }
    *mean = joined_mean;
    *variance = squares > 0 ? squares / count : squares < 0 ? 0 : squares / count;
}

static void set_factors(const struct stk__run *run, struct norm *norm, int c, double mean,
                        double variance)
{
    double gamma = norm->gamma < 0 ? 1 : run->used[norm->gamma][c];
    double beta = norm->beta < 0 ? 0 : run->used[norm->beta][c];
    double scale = gamma / sqrt(variance + norm->epsilon);
    norm->mean[c] = (float)mean;
    norm->scale[c] = (float)scale;
    norm->offset[c] = (float)(beta - scale * mean);
}

static void settle_forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    struct norm *norm = group->state;
    struct stk__team_share share = stk__share_of(norm->channels, work->thread, work->n_threads);
    for (int c = (int)share.first; c < share.behind; c++) {
        join_threads(work, group, c, &norm->batch_mean[c], &norm->batch_variance[c]);
        set_factors(work->run, norm, c, norm->batch_mean[c], norm->batch_variance[c]);
    }
}

static void settle_use(const struct stk__run *run, const struct stk__step_group *group)
{
    struct norm *norm = group->state;
    for (int c = 0; c < norm->channels; c++)
        set_factors(run, norm, c, run->used[norm->moving_mean][c],
                    run->used[norm->moving_variance][c]);
}

static void activate_rows(const struct stk__run *run, const struct norm *norm,
                          const struct stk__step_image *y)
{
    if (stk__activation_is_clamp(&norm->activation))
        return;
    for (int j = 0; j < y->height; j++)
        stk__activation_apply(run->kernels, &norm->activation, y->at + j * y->down,
                              (size_t)y->width * (size_t)y->channels, y->at + j * y->down);
}

static void normalise_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                           int i, int first, int n)
{
    const struct norm *norm = group->state;
    struct stk__bounds bounds = stk__activation_bounds(&norm->activation);
    struct stk__map in = stk__input_map(work, group, 0, i);
    struct stk__map out = stk__map_at(work, group->out, i);
    bool is_direct = stk__activation_is_clamp(&norm->activation) && stk__map_is_taken(work, &out);
    struct stk__step_image y = stk__rows_to(&out, first, n, stk__strip(work, group, 1));
    work->run->kernels->norm.rows(&(struct stk__norm_rows){
        .x = read_rows(work, group, &in, first, n, stk__strip(work, group, 0)),
        .y = is_direct ? stk__map_writes(&out, first * out.down) : stk__writes(&y),
        .width = in.width,
        .height = n,
        .channels = in.channels,
        .scale = norm->scale,
        .offset = norm->offset,
        .low = bounds.low,
        .high = bounds.high });
    if (is_direct)
        return;
    activate_rows(work->run, norm, &y);
    stk__map_store(&out, first, &y);
}

static void normalise(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, normalise_rows);
    stk__clear_frames(work, group->out);
}

/* ---- backward ---- */

static void sum_gradient_rows(const struct stk__step_work *work,
                              const struct stk__step_group *group, int i, int first, int n)
{
    const struct norm *norm = group->state;
    struct sums s = sums_of(work, group, work->thread);
    struct stk__map in = stk__input_map(work, group, 0, i);
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    struct stk__bounds bounds = stk__activation_bounds(&norm->activation);
    work->run->kernels->norm.gradient_sums(&(struct stk__norm_gradient_sums){
        .x = read_rows(work, group, &in, first, n, stk__strip(work, group, 0)),
        .dy = read_rows(work, group, &d_out, first, n, stk__strip(work, group, 1)),
        .y = read_mask(work, group, i, first, n, stk__strip(work, group, 2)),
        .width = in.width,
        .height = n,
        .channels = in.channels,
        .mean = norm->mean,
        .low = bounds.low,
        .high = bounds.high,
        .sum = s.gradient,
        .products = s.products });
}

/* What clamps did is undone as gradients are read, what others did before. */
static void sum_gradients(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct norm *norm = group->state;
    if (!stk__activation_is_clamp(&norm->activation))
        stk__mask_gradient(work, group,
                           (float *[]){ stk__strip(work, group, 0), stk__strip(work, group, 1) });
    stk__for_strips(work, group, sum_gradient_rows);
}

static void settle_backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    struct norm *norm = group->state;
    const struct stk__run *run = work->run;
    struct stk__team_share share = stk__share_of(norm->channels, work->thread, work->n_threads);
    double count = 0;
    for (int t = 0; t < work->n_threads; t++)
        count += *sums_of(work, group, t).count;
    for (int c = (int)share.first; c < share.behind; c++) {
        double gradient = 0, products = 0, variance = norm->batch_variance[c] + norm->epsilon;
        for (int t = 0; t < work->n_threads; t++) {
            gradient += sums_of(work, group, t).gradient[c];
            products += sums_of(work, group, t).products[c];
        }
        norm->slope[c] = (float)(-norm->scale[c] / variance * products / count);
        norm->mean_dy[c] = (float)(gradient / count);
        if (norm->beta >= 0)
            run->gradient[norm->beta][c] = (float)gradient;
        if (norm->gamma >= 0)
            run->gradient[norm->gamma][c] = (float)(products / sqrt(variance));
    }
}

static void give_gradient_rows(const struct stk__step_work *work,
                               const struct stk__step_group *group, int i, int first, int n)
{
    const struct norm *norm = group->state;
    struct stk__map in = stk__input_map(work, group, 0, i);
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    struct stk__map d_in = stk__d_input_map(work, group, 0, i);
    struct stk__bounds bounds = stk__activation_bounds(&norm->activation);
    bool is_direct = !group->adds[0] && stk__map_is_taken(work, &d_in);
    struct stk__step_image own =
        group->strip_floats ? stk__strip_image(&d_in, n, stk__strip(work, group, 3))
                            : stk__map_load(&d_out, first, n, NULL); /* all floats, used up */
    work->run->kernels->norm.gradient_rows(&(struct stk__norm_gradient_rows){
        .x = read_rows(work, group, &in, first, n, stk__strip(work, group, 0)),
        .dy = read_rows(work, group, &d_out, first, n, stk__strip(work, group, 1)),
        .y = read_mask(work, group, i, first, n, stk__strip(work, group, 2)),
        .dx = is_direct ? stk__map_writes(&d_in, first * d_in.down) : stk__writes(&own),
        .width = in.width,
        .height = n,
        .channels = in.channels,
        .scale = norm->scale,
        .slope = norm->slope,
        .mean = norm->mean,
        .mean_dy = norm->mean_dy,
        .low = bounds.low,
        .high = bounds.high });
    if (!is_direct)
        stk__d_input_store(work, group, 0, &d_in, first, &own, stk__strip(work, group, 0));
}

static void give_gradients(const struct stk__step_work *work, const struct stk__step_group *group)
{
    if (group->d_in[0] >= 0)
        stk__for_strips(work, group, give_gradient_rows);
}

/* ---- once per step ---- */

static void pack_use(const struct stk__step_work *work, const struct stk__step_group *group)
{
    if (work->thread == 0 && work->run->program == &work->run->plan->use)
        settle_use(work->run, group);
}

/* Keras' variance is that of all pixels; PyTorch's moving one is corrected by one. */
static double correction(const struct norm *norm, int64_t rows)
{
    double count = (double)rows * (double)norm->pixels;
    return norm->is_unbiased && count > 1 ? count / (count - 1) : 1;
}

static void keep(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct norm *norm = group->state;
    float *mean = work->run->weight[norm->moving_mean];
    float *variance = work->run->weight[norm->moving_variance];
    double part = (1 - norm->momentum) * correction(norm, work->run->rows);
    struct stk__team_share share = stk__share_of(norm->channels, work->thread, work->n_threads);
    for (int64_t c = share.first; c < share.behind; c++) {
        mean[c] = (float)(mean[c] * norm->momentum + norm->batch_mean[c] * (1 - norm->momentum));
        variance[c] = (float)(variance[c] * norm->momentum + norm->batch_variance[c] * part);
    }
}

static int open_group(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
{
    const struct stk__model_node *node = stk__group_node(plan, group);
    size_t n = (size_t)node->shape.channels;
    struct norm *norm = stk_arena_alloc(plan->arena, sizeof *norm);
    float *floats = stk_arena_alloc(plan->arena, 5 * n * sizeof *floats);
    double *doubles = stk_arena_alloc(plan->arena, 2 * n * sizeof *doubles);
    if (!norm || !floats || !doubles)
        return stk__out_of_memory(err);
    *norm = (struct norm){ .channels = (int)n,
                           .gamma = stk__group_weight(plan, group, STK__GAMMA),
                           .beta = stk__group_weight(plan, group, STK__BETA),
                           .moving_mean = stk__group_weight(plan, group, STK__MOVING_MEAN),
                           .moving_variance = stk__group_weight(plan, group, STK__MOVING_VARIANCE),
                           .epsilon = node->epsilon,
                           .momentum = node->momentum,
                           .is_unbiased = node->is_unbiased,
                           .pixels = node->shape.height * node->shape.width,
                           .activation = stk__group_activation(plan, group),
                           .mean = floats,
                           .scale = floats + n,
                           .offset = floats + 2 * n,
                           .slope = floats + 3 * n,
                           .mean_dy = floats + 4 * n,
                           .batch_mean = doubles,
                           .batch_variance = doubles + n };
    group->state = norm;
    group->sums_floats = sums_floats(norm->channels);
    if (norm->activation.kind == STK__LINEAR)
        group->spares = STK__OUT;
    return STK_OK;
}

static const struct stk__part forward_parts[] = {
    { sum_values, STK__IN, false },
    { settle_forward, 0, true },
    { normalise, STK__IN | STK__OUT, false },
    { 0 },
};
static const struct stk__part backward_parts[] = {
    { sum_gradients, STK__IN | STK__OUT | STK__D_OUT, false },
    { settle_backward, 0, true },
    { give_gradients, STK__IN | STK__OUT | STK__D_IN | STK__D_OUT, false },
    { 0 },
};
static const struct stk__part use_parts[] = { { normalise, STK__IN | STK__OUT, false }, { 0 } };

const struct stk__group_type stk__norm_group = { .name = "norm",
                                                 .open = open_group,
                                                 .forward = forward_parts,
                                                 .backward = backward_parts,
                                                 .use = use_parts,
                                                 .pack = pack_use,
                                                 .keep = keep,
                                                 .n_strips = 4 };
