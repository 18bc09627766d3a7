/* SPDX-License-Identifier: Apache-2.0 */
/* test_conv.c: every candidate for a convolution, on every level, against sums in double precision:
 * images with frames just as large as needed and larger, lots of images, bands cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "train/conv/candidate.h"

static uint64_t state = 7;
static int n_checked, n_refused;

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

struct trial {
    const struct data *data;
    const struct products *products;
    const struct stk__conv_candidate *candidate;
    int level, n_images;
};

/* Values are below 1 in size, so a sum's terms are at most as many. */
static void check_near(const char *what, const struct trial *t, const float *found,
                       const double *wanted, size_t n, double terms)
{
    const struct stk__conv *c = &t->data->conv;
    double most = t->candidate == &stk__conv_winograd_6 ? 4e-6 : 1e-6;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(found[i] - wanted[i]) <= most * (terms + 1)))
            fail_msg("%s, %s at level %d, value %zu: %g, not %g; %d images %dx%dx%d, kernel %dx%d, "
                     "stride %d %d, dilation %d %d, pad %d %d %d %d, %d filters, %d groups",
                     t->candidate->name, what, t->level, i, found[i], wanted[i], t->n_images,
                     c->height, c->width, c->channels, c->kernel_height, c->kernel_width,
                     c->stride_y, c->stride_x, c->dilation_y, c->dilation_x, c->pad_top,
                     c->pad_left, c->pad_bottom, c->pad_right, c->filters, c->groups);
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

/* Some images, each with what is around it, in one block. Frames end where values end, so that a sanitizer
 * sees what is read too far; a wider one has values that nobody may use. */
struct images {
    struct stk__framed framed;
    int height, width;
    float *block;
    struct stk__rows rows;
};

static struct images take_images(struct stk__framed framed, int height, int width, int n)
{
    int spare = below(3) ? 0 : 1 + below(3); /* values behind the channels of a pixel */
    size_t across = (size_t)(framed.channels + spare), down = across * (size_t)framed.width;
    size_t apart = down * (size_t)framed.height, n_values = apart * (size_t)n - (size_t)spare;
    struct images out = {
        .framed = framed,
        .height = height,
        .width = width,
        .block = random_values(n_values),
        .rows = { .across = (int64_t)across, .down = (int64_t)down, .apart = (int64_t)apart }
    };
    out.rows.at = out.block + (size_t)framed.top * down + (size_t)framed.left * across;
    return out;
}

/* All images are the same, times 1, 2, 3 …; around them are zeros. */
static void put_images(const struct images *images, const float *values, int n)
{
    const struct stk__framed *f = &images->framed;
    for (int i = 0; i < n; i++)
        for (int y = 0; y < f->height; y++)
            for (int x = 0; x < f->width; x++)
                for (int k = 0; k < f->channels; k++) {
                    int row = y - f->top, column = x - f->left;
                    bool is_inside =
                        row >= 0 && row < images->height && column >= 0 && column < images->width;
                    images->block[i * images->rows.apart + y * images->rows.down +
                                  x * images->rows.across + k] =
                        is_inside ? (float)(i + 1) *
                                        values[(row * images->width + column) * f->channels + k]
                                  : 0;
                }
}

static float *get_image(const struct images *images, int which)
{
    int channels = images->framed.channels;
    float *out = malloc((size_t)(images->height * images->width * channels) * sizeof *out);
    assert_non_null(out);
    for (int y = 0; y < images->height; y++)
        for (int x = 0; x < images->width; x++)
            for (int k = 0; k < channels; k++)
                out[(y * images->width + x) * channels + k] =
                    images->rows.at[which * images->rows.apart + y * images->rows.down +
                                    x * images->rows.across + k];
    return out;
}

/* Memory as a way wants it. */
struct memory {
    float *packed, *scratch;
};

static float *aligned(size_t floats)
{
    size_t bytes = (floats * sizeof(float) + 63) / 64 * 64;
    float *block = aligned_alloc(64, bytes ? bytes : 64);
    assert_non_null(block);
    for (size_t i = 0; i < floats; i++)
        block[i] = NAN; /* nothing is read that was not written */
    return block;
}

static struct memory take_memory(const struct stk__conv_way *way)
{
    return (struct memory){ aligned(way->packed_floats), aligned(way->scratch_floats) };
}

static void free_memory(struct memory *memory)
{
    free(memory->packed);
    free(memory->scratch);
}

/* Runs rows [0, n) in bands cut anywhere. */
static void run_bands(const struct stk__conv_way *way, struct stk__conv_job *job, int n)
{
    bool is_cut = below(2) == 0;
    for (int from = 0; from < n; from = job->to) {
        job->from = from;
        job->to = is_cut ? from + 1 + below(n - from) : n;
        way->candidate->run(way, job);
    }
}

static void pack(const struct stk__conv_way *way, const float *weights, float *packed)
{
    int n_parts = 1 + below(3);
    for (int part = 0; part < n_parts; part++)
        way->candidate->pack(way, weights, packed, part, n_parts);
}

