/* SPDX-License-Identifier: Apache-2.0 */
/* bands.c: see bands.h. */
#include "train/step/bands.h"

#include "train/kernel/pool_range.h"
#include "train/step/pool_cells.h"

#include <string.h>

struct stk__conv stk__conv_of(const struct stk__step_plan *plan,
                              const struct stk__step_group *group)
{
    const struct stk__model_node *node = stk__group_node(plan, group);
    const struct stk__shape *in = &plan->model->node[node->input[0]].shape;
    const struct stk__window *w = &node->window;
    return (struct stk__conv){ .height = (int)in->height,
                               .width = (int)in->width,
                               .channels = (int)in->channels,
                               .out_height = (int)node->shape.height,
                               .out_width = (int)node->shape.width,
                               .filters = (int)node->shape.channels,
                               .kernel_height = (int)w->kernel_height,
                               .kernel_width = (int)w->kernel_width,
                               .stride_y = (int)w->stride_height,
                               .stride_x = (int)w->stride_width,
                               .dilation_y = (int)w->dilation_height,
                               .dilation_x = (int)w->dilation_width,
                               .pad_top = (int)w->pad_top,
                               .pad_left = (int)w->pad_left,
                               .pad_bottom = (int)w->pad_bottom,
                               .pad_right = (int)w->pad_right,
                               .groups = (int)w->groups };
}

struct stk__team_share stk__conv_reach(const struct stk__conv *c, int from, int to)
{
    return (struct stk__team_share){ from * c->stride_y - c->pad_top,
                                     (to - 1) * c->stride_y - c->pad_top +
                                         (c->kernel_height - 1) * c->dilation_y + 1 };
}

size_t stk__reach_floats(const struct stk__step_plan *plan, const struct stk__step_group *group,
                         int n)
{
    const struct stk__tensor *in = &plan->tensor[group->in[0]];
    struct stk__conv c = stk__conv_of(plan, group);
    struct stk__team_share rows = stk__conv_reach(&c, 0, n);
    if (in->dtype == STK_F32)
        return 0;
    return (size_t)(rows.behind - rows.first) * (size_t)in->row_values;
}

struct stk__rows stk__reached_rows(const struct stk__step_work *work,
                                   const struct stk__step_group *group, int image,
                                   struct stk__team_share rows, float *strip)
{
    struct stk__map map = stk__map_at(work, group->in[0], image);
    int first = (int)rows.first;
    struct stk__step_image x = stk__map_load(&map, first, (int)(rows.behind - rows.first), strip);
    return (struct stk__rows){ .at = x.at, .first = first, .across = x.channels, .down = x.down };
}

struct stk__rows stk__map_rows(const struct stk__map *map)
{
    struct stk__write_map at = stk__map_writes(map, 0);
    return (
        struct stk__rows){ .at = at.at, .across = at.across, .down = at.down, .halves = at.halves };
}

/* Rows of the output's gradient, and of the output, that a band is made of. */
static size_t stage_floats(const struct stk__step_plan *plan, const struct stk__step_group *group,
                           const struct stk__bands *b)
{
    const struct stk__tensor *out = &plan->tensor[group->out];
    int64_t row = (int64_t)out->width * out->channels, rows = 1;
    if (out->dtype == STK_F32)
        return 0;
    if (b->has_pool)
        rows = (b->n_rows + b->pool.height) / b->pool.stride_y + 2;
    /* with a byte for each of their cells */
    return (size_t)(rows * row + (b->has_pool ? (rows * row + 3) / 4 : 0) + out->row_values);
}

int stk__band_rows_of(const struct stk__step_plan *plan, const struct stk__step_group *group,
                      size_t bytes, int64_t row_floats, int unit)
{
    int64_t height = stk__group_node(plan, group)->shape.height;
    int64_t rows = (int64_t)bytes / (row_floats * (int64_t)sizeof(float)) / unit * unit;
    rows = rows < unit ? unit : rows;
    return (int)(rows < height ? rows : height);
}

struct stk__bands stk__bands_of(const struct stk__step_plan *plan,
                                const struct stk__step_group *group, size_t bytes, int unit)
{
    struct stk__bands b = { .conv = stk__conv_of(plan, group),
                            .has_pool = group->pool >= 0,
                            .activation = stk__group_activation(plan, group) };
    struct stk__framed framed = stk__conv_output(&b.conv);
    b.has_frame = framed.top || framed.height > framed.top + b.conv.out_height ||
                  framed.width > b.conv.out_width;
    b.top = (b.conv.kernel_height - 1) * b.conv.dilation_y / b.conv.stride_y;
    b.left = framed.left;
    b.bottom = framed.height - framed.top - b.conv.out_height;
    b.down = (int64_t)framed.width * framed.channels;
    b.n_rows = stk__band_rows_of(plan, group, bytes, b.down, unit);
    if (b.has_pool)
        b.pool =
            stk__pool_shape(&plan->model->node[group->pool], b.conv.out_height, b.conv.out_width);
    b.stage_floats = stage_floats(plan, group, &b);
    return b;
}

static size_t band_floats(const struct stk__bands *b)
{
    return ((size_t)(b->top + b->n_rows + b->bottom) * (size_t)b->down + 15) / 16 * 16;
}

size_t stk__bands_floats(const struct stk__bands *b)
{
    return band_floats(b) + b->stage_floats;
}

/* ---- rows ---- */

static float *row_at(const struct stk__band *band, int row)
{
    return band->at + (row - band->lo) * band->of->down;
}

static float *middle_at(const struct stk__band *band, int row)
{
    return row_at(band, row) + (int64_t)band->of->left * band->of->conv.filters;
}

static float *stage_of(const struct stk__band *band)
{
    return band->at + band_floats(band->of);
}

