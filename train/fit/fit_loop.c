/* SPDX-License-Identifier: Apache-2.0 */
/* fit_loop.c: the loop: batches, steps, epochs. */
#define _GNU_SOURCE
#include "train/fit/fit_inside.h"

#include "base/clock.h"
#include "train/loss/loss_scale.h"
#include "train/optimizer/optimizer.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 50 };

static double share_of(int64_t count, int64_t rows)
{
    return count < 0 ? NAN : (double)count / (double)rows;
}

struct stk_fit_means stk__fit_means(const struct stk__sums *sums)
{
    int64_t n = sums->rows;
    if (!n)
        return (struct stk_fit_means){ 0, NAN, NAN, NAN };
    return (struct stk_fit_means){ n, sums->loss / (double)n, share_of(sums->top1, n),
                                   share_of(sums->top5, n) };
}

void stk__sums_add(struct stk__sums *sums, const struct stk_step *step)
{
    sums->rows += step->rows;
    sums->top1 = step->top1 < 0 ? -1 : sums->top1 + step->top1;
    sums->top5 = step->top5 < 0 ? -1 : sums->top5 + step->top5;
    sums->loss += step->loss * (double)step->rows;
}

void stk__fit_tell(struct stk_fit *fit, const char *format, ...)
{
    size_t len = strlen(fit->message), size = sizeof fit->message;
    va_list args;
    if (len && len + 1 < size)
        len += (size_t)snprintf(fit->message + len, size - len, "\n");
    va_start(args, format);
    vsnprintf(fit->message + len, size - len, format, args);
    va_end(args);
}

/* ---- making one ---- */

static int set_option(struct stk_options *options, const char *name, int64_t value,
                      struct stk_error *err)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return stk_options_set(options, name, text, err);
}

/* Options that runs over train and valid share. */
static int base_options(const struct stk_fit *fit, struct stk_options **out, struct stk_error *err)
{
    const struct stk__recipe *r = &fit->recipe;
    struct stk_options *o = stk_options_new();
    int rc = o ? set_option(o, "seed", r->seed, err) : stk__out_of_memory(err);
    if (!rc && r->workers != STK_AUTO)
        rc = set_option(o, "workers", r->workers, err);
    if (!rc)
        rc = stk_options_set(o, "on_error", stk__on_error_names[r->on_error], err);
    if (!rc && r->max_errors < 1e300) {
        struct stk__text text = { 0 };
        stk__text_add_real(&text, r->max_errors);
        rc = text.failed ? stk__out_of_memory(err)
                         : stk_options_set(o, "max_errors", text.data, err);
        stk__text_free(&text);
    }
    *out = o;
    return rc;
}

static int make_options(struct stk_fit *fit, struct stk_error *err)
{
    const struct stk__recipe *r = &fit->recipe;
    int rc = base_options(fit, &fit->options, err);
    if (!rc && r->steps_per_epoch != STK_NONE)
        rc = stk_options_set(fit->options, "epochs", "none", err);
    else if (!rc)
        rc = set_option(fit->options, "epochs", r->epochs, err);
    return rc;
}

static int make_model(struct stk_fit *fit, struct stk_error *err)
{
    struct stk__recipe_piece *piece = &fit->model_piece;
    int rc = stk__recipe_piece(fit->text, fit->recipe.model, &fit->arena, piece, err);
    if (!rc && !piece->text)
        return stk_fail(err, STK_VALUE,
                        "the recipe names no model: model = input(28, 28, 1).….dense(10)");
    if (!rc)
        rc = stk__piece_fault(piece, stk_model_new(piece->text, &fit->model, err), err);
    return rc;
}

/* Calls are read before the trainer does, so that faults have their place. */
static int check_calls(struct stk_fit *fit, struct stk_error *err)
{
    const struct stk__recipe *r = &fit->recipe;
    struct stk__optimizer optimizer;
    struct stk__loss_scale scale;
    int rc = r->optimizer ? stk__optimizer_read(r->optimizer, &fit->arena, &optimizer, err) : 0;
    if (!rc && r->loss)
        rc = stk__loss_read(r->loss, &fit->arena, &fit->loss, err);
    if (!rc && r->loss_scale)
        rc = stk__loss_scale_read(r->loss_scale, &fit->arena, &scale, err);
    return rc;
}

