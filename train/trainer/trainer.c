/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c: options of a trainer, and the memory of everything it has. */
#define _GNU_SOURCE
#include "train/trainer/trainer.h"

#include "base/cgroup.h"
#include "base/cores.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/memory/pages.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

typedef int read_fn(struct stk_trainer *t, const struct stk_value *value, struct stk_error *err);

static int read_optimizer(struct stk_trainer *t, const struct stk_value *value,
                          struct stk_error *err)
{
    return stk__optimizer_read(value, &t->arena, &t->optimizer, err);
}

static int read_loss(struct stk_trainer *t, const struct stk_value *value, struct stk_error *err)
{
    return stk__loss_read(value, &t->arena, &t->loss, err);
}

static int read_scale(struct stk_trainer *t, const struct stk_value *value, struct stk_error *err)
{
    t->has_scale = true;
    return stk__loss_scale_read(value, &t->arena, &t->scale, err);
}

static int read_text(struct stk_trainer *t, const char *what, const char **text,
                     const char *otherwise, read_fn *read, struct stk_error *err)
{
    const struct stk_value *value;
    const char *from = *text ? *text : otherwise;
    if (!from[strspn(from, " \t\n")])
        return stk_fail(err, STK_VALUE, "%s: the text is empty; it is a call such as %s", what,
                        otherwise);
    *text = stk__arena_text_n(&t->arena, from, strlen(from));
    if (!*text)
        return stk__out_of_memory(err);
    int rc = stk__parse(*text, NULL, &t->arena, &value, err);
    if (!rc)
        rc = read(t, value, err);
    if (rc && rc != STK_MEMORY && err)
        stk__error_prefix(err, "%s: ", what);
    return rc;
}

static int read_precision(struct stk_trainer *t, struct stk_error *err)
{
    static const struct {
        const char *name;
        int dtype;
    } precisions[] = { { "float32", STK_F32 },
                       { "mixed_float16", STK_F16 },
                       { "mixed_bfloat16", STK_BF16 } };
    const char *text = t->options.precision ? t->options.precision : "float32";
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        if (!strcmp(text, precisions[i].name)) {
            t->options.precision = precisions[i].name;
            t->dtype = precisions[i].dtype;
            return STK_OK;
        }
    return stk_fail(err, STK_VALUE,
                    "precision: \"%s\" is none of float32, mixed_float16 and mixed_bfloat16", text);
}

static int read_numbers(struct stk_trainer *t, struct stk_error *err)
{
    struct stk_trainer_options *o = &t->options;
    if (o->max_batch == 0)
        o->max_batch = 32;
    if (o->threads == 0) {
        int usable = stk__cores_count("").usable;
        o->threads = usable < STK__MOST_THREADS ? usable : STK__MOST_THREADS;
    }
    if (o->max_batch < 1 || o->max_batch > 1 << 24)
        return stk_fail(err, STK_VALUE, "max_batch: %lld is not from 1 to %d",
                        (long long)o->max_batch, 1 << 24);
    if (o->threads < 1 || o->threads > STK__MOST_THREADS)
        return stk_fail(err, STK_VALUE, "threads: %d is not from 1 to %d", o->threads,
                        STK__MOST_THREADS);
    if (o->on_nonfinite != STK_NONFINITE_FAIL && o->on_nonfinite != STK_NONFINITE_SKIP)
        return stk_fail(err, STK_VALUE, "on_nonfinite: %d is not a valid value", o->on_nonfinite);
    if (o->memory_bytes < 0)
        return stk_fail(err, STK_VALUE, "memory_bytes: %lld is below 0",
                        (long long)o->memory_bytes);
    return STK_OK;
}

/* A number is a fixed scale. */
static int name_number(struct stk_trainer *t, const char **text, struct stk_error *err)
{
    if (!**text || strspn(*text, "0123456789.eE+-") != strlen(*text))
        return STK_OK;
    *text = stk__arena_printf(&t->arena, "fixed(%s)", *text);
    return *text ? STK_OK : stk__out_of_memory(err);
}

