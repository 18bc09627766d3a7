/* SPDX-License-Identifier: Apache-2.0 */
/* join_groups.c: sums of tensors with their activation, channels side by side, and copies without a
 * frame. */
#include "train/step/strips.h"

#include <string.h>

/* ---- sums ---- */

static void add_rows(const struct stk__step_work *work, const struct stk__step_group *group, int i,
                     int first, int n)
{
    const struct stk__run *run = work->run;
    struct stk__activation a = stk__group_activation(run->plan, group);
    struct stk__map out = stk__map_at(work, group->out, i);
    struct stk__step_image y = stk__rows_to(&out, first, n, stk__strip(work, group, 0));
    for (int k = 0; k < group->n_inputs; k++) {
        struct stk__map in = stk__input_map(work, group, k, i);
        struct stk__step_image x = stk__map_load(&in, first, n, stk__strip(work, group, 1));
        stk__put_rows(run->kernels, &x, &y, k > 0);
    }
    for (int j = 0; a.kind != STK__LINEAR && j < n; j++)
        stk__activation_apply(run->kernels, &a, y.at + j * y.down,
                              (size_t)y.width * (size_t)y.channels, y.at + j * y.down);
    stk__map_store(&out, first, &y);
}

static void add_forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, add_rows);
    stk__clear_frames(work, group->out);
}

static void give_to_all(const struct stk__step_work *work, const struct stk__step_group *group,
                        int i, int first, int n)
{
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    struct stk__step_image dy = stk__map_load(&d_out, first, n, stk__strip(work, group, 0));
    for (int k = 0; k < group->n_inputs; k++) {
        if (group->d_in[k] < 0)
            continue;
        struct stk__map d_in = stk__d_input_map(work, group, k, i);
        stk__d_input_store(work, group, k, &d_in, first, &dy, stk__strip(work, group, 1));
    }
}

static void add_backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__mask_gradient(work, group,
                       (float *[]){ stk__strip(work, group, 0), stk__strip(work, group, 1) });
    stk__for_strips(work, group, give_to_all);
}

static int open_add(struct stk__step_plan *plan, struct stk__step_group *group,
                    struct stk_error *err)
{
    (void)err;
    if (stk__group_activation(plan, group).kind == STK__LINEAR)
        group->spares = STK__OUT;
    return STK_OK;
}

static const struct stk__part forward_parts[] = { { add_forward, STK__IN | STK__OUT, false },
                                                  { 0 } };
static const struct stk__part backward_parts[] = {
    { add_backward, STK__OUT | STK__D_IN | STK__D_OUT, false },
    { 0 },
};

const struct stk__group_type stk__add_group = { .name = "add",
                                                .open = open_add,
                                                .forward = forward_parts,
                                                .backward = backward_parts,
                                                .use = forward_parts,
                                                .n_strips = 2 };

/* ---- channels side by side ---- */

/* Pixels of some channels: those from `first` on of wider ones, or all. */
struct slice {
    float *at;
    int64_t across, down;
};

static void put_pixels(const struct stk__run *run, struct slice from, struct slice to,
                       const struct stk__step_image *size, bool adds)
{
    for (int y = 0; y < size->height; y++)
        for (int x = 0; x < size->width; x++) {
            const float *source = from.at + y * from.down + x * from.across;
            float *target = to.at + y * to.down + x * to.across;
            if (adds)
                run->kernels->pixel.add(source, (size_t)size->channels, target);
            else
                memcpy(target, source, (size_t)size->channels * sizeof *target);
        }
}

static struct slice slice_of(const struct stk__step_image *image, int first)
{
    return (struct slice){ image->at + first, image->channels, image->down };
}

static void concat_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                        int i, int first, int n)
{
    struct stk__map out = stk__map_at(work, group->out, i);
    struct stk__step_image y = stk__rows_to(&out, first, n, stk__strip(work, group, 0));
    for (int k = 0, channel = 0; k < group->n_inputs; k++) {
        struct stk__map in = stk__input_map(work, group, k, i);
        struct stk__step_image x = stk__map_load(&in, first, n, stk__strip(work, group, 1));
        put_pixels(work->run, slice_of(&x, 0), slice_of(&y, channel), &x, false);
        channel += x.channels;
    }
    stk__map_store(&out, first, &y);
}