/* What bytes of folded pipelines mean. */
static int multiply_bytes(struct stk_fit *fit, struct stk_error *err)
{
    int64_t n = fit->model->graph.node[0].shape.channels;
    float *scale = stk_arena_alloc(&fit->arena, sizeof *scale * (size_t)n * 2);
    if (!scale)
        return stk__out_of_memory(err);
    for (int64_t i = 0; i < n; i++)
        scale[i] = (float)fit->factor;
    return stk_trainer_affine(fit->trainer, scale, scale + n, (int)n, err);
}

static int make_trainer(struct stk_fit *fit, int64_t max_batch, bool only_forward,
                        struct stk_error *err)
{
    const struct stk__recipe *r = &fit->recipe;
    struct stk__recipe_piece optimizer, loss, scale;
    int rc = stk__recipe_piece(fit->text, r->optimizer, &fit->arena, &optimizer, err);
    if (!rc)
        rc = stk__recipe_piece(fit->text, r->loss, &fit->arena, &loss, err);
    if (!rc)
        rc = stk__recipe_piece(fit->text, r->loss_scale, &fit->arena, &scale, err);
    if (rc)
        return rc;
    const struct stk_trainer_options options = {
        .optimizer = optimizer.text,
        .loss = loss.text,
        .loss_scale = scale.text,
        .precision = stk__precision_names[r->precision],
        .max_batch = max_batch,
        .threads = r->threads == STK_AUTO ? 0 : (int)r->threads,
        .seed = (uint64_t)r->seed,
        .deterministic = r->deterministic,
        .only_forward = only_forward,
        .on_nonfinite = r->on_nonfinite ? STK_NONFINITE_SKIP : STK_NONFINITE_FAIL,
    };
    rc = stk_trainer_new(fit->model, &options, &fit->trainer, err);
    return rc || !fit->factor ? rc : multiply_bytes(fit, err);
}

static int load_weights(struct stk_fit *fit, struct stk_error *err)
{
    const struct stk_pairs *map = &fit->recipe.weights_map;
    struct stk_note *note = NULL;
    if (!fit->recipe.weights)
        return STK_OK;
    if (map->n && !(note = stk_arena_alloc(&fit->arena, sizeof *note * (size_t)map->n)))
        return stk__out_of_memory(err);
    for (int i = 0; i < map->n; i++)
        note[i] = (struct stk_note){ map->name[i], map->value[i] };
    return stk_trainer_load_weights(fit->trainer, fit->recipe.weights, note, map->n, err);
}

static int read_recipe(struct stk_fit *fit, const char *recipe, struct stk_error *err)
{
    fit->text = stk__arena_text_n(&fit->arena, recipe, strlen(recipe));
    if (!fit->text)
        return stk__out_of_memory(err);
    return stk__recipe_read(fit->text, &fit->arena, &fit->recipe, err);
}

static bool knows_accuracy(const struct stk_fit *fit)
{
    const struct stk__model *model = &fit->model->graph;
    return stk__loss_knows_accuracy(&fit->loss,
                                    stk__shape_values(&model->node[model->n_nodes - 1].shape));
}

/* Epochs cannot be compared by what is not there. */
static int check_monitor(const struct stk_fit *fit, struct stk_error *err)
{
    static const char *const names[] = { "auto", "valid_accuracy", "valid_loss", "train_loss" };
    int monitor = fit->recipe.monitor;
    int rc = STK_OK;
    if ((monitor == STK__VALID_ACCURACY || monitor == STK__VALID_LOSS) && !fit->valid)
        rc = stk_fail(err, STK_VALUE, "monitor = %s, but the recipe has no valid", names[monitor]);
    else if (monitor == STK__VALID_ACCURACY && !knows_accuracy(fit))
        rc = stk_fail(err, STK_VALUE,
                      "monitor = valid_accuracy, but %s knows no accuracy; valid_loss compares "
                      "losses",
                      fit->loss.type->decl.name);
    return rc ? stk__recipe_fail(fit->text, "monitor", rc, err) : STK_OK;
}

