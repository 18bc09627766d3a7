/* SPDX-License-Identifier: Apache-2.0 */
/* strips.c: see strips.h. */
#include "train/step/strips.h"

#include "base/type.h"
#include "kernel/kernel.h"

#include <string.h>

static void to_floats(int dtype, const void *from, size_t n, float *to)
{
    if (n)
        stk__kernels()->elementwise.convert[dtype][STK_F32](to, from, NULL, NULL, n);
}

static void from_floats(int dtype, const float *from, size_t n, void *to)
{
    if (n)
        stk__kernels()->elementwise.convert[STK_F32][dtype](to, from, NULL, NULL, n);
}

/* ---- maps ---- */

struct stk__map stk__map_at(const struct stk__step_work *work, int tensor, int64_t i)
{
    const struct stk__tensor *t = &work->run->plan->tensor[tensor];
    int dtype = stk__dtype_of(work, tensor);
    int64_t left = (int64_t)t->left * t->channels;
    char *at = stk__tensor_at(work, tensor, i);
    return (struct stk__map){ .at = at + (t->top * t->row_values + left) *
                                             (int64_t)stk_dtype_bytes(dtype),
                              .dtype = dtype,
                              .down = t->row_values,
                              .left = left,
                              .height = t->height,
                              .width = t->width,
                              .channels = t->channels };
}

static struct stk__map in_shape(const struct stk__step_work *work,
                                const struct stk__step_group *group, int k, struct stk__map map)
{
    const struct stk__step_plan *plan = work->run->plan;
    const struct stk__shape *shape =
        &plan->model->node[stk__group_node(plan, group)->input[k]].shape;
    if (map.width == shape->width && map.channels == shape->channels)
        return map;
    map.down = shape->width * shape->channels;
    map.height = (int)shape->height;
    map.width = (int)shape->width;
    map.channels = (int)shape->channels;
    return map;
}

struct stk__map stk__input_map(const struct stk__step_work *work,
                               const struct stk__step_group *group, int k, int64_t i)
{
    return in_shape(work, group, k, stk__map_at(work, group->in[k], i));
}

struct stk__map stk__d_input_map(const struct stk__step_work *work,
                                 const struct stk__step_group *group, int k, int64_t i)
{
    return in_shape(work, group, k, stk__map_at(work, group->d_in[k], i));
}

/* ---- rows ---- */

static char *row_at(const struct stk__map *map, int row)
{
    return map->at + row * map->down * (int64_t)stk_dtype_bytes(map->dtype);
}

static struct stk__step_image rows_of(const struct stk__map *map, float *at, int n, int64_t down)
{
    return (struct stk__step_image){
        .at = at, .down = down, .height = n, .width = map->width, .channels = map->channels
    };
}

struct stk__step_image stk__map_load(const struct stk__map *map, int first, int n, float *strip)
{
    if (map->dtype == STK_F32)
        return rows_of(map, (float *)row_at(map, first), n, map->down);
    const char *from = row_at(map, first) - map->left * (int64_t)stk_dtype_bytes(map->dtype);
    to_floats(map->dtype, from, (size_t)n * (size_t)map->down, strip);
    return rows_of(map, strip + map->left, n, map->down);
}

struct stk__step_image stk__strip_image(const struct stk__map *map, int n, float *strip)
{
    return rows_of(map, strip, n, (int64_t)map->width * map->channels);
}

struct stk__step_image stk__rows_to(const struct stk__map *map, int first, int n, float *strip)
{
    if (map->dtype == STK_F32)
        return rows_of(map, (float *)row_at(map, first), n, map->down);
    return stk__strip_image(map, n, strip);
}

static void store_span(int dtype, const float *from, size_t n, char *to)
{
    if (dtype != STK_F32)
        from_floats(dtype, from, n, to);
    else if ((const char *)from != to)
        memcpy(to, from, n * sizeof *from);
}

void stk__map_store(const struct stk__map *map, int first, const struct stk__step_image *rows)
{
    size_t row = (size_t)map->width * (size_t)map->channels;
    if (stk__is_dense(rows) && map->down == (int64_t)row) {
        store_span(map->dtype, rows->at, row * (size_t)rows->height, row_at(map, first));
        return;
    }
    for (int y = 0; y < rows->height; y++)
        store_span(map->dtype, rows->at + y * rows->down, row, row_at(map, first + y));
}

