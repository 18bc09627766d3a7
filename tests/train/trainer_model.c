/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_model.c: layers in double. */
#include "trainer_model.h"

#include "base/hash.h"
#include "base/rng.h"
#include "node_is.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t values_of(const struct stk__model_node *node)
{
    return (size_t)stk__shape_values(&node->shape);
}

struct reference reference_new(const struct stk__model *model, int rows)
{
    struct reference r = { .model = model, .rows = rows, .trains = true };
    size_t nodes = (size_t)model->n_nodes;
    r.weight = calloc((size_t)model->n_weights + 1, sizeof *r.weight);
    r.value = calloc(nodes, sizeof *r.value);
    r.mean = calloc(nodes, sizeof *r.mean);
    r.variance = calloc(nodes, sizeof *r.variance);
    for (int w = 0; w < model->n_weights; w++)
        r.weight[w] = calloc((size_t)model->weight[w].n_values, sizeof(double));
    for (size_t i = 0; i < nodes; i++) {
        size_t channels = (size_t)model->node[i].shape.channels;
        r.value[i] = calloc((size_t)rows * values_of(&model->node[i]), sizeof(double));
        r.mean[i] = calloc(channels, sizeof(double));
        r.variance[i] = calloc(channels, sizeof(double));
    }
    return r;
}

void reference_free(struct reference *r)
{
    for (int w = 0; w < r->model->n_weights; w++)
        free(r->weight[w]);
    for (int i = 0; i < r->model->n_nodes; i++) {
        free(r->value[i]);
        free(r->mean[i]);
        free(r->variance[i]);
    }
    free(r->weight);
    free(r->value);
    free(r->mean);
    free(r->variance);
}

/* ---- places ---- */

struct map {
    double *at;
    int64_t height, width, channels;
};

static struct map map_of(const struct reference *r, int node, int row)
{
    const struct stk__shape *s = &r->model->node[node].shape;
    return (struct map){ r->value[node] + (size_t)row * values_of(&r->model->node[node]), s->height,
                         s->width, s->channels };
}

static double *pixel(const struct map *m, int64_t y, int64_t x)
{
    return m->at + (y * m->width + x) * m->channels;
}

static bool is_in(const struct map *m, int64_t y, int64_t x)
{
    return y >= 0 && y < m->height && x >= 0 && x < m->width;
}

static const double *weight_of(const struct reference *r, const struct stk__model_node *node,
                               enum stk__weight_role role)
{
    const struct stk__weight *w = stk__node_weight(r->model, node, role);
    return w ? r->weight[w - r->model->weight] : NULL;
}

/* ---- layers ---- */

static double conv_at(const struct reference *r, const struct stk__model_node *node,
                      const struct map *in, int64_t y, int64_t x, int64_t f)
{
    const struct stk__window *w = &node->window;
    const double *kernel = weight_of(r, node, STK__KERNEL), *bias = weight_of(r, node, STK__BIAS);
    int64_t filters = node->shape.channels, channels = in->channels / w->groups;
    int64_t first = f / (filters / w->groups) * channels;
    double sum = bias ? bias[f] : 0;
    for (int64_t j = 0; j < w->kernel_height; j++)
        for (int64_t i = 0; i < w->kernel_width; i++) {
            int64_t sy = y * w->stride_height - w->pad_top + j * w->dilation_height;
            int64_t sx = x * w->stride_width - w->pad_left + i * w->dilation_width;
            for (int64_t c = 0; c < channels && is_in(in, sy, sx); c++)
                sum += pixel(in, sy, sx)[first + c] *
                       kernel[((j * w->kernel_width + i) * channels + c) * filters + f];
        }
    return sum;
}

