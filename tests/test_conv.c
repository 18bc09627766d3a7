/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv.c: convolutions and their gradients, on every level, against sums in double precision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "train/conv.h"
#include "train/kernel/train_kernel.h"

static uint64_t state = 7;

static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static float *random_values(size_t n)
{
    float *values = malloc((n ? n : 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)below(2001) / 1000 - 1;
    return values;
}

struct data {
    struct stk__conv conv;
    size_t n_image, n_out, n_weights;
    float *image, *gradient, *weights, *bias;
};

/* Sums over all products of a convolution. */
struct products {
    const struct data *data;
    double *image, *out, *weights;
};

static void add_product(struct products *p, size_t i, size_t o, size_t w)
{
    const struct data *d = p->data;
    double image = d->image[i], weight = d->weights[w], gradient = d->gradient[o];
    p->out[o] += image * weight;
    p->image[i] += gradient * weight;
    p->weights[w] += image * gradient;
}

static void add_pixel(struct products *p, int y, int x, int f)
{
    const struct stk__conv *c = &p->data->conv;
    int channels = c->channels / c->groups, group = f / (c->filters / c->groups);
    size_t o = ((size_t)y * (size_t)c->out_width + (size_t)x) * (size_t)c->filters + (size_t)f;
    for (int ky = 0; ky < c->kernel_height; ky++)
        for (int kx = 0; kx < c->kernel_width; kx++) {
            int row = y * c->stride_y + ky * c->dilation_y - c->pad_top;
            int column = x * c->stride_x + kx * c->dilation_x - c->pad_left;
            if (row < 0 || row >= c->height || column < 0 || column >= c->width)
                continue;
            for (int i = 0; i < channels; i++)
                add_product(
                    p,
                    ((size_t)row * (size_t)c->width + (size_t)column) * (size_t)c->channels +
                        (size_t)(group * channels + i),
                    o,
                    (((size_t)ky * (size_t)c->kernel_width + (size_t)kx) * (size_t)channels +
                     (size_t)i) *
                            (size_t)c->filters +
                        (size_t)f);
        }
}

static void add_all(struct products *p)
{
    const struct stk__conv *c = &p->data->conv;
    for (int y = 0; y < c->out_height; y++)
        for (int x = 0; x < c->out_width; x++)
            for (int f = 0; f < c->filters; f++)
                add_pixel(p, y, x, f);
}

static double *zeros(size_t n)
{
    double *values = calloc(n ? n : 1, sizeof *values);
    assert_non_null(values);
    return values;
}

/* Values are below 1 in size, so a sum's terms are at most as many. */
static void check_near(const char *what, int level, const struct stk__conv *c, const float *found,
                       const double *wanted, size_t n, double terms)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(found[i] - wanted[i]) <= 1e-6 * (terms + 1)))
            fail_msg("%s at level %d, value %zu: %g, not %g; image %dx%dx%d, kernel %dx%d, "
                     "stride %d %d, dilation %d %d, pad %d %d %d %d, %d filters, %d groups",
                     what, level, i, found[i], wanted[i], c->height, c->width, c->channels,
                     c->kernel_height, c->kernel_width, c->stride_y, c->stride_x, c->dilation_y,
                     c->dilation_x, c->pad_top, c->pad_left, c->pad_bottom, c->pad_right,
                     c->filters, c->groups);
}

static void make_data(struct data *d)
{
    const struct stk__conv *c = &d->conv;
    d->n_image = (size_t)c->height * (size_t)c->width * (size_t)c->channels;
    d->n_out = (size_t)c->out_height * (size_t)c->out_width * (size_t)c->filters;
    d->n_weights = (size_t)c->kernel_height * (size_t)c->kernel_width *
                   (size_t)(c->channels / c->groups) * (size_t)c->filters;
    d->image = random_values(d->n_image);
    d->gradient = random_values(d->n_out);
    d->weights = random_values(d->n_weights);
    d->bias = random_values((size_t)c->filters);
}

static void free_data(struct data *d)
{
    free(d->image);
    free(d->gradient);
    free(d->weights);
    free(d->bias);
}

/* Ends where its values end, so that a sanitizer sees what is read too far. */
static float *bordered(struct stk__bordered b, const float *image, int height, int width)
{
    float *out = malloc(stk__bordered_floats(&b) * sizeof *out);
    assert_non_null(out);
    stk__border(&b, image, height, width, out);
    return out;
}

static void check_forward(const struct data *d, const struct products *p, int level)
{
    const struct stk__conv *c = &d->conv;
    const struct stk__conv_kernels *kernels = &stk__train_kernels_at(level)->conv;
    float *image = bordered(stk__conv_image(c), d->image, c->height, c->width);
    float *packed = malloc(stk__conv_packed_floats(c, kernels->block) * sizeof *packed);
    float *out = malloc(d->n_out * sizeof *out);
    double *clamped = zeros(d->n_out), *wanted = zeros(d->n_out);
    for (size_t i = 0; i < d->n_out; i++) {
        wanted[i] = p->out[i] + d->bias[i % (size_t)c->filters];
        clamped[i] = p->out[i] < 0 ? 0 : p->out[i] > 0.5 ? 0.5 : p->out[i];
    }
    double terms = (double)d->n_weights / c->filters;
    stk__conv_pack(c, kernels->block, d->weights, packed);
    stk__conv_forward(c, kernels, image, packed, d->bias, -INFINITY, INFINITY, out);
    check_near("output", level, c, out, wanted, d->n_out, terms);
    stk__conv_forward(c, kernels, image, packed, NULL, 0, 0.5f, out);
    check_near("output within bounds", level, c, out, clamped, d->n_out, terms);
    free(image);
    free(packed);
    free(out);
    free(clamped);
    free(wanted);
}

