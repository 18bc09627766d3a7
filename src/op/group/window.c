/* SPDX-License-Identifier: Apache-2.0 */
/* window.c: runs of elements that may overlap, each as one. The executor carries it out. */
#include "op/group/grouping.h"
#include "op/order/order.h"

struct window {
    int64_t size, shift, stride;
    bool drop_remainder;
    const char *by;
};

static const struct stk_param params[] = {
    STK_INT_ROW(window, size, 0, 1, INT32_MAX, STK_REQUIRED, "elements in a window"),
    STK_INT_ROW(window, shift, STK_NONE, 1, INT32_MAX, STK_TAKES_NONE,
                "elements from the first of a window to the first of the next; none: `size`"),
    STK_INT_ROW(window, stride, 1, 1, INT32_MAX, 0,
                "elements from one of a window to the next one in it"),
    STK_BOOL_ROW(window, drop_remainder, false, 0, "leave out windows that are not full"),
    STK_TEXT_ROW(window, by, NULL, STK_TAKES_NONE,
                 "a field: each of its values has windows of its own"),
    STK_ROWS_END,
};

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct window *p = inf->params;
    int64_t in = inf->in_count[0], shift = p->shift == STK_NONE ? p->size : p->shift;
    int64_t span = (p->size - 1) * p->stride + 1;
    (void)err;
    if (in < 0 || p->by)
        *out = in > 0 ? STK_UNKNOWN_COUNT : in;
    else if (p->drop_remainder)
        *out = in < span ? 0 : (in - span) / shift + 1;
    else
        *out = in / shift + (in % shift != 0);
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct window *p = inf->params;
    struct stk__grouping *g = stk__grouping_new(inf, p->size, p->drop_remainder, err);
    if (!g)
        return STK_MEMORY;
    g->shift = p->shift == STK_NONE ? p->size : p->shift;
    g->stride = p->stride;
    g->is_element = true;
    int code = p->by ? stk__grouping_by_value(inf, p->by, g, err) : STK_OK;
    if (!code && stk__grouping_span(g) > INT32_MAX)
        code = stk_fail(err, STK_VALUE, "a window may reach over at most %d elements", INT32_MAX);
    if (!code)
        code = stk__grouping_infer(inf, g, stk__grouping_rows(inf, g), err);
    return code ? code : count(inf, &inf->count, err);
}

const struct stk__op stk__op_window = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "window", 1, "Put windows of elements together, which may overlap.",
              "A window has `size` elements, `stride` apart, and the next one begins `shift` "
              "elements after it. Each is one element with a new first dimension, stacked as "
              "`batch` does: what tf.data yields by window and a batch of each window. At the end "
              "windows become shorter, unless drop_remainder is true.\n"
              "\n"
              "    range(10).window(3)\n"
              "    range(10).window(3, shift=1, drop_remainder=true)\n"
              "    range(10).window(3, 1, stride=2).batch(2, drop_remainder=true)\n"
              "\n"
              "With `by` each value of a field, such as an account or a sensor, has windows of its "
              "own; a window comes when its last element does, and what is left at the end in the "
              "order in which the values first came.\n"
              "\n"
              "    values({who: ['a', 'b', 'a', 'b', 'a'], x: [1, 2, 3, 4, 5]}).window(2, 1, "
              "by=who)\n"
              "\n"
              "A bad element is left out of all windows: it is judged, or passed on, in its place. "
              "The rows that wait count in the memory budget.",
              params, sizeof(struct window) },
    .flags = STK__OP_BATCH | STK__OP_GROUPS,
    .infer = infer,
    .order = { .count = count },
};
