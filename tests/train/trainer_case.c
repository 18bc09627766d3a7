/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_case.c: see trainer_case.h. */
#include "trainer_case.h"

#include "base/hash.h"
#include "base/text.h"
#include "train/trainer/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct precision float_precision = { "float32", NULL, 2e-5, 1e-4, 1e-5, 0, 0x1p-21 };
const struct precision half_precisions[2] = {
    { "mixed_float16", "fixed(256)", 4e-3, 2e-2, 2e-3, 0.125, 0x1p-10 },
    { "mixed_bfloat16", NULL, 3e-2, 0.15, 2e-2, 0.125, 0x1p-7 },
};

struct data {
    float *images, *targets;
    uint8_t *bytes;
    int32_t *labels;
    int64_t outputs;
    int64_t shape[4];
};

struct case_run {
    const char *chain;
    const struct setting *setting;
    const struct precision *precision;
    struct stk_model *model;
    struct stk_trainer *trainer;
    struct reference reference;
    struct data data;
    struct stk_view images, targets;
    bool has_labels;
    struct stk__text *report;
    int n_wrong;
    uint32_t state;
};

#define WRONG(c, ...)                                                                              \
    do {                                                                                           \
        stk__text_add((c)->report, "%s: ", (c)->chain);                                            \
        stk__text_add((c)->report, __VA_ARGS__);                                                   \
        stk__text_add((c)->report, "\n");                                                          \
        (c)->n_wrong++;                                                                            \
    } while (0)

/* ---- what goes in ---- */

static float next_value(struct case_run *c)
{
    c->state = c->state * 1664525u + 1013904223u;
    return (float)(c->state >> 8) / (float)(1 << 23) - 1;
}

/* Bytes are few and small, as floats that stand for them are. */
static void fill_images(struct case_run *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c->data.images[i] = next_value(c);
        c->data.bytes[i] = (uint8_t)((c->data.images[i] + 1) * 4);
        if (c->setting->has_bytes)
            c->data.images[i] = c->data.bytes[i];
    }
}

static void make_data(struct case_run *c)
{
    const struct stk__model *model = &c->model->graph;
    const struct stk__shape *in = &model->node[0].shape;
    int rows = c->setting->rows;
    size_t n = (size_t)rows * (size_t)stk__shape_values(in);
    struct data *d = &c->data;
    *d = (struct data){ .outputs = stk__shape_values(&model->node[model->n_nodes - 1].shape),
                        .shape = { rows, in->height, in->width, in->channels } };
    d->images = malloc(n * sizeof *d->images);
    d->bytes = malloc(n);
    d->labels = malloc((size_t)rows * sizeof *d->labels);
    d->targets = malloc((size_t)rows * (size_t)d->outputs * sizeof *d->targets);
    fill_images(c, n);
    for (int i = 0; i < rows; i++)
        d->labels[i] = (int32_t)((uint32_t)(next_value(c) * 1000 + 1000) % (uint32_t)d->outputs);
    for (int64_t i = 0; i < rows * d->outputs; i++)
        d->targets[i] = next_value(c) / 2 + 0.5f;
}

/* Biases, betas and statistics begin as 0 or 1, which would hide faults. */
static void shake_weights(struct case_run *c)
{
    for (int w = 0; w < stk_trainer_n_weights(c->trainer); w++) {
        struct stk_view view;
        const struct stk__weight *weight = &c->model->graph.weight[w];
        if (stk_trainer_weight(c->trainer, w, &view) || strcmp(view.name, weight->name) != 0)
            WRONG(c, "weight %d is not %s", w, weight->name);
        float *at = view.data;
        for (int64_t i = 0; i < weight->n_values; i++) {
            if (weight->role != STK__KERNEL)
                at[i] += 0.3f * (weight->role == STK__MOVING_VARIANCE ? fabsf(next_value(c))
                                                                      : next_value(c));
            c->reference.weight[w][i] = at[i];
        }
    }
    stk_trainer_changed(c->trainer);
}

static int open_case(struct case_run *c, const struct trial *trial, struct stk_error *err)
{
    const struct setting *s = c->setting;
    struct stk_trainer_options options = { .loss = trial->loss,
                                           .optimizer = s->optimizer,
                                           .precision = s->precision->name,
                                           .loss_scale = s->precision->loss_scale,
                                           .max_batch = s->max_batch,
                                           .threads = s->threads,
                                           .seed = 7,
                                           .deterministic = !s->is_measured };
    int rc = stk_model_new(trial->chain, &c->model, err);
    return rc ? rc : stk_trainer_new(c->model, &options, &c->trainer, err);
}