static struct stk__conv_task task_of(const struct trial *t, enum stk__direction direction,
                                     const struct images *image, const struct images *output)
{
    return (struct stk__conv_task){ .conv = t->data->conv,
                                    .direction = direction,
                                    .cpu_level = t->level,
                                    .n_images = t->n_images,
                                    .is_half = true, /* whatever can */
                                    .image = image->rows,
                                    .output = output->rows };
}

static struct stk__framed plain(int height, int width, int channels)
{
    return (struct stk__framed){ 0, 0, height, width, channels };
}

static struct stk__framed widened(struct stk__framed framed)
{
    if (below(2))
        return framed;
    int top = below(3), left = below(3);
    framed.top += top;
    framed.left += left;
    framed.height += top + below(3);
    framed.width += left + below(3);
    return framed;
}

/* What output `image` + 1 times the products would be. */
static void check_output(const struct trial *t, const struct images *output, int image,
                         bool is_plain)
{
    const struct data *d = t->data;
    float *found = get_image(output, image);
    double *wanted = zeros(d->n_out);
    for (size_t i = 0; i < d->n_out; i++) {
        double value = t->products->out[i] * (image + 1);
        wanted[i] = is_plain ? value + d->bias[i % (size_t)d->conv.filters]
                             : (value < 0     ? 0
                                : value > 0.5 ? 0.5
                                              : value);
    }
    check_near("output", t, found, wanted, d->n_out,
               (double)d->n_weights / d->conv.filters * (image + 1));
    free(found);
    free(wanted);
}

/* True if the candidate can; one that is optional may refuse, which is counted. */
static bool opens(const struct trial *t, const struct stk__conv_task *task,
                  struct stk__conv_way *way)
{
    if (!t->candidate->can(task))
        return false;
    struct stk_error err = { 0 };
    int rc = stk__conv_way_open(way, t->candidate, task, &err);
    if (rc && t->candidate->is_optional) {
        if (n_refused++ == 0)
            print_message("%s refused: %s\n", t->candidate->name, err.text);
        return false;
    }
    assert_int_equal(rc, 0);
    return true;
}

static void check_forward(const struct trial *t)
{
    const struct stk__conv *c = &t->data->conv;
    struct images image =
        take_images(widened(stk__conv_image(c)), c->height, c->width, t->n_images);
    struct images output = take_images(widened(plain(c->out_height, c->out_width, c->filters)),
                                       c->out_height, c->out_width, t->n_images);
    struct stk__conv_task task = task_of(t, STK__FORWARD, &image, &output);
    struct stk__conv_way way;
    if (opens(t, &task, &way)) {
        struct memory memory = take_memory(&way);
        put_images(&image, t->data->image, t->n_images);
        pack(&way, t->data->weights, memory.packed);
        for (int is_plain = 0; is_plain < 2; is_plain++) {
            run_bands(&way,
                      &(struct stk__conv_job){ .n_images = t->n_images,
                                               .image = image.rows,
                                               .output = output.rows,
                                               .packed = memory.packed,
                                               .bias = is_plain ? t->data->bias : NULL,
                                               .low = is_plain ? -INFINITY : 0,
                                               .high = is_plain ? INFINITY : 0.5f,
                                               .scratch = memory.scratch },
                      c->out_height);
            for (int i = 0; i < t->n_images; i++)
                check_output(t, &output, i, is_plain);
        }
        free_memory(&memory);
        stk__conv_way_close(&way);
        n_checked++;
    }
    free(image.block);
    free(output.block);
}

static void check_image(const struct trial *t)
{
    const struct stk__conv *c = &t->data->conv;
    struct images image = take_images(widened(plain(c->height, c->width, c->channels)), c->height,
                                      c->width, t->n_images);
    struct images output =
        take_images(widened(stk__conv_output(c)), c->out_height, c->out_width, t->n_images);
    struct stk__conv_task task = task_of(t, STK__TO_IMAGE, &image, &output);
    struct stk__conv_way way;
    if (opens(t, &task, &way)) {
        struct memory memory = take_memory(&way);
        put_images(&output, t->data->gradient, t->n_images);
        pack(&way, t->data->weights, memory.packed);
        run_bands(&way,
                  &(struct stk__conv_job){ .n_images = t->n_images,
                                           .image = image.rows,
                                           .output = output.rows,
                                           .packed = memory.packed,
                                           .scratch = memory.scratch },
                  c->height);
        double *wanted = zeros(t->data->n_image);
        for (int i = 0; i < t->n_images; i++) {
            float *found = get_image(&image, i);
            for (size_t k = 0; k < t->data->n_image; k++)
                wanted[k] = t->products->image[k] * (i + 1);
            check_near("gradient of the image", t, found, wanted, t->data->n_image,
                       (i + 1) * c->kernel_height * c->kernel_width * (double)c->filters /
                           c->groups);
            free(found);
        }
        free(wanted);
        free_memory(&memory);
        stk__conv_way_close(&way);
        n_checked++;
    }
    free(image.block);
    free(output.block);
}

