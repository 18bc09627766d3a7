/* SPDX-License-Identifier: Apache-2.0 */
/* pool_cells.c: see pool_cells.h. */
#include "train/step/pool_cells.h"

#include <string.h>

enum { MOST_PACKED = 15 }; /* which stands for STK__NO_CELL */

int stk__cells_tensor(struct stk__step_plan *plan, const struct stk__step_group *group, int window)
{
    const struct stk__tensor *out = &plan->tensor[group->out];
    bool is_packed = out->dtype != STK_F32 && window <= MOST_PACKED;
    int row = out->width * out->channels;
    return stk__step_plan_tensor(
        plan, &(struct stk__tensor){ .name = out->name,
                                     .what = "cells",
                                     .height = out->height,
                                     .width = is_packed ? 1 : out->width,
                                     .channels = is_packed ? (row + 1) / 2 : out->channels,
                                     .dtype = STK_U8 });
}

static int row_of(const struct stk__step_plan *plan, const struct stk__step_group *group)
{
    const struct stk__tensor *out = &plan->tensor[group->out];
    return out->width * out->channels;
}

bool stk__cells_are_packed(const struct stk__step_plan *plan, const struct stk__step_group *group)
{
    return group->cells >= 0 && plan->tensor[group->cells].row_values < row_of(plan, group);
}

static uint8_t *row_at(const struct stk__step_work *work, const struct stk__step_group *group,
                       int image, int row)
{
    const struct stk__tensor *t = &work->run->plan->tensor[group->cells];
    return (uint8_t *)stk__tensor_at(work, group->cells, image) + row * t->row_values;
}

static void pack_row(const uint8_t *restrict from, int n, uint8_t *restrict to)
{
    int half = (n + 1) / 2;
    for (int i = 0; i < n - half; i++)
        to[i] = (uint8_t)((from[i] & 15) | from[half + i] << 4);
    if (half > n - half)
        to[half - 1] = from[half - 1] & 15;
}

/* 15 becomes 255. */
static uint8_t widen(uint8_t cell)
{
    return (uint8_t)(cell == MOST_PACKED ? STK__NO_CELL : cell);
}

static void unpack_row(const uint8_t *restrict from, int n, uint8_t *restrict to)
{
    int half = (n + 1) / 2;
    for (int i = 0; i < half; i++)
        to[i] = widen(from[i] & 15);
    for (int i = 0; i < n - half; i++)
        to[half + i] = widen(from[i] >> 4);
}

uint8_t *stk__cells_to(const struct stk__step_work *work, const struct stk__step_group *group,
                       int image, int first, uint8_t *strip)
{
    return stk__cells_are_packed(work->run->plan, group) ? strip
                                                         : row_at(work, group, image, first);
}

void stk__cells_store(const struct stk__step_work *work, const struct stk__step_group *group,
                      int image, int first, int n, const uint8_t *strip)
{
    int row = row_of(work->run->plan, group);
    if (!stk__cells_are_packed(work->run->plan, group))
        return;
    for (int y = 0; y < n; y++)
        pack_row(strip + (size_t)y * (size_t)row, row, row_at(work, group, image, first + y));
}

const uint8_t *stk__cells_load(const struct stk__step_work *work,
                               const struct stk__step_group *group, int image, int first, int n,
                               uint8_t *strip)
{
    int row = row_of(work->run->plan, group);
    if (!stk__cells_are_packed(work->run->plan, group))
        return row_at(work, group, image, first);
    for (int y = 0; y < n; y++)
        unpack_row(row_at(work, group, image, first + y), row, strip + (size_t)y * (size_t)row);
    return strip;
}
