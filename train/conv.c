/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c: pieces, blocks and borders of convolutions. */
#include "train/conv.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static int blocks(int filters, int block)
{
    return (filters + block - 1) / block;
}

/* ---- borders ---- */

struct stk__bordered stk__conv_image(const struct stk__conv *c)
{
    return (struct stk__bordered){ .top = c->pad_top,
                                   .left = c->pad_left,
                                   .height = c->pad_top + c->height + c->pad_bottom,
                                   .width = c->pad_left + c->width + c->pad_right,
                                   .channels = c->channels };
}

/* Along one way: outputs before the first and behind the last that a value of the image is in. */
struct reach {
    int before, behind;
};

static struct reach reach_of(int size, int out, int pad, int kernel, int stride, int dilation)
{
    int behind = (size - 1 + pad) / stride - (out - 1);
    return (struct reach){ (kernel - 1) / stride * dilation, behind > 0 ? behind : 0 };
}

struct stk__bordered stk__conv_output(const struct stk__conv *c)
{
    struct reach y = reach_of(c->height, c->out_height, c->pad_top, c->kernel_height, c->stride_y,
                              c->dilation_y);
    struct reach x =
        reach_of(c->width, c->out_width, c->pad_left, c->kernel_width, c->stride_x, c->dilation_x);
    return (struct stk__bordered){ .top = y.before,
                                   .left = x.before,
                                   .height = y.before + c->out_height + y.behind,
                                   .width = x.before + c->out_width + x.behind,
                                   .channels = c->filters };
}

size_t stk__bordered_floats(const struct stk__bordered *b)
{
    return (size_t)b->height * (size_t)b->width * (size_t)b->channels;
}

void stk__border(const struct stk__bordered *b, const float *image, int height, int width,
                 float *out)
{
    size_t channels = (size_t)b->channels, row = (size_t)b->width * channels;
    size_t left = (size_t)b->left * channels, middle = (size_t)width * channels;
    memset(out, 0, (size_t)b->top * row * sizeof *out);
    out += (size_t)b->top * row;
    for (int y = 0; y < height; y++, out += row, image += middle) {
        memset(out, 0, left * sizeof *out);
        memcpy(out + left, image, middle * sizeof *out);
        memset(out + left + middle, 0, (row - left - middle) * sizeof *out);
    }
    memset(out, 0, (size_t)(b->height - b->top - height) * row * sizeof *out);
}

void stk__zero_border(const struct stk__bordered *b, int height, int width, float *out)
{
    size_t channels = (size_t)b->channels, row = (size_t)b->width * channels;
    size_t begin = ((size_t)b->top * (size_t)b->width + (size_t)b->left) * channels;
    size_t between = (size_t)(b->width - width) * channels;
    size_t behind =
        row * (size_t)(b->height - b->top - height) + between - (size_t)b->left * channels;
    memset(out, 0, begin * sizeof *out);
    out += begin + (size_t)width * channels;
    for (int y = 1; y < height; y++, out += row)
        memset(out, 0, between * sizeof *out);
    memset(out, 0, behind * sizeof *out);
}

/* ---- weights ---- */

/* Taps of one way whose outputs have values of the image at places with one remainder by the stride. */
struct class
{
    int first_tap, n_taps;
    int first, n; /* the first such place, and how many there are */
    int from;     /* the output that the first tap of the first place is in */
};

static struct class class_of(int remainder, int size, int pad, int kernel, int stride)
{
    int first = ((remainder - pad) % stride + stride) % stride;
    return (struct class){ .first_tap = remainder,
                           .n_taps = kernel > remainder ? (kernel - remainder - 1) / stride + 1 : 0,
                           .first = first,
                           .n = size > first ? (size - first - 1) / stride + 1 : 0,
                           .from = (first + pad - remainder) / stride };
}

static struct class class_y(const struct stk__conv *c, int remainder)
{
    return class_of(remainder, c->height, c->pad_top, c->kernel_height, c->stride_y);
}

static struct class class_x(const struct stk__conv *c, int remainder)
{
    return class_of(remainder, c->width, c->pad_left, c->kernel_width, c->stride_x);
}

static size_t group_terms(const struct stk__conv *c)
{
    return (size_t)c->kernel_height * (size_t)c->kernel_width * (size_t)(c->channels / c->groups);
}

