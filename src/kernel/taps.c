/* SPDX-License-Identifier: Apache-2.0 */
/* taps.c: the runs of taps that the rules give, as tables.
 *
 * They are first laid out with room for the span a rule may need; when all are known they move
 * together to the span that is in use.
 */
#include "kernel/taps.h"

#include "kernel/taps_rules.h"

#include <math.h>
#include <string.h>

enum { MAX_MULTIPLE = 8 };

static bool is_nearest(const struct stk__axis *axis)
{
    return axis->rule == STK__TF_NEAREST || axis->rule == STK__PILLOW_NEAREST ||
           axis->rule == STK__OPENCV_NEAREST;
}

static int rule_span(const struct stk__axis *axis)
{
    if (is_nearest(axis))
        return 1;
    if (axis->rule < STK__PILLOW_NEAREST)
        return stk__tf_span(axis);
    return axis->rule == STK__PILLOW_SPAN ? stk__pillow_span(axis) : stk__opencv_span(axis);
}

static void rule_taps(const struct stk__axis *axis, int i, struct stk__tap_run *run)
{
    if (axis->rule < STK__PILLOW_NEAREST)
        stk__tf_taps(axis, i, run);
    else if (axis->rule == STK__PILLOW_SPAN)
        stk__pillow_taps(axis, i, run);
    else
        stk__opencv_taps(axis, i, run);
}

int stk__taps_room(const struct stk__axis *axis)
{
    return rule_span(axis) + MAX_MULTIPLE;
}

static size_t room_of(const struct stk__axis *axis)
{
    return (size_t)stk__taps_room(axis);
}

size_t stk__taps_bytes(const struct stk__axis *axis)
{
    size_t n = (size_t)(axis->n_out > axis->n ? axis->n_out : axis->n), room = room_of(axis);
    return room * sizeof(double) + n * 2 * sizeof(int32_t) +
           (size_t)axis->n * room * sizeof(int32_t);
}

/* Which output pixel is the j-th wanted. */
static int wanted(const struct stk__axis *axis, int j)
{
    return axis->from + (axis->is_reversed ? axis->n - 1 - j : j);
}

static void init_nearest(struct stk__taps *taps, const struct stk__axis *axis, int32_t *first,
                         int32_t *all)
{
    if (axis->rule == STK__TF_NEAREST)
        stk__tf_nearest(axis, all);
    else if (axis->rule == STK__PILLOW_NEAREST)
        stk__pillow_nearest(axis, all);
    else
        stk__opencv_nearest(axis, all);
    for (int j = 0; j < axis->n; j++)
        first[j] = all[wanted(axis, j)];
    taps->span = 1;
    taps->first = first;
}

/* Gives what lies outside the image to the border pixel. */
static void move_inside(const struct stk__axis *axis, struct stk__tap_run *run)
{
    while (run->first < 0 && run->count > 1) {
        run->weight[1] += run->weight[0];
        run->count--;
        run->first++;
        memmove(run->weight, run->weight + 1, (size_t)run->count * sizeof *run->weight);
    }
    for (; run->first + run->count > axis->n_in && run->count > 1; run->count--)
        run->weight[run->count - 2] += run->weight[run->count - 1];
    run->first = stk__clamp_index(run->first, axis->n_in);
}

static double scaled(double weight, int bits)
{
    if (bits == 11) /* OpenCV rounds to even, and the weights were rounded to float */
        return rint((float)weight * 2048.0f);
    return trunc(weight * 4194304 + (weight < 0 ? -0.5 : 0.5));
}

/* Integers in place of the weights. Those that are 0 at either end are left out. */
static void scale_run(const struct stk__axis *axis, struct stk__tap_run *run)
{
    for (int k = 0; k < run->count; k++)
        run->weight[k] = scaled(run->weight[k], axis->bits);
    if (axis->rule != STK__PILLOW_SPAN)
        return;
    while (run->count > 1 && run->weight[run->count - 1] == 0)
        run->count--;
    int n_zero = 0;
    while (n_zero < run->count - 1 && run->weight[n_zero] == 0)
        n_zero++;
    run->first += n_zero;
    run->count -= n_zero;
    memmove(run->weight, run->weight + n_zero, (size_t)run->count * sizeof *run->weight);
}

static void store_run(const struct stk__axis *axis, const struct stk__tap_run *run, int32_t *to)
{
    for (int k = 0; k < run->count; k++) {
        float weight = (float)run->weight[k];
        int32_t fixed = (int32_t)run->weight[k];
        memcpy(to + k, axis->bits ? (void *)&fixed : (void *)&weight, sizeof *to);
    }
}

/* Along a row: every run as long as the longest, moved where it would leave the image. What is
 * behind a run is 0 already. */
static void even_out(const struct stk__axis *axis, int span, int32_t *first, int32_t *count,
                     int32_t *all)
{
    size_t room = room_of(axis);
    for (int j = 0; j < axis->n; j++) {
        int32_t *run = all + (size_t)j * room;
        int moved = first[j] + span - axis->n_in;
        moved = moved > 0 ? moved : 0;
        memmove(run + moved, run, (size_t)count[j] * sizeof *run);
        memset(run, 0, (size_t)moved * sizeof *run);
        first[j] -= moved;
        count[j] = span;
    }
}

static int longest(const struct stk__axis *axis, const int32_t *count)
{
    int span = 1;
    for (int j = 0; j < axis->n; j++)
        span = count[j] > span ? count[j] : span;
    if (!axis->multiple)
        return span;
    span = (span + axis->multiple - 1) / axis->multiple * axis->multiple;
    return span < axis->n_in ? span : axis->n_in;
}

/* Pictures of many sizes need these taps once each: no detour over runs. */
static void init_lerps(struct stk__taps *taps, const struct stk__axis *axis, int32_t *first,
                       int32_t *count, int32_t *all)
{
    float *weight = (float *)(void *)all;
    stk__tf_lerps(axis, first, count, weight);
    taps->span = 2;
    taps->first = first;
    taps->count = count;
    taps->weight = weight;
}

void stk__taps_init(struct stk__taps *taps, const struct stk__axis *axis, void *memory)
{
    size_t room = room_of(axis);
    int most = axis->n_out > axis->n ? axis->n_out : axis->n;
    double *weight = memory;
    int32_t *first = (int32_t *)(weight + room), *count = first + most, *all = count + most;
    *taps = (struct stk__taps){ .n_in = axis->n_in, .n = axis->n };
    if (is_nearest(axis)) {
        init_nearest(taps, axis, first, count);
        return;
    }
    if (axis->rule == STK__TF_LERP) {
        init_lerps(taps, axis, first, count, all);
        return;
    }
    memset(all, 0, (size_t)axis->n * room * sizeof *all);
    for (int j = 0; j < axis->n; j++) {
        struct stk__tap_run run = { .weight = weight };
        rule_taps(axis, wanted(axis, j), &run);
        if (axis->bits)
            scale_run(axis, &run);
        if (axis->multiple)
            move_inside(axis, &run);
        store_run(axis, &run, all + (size_t)j * room);
        first[j] = (int32_t)run.first;
        count[j] = run.count;
    }
    taps->span = longest(axis, count);
    if (axis->multiple)
        even_out(axis, taps->span, first, count, all);
    for (int j = 0; j < axis->n; j++)
        memmove(all + (size_t)j * (size_t)taps->span, all + (size_t)j * room,
                (size_t)taps->span * sizeof *all);
    taps->first = first;
    taps->count = count;
    taps->weight = axis->bits ? NULL : (const float *)(const void *)all;
    taps->fixed = axis->bits ? all : NULL;
}