static double depthwise_at(const struct reference *r, const struct stk__model_node *node,
                           const struct map *in, int64_t y, int64_t x, int64_t f)
{
    const struct stk__window *w = &node->window;
    const double *kernel = weight_of(r, node, STK__KERNEL), *bias = weight_of(r, node, STK__BIAS);
    int64_t filters = node->shape.channels, multiplier = filters / in->channels;
    double sum = bias ? bias[f] : 0;
    for (int64_t j = 0; j < w->kernel_height; j++)
        for (int64_t i = 0; i < w->kernel_width; i++) {
            int64_t sy = y * w->stride_height - w->pad_top + j * w->dilation_height;
            int64_t sx = x * w->stride_width - w->pad_left + i * w->dilation_width;
            if (is_in(in, sy, sx))
                sum += pixel(in, sy, sx)[f / multiplier] *
                       kernel[(j * w->kernel_width + i) * filters + f];
        }
    return sum;
}

static double pool_at(const struct stk__model_node *node, const struct map *in, int64_t y,
                      int64_t x, int64_t c)
{
    const struct stk__window *w = &node->window;
    double sum = 0, most = -INFINITY;
    int n = 0;
    for (int64_t j = 0; j < w->kernel_height; j++)
        for (int64_t i = 0; i < w->kernel_width; i++) {
            int64_t sy = y * w->stride_height - w->pad_top + j;
            int64_t sx = x * w->stride_width - w->pad_left + i;
            if (!is_in(in, sy, sx))
                continue;
            sum += pixel(in, sy, sx)[c];
            most = fmax(most, pixel(in, sy, sx)[c]);
            n++;
        }
    return node_is(node, "maxpool") ? most : sum / n;
}

static double activated(const struct stk__activation *a, double x)
{
    double cube = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    switch (a->kind) {
    case STK__GELU:
        return a->is_approximate ? x / 2 * (1 + tanh(cube)) : x / 2 * (1 + erf(x / sqrt(2)));
    case STK__LEAKY_RELU:
        return x < 0 ? a->negative_slope * x : x;
    case STK__RELU:
        return fmax(x, 0);
    case STK__RELU6:
        return fmin(fmax(x, 0), 6);
    case STK__SIGMOID:
        return 1 / (1 + exp(-x));
    case STK__SWISH:
        return x / (1 + exp(-x));
    case STK__TANH:
        return tanh(x);
    default:
        return x;
    }
}

static double softmax_at(const double *x, int64_t n, int64_t c)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return exp(x[c] - most) / sum;
}

static double mean_at(const struct map *in, int64_t c)
{
    double sum = 0;
    for (int64_t i = 0; i < in->height * in->width; i++)
        sum += in->at[i * in->channels + c];
    return sum / (double)(in->height * in->width);
}

static double dense_at(const struct reference *r, const struct stk__model_node *node,
                       const struct map *in, int64_t c)
{
    const double *kernel = weight_of(r, node, STK__KERNEL), *bias = weight_of(r, node, STK__BIAS);
    double sum = bias ? bias[c] : 0;
    for (int64_t i = 0; i < in->channels; i++)
        sum += in->at[i] * kernel[i * node->shape.channels + c];
    return sum;
}

/* From -1 to 1. */
static double chance(const struct reference *r, int node, int64_t at)
{
    uint64_t word[] = { r->noise_seed, (uint64_t)node, (uint64_t)at };
    return (double)stk__hash_bytes(1, word, sizeof word) / 0x1p63 - 1;
}

/* Statistics are floats whatever values are. What a mean is off by, what it takes away from gradients is too:
 * scale then makes as much of that as of them. */
static double mean_noise(const struct reference *r, int node, int64_t channel)
{
    return r->noise > 0 ? fmin(r->noise, 0x1p-21) * chance(r, node, -1 - channel) : 0;
}

static void find_statistics(struct reference *r, int node)
{
    const struct stk__model_node *of = &r->model->node[node];
    const double *mean = weight_of(r, of, STK__MOVING_MEAN);
    const double *variance = weight_of(r, of, STK__MOVING_VARIANCE);
    size_t pixels = (size_t)r->rows * (size_t)(of->shape.height * of->shape.width);
    const double *x = r->value[of->input[0]];
    for (int64_t c = 0; c < of->shape.channels; c++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < pixels; i++)
            sum += x[(int64_t)i * of->shape.channels + c];
        for (size_t i = 0; i < pixels; i++) {
            double distance = x[(int64_t)i * of->shape.channels + c] - sum / (double)pixels;
            squares += distance * distance;
        }
        r->mean[node][c] = r->trains ? sum / (double)pixels : mean[c];
        r->mean[node][c] *= 1 + mean_noise(r, node, c);
        r->variance[node][c] = r->trains ? squares / (double)pixels : variance[c];
    }
}