static int make_parts(struct stk_fit *fit, const struct stk_fit_options *options,
                      struct stk_error *err)
{
    char path[4096] = "";
    int rc = check_calls(fit, err);
    if (!rc)
        rc = make_model(fit, err);
    if (!rc)
        rc = stk__fit_open_data(fit, options, err);
    if (!rc)
        rc = stk__fit_check_data(fit, err);
    if (!rc)
        rc = check_monitor(fit, err);
    if (!rc && !options->train && !options->valid)
        rc = stk__fit_fold(fit, err);
    if (!rc)
        rc = make_options(fit, err);
    fit->restarts = options->restart;
    if (!rc && options->restart && options->resume)
        return stk_fail(err, STK_VALUE, "a training is resumed or restarted, not both");
    fit->dir =
        (struct stk__checkpoint_dir){ .path = fit->recipe.checkpoint, .keep = fit->recipe.keep };
    if (!rc && options->resume && !fit->recipe.checkpoint)
        return stk_fail(err, STK_VALUE,
                        "to go on, the recipe must say where checkpoints are: checkpoint = 'dir'");
    if (!rc && options->resume)
        rc = stk__fit_find(fit, options->resume_older, path, err);
    if (!rc && fit->progress.max_batch)
        rc = make_trainer(fit, fit->progress.max_batch, false, err);
    if (!rc && *path)
        rc = stk__fit_restore(fit, path, err);
    return rc;
}

/* Whether nothing is left to do before an epoch. */
static bool is_over(const struct stk_fit *fit, int64_t epoch)
{
    return fit->progress.is_stopped || fit->has_ended || epoch >= fit->recipe.epochs;
}

int stk_fit_new(const char *recipe, const struct stk_fit_options *options, struct stk_fit **out,
                struct stk_error *err)
{
    static const struct stk_fit_options none;
    struct stk_fit *fit = calloc(1, sizeof *fit);
    *out = NULL;
    if (!fit)
        return stk__out_of_memory(err);
    stk__arena_init(&fit->arena, 1 << 14);
    fit->log = -1;
    fit->progress.best = NAN;
    fit->loss = (struct stk__loss){ .type = &stk__loss_type_cross_entropy };
    int rc = read_recipe(fit, recipe, err);
    if (!rc)
        rc = make_parts(fit, options ? options : &none, err);
    if (rc) {
        stk_fit_free(fit);
        return rc;
    }
    int64_t count = stk_dataset_count(fit->train), given = fit->recipe.steps_per_epoch;
    fit->n_steps = given != STK_NONE ? given : count >= 0 ? count : -1;
    fit->phase = is_over(fit, fit->progress.epoch) ? STK__FIT_OVER : STK__FIT_FETCH;
    *out = fit;
    return STK_OK;
}

void stk_fit_free(struct stk_fit *fit)
{
    if (!fit)
        return;
    stk__fit_log_close(fit);
    stk_batch_unref(fit->next);
    stk_batch_unref(fit->last);
    stk_iterator_free(fit->valid_it);
    stk_iterator_free(fit->it);
    stk_trainer_free(fit->trainer);
    stk_model_free(fit->model);
    stk_dataset_unref(fit->train);
    stk_dataset_unref(fit->valid);
    stk_options_free(fit->options);
    stk_text_free(fit->state);
    free(fit->first_bad);
    stk__arena_free(&fit->arena);
    free(fit);
}

/* ---- the first batch ---- */

/* A training that begins anew takes the place of checkpoints: only where that is asked for. */
static int open_checkpoints(struct stk_fit *fit, struct stk_error *err)
{
    char path[4096];
    int rc = stk__checkpoint_dir_open(&fit->dir, err);
    if (rc || fit->state || fit->restarts)
        return rc;
    rc = stk__checkpoint_dir_newest(&fit->dir, path, err);
    if (!rc && *path)
        rc = stk_fail(err, STK_STATE,
                      "%.400s is there: resume (--resume) goes on from it, restart (--restart) "
                      "begins anew and takes the place of all checkpoints in %.400s",
                      path, fit->dir.path);
    return rc;
}