/* ---- without a strip ---- */

bool stk__map_is_taken(const struct stk__step_work *work, const struct stk__map *map)
{
    return map->dtype == STK_F32 || work->run->kernels->takes_halves;
}

struct stk__write_map stk__map_writes(const struct stk__map *map, int64_t at)
{
    struct stk__write_map to = { .across = map->channels, .down = map->down };
    if (map->dtype == STK_F32)
        to.at = (float *)map->at + at;
    else
        to.halves = (struct stk__write_halves){ (uint16_t *)map->at + at, map->dtype };
    return to;
}

struct stk__read_map stk__map_reads(const struct stk__map *map, int64_t at)
{
    struct stk__write_map from = stk__map_writes(map, at);
    return (struct stk__read_map){
        from.at, from.across, from.down, { from.halves.at, from.halves.dtype }
    };
}

void stk__d_input_store(const struct stk__step_work *work, const struct stk__step_group *group,
                        int k, const struct stk__map *map, int first,
                        const struct stk__step_image *rows, float *strip)
{
    if (!group->adds[k]) {
        stk__map_store(map, first, rows);
        return;
    }
    struct stk__step_image there = stk__map_load(map, first, rows->height, strip);
    stk__put_rows(work->run->kernels, rows, &there, true);
    stk__map_store(map, first, &there);
}

/* ---- features ---- */

static char *features_at(const struct stk__step_work *work, int tensor, int64_t i, int64_t first)
{
    size_t bytes = stk_dtype_bytes(stk__dtype_of(work, tensor));
    return (char *)stk__tensor_at(work, tensor, i) + (size_t)first * bytes;
}

static bool is_float(const struct stk__step_work *work, int tensor)
{
    return stk__dtype_of(work, tensor) == STK_F32;
}

struct stk__features stk__load_features(const struct stk__step_work *work, int tensor, int64_t i,
                                        int n, struct stk__team_share values, float *strip)
{
    int64_t count = values.behind - values.first;
    if (is_float(work, tensor))
        return stk__features_to(work, tensor, i, values, strip);
    for (int row = 0; row < n; row++)
        to_floats(stk__dtype_of(work, tensor), features_at(work, tensor, i + row, values.first),
                  (size_t)count, strip + row * count);
    return (struct stk__features){ strip, count };
}

struct stk__features stk__features_to(const struct stk__step_work *work, int tensor, int64_t i,
                                      struct stk__team_share values, float *strip)
{
    if (is_float(work, tensor))
        return (struct stk__features){ (float *)features_at(work, tensor, i, values.first),
                                       stk__image_stride(work, tensor) };
    return (struct stk__features){ strip, values.behind - values.first };
}

void stk__store_features(const struct stk__step_work *work, int tensor, int64_t i, int n,
                         struct stk__team_share values, const struct stk__features *from)
{
    for (int row = 0; row < n; row++)
        store_span(stk__dtype_of(work, tensor), from->at + row * from->down,
                   (size_t)(values.behind - values.first),
                   features_at(work, tensor, i + row, values.first));
}

void stk__add_features(const struct stk__step_work *work, int tensor, int64_t i, int n,
                       struct stk__team_share values, const struct stk__features *from,
                       float *strip)
{
    for (int row = 0; row < n; row++) {
        struct stk__features there = stk__load_features(work, tensor, i + row, 1, values, strip);
        work->run->kernels->pixel.add(from->at + row * from->down,
                                      (size_t)(values.behind - values.first), there.at);
        stk__store_features(work, tensor, i + row, 1, values, &there);
    }
}

void stk__for_strips(const struct stk__step_work *work, const struct stk__step_group *group,
                     stk__strip_fn *act)
{
    int height = work->run->plan->tensor[group->out].height;
    for (int i = 0; i < work->n; i++)
        for (int at = 0, end; at < height; at = end) {
            end = stk__strip_end(group, at, height);
            act(work, group, i, at, end - at);
        }
}