static void check_image(const struct data *d, const struct products *p, int level)
{
    const struct stk__conv *c = &d->conv;
    const struct stk__conv_kernels *kernels = &stk__train_kernels_at(level)->conv;
    float *gradient = bordered(stk__conv_output(c), d->gradient, c->out_height, c->out_width);
    float *turned = malloc(stk__conv_turned_floats(c, kernels->block) * sizeof *turned);
    float *found = random_values(d->n_image); /* all are written */
    stk__conv_turn(c, kernels->block, d->weights, turned);
    stk__conv_to_image(c, kernels, gradient, turned, found);
    check_near("gradient of the image", level, c, found, p->image, d->n_image,
               c->kernel_height * c->kernel_width * (double)c->filters / c->groups);
    free(gradient);
    free(turned);
    free(found);
}

static void check_weights(const struct data *d, const struct products *p, int level)
{
    const struct stk__conv *c = &d->conv;
    const struct stk__conv_kernels *kernels = &stk__train_kernels_at(level)->conv;
    float *image = bordered(stk__conv_image(c), d->image, c->height, c->width);
    size_t n_packed = stk__conv_packed_floats(c, kernels->block);
    float *packed = calloc(n_packed, sizeof *packed), *found = random_values(d->n_weights);
    float *bias = calloc((size_t)c->filters, sizeof *bias);
    double *twice = zeros(d->n_weights), *sums = zeros((size_t)c->filters);
    for (size_t i = 0; i < d->n_weights; i++)
        twice[i] = 2 * p->weights[i];
    for (size_t i = 0; i < d->n_out; i++)
        sums[i % (size_t)c->filters] += d->gradient[i];
    double terms = c->out_height * (double)c->out_width;
    stk__conv_to_weights(c, kernels, image, d->gradient, packed, bias);
    stk__conv_to_weights(c, kernels, image, d->gradient, packed, NULL); /* adds */
    stk__conv_unpack(c, kernels->block, packed, found);
    check_near("gradient of weights", level, c, found, twice, d->n_weights, 2 * terms);
    check_near("gradient of bias", level, c, bias, sums, (size_t)c->filters, terms);
    free(image);
    free(packed);
    free(found);
    free(bias);
    free(twice);
    free(sums);
}

static void check(struct stk__conv conv)
{
    struct data d = { .conv = conv };
    make_data(&d);
    struct products p = {
        .data = &d, .image = zeros(d.n_image), .out = zeros(d.n_out), .weights = zeros(d.n_weights)
    };
    add_all(&p);
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        check_forward(&d, &p, level);
        check_image(&d, &p, level);
        check_weights(&d, &p, level);
    }
    free_data(&d);
    free(p.image);
    free(p.out);
    free(p.weights);
}

static struct stk__conv random_conv(void)
{
    int groups = below(3) ? 1 : 1 + below(3);
    bool is_dilated = below(4) == 0;
    struct stk__conv c = { .channels = groups * (1 + below(below(2) ? 4 : 20)),
                           .filters = groups * (1 + below(below(2) ? 5 : 40)),
                           .kernel_height = 1 + below(5),
                           .kernel_width = 1 + below(5),
                           .stride_y = is_dilated ? 1 : 1 + below(3),
                           .stride_x = is_dilated ? 1 : 1 + below(3),
                           .dilation_y = is_dilated ? 1 + below(3) : 1,
                           .dilation_x = is_dilated ? 1 + below(3) : 1,
                           .pad_top = below(3),
                           .pad_left = below(3),
                           .pad_bottom = below(3),
                           .pad_right = below(3),
                           .groups = groups };
    int high = (c.kernel_height - 1) * c.dilation_y + 1,
        wide = (c.kernel_width - 1) * c.dilation_x + 1;
    c.out_height = 1 + below(7);
    c.out_width = 1 + below(below(3) ? 8 : 40);
    int height = (c.out_height - 1) * c.stride_y + high + below(c.stride_y);
    int width = (c.out_width - 1) * c.stride_x + wide + below(c.stride_x);
    c.height = height - c.pad_top - c.pad_bottom;
    c.width = width - c.pad_left - c.pad_right;
    return c;
}

static void test_random_convolutions(void **context)
{
    (void)context;
    for (int i = 0; i < 400;) {
        struct stk__conv conv = random_conv();
        if (conv.height < 1 || conv.width < 1)
            continue;
        check(conv);
        i++;
    }
}

static void test_layers_of_models(void **context)
{
    static const struct stk__conv layers[] = {
        { 34, 34, 3, 32, 32, 32, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
        { 15, 15, 32, 13, 13, 64, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
        { 32, 32, 3, 16, 16, 32, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1, 1 }, /* same, in TensorFlow's way */
        { 14, 14, 64, 14, 14, 10, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1 },
        { 14, 14, 64, 7, 7, 48, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0, 1 },
        { 20, 20, 3, 10, 10, 64, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3, 1 },
    };
    (void)context;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        check(layers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_convolutions),
        cmocka_unit_test(test_layers_of_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