static int begin(struct stk_fit *fit, struct stk_error *err)
{
    int rc = fit->recipe.checkpoint ? open_checkpoints(fit, err) : STK_OK;
    if (!rc)
        rc = stk__fit_log_open(fit, err);
    if (!rc)
        rc = fit->state ? stk_iterator_resume(fit->train, fit->options, fit->state, &fit->it, err)
                        : stk_iterator_new(fit->train, fit->options, &fit->it, err);
    fit->began_ns = stk__clock_ns();
    return rc;
}

/* The trainer is made for the first batch, unless a checkpoint said for what. */
static int make_fresh(struct stk_fit *fit, struct stk_error *err)
{
    int64_t rows =
        fit->recipe.max_batch == STK_AUTO ? stk_batch_n_rows(fit->next) : fit->recipe.max_batch;
    int rc = make_trainer(fit, rows, false, err);
    if (!rc)
        rc = load_weights(fit, err);
    fit->progress.max_batch = rows;
    return rc;
}

/* ---- steps ---- */

static int wait_for(struct stk_fit *fit, struct stk_iterator *it, struct stk_batch **out,
                    struct stk_error *err)
{
    uint64_t before = stk__clock_ns();
    int rc = stk_iterator_poll(it, PATIENCE_MS, out, err);
    fit->waited_ns += stk__clock_ns() - before;
    return rc;
}

static int fail_rows(const struct stk_fit *fit, int64_t rows, struct stk_error *err)
{
    return stk_fail(err, STK_VALUE,
                    "a batch has %" PRId64 " rows, but the training was made for %" PRId64
                    "; max_batch = %" PRId64 " allows it",
                    rows, fit->progress.max_batch, rows);
}

/* Where a step failed: of the epoch, from 1. A trainer says which of its own it was, from 0. */
static void tell_place(const struct stk_fit *fit, struct stk_error *err)
{
    const char *behind = strncmp(err->text, "step ", 5) ? NULL : strstr(err->text, ": ");
    if (behind)
        memmove(err->text, behind + 2, strlen(behind + 2) + 1);
    stk__error_prefix(err, "epoch %" PRId64 ", step %" PRId64 ": ", fit->progress.epoch + 1,
                      fit->progress.step + 1);
}

static int make_step(struct stk_fit *fit, struct stk_error *err)
{
    struct stk_view images, labels;
    struct stk_step *s = &fit->result;
    uint64_t before = stk__clock_ns();
    int rc = fit->trainer ? STK_OK : make_fresh(fit, err);
    if (!rc)
        rc = stk__fit_views(fit, fit->next, 0, &images, &labels, err);
    if (!rc && stk_batch_n_rows(fit->next) > fit->progress.max_batch)
        rc = fail_rows(fit, stk_batch_n_rows(fit->next), err);
    else if (!rc && (rc = stk_trainer_step(fit->trainer, &images, &labels, s, err))) {
        stk__fit_blame(fit, fit->next, &labels, err);
        tell_place(fit, err);
    }
    if (rc)
        return rc;
    fit->stepped_ns += stk__clock_ns() - before;
    stk__fit_note_labels(fit, &labels);
    if (s->is_skipped)
        fit->progress.n_skipped++;
    else
        stk__sums_add(&fit->progress.train, s);
    fit->seen_rows += s->rows;
    fit->progress.step++;
    fit->progress.total_steps++;
    fit->has_saved = false;
    stk_batch_unref(fit->last);
    fit->last = fit->next;
    fit->next = NULL;
    return STK_OK;
}

static bool is_epoch_over(const struct stk_fit *fit)
{
    if (!fit->progress.step)
        return false;
    if (fit->n_steps >= 0 && fit->progress.step >= fit->n_steps)
        return true;
    struct stk_position position;
    if (!fit->next || fit->recipe.steps_per_epoch != STK_NONE)
        return false;
    stk_batch_position(fit->next, &position);
    return position.epoch > (uint64_t)fit->progress.epoch;
}

static int begin_validation(struct stk_fit *fit, struct stk_error *err)
{
    struct stk_options *options = NULL;
    stk__fit_end_labels(fit);
    fit->progress.valid = (struct stk__sums){ 0 };
    fit->phase = fit->valid ? STK__FIT_VALIDATE : STK__FIT_FINISH;
    if (!fit->valid)
        return STK_OK;
    int rc = base_options(fit, &options, err);
    if (!rc)
        rc = stk_iterator_new(fit->valid, options, &fit->valid_it, err);
    stk_options_free(options);
    return rc;
}