static int read_options(struct stk_trainer *t, struct stk_error *err)
{
    struct stk_trainer_options *o = &t->options;
    int rc = read_numbers(t, err);
    if (!rc)
        rc = read_precision(t, err);
    if (!rc)
        rc = read_text(t, "optimizer", &o->optimizer, "adam()", read_optimizer, err);
    if (!rc)
        rc = read_text(t, "loss", &o->loss, "cross_entropy()", read_loss, err);
    if (!o->loss_scale && t->dtype == STK_F16)
        o->loss_scale = "dynamic()";
    bool is_scaled = o->loss_scale && strcmp(o->loss_scale, "none") != 0;
    if (!rc && is_scaled)
        rc = name_number(t, &o->loss_scale, err);
    if (!rc && is_scaled)
        rc = read_text(t, "loss_scale", &o->loss_scale, "dynamic()", read_scale, err);
    else if (!is_scaled)
        o->loss_scale = t->dtype == STK_F16 ? "none" : NULL; /* of what is no default */
    return rc;
}

int stk__trainer_check_loss(const struct stk_trainer *t, struct stk_error *err)
{
    int64_t outputs = stk__shape_values(&t->model->node[t->model->n_nodes - 1].shape);
    int rc = stk__loss_check_model(&t->loss, t->model, err);
    if (rc && err)
        err->at = err->len = 0; /* of the model's text, which the caller may not have */
    if (rc || !t->loss.n_classes || t->loss.n_classes == outputs)
        return rc;
    return stk_fail(err, STK_VALUE,
                    "loss: there are %d class weights, and the model has %lld outputs",
                    t->loss.n_classes, (long long)outputs);
}

/* ---- memory ---- */

static size_t aligned(int64_t n_values)
{
    return ((size_t)n_values + 15) / 16 * 16;
}

/* Weights first, then those that are none of an optimizer's. */
static size_t floats_of(const struct stk_trainer *t, bool of_trainable)
{
    size_t n = 0;
    for (int w = 0; w < t->model->n_weights; w++)
        if (t->model->weight[w].is_trainable || !of_trainable)
            n += aligned(t->model->weight[w].n_values);
    return n;
}

static int take(struct stk__floats *out, size_t n_floats, struct stk_error *err)
{
    if (n_floats == 0)
        return STK_OK;
    out->at = stk__memory_take(n_floats * sizeof(float));
    out->bytes = out->at ? n_floats * sizeof(float) : 0;
    return out->at ? STK_OK : stk__out_of_memory(err);
}

static size_t tensor_bytes(const struct stk__step_plan *plan)
{
    return plan->train.arena_bytes > plan->use.arena_bytes ? plan->train.arena_bytes
                                                           : plan->use.arena_bytes;
}

/* Floats besides tensors. */
struct sizes {
    size_t weights, trained, packed, sums;
    int n_slots;
};

static struct sizes sizes_of(const struct stk_trainer *t)
{
    bool trains = t->plan.trains;
    return (struct sizes){ .weights = floats_of(t, false),
                           .trained = trains ? floats_of(t, true) : 0,
                           .packed = t->plan.packed_floats,
                           .sums = trains ? (size_t)t->plan.n_threads * t->plan.sums_floats : 0,
                           .n_slots = trains ? stk__optimizer_slots(&t->optimizer) : 0 };
}

static size_t fixed_bytes(const struct sizes *s)
{
    return (s->weights + s->trained * (size_t)(1 + s->n_slots) + s->packed + s->sums) *
           sizeof(float);
}

static int64_t memory_limit(const struct stk_trainer *t)
{
    struct stk__cgroup group;
    int64_t left = stk__memory_available("");
    if (t->options.memory_bytes > 0)
        return t->options.memory_bytes;
    stk__cgroup_read("", &group);
    if (group.memory_left >= 0 && (left < 0 || group.memory_left < left))
        left = group.memory_left;
    return left < 0 ? INT64_MAX : left;
}

/* What tensors take for batches of another size; 0: out of memory. */
static size_t tensor_bytes_at(struct stk_trainer *t, int64_t batch)
{
    if (t->plan.trains && stk__program_layout(&t->plan, &t->plan.train, batch, NULL))
        return 0;
    return stk__program_layout(&t->plan, &t->plan.use, batch, NULL) ? 0 : tensor_bytes(&t->plan);
}

