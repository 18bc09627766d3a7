/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_state.c: what a trainer holds, as arrays and numbers. */
#include "train/trainer/trainer.h"

#include "base/error.h"
#include "base/json_out.h"
#include "train/model/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void stk_trainer_shapes(const struct stk_trainer *t, int64_t input[3], int64_t *outputs)
{
    const struct stk__shape *shape = &t->model->node[0].shape;
    input[0] = shape->height;
    input[1] = shape->width;
    input[2] = shape->channels;
    *outputs = stk__shape_values(&t->model->node[t->model->n_nodes - 1].shape);
}

enum stk_output_kind stk_trainer_output_kind(const struct stk_trainer *trainer)
{
    const struct stk__model *model = trainer->model;
    enum stk__probability end = stk__model_output_probability(model);
    bool is_one = stk__shape_values(&model->node[model->n_nodes - 1].shape) == 1;
    if (end == STK__PROBABILITY_SIGMOID)
        return STK_OUTPUT_BINARY;
    if (end == STK__PROBABILITY_PARTS) /* no one class out of all of them */
        return STK_OUTPUT_VALUES;
    if (trainer->loss.type->activation == STK__SIGMOID)
        return STK_OUTPUT_BINARY_LOGITS;
    if (trainer->loss.type->activation == STK__LINEAR && end != STK__PROBABILITY_SOFTMAX)
        return STK_OUTPUT_VALUES;
    if (is_one) /* one class out of one says nothing */
        return STK_OUTPUT_VALUES;
    return end == STK__PROBABILITY_SOFTMAX ? STK_OUTPUT_PROBABILITIES : STK_OUTPUT_LOGITS;
}

/* ---- weights ---- */

struct stk__weights stk__trainer_weights(const struct stk_trainer *trainer)
{
    return (struct stk__weights){ trainer->model, trainer->weight };
}

static struct stk_view view_of(const struct stk_trainer *t, int weight, const char *name, float *at)
{
    const struct stk__weight *w = &t->model->weight[weight];
    struct stk_view view = stk_view_rows(at, STK_F32, w->rank, w->shape);
    view.name = name;
    return view;
}

int stk_trainer_n_weights(const struct stk_trainer *t)
{
    return t->model->n_weights;
}

int stk_trainer_weight(struct stk_trainer *t, int index, struct stk_view *out)
{
    if (index < 0 || index >= t->model->n_weights)
        return STK_END;
    *out = view_of(t, index, t->model->weight[index].name, t->weight[index]);
    return STK_OK;
}

int stk_trainer_find_weight(struct stk_trainer *t, const char *name, int *index,
                            struct stk_error *err)
{
    *index = stk__model_find_weight(t->model, name);
    return *index >= 0 ? STK_OK : stk_fail(err, STK_NAME, "the model has no weight \"%s\"", name);
}

bool stk_trainer_is_trainable(const struct stk_trainer *t, int index)
{
    return index >= 0 && index < t->model->n_weights && t->model->weight[index].is_trainable;
}

void stk_trainer_changed(struct stk_trainer *t)
{
    t->packed_for = 0;
}

/* Gradients are read without their scale: it is undone once, in place. */
static void unscale(struct stk_trainer *t)
{
    float factor = (float)(1 / (double)t->gradient_scale);
    for (size_t i = 0; t->gradient_scale != 1 && i < t->gradients.bytes / sizeof(float); i++)
        t->gradients.at[i] *= factor;
    t->gradient_scale = 1;
}

int stk_trainer_gradient(struct stk_trainer *t, int index, struct stk_view *out)
{
    if (index < 0 || index >= t->model->n_weights)
        return STK_END;
    if (!t->gradient[index] || !t->seen_gradients)
        return STK_STATE;
    if (t->updates.of[index].is_used_up) {
        t->stores_gradients = true;
        return STK_STATE;
    }
    unscale(t);
    *out = view_of(t, index, t->model->weight[index].name, t->gradient[index]);
    return STK_OK;
}

/* ---- everything ---- */

static int n_slots(const struct stk_trainer *t)
{
    return t->plan.trains ? stk__optimizer_slots(&t->optimizer) : 0;
}

static int n_trainable(const struct stk_trainer *t)
{
    int n = 0;
    for (int w = 0; w < t->model->n_weights; w++)
        n += t->model->weight[w].is_trainable;
    return n;
}

int stk_trainer_n_state(const struct stk_trainer *t)
{
    return t->model->n_weights + n_slots(t) * n_trainable(t);
}

static int nth_trainable(const struct stk_trainer *t, int n)
{
    int w = 0;
    while (!t->model->weight[w].is_trainable || n-- > 0)
        w++;
    return w;
}