/* STK_AGAIN: the batch is not there yet. */
static int fetch_and_step(struct stk_fit *fit, struct stk_fit_event *out, struct stk_error *err)
{
    int rc = fit->it ? STK_OK : begin(fit, err);
    if (!rc && !fit->next)
        rc = wait_for(fit, fit->it, &fit->next, err);
    out->kind = STK_FIT_WAITING;
    if (rc == STK_AGAIN)
        return STK_OK;
    if (rc == STK_END && !fit->progress.total_steps)
        return stk_fail(err, STK_DATA, "train has no batches");
    if (rc == STK_END) {
        fit->has_ended = true;
        stk__fit_count_bad(fit);
        return fit->progress.step ? begin_validation(fit, err) : STK_END;
    }
    if (!rc && is_epoch_over(fit))
        return begin_validation(fit, err);
    if (!rc)
        rc = make_step(fit, err);
    if (!rc)
        stk__fit_count_bad(fit);
    out->kind = STK_FIT_STEP;
    if (!rc)
        rc = stk__fit_log_step(fit, err);
    int64_t every = fit->recipe.checkpoint_every;
    bool is_end = !rc && is_epoch_over(fit);
    if (!rc && !is_end && every != STK_NONE && fit->progress.total_steps % every == 0)
        rc = stk__fit_save(fit, false, err);
    return !rc && is_end ? begin_validation(fit, err) : rc;
}

/* ---- validation ---- */

/* Rows first … of a view. */
static struct stk_view part_of(const struct stk_view *view, int64_t first, int64_t n)
{
    struct stk_view part = *view;
    part.data = (char *)view->data + first * view->strides[0];
    part.shape[0] = n;
    return part;
}

/* A batch, in pieces where it is larger than those that are trained on. */
static int eval_batch(struct stk_fit *fit, const struct stk_batch *batch, int which,
                      struct stk__sums *sums, struct stk_error *err)
{
    struct stk_view images, labels;
    int64_t rows = stk_batch_n_rows(batch), most = fit->progress.max_batch;
    int rc = stk__fit_views(fit, batch, which, &images, &labels, err);
    for (int64_t at = 0; at < rows && !rc; at += most) {
        int64_t n = rows - at < most ? rows - at : most;
        struct stk_view x = part_of(&images, at, n), y = part_of(&labels, at, n);
        struct stk_step result;
        rc = stk_trainer_eval(fit->trainer, &x, &y, &result, err);
        if (!rc)
            stk__sums_add(sums, &result);
    }
    if (rc) {
        stk__fit_blame(fit, batch, &labels, err);
        stk__error_prefix(err, "%s: ", which ? "valid" : "train");
    }
    return rc;
}

static int validate(struct stk_fit *fit, struct stk_fit_event *out, struct stk_error *err)
{
    struct stk_batch *batch = NULL;
    int rc = stk_iterator_poll(fit->valid_it, PATIENCE_MS, &batch, err);
    out->kind = rc == STK_AGAIN ? STK_FIT_WAITING : STK_FIT_VALID;
    if (rc == STK_AGAIN)
        return STK_OK;
    if (!rc)
        rc = eval_batch(fit, batch, 1, &fit->progress.valid, err);
    stk_batch_unref(batch);
    if (rc == STK_END) {
        stk__fit_count_bad_valid(fit);
        stk_iterator_free(fit->valid_it);
        fit->valid_it = NULL;
        fit->phase = STK__FIT_FINISH;
        rc = STK_OK;
    }
    return rc;
}

/* ---- epochs ---- */

/* What epochs are compared by: more is better. */
static double score(const struct stk_fit *fit)
{
    const struct stk_fit_means train = stk__fit_means(&fit->progress.train);
    const struct stk_fit_means valid = stk__fit_means(&fit->progress.valid);
    int monitor = fit->recipe.monitor;
    if (monitor == STK__MONITOR_AUTO)
        monitor = !fit->valid           ? STK__TRAIN_LOSS
                  : knows_accuracy(fit) ? STK__VALID_ACCURACY
                                        : STK__VALID_LOSS;
    return monitor == STK__VALID_ACCURACY ? valid.accuracy
           : monitor == STK__VALID_LOSS   ? -valid.loss
                                          : -train.loss;
}