static int check_fits(struct stk_trainer *t, const struct sizes *sizes, struct stk_error *err)
{
    int64_t limit = memory_limit(t), fixed = (int64_t)fixed_bytes(sizes);
    int64_t all = fixed + (int64_t)tensor_bytes(&t->plan), low = 0, high = t->options.max_batch;
    if (all <= limit)
        return STK_OK;
    while (high - low > 1) { /* low fits, high does not */
        int64_t middle = low + (high - low) / 2;
        int64_t bytes = (int64_t)tensor_bytes_at(t, middle);
        if (bytes > 0 && fixed + bytes <= limit)
            low = middle;
        else
            high = middle;
    }
    if (low == 0)
        return stk_fail(err, STK_BUDGET,
                        "the model takes %.0f MB with batches of %lld; there are %.0f MB, which is "
                        "not enough for one image: weights, gradients and the optimizer's state "
                        "alone take %.0f MB",
                        (double)all / 1e6, (long long)t->options.max_batch, (double)limit / 1e6,
                        (double)fixed / 1e6);
    return stk_fail(err, STK_BUDGET,
                    "the model takes %.0f MB with batches of %lld; there are %.0f MB, which is "
                    "enough for batches of %lld",
                    (double)all / 1e6, (long long)t->options.max_batch, (double)limit / 1e6,
                    (long long)low);
}

static int take_blocks(struct stk_trainer *t, const struct sizes *s, struct stk_error *err)
{
    int rc = take(&t->weights, s->weights, err);
    if (!rc)
        rc = take(&t->gradients, s->trained, err);
    if (!rc && s->n_slots > 0)
        rc = take(&t->first, s->trained, err);
    if (!rc && s->n_slots > 1)
        rc = take(&t->second, s->trained, err);
    if (!rc)
        rc = take(&t->packed, s->packed, err);
    if (!rc)
        rc = take(&t->sums, s->sums, err);
    if (!rc)
        rc = take(&t->tensors, (tensor_bytes(&t->plan) + sizeof(float) - 1) / sizeof(float), err);
    return rc;
}

/* ---- arrays ---- */

static void *rows(struct stk_trainer *t, size_t n, size_t bytes)
{
    return stk_arena_alloc(&t->arena, (n ? n : 1) * bytes);
}

static int take_tables(struct stk_trainer *t, struct stk_error *err)
{
    size_t n = (size_t)t->model->n_weights, threads = (size_t)t->plan.n_threads;
    size_t channels = (size_t)t->model->node[0].shape.channels;
    t->weight = rows(t, n, sizeof *t->weight);
    t->gradient = rows(t, n, sizeof *t->gradient);
    t->updates = (struct stk__updates){ .optimizer = &t->optimizer,
                                        .n_weights = (int)n,
                                        .of = rows(t, n, sizeof *t->updates.of),
                                        .used = rows(t, n, sizeof *t->updates.used) };
    t->slot_name[0] = rows(t, n, sizeof *t->slot_name[0]);
    t->slot_name[1] = rows(t, n, sizeof *t->slot_name[1]);
    t->thread_sums = rows(t, threads, sizeof *t->thread_sums);
    t->found = rows(t, threads, sizeof *t->found);
    t->squares = rows(t, threads, 64);
    t->image_scale = rows(t, channels, sizeof *t->image_scale);
    t->image_offset = rows(t, channels, sizeof *t->image_offset);
    if (!t->weight || !t->gradient || !t->updates.of || !t->updates.used || !t->slot_name[0] ||
        !t->slot_name[1] || !t->thread_sums || !t->found || !t->squares || !t->image_scale ||
        !t->image_offset)
        return stk__out_of_memory(err);
    for (size_t c = 0; c < channels; c++)
        t->image_scale[c] = 1;
    return STK_OK;
}

static void clear(const struct stk__floats *floats)
{
    if (floats->at)
        memset(floats->at, 0, floats->bytes);
}