size_t stk__conv_packed_floats(const struct stk__conv *c, int block)
{
    return (size_t)c->groups * (size_t)(blocks(c->filters / c->groups, block) * block) *
           group_terms(c);
}

/* Each tap is in one class, so the classes together have as many terms as the kernel. */
size_t stk__conv_turned_floats(const struct stk__conv *c, int block)
{
    size_t terms =
        (size_t)c->kernel_height * (size_t)c->kernel_width * (size_t)(c->filters / c->groups);
    return (size_t)c->groups * (size_t)(blocks(c->channels / c->groups, block) * block) * terms;
}

void stk__conv_pack(const struct stk__conv *c, int block, const float *weights, float *packed)
{
    int filters = c->filters / c->groups;
    for (int first = 0; first < c->filters; first += filters)
        for (int done = 0; done < filters; done += block) {
            int n = filters - done < block ? filters - done : block;
            const float *from = weights + first + done;
            for (size_t i = 0; i < group_terms(c); i++, packed += block, from += c->filters) {
                memcpy(packed, from, (size_t)n * sizeof *packed);
                memset(packed + n, 0, (size_t)(block - n) * sizeof *packed);
            }
        }
}

void stk__conv_unpack(const struct stk__conv *c, int block, const float *packed, float *weights)
{
    int filters = c->filters / c->groups;
    for (int first = 0; first < c->filters; first += filters)
        for (int done = 0; done < filters; done += block) {
            int n = filters - done < block ? filters - done : block;
            float *to = weights + first + done;
            for (size_t i = 0; i < group_terms(c); i++, packed += block, to += c->filters)
                memcpy(to, packed, (size_t)n * sizeof *to);
        }
}

/* One tap for a block of channels: filters, each by the block. */
static float *turn_tap(const struct stk__conv *c, int block, const float *tap, int group, int done,
                       float *turned)
{
    int channels = c->channels / c->groups, filters = c->filters / c->groups;
    for (int f = 0; f < filters; f++)
        for (int i = 0; i < block; i++)
            *turned++ = done + i < channels
                            ? tap[(size_t)(done + i) * (size_t)c->filters + group * filters + f]
                            : 0;
    return turned;
}

/* Taps in the order in which outputs lie: backwards across. */
static float *turn_class(const struct stk__conv *c, int block, const float *weights, struct class y,
                         struct class x, int group, int done, float *turned)
{
    size_t tap = (size_t)(c->channels / c->groups) * (size_t)c->filters;
    for (int j = 0; j < y.n_taps; j++)
        for (int i = x.n_taps - 1; i >= 0; i--) {
            int ky = y.first_tap + j * c->stride_y, kx = x.first_tap + i * c->stride_x;
            turned = turn_tap(c, block, weights + (size_t)(ky * c->kernel_width + kx) * tap, group,
                              done, turned);
        }
    return turned;
}

void stk__conv_turn(const struct stk__conv *c, int block, const float *weights, float *turned)
{
    for (int a = 0; a < c->stride_y; a++)
        for (int b = 0; b < c->stride_x; b++)
            for (int group = 0; group < c->groups; group++)
                for (int done = 0; done < c->channels / c->groups; done += block)
                    turned = turn_class(c, block, weights, class_y(c, a), class_x(c, b), group,
                                        done, turned);
}

/* ---- images ---- */

/* Pieces of `n` by `m` taps of some values each; those that lie side by side are one. */
static void set_pieces(struct stk__patch *patch, int64_t *at, int n, int m, int64_t down,
                       int64_t across, int values)
{
    bool is_one = across == values;
    patch->at = at;
    patch->n_pieces = is_one ? n : n * m;
    patch->piece = is_one ? m * values : values;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < (is_one ? 1 : m); i++)
            *at++ = j * down + i * across;
}

/* What outputs look at in an image with a border. */
static void set_patch(const struct stk__conv *c, struct stk__patch *patch, int64_t *at)
{
    struct stk__bordered image = stk__conv_image(c);
    int64_t row = (int64_t)image.width * image.channels;
    patch->across = (int64_t)c->stride_x * c->channels;
    patch->down = c->stride_y * row;
    set_pieces(patch, at, c->kernel_height, c->kernel_width, c->dilation_y * row,
               (int64_t)c->dilation_x * c->channels, c->channels / c->groups);
}