static void begin_case(struct case_run *c)
{
    const struct setting *s = c->setting;
    c->state = s->data;
    c->reference = reference_new(&c->model->graph, s->rows);
    c->reference.seed = 7;
    c->has_labels = c->trainer->loss.type->has_classes && !s->has_values;
    make_data(c);
    shake_weights(c);
    c->images = s->has_bytes ? stk_view_rows(c->data.bytes, STK_U8, 4, c->data.shape)
                             : stk_view_rows(c->data.images, STK_F32, 4, c->data.shape);
    c->targets = c->has_labels ? stk_view_rows(c->data.labels, STK_I32, 1, c->data.shape)
                               : stk_view_rows(c->data.targets, STK_F32, 2,
                                               (int64_t[]){ s->rows, c->data.outputs });
}

static void end_case(struct case_run *c)
{
    stk_trainer_free(c->trainer);
    if (c->reference.model)
        reference_free(&c->reference);
    free(c->data.images);
    free(c->data.bytes);
    free(c->data.labels);
    free(c->data.targets);
    stk_model_free(c->model);
}

static double loss_of(struct case_run *c)
{
    reference_forward(&c->reference, c->data.images);
    return reference_loss(&c->reference, &c->trainer->loss, c->has_labels ? c->data.labels : NULL,
                          c->data.targets);
}

/* ---- noise ---- */

enum { N_NOISES = 4, NOISE_FACTOR = 4 };

/* How far something that the reference says is from `want` when values are off by as much as the precision
 * allows: the most of some trials. */
static double spread(struct case_run *c, double (*value)(struct case_run *, const void *),
                     const void *of, double want)
{
    double most = 0;
    if (!c->setting->is_tolerant)
        return 0;
    c->reference.noise = c->precision->noise;
    for (c->reference.noise_seed = 1; c->reference.noise_seed <= N_NOISES;
         c->reference.noise_seed++)
        most = fmax(most, fabs(value(c, of) - want));
    c->reference.noise = 0;
    return NOISE_FACTOR * most;
}

static bool is_near(struct case_run *c, double got, double want, double within,
                    double (*value)(struct case_run *, const void *), const void *of)
{
    if (fabs(got - want) <= within)
        return true;
    return isfinite(got) && fabs(got - want) <= within + spread(c, value, of, want);
}

/* ---- outputs and losses ---- */

static double output_value(struct case_run *c, const void *of)
{
    reference_forward(&c->reference, c->data.images);
    return c->reference.value[c->model->graph.n_nodes - 1][*(const size_t *)of];
}

static double loss_value(struct case_run *c, const void *of)
{
    (void)of;
    return loss_of(c);
}

static void check_loss(struct case_run *c, const char *what, double got, double want)
{
    double within = c->precision->output * (1 + fabs(want));
    if (!is_near(c, got, want, within, loss_value, NULL))
        WRONG(c, "%s is %.9g, not %.9g", what, got, want);
}

static void check_outputs(struct case_run *c, const float *outputs, size_t n)
{
    const double *values = c->reference.value[c->model->graph.n_nodes - 1];
    double *want = malloc(n * sizeof *want);
    memcpy(want, values, n * sizeof *want);
    for (size_t i = 0; i < n && c->n_wrong == 0; i++)
        if (!is_near(c, outputs[i], want[i], c->precision->output * (1 + fabs(want[i])),
                     output_value, &i))
            WRONG(c, "output %zu is %.9g, not %.9g", i, outputs[i], want[i]);
    free(want);
}

static int check_use(struct case_run *c, struct stk_error *err)
{
    size_t n = (size_t)c->reference.rows * (size_t)c->data.outputs;
    float *outputs = malloc(n * sizeof *outputs);
    struct stk_step step;
    int rc = stk_trainer_predict(c->trainer, &c->images, outputs, err);
    if (!rc)
        rc = stk_trainer_eval(c->trainer, &c->images, &c->targets, &step, err);
    c->reference.trains = false;
    double want = loss_of(c);
    if (!rc) {
        check_outputs(c, outputs, n);
        check_loss(c, "the loss of eval", step.loss, want);
    }
    c->reference.trains = true;
    free(outputs);
    return rc;
}

/* ---- gradients ---- */

/* A weight's value, or all of them at once, each more or less by chance. */
struct direction {
    int weight;
    int64_t at; /* -1: all */
};