static void fill_from_pool(const struct stk__band *band, int row, int n)
{
    const struct stk__bands *b = band->of;
    int first = stk__windows_y(&b->pool, row).first;
    int behind = stk__windows_y(&b->pool, row + n - 1).end;
    int n_windows = behind > first ? behind - first : 0;
    struct stk__map d_out = stk__map_at(band->work, band->group->d_out, band->image);
    struct stk__read_map dy = stk__map_reads(&d_out, first * d_out.down);
    if (!stk__map_is_taken(band->work, &d_out)) {
        struct stk__step_image rows = stk__map_load(&d_out, first, n_windows, stage_of(band));
        dy = stk__reads(&rows);
    }
    uint8_t *strip = (uint8_t *)(stage_of(band) + (size_t)n_windows * (size_t)d_out.down);
    band->work->run->kernels->pool.max_gradient(&(struct stk__maxpool_gradient){
        .pool = &b->pool,
        .first = row,
        .n_rows = n,
        .dy = dy,
        .dy_row = first,
        .cells = stk__cells_load(band->work, band->group, band->image, first, n_windows, strip),
        .cells_down = (int64_t)b->pool.out_width * b->pool.channels,
        .dx = { .at = middle_at(band, row), .across = b->conv.filters, .down = b->down } });
}

/* Halves that a clamp gave, and their gradient, in one go. */
static void fill_from_halves(const struct stk__band *band, const struct stk__map *out,
                             const struct stk__map *d_out, int row)
{
    struct stk__bounds bounds = stk__activation_bounds(&band->of->activation);
    band->work->run->kernels->activation.clamp_gradient_halves(
        stk__map_reads(out, row * out->down).halves,
        stk__map_reads(d_out, row * d_out->down).halves.at,
        (size_t)out->width * (size_t)out->channels, bounds.low, bounds.high, middle_at(band, row));
}

static void fill_from_output(const struct stk__band *band, int row, int n)
{
    const struct stk__bands *b = band->of;
    const struct stk__train_kernels *kernels = band->work->run->kernels;
    struct stk__map d_out = stk__map_at(band->work, band->group->d_out, band->image);
    struct stk__map out = stk__map_at(band->work, band->group->out, band->image);
    size_t values = (size_t)out.width * (size_t)out.channels;
    bool are_halves = out.dtype != STK_F32 && d_out.dtype == out.dtype && kernels->takes_halves &&
                      stk__activation_is_clamp(&b->activation);
    for (int j = row; j < row + n; j++) {
        if (are_halves && b->activation.kind != STK__LINEAR) {
            fill_from_halves(band, &out, &d_out, j);
            continue;
        }
        if (b->activation.kind == STK__LINEAR) {
            struct stk__step_image dy = stk__map_load(&d_out, j, 1, middle_at(band, j));
            if (dy.at != middle_at(band, j))
                memcpy(middle_at(band, j), dy.at, values * sizeof *dy.at);
            continue;
        }
        struct stk__step_image dy = stk__map_load(&d_out, j, 1, stage_of(band));
        struct stk__step_image y = stk__map_load(&out, j, 1, stage_of(band) + values);
        stk__activate_back(kernels, &b->activation, y.at, dy.at, values, middle_at(band, j));
    }
}

/* ---- walking ---- */

struct stk__band stk__band_begin(const struct stk__bands *bands, const struct stk__step_work *work,
                                 const struct stk__step_group *group, float *memory)
{
    float *stage = memory + band_floats(bands);
    const struct stk__tensor *d_out = &work->run->plan->tensor[group->d_out];
    memset(memory, 0, band_floats(bands) * sizeof *memory);
    if (bands->has_pool && !stk__activation_is_clamp(&bands->activation))
        stk__mask_gradient(work, group, (float *[]){ stage + d_out->row_values, stage });
    /* the output is what it gave where it counts */
    return (struct stk__band){ .of = bands, .work = work, .group = group, .at = memory };
}

void stk__band_image(struct stk__band *band, int image)
{
    const struct stk__bands *b = band->of;
    band->image = image;
    band->lo = -b->top;
    band->hi = band->n = band->done = band->ready = 0;
    memset(band->at, 0, (size_t)b->top * (size_t)b->down * sizeof *band->at);
}

/* Rows of the image's gradient that no later row of the output is in. */
static int ready_rows(const struct stk__conv *c, int hi)
{
    int64_t ready = (int64_t)hi * c->stride_y - c->pad_top;
    if (hi == c->out_height || ready > c->height)
        return c->height;
    return ready < 0 ? 0 : (int)ready;
}

bool stk__band_next(struct stk__band *band)
{
    const struct stk__bands *b = band->of;
    int left = b->conv.out_height - band->hi;
    if (left == 0)
        return false;
    int lo = band->hi - b->top;
    if (lo > band->lo)
        memmove(band->at, row_at(band, lo), (size_t)b->top * (size_t)b->down * sizeof *band->at);
    band->lo = lo;
    band->n = left < b->n_rows ? left : b->n_rows;
    if (b->has_pool)
        fill_from_pool(band, band->hi, band->n);
    else
        fill_from_output(band, band->hi, band->n);
    band->hi += band->n;
    if (band->hi == b->conv.out_height)
        memset(row_at(band, band->hi), 0, (size_t)b->bottom * (size_t)b->down * sizeof *band->at);
    band->done = band->ready;
    band->ready = ready_rows(&b->conv, band->hi);
    return true;
}

struct stk__rows stk__band_rows(const struct stk__band *band)
{
    const struct stk__bands *b = band->of;
    return (struct stk__rows){ .at = middle_at(band, band->lo),
                               .first = band->lo,
                               .across = b->conv.filters,
                               .down = b->down };
}
