/* SPDX-License-Identifier: Apache-2.0 */
/* model_window.c: kernels, strides and padding as they are written, and the result's height and width.
 *
 *     valid   out = (in - reach) / stride + 1          reach = (kernel - 1) · dilation + 1
 *     same    out = ⌈in / stride⌉; what is missing is padded: half of it, rounded down, above and left,
 *             the rest below and right, as TensorFlow does
 *     numbers out = (in + before + after - reach) / stride + 1, as PyTorch does
 */
#include "train/model/layer.h"

#include <math.h>

const char *const stk__padding_names[] = { "valid", "same", NULL };
enum { VALID, SAME };
enum { MAX_SIZE = 1 << 12 }; /* of kernels, strides, paddings */

/* One axis. */
struct axis {
    int64_t in, kernel, stride, dilation, before, after, out;
};

static int read_whole(const struct stk__build *b, const char *param, double number, int64_t least,
                      int64_t *out)
{
    if (!(number >= (double)least && number <= MAX_SIZE && number == floor(number)))
        return stk__build_fail(b, param, STK_VALUE,
                               "%s takes whole numbers from %lld to %d, not %g", param,
                               (long long)least, MAX_SIZE, number);
    *out = (int64_t)number;
    return STK_OK;
}

/* Height and width: given for both, for each, or not at all. */
static int read_pair(const struct stk__build *b, const char *param, const struct stk_numbers *given,
                     const int64_t otherwise[2], int64_t out[2])
{
    int n = given ? given->n : 0, rc = STK_OK;
    for (int i = 0; i < 2 && !rc; i++)
        if (n)
            rc = read_whole(b, param, given->item[n == 2 ? i : 0], 1, &out[i]);
        else
            out[i] = otherwise[i];
    return rc;
}

static int64_t reach_of(const struct axis *axis)
{
    return (axis->kernel - 1) * axis->dilation + 1;
}

static void pad_same(struct axis *axis)
{
    int64_t out = (axis->in + axis->stride - 1) / axis->stride;
    int64_t missing = (out - 1) * axis->stride + reach_of(axis) - axis->in;
    missing = missing > 0 ? missing : 0;
    axis->before = missing / 2;
    axis->after = missing - axis->before;
}

/* [all], [vertical, horizontal] or [top, bottom, left, right]. */
static int pad_numbers(const struct stk__build *b, const struct stk_numbers *given,
                       struct axis axis[2])
{
    static const int which[5][4] = { { 0 }, { 0, 0, 0, 0 }, { 0, 0, 1, 1 }, { 0 }, { 0, 1, 2, 3 } };
    int64_t *side[] = { &axis[0].before, &axis[0].after, &axis[1].before, &axis[1].after };
    if (given->n == 3)
        return stk__build_fail(
            b, "padding", STK_VALUE,
            "padding takes one number, [vertical, horizontal] or [top, bottom, left, "
            "right], but 3 are given");
    for (int i = 0; i < 4; i++) {
        int rc = read_whole(b, "padding", given->item[which[given->n][i]], 0, side[i]);
        if (rc)
            return rc;
    }
    return STK_OK;
}

static int pad(const struct stk__build *b, const struct stk_numbers *given, struct axis axis[2])
{
    if (given->n)
        return pad_numbers(b, given, axis);
    for (int i = 0; i < 2 && given->choice == SAME; i++)
        pad_same(&axis[i]);
    return STK_OK;
}

static int check_strides(const struct stk__build *b, const struct axis axis[2])
{
    bool has_steps = axis[0].stride > 1 || axis[1].stride > 1;
    if (has_steps && (axis[0].dilation > 1 || axis[1].dilation > 1))
        return stk__build_fail(b, "dilation_rate", STK_VALUE,
                               "strides and dilation_rate cannot both be above 1");
    return STK_OK;
}

static int fail_small(const struct stk__build *b, const struct axis axis[2], bool is_pool)
{
    const struct stk__model_node *from = &b->model->node[b->tip];
    char text[STK__SHAPE_TEXT];
    return stk__build_fail(b, NULL, STK_TYPE,
                           "its %s reaches over %lld×%lld, but %s gives %s; padding=same, a "
                           "smaller %s or a larger input would mend it",
                           is_pool ? "window" : "kernel", (long long)reach_of(&axis[0]),
                           (long long)reach_of(&axis[1]), from->name,
                           stk__shape_text(&from->shape, text), is_pool ? "window" : "kernel");
}

static int finish(const struct stk__build *b, struct axis axis[2], bool is_pool)
{
    for (int i = 0; i < 2; i++) {
        int64_t reach = reach_of(&axis[i]), room = axis[i].in + axis[i].before + axis[i].after;
        if (room < reach)
            return fail_small(b, axis, is_pool);
        if (is_pool && (axis[i].before >= reach || axis[i].after >= reach))
            return stk__build_fail(
                b, "padding", STK_VALUE,
                "a window could lie in the padding alone; padding must be smaller "
                "than pool_size");
        axis[i].out = (room - reach) / axis[i].stride + 1;
    }
    return STK_OK;
}

int stk__build_window(struct stk__build *b, const struct stk__window_rows *rows,
                      struct stk__window *out, struct stk__shape *shape)
{
    const struct stk__shape *in = stk__build_input(b);
    const int64_t ones[2] = { 1, 1 },
                  preset[2] = { rows->kernel_otherwise, rows->kernel_otherwise };
    int64_t kernel[2], stride[2], dilation[2];
    int rc = read_pair(b, rows->kernel_name, rows->kernel, preset, kernel);
    if (!rc)
        rc = read_pair(b, "strides", rows->strides, rows->steps_by_kernel ? kernel : ones, stride);
    if (!rc)
        rc = read_pair(b, "dilation_rate", rows->dilation, ones, dilation);
    if (rc)
        return rc;
    struct axis axis[2] = { { in->height, kernel[0], stride[0], dilation[0], 0, 0, 0 },
                            { in->width, kernel[1], stride[1], dilation[1], 0, 0, 0 } };
    rc = check_strides(b, axis);
    if (!rc)
        rc = pad(b, rows->padding, axis);
    if (!rc)
        rc = finish(b, axis, rows->is_pool);
    *out = (struct stk__window){ kernel[0],
                                 kernel[1],
                                 stride[0],
                                 stride[1],
                                 dilation[0],
                                 dilation[1],
                                 axis[0].before,
                                 axis[0].after,
                                 axis[1].before,
                                 axis[1].after,
                                 1 };
    *shape = (struct stk__shape){ axis[0].out, axis[1].out, 0, false };
    return rc;
}