static double part_of(const struct direction *d, int64_t i)
{
    if (d->at >= 0)
        return i == d->at;
    return stk__hash_bytes(3, &i, sizeof i) & 1 ? 1 : -1;
}

static double loss_beside(struct case_run *c, const struct direction *d, double h)
{
    double *values = c->reference.weight[d->weight];
    int64_t n = c->model->graph.weight[d->weight].n_values;
    double *kept = malloc((size_t)n * sizeof *kept);
    memcpy(kept, values, (size_t)n * sizeof *kept);
    for (int64_t i = 0; i < n; i++)
        values[i] += h * part_of(d, i);
    double loss = loss_of(c);
    memcpy(values, kept, (size_t)n * sizeof *kept);
    free(kept);
    return loss;
}

/* The derivative, by a difference so small that few kinks are within its reach. */
static double slope(struct case_run *c, const void *of)
{
    const double h = 1e-7;
    return (loss_beside(c, of, h) - loss_beside(c, of, -h)) / (2 * h);
}

static double greatest_gradient(struct case_run *c, int weight)
{
    const struct stk__weight *of = &c->model->graph.weight[weight];
    struct stk_view view;
    double greatest = 0;
    if (stk_trainer_gradient(c->trainer, weight, &view))
        return 0;
    for (int64_t i = 0; i < of->n_values; i++)
        greatest = fmax(greatest, fabs(((float *)view.data)[i]));
    return greatest;
}

/* Gradients of few large ones that cancel out are as far off as those were. */
static double gradient_tolerance(struct case_run *c, int weight)
{
    double own = fmax(greatest_gradient(c, weight), 1e-3), all = 0;
    for (int w = 0; w < c->model->graph.n_weights; w++)
        all = fmax(all, greatest_gradient(c, w));
    return c->precision->gradient * (own + all * c->precision->of_all) + 1e-6;
}

static void check_direction(struct case_run *c, const float *gradient, struct direction d,
                            double within)
{
    const struct stk__weight *of = &c->model->graph.weight[d.weight];
    double got = 0, want = slope(c, &d);
    for (int64_t i = 0; i < of->n_values; i++)
        got += gradient[i] * part_of(&d, i);
    if (!is_near(c, got, want, within, slope, &d))
        WRONG(c, "gradient of %s[%lld] is %.9g, not %.9g", of->name, (long long)d.at, got, want);
}

static void check_gradient(struct case_run *c, int weight)
{
    int most = c->setting->is_tolerant ? 3 : 7;
    const struct stk__weight *of = &c->model->graph.weight[weight];
    struct stk_view view;
    int rc = stk_trainer_gradient(c->trainer, weight, &view);
    if (rc != (of->is_trainable ? STK_OK : STK_STATE))
        WRONG(c, "the gradient of %s: status %d", of->name, rc);
    if (rc)
        return;
    double within = gradient_tolerance(c, weight);
    int64_t by = of->n_values > most ? of->n_values / most : 1;
    for (int64_t i = of->n_values - 1; i >= 0; i -= by)
        check_direction(c, view.data, (struct direction){ weight, i }, within);
    check_direction(c, view.data, (struct direction){ weight, -1 },
                    within * (1 + sqrt((double)of->n_values)));
}

/* ---- statistics ---- */

static double kept_variance(const struct case_run *c, const struct stk__model_node *node,
                            int64_t channel)
{
    double n = (double)(c->reference.rows * node->shape.height * node->shape.width);
    double variance = c->reference.variance[node - c->model->graph.node][channel];
    return node->is_unbiased && n > 1 ? variance * n / (n - 1) : variance;
}

/* A statistic as the reference has it after a step. */
static double statistic(struct case_run *c, const void *of)
{
    const struct direction *d = of;
    const struct stk__weight *weight = &c->model->graph.weight[d->weight];
    const struct stk__model_node *node = &c->model->graph.node[weight->node];
    reference_forward(&c->reference, c->data.images);
    double batch = weight->role == STK__MOVING_MEAN ? c->reference.mean[weight->node][d->at]
                                                    : kept_variance(c, node, d->at);
    return c->reference.weight[d->weight][d->at] * node->momentum + batch * (1 - node->momentum);
}

/* Moving statistics follow those of the batch. */
static void check_statistics(struct case_run *c, int weight)
{
    const struct stk__weight *of = &c->model->graph.weight[weight];
    struct stk_view view;
    stk_trainer_weight(c->trainer, weight, &view);
    for (int64_t i = 0; i < of->n_values; i++) {
        struct direction at = { weight, i };
        double want = statistic(c, &at), got = ((float *)view.data)[i];
        if (!is_near(c, got, want, c->precision->statistic * (1 + fabs(want)), statistic, &at))
            WRONG(c, "%s[%lld] is %.9g, not %.9g", of->name, (long long)i, got, want);
    }
}