int stk_trainer_state(struct stk_trainer *t, int index, struct stk_view *out)
{
    static const char *const slots[] = { "first", "second" };
    int n = n_trainable(t), of = index - t->model->n_weights;
    if (index < 0 || index >= stk_trainer_n_state(t))
        return STK_END;
    if (of < 0)
        return stk_trainer_weight(t, index, out);
    int weight = nth_trainable(t, of % n), slot = of / n;
    const char **name = &t->slot_name[slot][weight];
    if (!*name)
        *name = stk__arena_printf(&t->arena, "optimizer/%s/%s", slots[slot],
                                  t->model->weight[weight].name);
    if (!*name)
        return STK_MEMORY;
    *out = view_of(t, weight, *name, t->updates.of[weight].slot[slot]);
    return STK_OK;
}

void stk_trainer_get_counts(const struct stk_trainer *t, struct stk_trainer_counts *out)
{
    *out = (struct stk_trainer_counts){ .step = t->step,
                                        .batches = t->n_batches,
                                        .loss_scale = t->has_scale ? t->scale.scale : 1,
                                        .good_steps = t->has_scale ? t->scale.good_steps : 0,
                                        .seed = t->options.seed };
}

int stk_trainer_set_counts(struct stk_trainer *t, const struct stk_trainer_counts *counts,
                           struct stk_error *err)
{
    if (counts->step < 0 || counts->batches < 0 || counts->good_steps < 0)
        return stk_fail(err, STK_VALUE, "a trainer's counts cannot be below 0");
    if (t->has_scale && !(counts->loss_scale > 0))
        return stk_fail(err, STK_VALUE, "a loss scale is above 0, not %f",
                        (double)counts->loss_scale);
    t->step = counts->step;
    t->n_batches = counts->batches;
    t->options.seed = counts->seed;
    if (t->has_scale) {
        t->scale.scale = counts->loss_scale;
        t->scale.good_steps = counts->good_steps;
    }
    return STK_OK;
}

void stk_trainer_options_in_force(const struct stk_trainer *t, struct stk_trainer_options *out)
{
    *out = t->options;
}

static size_t tensor_bytes(const struct stk__step_plan *plan)
{
    const struct stk__step_program *train = &plan->train, *use = &plan->use;
    return train->arena_bytes > use->arena_bytes ? train->tensor_bytes : use->tensor_bytes;
}

void stk_trainer_memory(const struct stk_trainer *t, struct stk_trainer_bytes *out)
{
    *out = (struct stk_trainer_bytes){
        .weights = (int64_t)t->weights.bytes,
        .gradients = (int64_t)(t->gradients.bytes + t->sums.bytes),
        .optimizer = (int64_t)(t->first.bytes + t->second.bytes),
        .packed = (int64_t)t->packed.bytes,
        .activations = (int64_t)tensor_bytes(&t->plan),
    };
    out->scratch = (int64_t)t->tensors.bytes - out->activations;
    out->total = out->weights + out->gradients + out->optimizer + out->packed + out->activations +
                 out->scratch;
}

char *stk_trainer_plan(const struct stk_trainer *t)
{
    struct stk__text out = { 0 };
    stk__step_plan_text(&t->plan, t->options.max_batch, &out);
    return stk__text_take(&out);
}

/* ---- times ---- */

static double seconds_of(const struct stk_trainer *t, int group, bool is_backward)
{
    const struct stk__step_program *program = &t->plan.train;
    double sum = 0;
    for (int op = 0; op < program->n_ops; op++)
        for (int i = 0; i < t->plan.n_threads; i++)
            if (program->op[op].group == group && program->op[op].is_backward == is_backward)
                sum += t->seconds[op * t->plan.n_threads + i];
    return sum;
}

char *stk_trainer_times_json(struct stk_trainer *t)
{
    struct stk__text out = { .is_tight = true };
    size_t n = (size_t)t->plan.train.n_ops * (size_t)t->plan.n_threads;
    bool is_first = !t->seconds;
    if (is_first)
        t->seconds = calloc(n ? n : 1, sizeof *t->seconds);
    if (!t->seconds)
        return NULL;
    stk__json_open(&out, NULL, '[');
    for (int g = -1; !is_first && g < t->plan.n_groups; g++) {
        const char *name =
            g < 0 ? t->loss.type->decl.name : t->model->node[t->plan.group[g].node].name;
        if (g >= 0)
            stk__json_line(&out, 1);
        stk__json_open(&out, NULL, '{');
        stk__json_string(&out, "name", name);
        stk__json_fixed(&out, "forward", seconds_of(t, g, false), 6);
        stk__json_fixed(&out, "backward", seconds_of(t, g, true), 6);
        stk__json_close(&out, '}');
    }
    stk__json_close(&out, ']');
    memset(t->seconds, 0, n * sizeof *t->seconds);
    return stk__text_take(&out);
}