static double norm_at(const struct reference *r, int node, double x, int64_t c)
{
    const struct stk__model_node *of = &r->model->node[node];
    const double *gamma = weight_of(r, of, STK__GAMMA), *beta = weight_of(r, of, STK__BETA);
    double y = (x - r->mean[node][c]) / sqrt(r->variance[node][c] + of->epsilon);
    return y * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0);
}

/* The rule of dropout_group.c: four words per counter, rows begin a new one. */
static double dropped(const struct reference *r, const struct stk__model_node *node, int row,
                      int64_t y, int64_t at, double x)
{
    uint64_t seed = node->seed != STK_NONE
                        ? stk__hash_bytes((uint64_t)node->seed, "dropout", 7)
                        : stk__hash_bytes(r->seed, node->name, strlen(node->name));
    int64_t words = (node->shape.width * node->shape.channels + 3) / 4;
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) }, out[4];
    uint32_t counter[4] = { (uint32_t)(y * words + at / 4), (uint32_t)row, (uint32_t)r->n_batches,
                            0 };
    stk__philox(counter, key, out);
    return out[at % 4] < node->rate * 0x1p32 ? 0 : x / (1 - node->rate);
}

static double concat_at(const struct reference *r, const struct stk__model_node *node, int row,
                        int64_t y, int64_t x, int64_t c)
{
    int k = 0;
    while (c >= r->model->node[node->input[k]].shape.channels)
        c -= r->model->node[node->input[k++]].shape.channels;
    struct map in = map_of(r, node->input[k], row);
    return pixel(&in, y, x)[c];
}

static double add_at(const struct reference *r, const struct stk__model_node *node, int row,
                     int64_t y, int64_t x, int64_t c)
{
    double sum = 0;
    for (int k = 0; k < node->n_inputs; k++) {
        struct map in = map_of(r, node->input[k], row);
        sum += pixel(&in, y, x)[c];
    }
    return sum;
}

static double value_at(const struct reference *r, int number, int row, int64_t y, int64_t x,
                       int64_t c)
{
    const struct stk__model_node *node = &r->model->node[number];
    struct map in = map_of(r, node->input[0], row);
    if (node_is(node, "conv"))
        return conv_at(r, node, &in, y, x, c);
    if (node_is(node, "depthwise"))
        return depthwise_at(r, node, &in, y, x, c);
    if (node_is(node, "batchnorm"))
        return norm_at(r, number, pixel(&in, y, x)[c], c);
    if (node_is(node, "activation"))
        return node->activation.kind == STK__SOFTMAX
                   ? softmax_at(pixel(&in, y, x), in.channels, c)
                   : activated(&node->activation, pixel(&in, y, x)[c]);
    if (node_is(node, "maxpool") || node_is(node, "avgpool"))
        return pool_at(node, &in, y, x, c);
    if (node_is(node, "global_avgpool"))
        return mean_at(&in, c);
    if (node_is(node, "flatten"))
        return in.at[c];
    if (node_is(node, "dense"))
        return dense_at(r, node, &in, c);
    if (node_is(node, "dropout"))
        return r->trains ? dropped(r, node, row, y, x * in.channels + c, pixel(&in, y, x)[c])
                         : pixel(&in, y, x)[c];
    if (node_is(node, "add"))
        return add_at(r, node, row, y, x, c);
    if (node_is(node, "concat"))
        return concat_at(r, node, row, y, x, c);
    fprintf(stderr, "the reference has no layer of kind %s\n", node->kind->name);
    abort();
}

static void add_noise(struct reference *r, int node)
{
    int64_t n = r->rows * stk__shape_values(&r->model->node[node].shape);
    for (int64_t i = 0; r->noise > 0 && i < n; i++)
        r->value[node][i] *= 1 + r->noise * chance(r, node, i);
}

