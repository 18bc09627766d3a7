/* SPDX-License-Identifier: Apache-2.0 */
/* depthwise_group.c: a convolution of each channel by itself, with its activation. */
#include "base/error.h"
#include "train/step/bands.h"

#include <string.h>

enum { BAND_BYTES = 64 << 10 };

struct depthwise {
    struct stk__depthwise shape;
    struct stk__conv conv;
    int kernel, bias;
    struct stk__activation activation;
    struct stk__bands bands;
    size_t bias_at;              /* in sums */
    int band_rows;               /* forward: rows at a time */
    size_t rows_at, rows_floats; /* in scratch: gradients of some rows, if not made in place */
    size_t in_at, out_at;        /* rows in half precision: of the image; forward, of the output */
};

/* Whether kernels take halves: those with a multiplier do not. */
static bool is_taken(const struct stk__step_work *work, const struct depthwise *d,
                     const struct stk__map *map)
{
    return stk__map_is_taken(work, map) && (map->dtype == STK_F32 || d->shape.multiplier == 1);
}

/* What rows [from, to) of the output look at, from where the first of them begins to. */
static struct stk__read_map window_of(const struct stk__step_work *work,
                                      const struct stk__step_group *group, int image, int from,
                                      int to)
{
    const struct depthwise *d = group->state;
    struct stk__map in = stk__map_at(work, group->in[0], image);
    struct stk__team_share reach = stk__conv_reach(&d->conv, from, to);
    int64_t left = (int64_t)d->conv.pad_left * in.channels;
    if (is_taken(work, d, &in))
        return stk__map_reads(&in, reach.first * in.down - left);
    struct stk__rows x = stk__reached_rows(work, group, image, reach, work->scratch + d->in_at);
    return (struct stk__read_map){ .at = x.at - left, .across = x.across, .down = x.down };
}

static void sum_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                     int image, int from, int to, struct stk__write_map y)
{
    const struct depthwise *d = group->state;
    const struct stk__run *run = work->run;
    struct stk__bounds bounds = stk__activation_bounds(&d->activation);
    run->kernels->depthwise.rows(
        &(struct stk__depthwise_rows){ .shape = &d->shape,
                                       .x = window_of(work, group, image, from, to),
                                       .y = y,
                                       .width = d->conv.out_width,
                                       .height = to - from,
                                       .weights = run->used[d->kernel],
                                       .bias = d->bias < 0 ? NULL : run->used[d->bias],
                                       .low = bounds.low,
                                       .high = bounds.high });
}

static void forward_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                         int image, int from, int to)
{
    const struct depthwise *d = group->state;
    struct stk__map out = stk__map_at(work, group->out, image);
    bool is_clamp = stk__activation_is_clamp(&d->activation);
    if (is_clamp && is_taken(work, d, &out)) {
        sum_rows(work, group, image, from, to, stk__map_writes(&out, from * out.down));
        return;
    }
    struct stk__step_image y = stk__rows_to(&out, from, to - from, work->scratch + d->out_at);
    sum_rows(work, group, image, from, to, stk__writes(&y));
    for (int j = 0; !is_clamp && j < y.height; j++)
        stk__activation_apply(work->run->kernels, &d->activation, y.at + j * y.down,
                              (size_t)y.width * (size_t)y.channels, y.at + j * y.down);
    stk__map_store(&out, from, &y);
}

static void forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct depthwise *d = group->state;
    int height = d->conv.out_height;
    for (int i = 0; i < work->n; i++)
        for (int from = 0; from < height; from += d->band_rows)
            forward_rows(work, group, i, from,
                         from + d->band_rows < height ? from + d->band_rows : height);
    stk__clear_frames(work, group->out);
}

/* ---- backward ---- */

static void to_weights(const struct stk__step_work *work, const struct stk__step_group *group,
                       const struct stk__band *band)
{
    const struct depthwise *d = group->state;
    struct stk__rows rows = stk__band_rows(band);
    float *sums = stk__sums_at(work, group, work->thread);
    int first = band->hi - band->n;
    work->run->kernels->depthwise.gradient(&(struct stk__depthwise_gradient){
        .shape = &d->shape,
        .x = window_of(work, group, band->image, first, band->hi),
        .dy = { .at = rows.at + (first - rows.first) * rows.down,
                .across = rows.across,
                .down = rows.down },
        .width = d->conv.out_width,
        .height = band->n,
        .weights = sums,
        .bias = d->bias < 0 ? NULL : sums + d->bias_at });
}

static void sum_image(const struct stk__step_work *work, const struct stk__step_group *group,
                      const struct stk__band *band, struct stk__write_map dx)
{
    const struct depthwise *d = group->state;
    struct stk__rows rows = stk__band_rows(band);
    work->run->kernels->depthwise.image(&(struct stk__depthwise_image){
        .shape = &d->shape,
        .pad_top = d->conv.pad_top,
        .pad_left = d->conv.pad_left,
        .dy = { .at = rows.at - rows.first * rows.down, .across = rows.across, .down = rows.down },
        .first = band->done,
        .dx = dx,
        .width = d->conv.width,
        .height = band->ready - band->done,
        .weights = work->run->used[d->kernel] });
}