static bool judge_epoch(struct stk_fit *fit)
{
    struct stk__fit_progress *p = &fit->progress;
    double now = score(fit);
    bool is_best = isnan(p->best) ? !isnan(now) : now > p->best + fit->recipe.min_delta;
    p->bad_epochs = is_best ? 0 : p->bad_epochs + 1;
    if (is_best) {
        p->best = now;
        p->best_epoch = p->epoch;
    }
    bool is_stopped = fit->recipe.early_stop != STK_NONE && p->bad_epochs >= fit->recipe.early_stop;
    p->is_stopped = is_stopped;
    if (is_stopped)
        stk__fit_tell(fit,
                      "%" PRId64 " epochs were not better than epoch %" PRId64 ": training ends",
                      p->bad_epochs, p->best_epoch + 1);
    return is_best;
}

static void fill_event(const struct stk_fit *fit, struct stk_fit_event *out)
{
    const struct stk__fit_progress *p = &fit->progress;
    out->epoch = p->epoch;
    out->epochs = fit->recipe.epochs;
    out->step = p->step;
    out->steps = fit->n_steps;
    out->total_steps = p->total_steps;
    out->train = stk__fit_means(&p->train);
    out->valid = stk__fit_means(&p->valid);
    out->last = fit->result;
    out->n_skipped = p->n_skipped;
    out->n_bad = stk__fit_all_bad(fit);
    out->epoch_bad = stk__fit_epoch_bad(fit);
    out->first_bad = fit->first_bad;
    out->seconds = fit->began_ns ? (double)(stk__clock_ns() - fit->began_ns) * 1e-9 : 0;
    out->step_seconds = (double)fit->stepped_ns * 1e-9;
    out->waited_seconds = (double)fit->waited_ns * 1e-9;
    out->seen_rows = fit->seen_rows;
    out->checkpoint = fit->dir.last[0] ? fit->dir.last : NULL;
    out->message = fit->message[0] ? fit->message : NULL;
}

static int finish_epoch(struct stk_fit *fit, struct stk_fit_event *out, struct stk_error *err)
{
    struct stk__fit_progress *p = &fit->progress;
    bool is_best = judge_epoch(fit);
    int rc = stk__fit_log_epoch(fit, err);
    const struct stk__sums train = p->train;
    const int64_t step = p->step;
    /* what is saved stands at the beginning of the next epoch */
    p->epoch++;
    p->step = 0;
    p->train = (struct stk__sums){ 0 };
    const int64_t bad = stk__fit_epoch_bad(fit);
    p->train_bad = fit->bad;
    p->valid_bad += fit->validated_bad;
    fit->validated_bad = 0;
    fit->has_saved = false;
    if (!rc)
        rc = stk__fit_save(fit, is_best, err);
    fill_event(fit, out);
    out->kind = STK_FIT_EPOCH;
    out->epoch = p->epoch - 1;
    out->step = step;
    out->train = stk__fit_means(&train);
    out->epoch_bad = bad;
    out->is_best = is_best;
    out->is_last = is_over(fit, p->epoch);
    fit->phase = out->is_last ? STK__FIT_OVER : STK__FIT_FETCH;
    return rc;
}

/* A training that was over when it was resumed says so. */
static int end(struct stk_fit *fit, struct stk_fit_event *out)
{
    const struct stk__fit_progress *p = &fit->progress;
    if (!fit->began_ns && !fit->is_end_told)
        stk__fit_tell(fit,
                      p->is_stopped
                          ? "%.400s is of a training that has ended early, after epoch %" PRId64
                            "; nothing is left to do. --restart begins anew"
                          : "%.400s is of a training that is finished, with %" PRId64
                            " epochs; nothing is left to do. A greater epochs = … goes on, "
                            "--restart begins anew",
                      fit->dir.last, p->epoch);
    fill_event(fit, out);
    out->epoch = p->epoch - 1;
    fit->is_end_told = true;
    return STK_END;
}

