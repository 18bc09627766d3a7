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
    size_t rows_at, rows_floats; /* in scratch: gradients of some rows that are added */
};

/* Where the first output of a row begins to look. */
static struct stk__read_map place_of(const struct depthwise *d, const struct stk__image *x, int row)
{
    const float *at = x->at + (row * d->conv.stride_y - d->conv.pad_top) * x->down -
                      (int64_t)d->conv.pad_left * x->channels;
    return (struct stk__read_map){ at, x->channels, x->down };
}

static void forward(const struct stk__work *work, const struct stk__group *group)
{
    const struct depthwise *d = group->state;
    const struct stk__run *run = work->run;
    struct stk__bounds bounds = stk__activation_bounds(&d->activation);
    for (int i = 0; i < work->n; i++) {
        struct stk__image x = stk__input_at(work, group, 0, i);
        struct stk__image y = stk__image_at(work, group->out, i);
        run->kernels->depthwise.rows(
            &(struct stk__depthwise_rows){ .shape = &d->shape,
                                           .x = place_of(d, &x, 0),
                                           .y = stk__writes(&y),
                                           .width = y.width,
                                           .height = y.height,
                                           .weights = run->weight[d->kernel],
                                           .bias = d->bias < 0 ? NULL : run->weight[d->bias],
                                           .low = bounds.low,
                                           .high = bounds.high });
        for (int j = 0; !stk__activation_is_clamp(&d->activation) && j < y.height; j++)
            stk__activate(run->kernels, &d->activation, y.at + j * y.down,
                          (size_t)y.width * (size_t)y.channels, y.at + j * y.down);
    }
    stk__clear_frames(work, group->out);
}

/* ---- backward ---- */

static void to_weights(const struct stk__work *work, const struct stk__group *group,
                       const struct stk__band *band)
{
    const struct depthwise *d = group->state;
    struct stk__image x = stk__input_at(work, group, 0, band->image);
    struct stk__rows rows = stk__band_rows(band);
    float *sums = stk__sums_at(work, group, work->thread);
    int first = band->hi - band->n;
    work->run->kernels->depthwise.gradient(&(struct stk__depthwise_gradient){
        .shape = &d->shape,
        .x = place_of(d, &x, first),
        .dy = { rows.at + (first - rows.first) * rows.down, rows.across, rows.down },
        .width = d->conv.out_width,
        .height = band->n,
        .weights = sums,
        .bias = d->bias < 0 ? NULL : sums + d->bias_at });
}

static void to_image(const struct stk__work *work, const struct stk__group *group,
                     const struct stk__band *band)
{
    const struct depthwise *d = group->state;
    struct stk__image dx = stk__d_input_at(work, group, 0, band->image), own;
    struct stk__rows rows = stk__band_rows(band);
    dx.at += band->done * dx.down;
    dx.height = band->ready - band->done;
    own = dx;
    if (group->adds[0])
        own.at = (float *)stk__at(work, group->scratch, 0) + d->rows_at;
    if (dx.height == 0)
        return;
    work->run->kernels->depthwise.image(&(struct stk__depthwise_image){
        .shape = &d->shape,
        .pad_top = d->conv.pad_top,
        .pad_left = d->conv.pad_left,
        .dy = { rows.at - rows.first * rows.down, rows.across, rows.down },
        .first = band->done,
        .dx = stk__writes(&own),
        .width = dx.width,
        .height = dx.height,
        .weights = work->run->weight[d->kernel] });
    if (group->adds[0])
        stk__put_rows(work->run->kernels, &own, &dx, true);
}

static void backward(const struct stk__work *work, const struct stk__group *group)
{
    const struct depthwise *d = group->state;
    struct stk__band band =
        stk__band_begin(&d->bands, work, group, stk__at(work, group->scratch, 0));
    for (int i = 0; i < work->n; i++) {
        stk__band_image(&band, i);
        while (stk__band_next(&band)) {
            to_weights(work, group, &band);
            if (group->d_in[0] >= 0)
                to_image(work, group, &band);
        }
    }
}

static void collect(const struct stk__work *work, const struct stk__group *group)
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

static int open_group(struct stk__step_plan *plan, struct stk__group *group, struct stk_error *err)
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
    d->rows_at = (stk__bands_floats(&d->bands) + 15) / 16 * 16;
    if (group->adds[0])
        d->rows_floats = most_given(d) * (size_t)c.width * (size_t)c.channels;
    group->scratch_bytes = (d->rows_at + d->rows_floats) * sizeof(float);
    if (d->activation.kind == STK__LINEAR)
        group->spares = STK__OUT;
    return STK_OK;
}

static const struct stk__part forward_parts[] = { { forward, STK__IN | STK__OUT, false }, { 0 } };
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