static void concat_forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, concat_rows);
    stk__clear_frames(work, group->out);
}

static int channels_of(const struct stk__step_work *work, const struct stk__step_group *group,
                       int k)
{
    const struct stk__step_plan *plan = work->run->plan;
    return (int)plan->model->node[stk__group_node(plan, group)->input[k]].shape.channels;
}

static void concat_back_rows(const struct stk__step_work *work, const struct stk__step_group *group,
                             int i, int first, int n)
{
    struct stk__map d_out = stk__map_at(work, group->d_out, i);
    struct stk__step_image dy = stk__map_load(&d_out, first, n, stk__strip(work, group, 0));
    for (int k = 0, channel = 0; k < group->n_inputs; channel += channels_of(work, group, k), k++) {
        if (group->d_in[k] < 0)
            continue;
        float *strip = stk__strip(work, group, 1);
        struct stk__map d_in = stk__d_input_map(work, group, k, i);
        struct stk__step_image dx = group->adds[k] ? stk__map_load(&d_in, first, n, strip)
                                                   : stk__rows_to(&d_in, first, n, strip);
        put_pixels(work->run, slice_of(&dy, channel), slice_of(&dx, 0), &dx, group->adds[k]);
        stk__map_store(&d_in, first, &dx);
    }
}

static void concat_backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    stk__for_strips(work, group, concat_back_rows);
}

static const struct stk__part concat_forward_parts[] = {
    { concat_forward, STK__IN | STK__OUT, false },
    { 0 },
};
static const struct stk__part concat_backward_parts[] = {
    { concat_backward, STK__D_IN | STK__D_OUT, false },
    { 0 },
};

const struct stk__group_type stk__concat_group = { .name = "concat",
                                                   .forward = concat_forward_parts,
                                                   .backward = concat_backward_parts,
                                                   .use = concat_forward_parts,
                                                   .n_strips = 2 };

/* ---- copies ---- */

static struct stk__map rows_like(struct stk__map flat, const struct stk__map *image)
{
    flat.height = image->height;
    flat.width = image->width;
    flat.channels = image->channels;
    flat.down = (int64_t)image->width * image->channels;
    return flat;
}

static void flatten_forward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__map x = stk__input_map(work, group, 0, i);
        struct stk__map y = rows_like(stk__map_at(work, group->out, i), &x);
        for (int at = 0, end; at < x.height; at = end) {
            end = stk__strip_end(group, at, x.height);
            struct stk__step_image rows =
                stk__map_load(&x, at, end - at, stk__strip(work, group, 0));
            stk__map_store(&y, at, &rows);
        }
    }
}

static void flatten_backward(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__map dx = stk__d_input_map(work, group, 0, i);
        struct stk__map dy = rows_like(stk__map_at(work, group->d_out, i), &dx);
        for (int at = 0, end; at < dx.height; at = end) {
            end = stk__strip_end(group, at, dx.height);
            struct stk__step_image rows =
                stk__map_load(&dy, at, end - at, stk__strip(work, group, 0));
            stk__d_input_store(work, group, 0, &dx, at, &rows, stk__strip(work, group, 1));
        }
    }
}

static const struct stk__part flatten_forward_parts[] = {
    { flatten_forward, STK__IN | STK__OUT, false },
    { 0 },
};
static const struct stk__part flatten_backward_parts[] = {
    { flatten_backward, STK__D_IN | STK__D_OUT, false },
    { 0 },
};

const struct stk__group_type stk__flatten_group = { .name = "flatten",
                                                    .forward = flatten_forward_parts,
                                                    .backward = flatten_backward_parts,
                                                    .use = flatten_forward_parts,
                                                    .n_strips = 2 };
