/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c: frames of convolutions. */
#include "train/conv/conv.h"

#include <string.h>

struct stk__framed stk__conv_image(const struct stk__conv *c)
{
    return (struct stk__framed){ .top = c->pad_top,
                                 .left = c->pad_left,
                                 .height = c->pad_top + c->height + c->pad_bottom,
                                 .width = c->pad_left + c->width + c->pad_right,
                                 .channels = c->channels };
}

/* Along one way: outputs before the first and behind the last that a value of the image would be in. */
struct reach {
    int before, behind;
};

static struct reach reach_of(int size, int out, int pad, int kernel, int stride, int dilation)
{
    int before = (kernel - 1) * dilation - pad;
    int behind = (size - 1 + pad) / stride - (out - 1);
    return (struct reach){ before > 0 ? before / stride : 0, behind > 0 ? behind : 0 };
}

struct stk__framed stk__conv_output(const struct stk__conv *c)
{
    struct reach y = reach_of(c->height, c->out_height, c->pad_top, c->kernel_height, c->stride_y,
                              c->dilation_y);
    struct reach x =
        reach_of(c->width, c->out_width, c->pad_left, c->kernel_width, c->stride_x, c->dilation_x);
    return (struct stk__framed){ .top = y.before,
                                 .left = x.before,
                                 .height = y.before + c->out_height + y.behind,
                                 .width = x.before + c->out_width + x.behind,
                                 .channels = c->filters };
}

bool stk__conv_has_frame(const struct stk__conv *c)
{
    struct stk__framed output = stk__conv_output(c);
    return output.height != c->out_height || output.width != c->out_width;
}

size_t stk__framed_floats(const struct stk__framed *f)
{
    return (size_t)f->height * (size_t)f->width * (size_t)f->channels;
}

void stk__framed_fill(const struct stk__framed *f, const float *image, int height, int width,
                      float *out)
{
    size_t channels = (size_t)f->channels, row = (size_t)f->width * channels;
    size_t left = (size_t)f->left * channels, middle = (size_t)width * channels;
    memset(out, 0, (size_t)f->top * row * sizeof *out);
    out += (size_t)f->top * row;
    for (int y = 0; y < height; y++, out += row, image += middle) {
        memset(out, 0, left * sizeof *out);
        memcpy(out + left, image, middle * sizeof *out);
        memset(out + left + middle, 0, (row - left - middle) * sizeof *out);
    }
    memset(out, 0, (size_t)(f->height - f->top - height) * row * sizeof *out);
}