/* Sums of two threads, of which the second runs everything twice. */
static void gather_weights(const struct trial *t, const struct stk__conv_way *way,
                           struct stk__conv_job *job, float *weights)
{
    float *sums[2];
    for (int i = 0; i < 2; i++) {
        sums[i] = aligned(way->packed_floats);
        memset(sums[i], 0, way->packed_floats * sizeof(float));
        job->sums = sums[i];
        run_bands(way, job, t->data->conv.out_height);
        job->bias_sums = NULL;
    }
    run_bands(way, job, t->data->conv.out_height);
    int n_parts = 1 + below(3);
    for (int part = 0; part < n_parts; part++)
        way->candidate->unpack(way, sums, 2, weights, part, n_parts);
    free(sums[0]);
    free(sums[1]);
}

static void check_sums(const struct trial *t, const float *weights, const float *bias)
{
    const struct stk__conv *c = &t->data->conv;
    const struct data *d = t->data;
    double *wanted = zeros(d->n_weights), *sums = zeros((size_t)c->filters);
    double times = 0, once = 0; /* images have the factors 1, 2, 3 … twice: in image and gradient */
    for (int i = 1; i <= t->n_images; i++) {
        times += i * i;
        once += i;
    }
    for (size_t i = 0; i < d->n_weights; i++)
        wanted[i] = 3 * times * t->products->weights[i];
    for (size_t i = 0; i < d->n_out; i++)
        sums[i % (size_t)c->filters] += once * d->gradient[i];
    double terms = c->out_height * (double)c->out_width;
    check_near("gradient of weights", t, weights, wanted, d->n_weights, 3 * times * terms);
    check_near("gradient of bias", t, bias, sums, (size_t)c->filters, once * terms);
    free(wanted);
    free(sums);
}

static void check_weights(const struct trial *t)
{
    const struct stk__conv *c = &t->data->conv;
    struct images image =
        take_images(widened(stk__conv_image(c)), c->height, c->width, t->n_images);
    struct images output = take_images(widened(plain(c->out_height, c->out_width, c->filters)),
                                       c->out_height, c->out_width, t->n_images);
    struct stk__conv_task task = task_of(t, STK__TO_WEIGHTS, &image, &output);
    struct stk__conv_way way;
    if (opens(t, &task, &way)) {
        float *scratch = aligned(way.scratch_floats), *weights = random_values(t->data->n_weights);
        float *bias = calloc((size_t)c->filters, sizeof *bias);
        put_images(&image, t->data->image, t->n_images);
        put_images(&output, t->data->gradient, t->n_images);
        gather_weights(t, &way,
                       &(struct stk__conv_job){ .n_images = t->n_images,
                                                .image = image.rows,
                                                .output = output.rows,
                                                .bias_sums = bias,
                                                .scratch = scratch },
                       weights);
        check_sums(t, weights, bias);
        free(scratch);
        free(weights);
        free(bias);
        stk__conv_way_close(&way);
        n_checked++;
    }
    free(image.block);
    free(output.block);
}

static void check(struct stk__conv conv)
{
    struct data d = { .conv = conv };
    make_data(&d);
    struct products p = {
        .data = &d, .image = zeros(d.n_image), .out = zeros(d.n_out), .weights = zeros(d.n_weights)
    };
    add_all(&p);
    for (int level = 0; level <= (int)stk__cpu_best(); level++)
        for (int i = 0; stk__conv_candidates[i]; i++) {
            struct trial trial = { &d, &p, stk__conv_candidates[i], level, 1 + below(3) };
            check_forward(&trial);
            check_image(&trial);
            check_weights(&trial);
        }
    free_data(&d);
    free(p.image);
    free(p.out);
    free(p.weights);
}

/* With sizes. */
static struct stk__conv finished(struct stk__conv c)
{
    int high = (c.kernel_height - 1) * c.dilation_y + 1,
        wide = (c.kernel_width - 1) * c.dilation_x + 1;
    c.out_height = 1 + below(9);
    c.out_width = 1 + below(below(3) ? 8 : 40);
    int height = (c.out_height - 1) * c.stride_y + high + below(c.stride_y);
    int width = (c.out_width - 1) * c.stride_x + wide + below(c.stride_x);
    c.height = height - c.pad_top - c.pad_bottom;
    c.width = width - c.pad_left - c.pad_right;
    return c;
}

static struct stk__conv random_conv(void)
{
    int groups = below(3) ? 1 : 1 + below(3);
    bool is_dilated = below(4) == 0;
    if (below(3) == 0) /* what has candidates of its own */
        return finished((struct stk__conv){ .channels = 1 + below(40),
                                            .filters = 1 + below(70),
                                            .kernel_height = 3,
                                            .kernel_width = 3,
                                            .stride_y = 1,
                                            .stride_x = 1,
                                            .dilation_y = 1,
                                            .dilation_x = 1,
                                            .pad_top = below(4),
                                            .pad_left = below(4),
                                            .pad_bottom = below(4),
                                            .pad_right = below(4),
                                            .groups = 1 });
    return finished((struct stk__conv){ .channels = groups * (1 + below(below(2) ? 4 : 20)),
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
                                        .groups = groups });
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
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("%d runs of candidates, %d refused\n", n_checked, n_refused);
    return failed;
}