void stk__conv_forward(const struct stk__conv *c, const struct stk__conv_kernels *kernels,
                       const float *bordered, const float *packed, const float *bias, float low,
                       float high, float *out)
{
    int64_t at[STK__MOST_TAPS];
    struct stk__patch patch;
    int filters = c->filters / c->groups;
    set_patch(c, &patch, at);
    for (int group = 0; group < c->groups; group++) {
        kernels->rows(&(struct stk__conv_rows){ .patch = &patch,
                                                .x = bordered + group * (c->channels / c->groups),
                                                .y = out + group * filters,
                                                .y_across = c->filters,
                                                .y_down = (int64_t)c->out_width * c->filters,
                                                .width = c->out_width,
                                                .height = c->out_height,
                                                .filters = filters,
                                                .weights = packed,
                                                .bias = bias ? bias + group * filters : NULL,
                                                .low = low,
                                                .high = high });
        packed += stk__conv_packed_floats(c, kernels->block) / (size_t)c->groups;
    }
}

/* The places of one class. Returns the weights behind its own. */
static const float *to_places(const struct stk__conv *c, const struct stk__conv_kernels *kernels,
                              const float *gradient, struct class y, struct class x,
                              const float *turned, float *image)
{
    int64_t at[STK__MOST_TAPS];
    struct stk__patch patch;
    struct stk__bordered output = stk__conv_output(c);
    int filters = c->filters / c->groups, channels = c->channels / c->groups;
    int64_t row = (int64_t)output.width * output.channels;
    int64_t left = output.left + x.from - (int64_t)(x.n_taps ? x.n_taps - 1 : 0) * c->dilation_x;
    patch.across = c->filters;
    patch.down = row;
    set_pieces(&patch, at, y.n_taps, x.n_taps, -c->dilation_y * row,
               (int64_t)c->dilation_x * c->filters, filters);
    size_t group_floats = (size_t)y.n_taps * (size_t)x.n_taps * (size_t)filters *
                          (size_t)(blocks(channels, kernels->block) * kernels->block);
    for (int group = 0; group < c->groups; group++, turned += group_floats)
        kernels->rows(&(struct stk__conv_rows){
            .patch = &patch,
            .x = gradient + (output.top + y.from) * row + left * c->filters + group * filters,
            .y = image + ((int64_t)y.first * c->width + x.first) * c->channels + group * channels,
            .y_across = (int64_t)c->stride_x * c->channels,
            .y_down = (int64_t)c->stride_y * c->width * c->channels,
            .width = x.n,
            .height = y.n,
            .filters = channels,
            .weights = turned,
            .low = -INFINITY,
            .high = INFINITY });
    return turned;
}

void stk__conv_to_image(const struct stk__conv *c, const struct stk__conv_kernels *kernels,
                        const float *bordered_gradient, const float *turned, float *image_gradient)
{
    for (int a = 0; a < c->stride_y; a++)
        for (int b = 0; b < c->stride_x; b++)
            turned = to_places(c, kernels, bordered_gradient, class_y(c, a), class_x(c, b), turned,
                               image_gradient);
}

static void to_bias(const struct stk__conv *c, const float *gradient, float *bias)
{
    int64_t n = (int64_t)c->out_height * c->out_width;
    for (int64_t i = 0; i < n; i++, gradient += c->filters)
        for (int f = 0; f < c->filters; f++)
            bias[f] += gradient[f];
}

void stk__conv_to_weights(const struct stk__conv *c, const struct stk__conv_kernels *kernels,
                          const float *bordered, const float *gradient, float *packed, float *bias)
{
    int64_t at[STK__MOST_TAPS];
    struct stk__patch patch;
    int filters = c->filters / c->groups;
    set_patch(c, &patch, at);
    for (int group = 0; group < c->groups; group++) {
        kernels->gradient(
            &(struct stk__conv_gradient){ .patch = &patch,
                                          .x = bordered + group * (c->channels / c->groups),
                                          .dy = gradient + group * filters,
                                          .dy_across = c->filters,
                                          .dy_down = (int64_t)c->out_width * c->filters,
                                          .width = c->out_width,
                                          .height = c->out_height,
                                          .filters = filters,
                                          .weights = packed });
        packed += stk__conv_packed_floats(c, kernels->block) / (size_t)c->groups;
    }
    if (bias)
        to_bias(c, gradient, bias);
}