static void to_image(const struct stk__step_work *work, const struct stk__step_group *group,
                     const struct stk__band *band)
{
    const struct depthwise *d = group->state;
    struct stk__map d_in = stk__d_input_map(work, group, 0, band->image);
    float *strip = work->scratch + d->rows_at;
    int n = band->ready - band->done;
    if (n == 0)
        return;
    if (!group->adds[0] && is_taken(work, d, &d_in)) {
        sum_image(work, group, band, stk__map_writes(&d_in, band->done * d_in.down));
        return;
    }
    struct stk__step_image own = stk__strip_image(&d_in, n, strip);
    sum_image(work, group, band, stk__writes(&own));
    stk__d_input_store(work, group, 0, &d_in, band->done, &own, strip + d->rows_floats);
}

static void backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct depthwise *d = group->state;
    struct stk__band band = stk__band_begin(&d->bands, work, group, work->scratch);
    for (int i = 0; i < work->n; i++) {
        stk__band_image(&band, i);
        while (stk__band_next(&band)) {
            to_weights(work, group, &band);
            if (group->d_in[0] >= 0)
                to_image(work, group, &band);
        }
    }
}

static void collect(const struct stk__step_work *work, const struct stk__step_group *group)
{
    const struct depthwise *d = group->state;
    stk__collect_sums(work, group, 0, d->kernel);
    stk__collect_sums(work, group, d->bias_at, d->bias);
}

/* ---- sizes ---- */

/* Rows of the image's gradient that one band may give: all that its rows are in, and at the ends those
 * that none is in. */
static size_t most_given(const struct depthwise *d)
{
    const struct stk__conv *c = &d->conv;
    int64_t rows = (int64_t)(d->bands.n_rows + 1) * c->stride_y + c->pad_top +
                   (int64_t)c->kernel_height * c->dilation_y + d->bands.bottom * c->stride_y;
    return (size_t)(rows < c->height ? rows : c->height);
}

static size_t round_floats(size_t n)
{
    return (n + 15) / 16 * 16;
}

static void size_scratch(const struct stk__step_plan *plan, struct stk__step_group *group,
                         struct depthwise *d)
{
    const struct stk__tensor *in = &plan->tensor[group->in[0]], *out = &plan->tensor[group->out];
    bool is_half = in->dtype != STK_F32 || out->dtype != STK_F32;
    size_t out_row = (size_t)out->width * (size_t)out->channels;
    d->band_rows = is_half ? d->bands.n_rows : d->conv.out_height;
    if (group->adds[0] || in->dtype != STK_F32)
        d->rows_floats = round_floats(most_given(d) * (size_t)in->width * (size_t)in->channels);
    d->rows_at = round_floats(stk__bands_floats(&d->bands));
    d->in_at = d->rows_at + d->rows_floats;
    if (group->adds[0] && in->dtype != STK_F32)
        d->in_at += d->rows_floats;
    d->out_at = d->in_at + round_floats(stk__reach_floats(plan, group, d->bands.n_rows));
    size_t floats = d->out_at + (out->dtype == STK_F32 ? 0 : (size_t)d->band_rows * out_row);
    group->scratch_bytes = floats * sizeof(float);
}

static int open_group(struct stk__step_plan *plan, struct stk__step_group *group,
                      struct stk_error *err)
{
    struct depthwise *d = stk_arena_alloc(plan->arena, sizeof *d);
    if (!d)
        return stk__out_of_memory(err);
    group->state = d;
    struct stk__conv c = stk__conv_of(plan, group);
    d->conv = c;
    d->shape = (struct stk__depthwise){ .height = c.kernel_height,
                                        .width = c.kernel_width,
                                        .stride_y = c.stride_y,
                                        .stride_x = c.stride_x,
                                        .dilation_y = c.dilation_y,
                                        .dilation_x = c.dilation_x,
                                        .channels = c.channels,
                                        .multiplier = c.filters / c.channels };
    d->kernel = stk__group_weight(plan, group, STK__KERNEL);
    d->bias = stk__group_weight(plan, group, STK__BIAS);
    d->activation = stk__group_activation(plan, group);
    d->bands = stk__bands_of(plan, group, BAND_BYTES, 1);
    d->bias_at = ((size_t)(c.kernel_height * c.kernel_width) * (size_t)c.filters + 15) / 16 * 16;
    group->sums_floats = plan->trains ? d->bias_at + (size_t)c.filters : 0;
    size_scratch(plan, group, d);
    if (d->activation.kind == STK__LINEAR)
        group->spares = STK__OUT;
    return STK_OK;
}

static const struct stk__part forward_parts[] = {
    { forward, STK__IN | STK__OUT | STK__SCRATCH, false },
    { 0 },
};
static const struct stk__part backward_parts[] = {
    { backward, STK__IN | STK__OUT | STK__D_IN | STK__D_OUT | STK__SCRATCH, false },
    { 0 },
};

const struct stk__group_type stk__depthwise_group = { .name = "depthwise",
                                                      .open = open_group,
                                                      .forward = forward_parts,
                                                      .backward = backward_parts,
                                                      .use = forward_parts,
                                                      .collect = collect };