static void forward_node(struct reference *r, int node)
{
    if (node_is(&r->model->node[node], "batchnorm"))
        find_statistics(r, node);
    for (int row = 0; row < r->rows; row++) {
        struct map out = map_of(r, node, row);
        for (int64_t y = 0; y < out.height; y++)
            for (int64_t x = 0; x < out.width; x++)
                for (int64_t c = 0; c < out.channels; c++)
                    pixel(&out, y, x)[c] = value_at(r, node, row, y, x, c);
    }
    add_noise(r, node);
}

void reference_forward(struct reference *r, const float *images)
{
    size_t n = (size_t)r->rows * values_of(&r->model->node[0]);
    for (size_t i = 0; i < n; i++)
        r->value[0][i] = images[i];
    add_noise(r, 0);
    for (int node = 1; node < r->model->n_nodes; node++)
        forward_node(r, node);
}

/* ---- losses ---- */

/* What a row is to be: its label as values, or the values given. */
struct row_target {
    const float *value; /* NULL: the label's alone is 1 */
    int64_t label;      /* or the greatest value's */
};

static struct row_target target_of(const int32_t *labels, const float *targets, int64_t row,
                                   int64_t n)
{
    if (labels)
        return (struct row_target){ NULL, labels[row] };
    struct row_target t = { targets + row * n, 0 };
    for (int64_t i = 1; i < n; i++)
        if (t.value[i] > t.value[t.label])
            t.label = i;
    return t;
}

/* The logarithm of softmax, of what goes into it. */
static double log_softmax(const double *x, int64_t n, int64_t c)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return x[c] - most - log(sum);
}

static double entropy_of(const struct stk__loss *loss, const double *logits, int64_t n,
                         struct row_target t)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double value = t.value ? t.value[i] : i == t.label;
        value = (1 - loss->label_smoothing) * value + loss->label_smoothing / (double)n;
        if (loss->is_pytorch && loss->n_classes)
            value *= loss->class_weight[i];
        sum -= value * log_softmax(logits, n, i);
    }
    return loss->n_classes && !loss->is_pytorch ? sum * loss->class_weight[t.label] : sum;
}

static double entropy(const struct reference *r, int node, const struct stk__loss *loss,
                      const int32_t *labels, const float *targets)
{
    int64_t n = r->model->node[node].shape.channels;
    double sum = 0, divisor = 0;
    for (int row = 0; row < r->rows; row++) {
        struct row_target t = target_of(labels, targets, row, n);
        sum += entropy_of(loss, r->value[node] + row * n, n, t);
        divisor += loss->is_pytorch && loss->n_classes && labels ? loss->class_weight[t.label] : 1;
    }
    return sum / divisor;
}

/* -t·log(p) - (1 - t)·log(1 - p), p the sigmoid of x. */
static double binary_at(double x, double t)
{
    return fmax(x, 0) - x * t + log1p(exp(-fabs(x)));
}

static double mean_of_outputs(const struct reference *r, int node, const struct stk__loss *loss,
                              const float *targets)
{
    const double *out = r->value[node];
    int64_t n = r->rows * stk__shape_values(&r->model->node[node].shape);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = (1 - loss->label_smoothing) * targets[i] + loss->label_smoothing / 2;
        sum += loss->type->activation == STK__LINEAR ? (out[i] - targets[i]) * (out[i] - targets[i])
                                                     : binary_at(out[i], t);
    }
    return sum / (double)n;
}

double reference_loss(const struct reference *r, const struct stk__loss *loss,
                      const int32_t *labels, const float *targets)
{
    int node = r->model->n_nodes - 1;
    const struct stk__model_node *last = &r->model->node[node];
    if (node_is(last, "activation") && last->activation.kind == loss->type->activation)
        node = last->input[0];
    if (loss->type->has_classes)
        return entropy(r, node, loss, labels, targets);
    return mean_of_outputs(r, node, loss, targets);
}