/* ---- a step ---- */

/* Everything as before the gradients, which are kept: dropout draws the same again. */
static double **take_gradients(struct case_run *c)
{
    int n = c->model->graph.n_weights;
    double **kept = calloc((size_t)n + 1, sizeof *kept);
    struct stk_trainer_counts counts;
    for (int w = 0; w < n; w++) {
        int64_t n_values = c->model->graph.weight[w].n_values;
        struct stk_view view, gradient;
        stk_trainer_weight(c->trainer, w, &view);
        bool has_gradient = stk_trainer_gradient(c->trainer, w, &gradient) == STK_OK;
        kept[w] = calloc((size_t)n_values, sizeof **kept);
        for (int64_t i = 0; i < n_values; i++) {
            kept[w][i] = has_gradient ? ((float *)gradient.data)[i] : 0;
            ((float *)view.data)[i] = (float)c->reference.weight[w][i];
        }
    }
    stk_trainer_changed(c->trainer);
    stk_trainer_get_counts(c->trainer, &counts);
    counts.batches = 0;
    if (stk_trainer_set_counts(c->trainer, &counts, NULL))
        WRONG(c, "counts cannot be set");
    return kept;
}

/* What the first step of an optimizer takes from a weight: adam moves by the sign of what is not tiny. */
static double first_change(const struct setting *s, double gradient)
{
    bool is_adam = !strncmp(s->optimizer, "adam", 4);
    return s->rate * (is_adam ? gradient / (fabs(gradient) + 1e-7 / sqrt(1 - 0.999)) : gradient);
}

static void check_updated(struct case_run *c, int weight, const double *gradient)
{
    const struct stk__weight *of = &c->model->graph.weight[weight];
    struct stk_view view;
    double greatest = 0;
    stk_trainer_weight(c->trainer, weight, &view);
    for (int64_t i = 0; i < of->n_values; i++)
        greatest = fmax(greatest, fabs(first_change(c->setting, gradient[i])));
    for (int64_t i = 0; of->is_trainable && i < of->n_values; i++) {
        double before = c->reference.weight[weight][i];
        double want = before - first_change(c->setting, gradient[i]);
        double got = ((float *)view.data)[i];
        if (!(fabs(got - want) <= 1e-3 * greatest + 1e-6 * (1 + fabs(before)))) {
            WRONG(c, "%s[%lld] is %.9g after a step, not %.9g", of->name, (long long)i, got, want);
            return;
        }
    }
}

static int check_step(struct case_run *c, struct stk_error *err)
{
    struct stk_step step;
    if (!c->setting->optimizer)
        return STK_OK;
    double **gradient = take_gradients(c);
    int rc = stk_trainer_step(c->trainer, &c->images, &c->targets, &step, err);
    for (int w = 0; w < c->model->graph.n_weights; w++) {
        if (!rc)
            check_updated(c, w, gradient[w]);
        free(gradient[w]);
    }
    free(gradient);
    if (!rc && step.is_skipped)
        WRONG(c, "the step was left out");
    return rc;
}

/* ---- all of it ---- */

static int check_all(struct case_run *c, struct stk_error *err)
{
    struct stk_step step;
    int rc = check_use(c, err);
    if (!rc)
        rc = stk_trainer_gradients(c->trainer, &c->images, &c->targets, &step, err);
    if (rc)
        return rc;
    check_loss(c, "the loss", step.loss, loss_of(c));
    for (int w = 0; w < c->model->graph.n_weights; w++)
        if (!c->model->graph.weight[w].is_trainable)
            check_statistics(c, w);
    for (int w = 0; w < c->model->graph.n_weights; w++)
        check_gradient(c, w);
    return check_step(c, err);
}

int run_case(const struct trial *trial, const struct setting *setting, struct stk__text *report)
{
    struct case_run c = {
        .chain = trial->chain, .setting = setting, .precision = setting->precision, .report = report
    };
    struct stk_error err = { 0 };
    int rc = open_case(&c, trial, &err);
    if (!rc) {
        begin_case(&c);
        rc = check_all(&c, &err);
    }
    if (rc)
        WRONG(&c, "%s", err.text);
    end_case(&c);
    return c.n_wrong;
}