int stk_fit_next(struct stk_fit *fit, struct stk_fit_event *out, struct stk_error *err)
{
    int rc = STK_END;
    *out = (struct stk_fit_event){ 0 };
    if (fit->began_ns || fit->is_end_told) /* else what was said of making it is still to be told */
        fit->message[0] = 0;
    if (fit->phase == STK__FIT_OVER)
        return end(fit, out);
    if (fit->phase == STK__FIT_FINISH)
        return finish_epoch(fit, out, err);
    rc = fit->phase == STK__FIT_FETCH ? fetch_and_step(fit, out, err) : validate(fit, out, err);
    fill_event(fit, out);
    return rc;
}

/* ---- the rest ---- */

int stk_fit_save(struct stk_fit *fit, struct stk_error *err)
{
    return fit->trainer && fit->last ? stk__fit_save(fit, false, err) : STK_OK;
}

/* The file that eval reads: best, else newest. */
static int find_weights(struct stk_fit *fit, char path[4096], struct stk_error *err)
{
    path[0] = 0;
    if (!fit->recipe.checkpoint)
        return stk_fail(err, STK_VALUE,
                        "the recipe names no checkpoints, so the weights must be given");
    if (snprintf(path, 4096, "%s/best.safetensors", fit->recipe.checkpoint) >= 4096)
        return stk_fail(err, STK_VALUE, "the path of the checkpoints is too long");
    if (!access(path, R_OK))
        return STK_OK;
    int rc = stk__checkpoint_dir_newest(&fit->dir, path, err);
    if (!rc && !*path)
        rc = stk_fail(err, STK_IO, "there is no checkpoint in %s", fit->recipe.checkpoint);
    return rc;
}

static int eval_all(struct stk_fit *fit, struct stk_iterator *it, const char *weights,
                    struct stk__sums *sums, struct stk_error *err)
{
    struct stk_batch *batch;
    int rc;
    while ((rc = stk_iterator_next(it, &batch, err)) == STK_OK) {
        if (!fit->trainer) {
            fit->progress.max_batch = stk_batch_n_rows(batch);
            rc = make_trainer(fit, fit->progress.max_batch, true, err);
            if (!rc)
                rc = stk_trainer_load_weights(fit->trainer, weights, NULL, 0, err);
        }
        if (!rc)
            rc = eval_batch(fit, batch, 1, sums, err);
        stk_batch_unref(batch);
        if (rc)
            break;
    }
    return rc == STK_END ? STK_OK : rc;
}

int stk_fit_eval(struct stk_fit *fit, const char *weights, struct stk_fit_means *out,
                 struct stk_error *err)
{
    char path[4096];
    struct stk_options *options = NULL;
    struct stk_iterator *it = NULL;
    struct stk__sums sums = { 0 };
    *out = stk__fit_means(&sums);
    int rc = fit->it || fit->trainer ? stk_fail(err, STK_STATE, "the loop has begun") : STK_OK;
    if (!rc && !fit->valid)
        rc = stk_fail(err, STK_NAME,
                      "the recipe has no valid to look at; valid = … names the data that the model "
                      "was not trained on");
    if (!rc && !weights)
        rc = find_weights(fit, path, err);
    weights = weights ? weights : path;
    if (!rc)
        rc = stk_checkpoint_check_classes(weights, fit->valid, fit->label[1], err);
    if (!rc)
        rc = base_options(fit, &options, err);
    if (!rc)
        rc = stk_iterator_new(fit->valid, options, &it, err);
    if (!rc)
        rc = eval_all(fit, it, weights, &sums, err);
    stk_iterator_free(it);
    stk_options_free(options);
    *out = stk__fit_means(&sums);
    return rc;
}

struct stk_trainer *stk_fit_trainer(struct stk_fit *fit)
{
    return fit->trainer;
}

struct stk_iterator *stk_fit_iterator(struct stk_fit *fit)
{
    return fit->it;
}

char *stk_fit_model(const struct stk_fit *fit)
{
    return strdup(fit->model->graph.text);
}

char *stk_fit_verdict(struct stk_fit *fit)
{
    const struct stk_profile_options how = { .no_trials = true };
    struct stk_profile *profile;
    struct stk_error unseen;
    if (!fit->it || !fit->seen_rows || stk_iterator_profile(fit->it, &how, &profile, &unseen))
        return NULL;
    char *text = stk_profile_text(profile);
    stk_profile_free(profile);
    return text;
}
