/* SPDX-License-Identifier: Apache-2.0 */
/* range.c: the numbers from start to stop, or for ever. */
#include "op/order/order.h"

#include <stdio.h>

struct range {
    int64_t start, stop, step;
};

struct counter {
    int64_t start, step;
};

struct numbers {
    uint64_t start, step; /* arithmetic is modulo 2^64; the results of a range fit */
    int64_t count;
};

static const struct stk_param range_params[] = {
    STK_INT_ROW(range, start, 0, STK__INT_LO, STK__INT_HI, STK_REQUIRED,
                "first number; with one argument, the stop of a range that starts at 0"),
    STK_INT_ROW(range, stop, STK_NONE, STK__INT_LO, STK__INT_HI, STK_TAKES_NONE,
                "end, which is not reached"),
    STK_INT_ROW(range, step, 1, STK__INT_LO, STK__INT_HI, 0, "distance; may be negative, not 0"),
    STK_ROWS_END,
};

static const struct stk_param counter_params[] = {
    STK_INT_ROW(counter, start, 0, STK__INT_LO, STK__INT_HI, 0, "first number"),
    STK_INT_ROW(counter, step, 1, STK__INT_LO, STK__INT_HI, 0, "distance; may be negative or 0"),
    STK_ROWS_END,
};

static uint64_t count_numbers(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0 ? start >= stop : start <= stop)
        return 0;
    uint64_t distance =
        step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    return (distance - 1) / stride + 1;
}

static int keep(struct numbers numbers, struct stk_arena *arena, void **state,
                struct stk_error *err)
{
    struct numbers *kept = stk_arena_alloc(arena, sizeof *kept);
    if (!kept)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *kept = numbers;
    *state = kept;
    return STK_OK;
}

static int open_range(const void *given, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    const struct range *p = given;
    bool is_stop_alone = p->stop == STK_NONE;
    int64_t start = is_stop_alone ? 0 : p->start, stop = is_stop_alone ? p->start : p->stop;
    if (p->step == 0)
        return stk_fail(err, STK_VALUE, "step is 0; a range needs a distance between its numbers");
    uint64_t count = count_numbers(start, stop, p->step);
    if (stk__check_count(count, err))
        return STK_VALUE;
    const struct numbers numbers = { (uint64_t)start, (uint64_t)p->step, (int64_t)count };
    return keep(numbers, arena, state, err);
}

static int open_counter(const void *given, struct stk_arena *arena, void **state,
                        struct stk_error *err)
{
    const struct counter *p = given;
    const struct numbers numbers = { (uint64_t)p->start, (uint64_t)p->step, STK_INFINITE_COUNT };
    return keep(numbers, arena, state, err);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct numbers *numbers = inf->state;
    (void)err;
    inf->out->n_fields = 1;
    inf->out->field[0] = (struct stk_field){ .name = "x", .kind = STK_FIXED, .dtype = STK_I64 };
    inf->from[0] = -1;
    inf->count = numbers->count;
    return STK_OK;
}

static int64_t count(const void *state)
{
    return ((const struct numbers *)state)->count;
}

static int fill(struct stk_rows *rows, const uint64_t *index)
{
    const struct numbers *numbers = rows->state;
    uint64_t start = numbers->start, step = numbers->step;
    uint8_t *out = rows->out[0].data;
    size_t stride = rows->out[0].stride;
    if (stride == sizeof(uint64_t)) {
        uint64_t *restrict x = (uint64_t *)(void *)out;
        for (int i = 0; i < rows->n; i++)
            x[i] = start + index[i] * step;
        return STK_OK;
    }
    for (int i = 0; i < rows->n; i++)
        *(uint64_t *)(void *)(out + (size_t)i * stride) = start + index[i] * step;
    return STK_OK;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct numbers *numbers = state;
    snprintf(text, size, "%s, element %llu", numbers->count < 0 ? "counter" : "range",
             (unsigned long long)index);
}

const struct stk__op stk__op_range = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "range", 1, "The numbers from start up to stop, in steps.",
              "One field `x` (int64), as Python's range and tf.data's: stop is not reached, a "
              "negative step counts down, and a range that leads away from stop is empty. With "
              "one argument that argument is stop.\n"
              "\n"
              "    range(5)\n"
              "    range(2, 10, 3)\n"
              "    range(5, 0, -1).batch(2)\n"
              "\n"
              "Elements are computed when they are asked for: a long range costs no memory.",
              range_params, sizeof(struct range) },
    .flags = STK__OP_ROOT,
    .open = open_range,
    .infer = infer,
    .source = { .count = count, .rows = fill, .describe = describe },
};

const struct stk__op stk__op_counter = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "counter", 1, "The numbers from start on, without an end.",
              "One field `x` (int64), as tf.data's counter: start, start + step, and so on for "
              "ever; numbers wrap around at the ends of int64. Any of them can be reached by its "
              "position, so it costs no memory.\n"
              "\n"
              "    counter().take(5)\n"
              "    counter(10, -2).zip(lines('words.txt'))",
              counter_params, sizeof(struct counter) },
    .flags = STK__OP_ROOT,
    .open = open_counter,
    .infer = infer,
    .source = { .count = count, .rows = fill, .describe = describe },
};
