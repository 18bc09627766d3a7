/* SPDX-License-Identifier: Apache-2.0 */
/* pool_sparse.c: see pool_sparse.h. */
#include "train/step/pool_sparse.h"

#include "train/step/bands.h"
#include "train/step/pool_cells.h"

bool stk__pool_sparse_fits(const struct stk__step_plan *plan, const struct stk__step_group *group,
                           const struct stk__conv *conv, const struct stk__activation *activation)
{
    if (group->pool < 0 || group->d_in[0] >= 0 || !stk__activation_is_clamp(activation))
        return false;
    struct stk__pooling pool =
        stk__pool_shape(&plan->model->node[group->pool], conv->out_height, conv->out_width);
    return conv->stride_y == 1 && conv->stride_x == 1 && conv->dilation_y == 1 &&
           conv->dilation_x == 1 && conv->groups == 1 && pool.height == 2 && pool.width == 2 &&
           pool.stride_y == 2 && pool.stride_x == 2 && !pool.pad_top && !pool.pad_left &&
           pool.in_height >= 2 * pool.out_height && pool.in_width >= 2 * pool.out_width;
}

/* Scratch: quads, a row of the gradient, its cells, rows of the image. */
struct places {
    size_t dy, cells, x, end;
};

static size_t round_floats(size_t n)
{
    return (n + 15) / 16 * 16;
}

static struct places places_of(const struct stk__step_plan *plan,
                               const struct stk__step_group *group, const struct stk__conv *conv)
{
    const struct stk__tensor *out = &plan->tensor[group->out];
    size_t row = (size_t)(out->width * out->channels);
    bool is_half = out->dtype != STK_F32;
    struct places p;
    p.dy = round_floats(stk__maxpool_quads(out->width, conv->kernel_width, conv->channels));
    p.cells = p.dy + (is_half ? round_floats(row) : 0);
    p.x = p.cells + (is_half ? round_floats(row / sizeof(float) + 1) : 0);
    p.end = p.x + round_floats(stk__reach_floats(plan, group, 2));
    return p;
}

size_t stk__pool_sparse_floats(const struct stk__step_plan *plan,
                               const struct stk__step_group *group, const struct stk__conv *conv)
{
    return places_of(plan, group, conv).end;
}

static struct stk__read_map row_of(const struct stk__step_work *work, const struct stk__map *map,
                                   int y, float *strip)
{
    if (stk__map_is_taken(work, map))
        return stk__map_reads(map, y * map->down);
    struct stk__step_image row = stk__map_load(map, y, 1, strip);
    return stk__reads(&row);
}

static void add_image(const struct stk__step_work *work, const struct stk__step_group *group,
                      const struct stk__conv *conv, int image, float *weights, float *bias)
{
    const struct stk__step_plan *plan = work->run->plan;
    struct places at = places_of(plan, group, conv);
    struct stk__map d_out = stk__map_at(work, group->d_out, image);
    uint8_t *strip = (uint8_t *)(work->scratch + at.cells);
    for (int y = 0; y < d_out.height; y++) {
        struct stk__team_share reach = stk__conv_reach(conv, 2 * y, 2 * y + 2);
        struct stk__rows x = stk__reached_rows(work, group, image, reach, work->scratch + at.x);
        work->run->kernels->pool.max_weights(&(struct stk__maxpool_weights){
            .kernel_height = conv->kernel_height,
            .kernel_width = conv->kernel_width,
            .channels = conv->channels,
            .width = d_out.width,
            .filters = conv->filters,
            .x = x.at - (int64_t)conv->pad_left * x.across,
            .x_down = x.down,
            .dy = row_of(work, &d_out, y, work->scratch + at.dy),
            .cells = stk__cells_load(work, group, image, y, 1, strip),
            .quads = work->scratch,
            .weights = weights,
            .bias = bias });
    }
}

void stk__pool_sparse_add(const struct stk__step_work *work, const struct stk__step_group *group,
                          const struct stk__conv *conv, float *weights, float *bias)
{
    for (int i = 0; i < work->n; i++)
        add_image(work, group, conv, i, weights, bias);
}