static void find_weights(struct stk_trainer *t)
{
    size_t at = 0, trained = 0;
    for (int w = 0; w < t->model->n_weights; w++) {
        const struct stk__weight *weight = &t->model->weight[w];
        t->weight[w] = t->updates.used[w] = t->weights.at + at;
        t->updates.of[w] = stk__update_of(t->weight[w], NULL, NULL);
        at += aligned(weight->n_values);
        if (!weight->is_trainable || !t->plan.trains)
            continue;
        t->n_trainable += weight->n_values;
        t->gradient[w] = t->gradients.at + trained;
        t->updates.of[w] = stk__update_of(t->weight[w], t->first.at ? t->first.at + trained : NULL,
                                          t->second.at ? t->second.at + trained : NULL);
        trained += aligned(weight->n_values);
    }
    for (int i = 0; i < t->plan.n_threads && t->sums.at; i++)
        t->thread_sums[i] = t->sums.at + (size_t)i * t->plan.sums_floats;
}

static void draw_weights(struct stk_trainer *t)
{
    for (int w = 0; w < t->model->n_weights; w++) {
        const struct stk__weight *weight = &t->model->weight[w];
        stk__initializer_fill(&weight->initializer, t->options.seed, weight->name, 0,
                              weight->n_values, t->weight[w]);
    }
    clear(&t->first);
    clear(&t->second);
}

static int take_memory(struct stk_trainer *t, struct stk_error *err)
{
    struct sizes sizes = sizes_of(t);
    int rc = check_fits(t, &sizes, err);
    if (!rc)
        rc = take_blocks(t, &sizes, err);
    if (!rc)
        rc = take_tables(t, err);
    if (!rc) {
        find_weights(t);
        draw_weights(t);
    }
    return rc;
}

/* ---- trainers ---- */

static int plan(struct stk_trainer *t, struct stk_error *err)
{
    struct stk__step_plan_options options = { .max_batch = t->options.max_batch,
                                              .n_threads = t->options.threads,
                                              .trains = !t->options.only_forward,
                                              .merges_last =
                                                  stk__loss_merges_last(&t->loss, t->model),
                                              .deterministic = t->options.deterministic,
                                              .puts_off =
                                                  !t->stores_gradients && stk__update_puts_off(t),
                                              .dtype = t->dtype };
    return stk__step_plan_make(&t->plan, t->model, &options, &t->arena, err);
}

int stk_trainer_new(const struct stk_model *model, const struct stk_trainer_options *options,
                    struct stk_trainer **out, struct stk_error *err)
{
    return stk__trainer_make(model, options, false, out, err);
}

int stk__trainer_make(const struct stk_model *model, const struct stk_trainer_options *options,
                      bool stores_gradients, struct stk_trainer **out, struct stk_error *err)
{
    struct stk_trainer *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return stk__out_of_memory(err);
    t->model = &model->graph;
    t->process = getpid();
    t->gradient_scale = 1;
    t->stores_gradients = stores_gradients;
    if (options)
        t->options = *options;
    stk__arena_init(&t->arena, 1 << 16);
    int rc = read_options(t, err);
    if (!rc && !t->options.only_forward) /* which may never ask for a loss */
        rc = stk__trainer_check_loss(t, err);
    if (!rc)
        rc = plan(t, err);
    if (!rc)
        rc = take_memory(t, err);
    if (!rc)
        rc = stk__team_new(t->options.threads, &t->team, err);
    if (!rc && t->plan.wants_rehearsal)
        rc = stk__trainer_rehearse(t, err);
    if (rc)
        stk_trainer_free(t);
    else
        *out = t;
    return rc;
}

static void give(const struct stk__floats *floats)
{
    stk__memory_free(floats->at, floats->bytes);
}

void stk_trainer_free(struct stk_trainer *t)
{
    if (!t)
        return;
    if (t->process == getpid())
        stk__team_free(t->team);
    if (t->plan.arena)
        stk__step_plan_close(&t->plan);
    give(&t->weights);
    give(&t->gradients);
    give(&t->first);
    give(&t->second);
    give(&t->packed);
    give(&t->sums);
    give(&t->tensors);
    free(t->seconds);
    stk__arena_free(&t->arena);
    free(t);
}
