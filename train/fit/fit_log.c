/* SPDX-License-Identifier: Apache-2.0 */
/* fit_log.c: what a training tells programs: a line of JSON every few steps and after each epoch, and
 * scalars for TensorBoard. A training that goes on cuts the lines behind its checkpoint off first, so that
 * a log has every step once. */
#define _GNU_SOURCE
#include "train/fit/fit_inside.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "io/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Leaves this many bytes of a log, and goes to its end. A device or a pipe keeps nothing that could be
 * cut off. */
static bool cut_off(int log, int64_t bytes)
{
    struct stat s;
    if (fstat(log, &s))
        return false;
    return !S_ISREG(s.st_mode) || (!ftruncate(log, bytes) && lseek(log, 0, SEEK_END) >= 0);
}

int stk__fit_log_open(struct stk_fit *fit, struct stk_error *err)
{
    const struct stk__recipe *r = &fit->recipe;
    fit->log = -1;
    if (r->log) {
        fit->log = open(r->log, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fit->log < 0 || !cut_off(fit->log, fit->progress.log_bytes))
            return stk_fail(err, STK_IO, "cannot write %s: %s", r->log, strerror(errno));
    }
    if (!r->tensorboard)
        return STK_OK;
    int rc = stk__events_open(&fit->events, r->tensorboard, wall_clock(), err);
    fit->has_events = !rc;
    return rc;
}

void stk__fit_log_close(struct stk_fit *fit)
{
    if (fit->log >= 0)
        close(fit->log);
    if (fit->has_events)
        stk__events_close(&fit->events);
    fit->log = -1;
    fit->has_events = false;
}

/* ---- lines ---- */

static void add_real(struct stk__text *out, const char *name, double value)
{
    if (isfinite(value))
        stk__json_real(out, name, value);
    else
        stk__json_null(out, name);
}

static struct stk__text begin_line(const char *event)
{
    struct stk__text line = { .is_tight = true };
    stk__json_open(&line, NULL, '{');
    stk__json_string(&line, "event", event);
    return line;
}

/* A log is worth less than the training: it goes on, and lines follow as soon as there is room. */
static int go_on_without(struct stk_fit *fit, bool *is_told, const struct stk_error *err)
{
    if (!*is_told)
        stk__fit_tell(fit, "%.1000s: the training goes on; what cannot be written is missing there",
                      err->text);
    *is_told = true;
    return STK_OK;
}

static int write_line(struct stk_fit *fit, struct stk__text *line, struct stk_error *err)
{
    stk__text_add(line, "}\n");
    int rc = line->failed
                 ? stk__out_of_memory(err)
                 : stk__file_write_all(fit->log, fit->recipe.log, line->data, line->len, err);
    if (!rc)
        fit->progress.log_bytes += (int64_t)line->len;
    stk__text_free(line);
    if (rc != STK_IO)
        return rc;
    cut_off(fit->log, fit->progress.log_bytes); /* a log has whole lines */
    return go_on_without(fit, &fit->is_log_told, err);
}

static int write_scalars(struct stk_fit *fit, const struct stk__event_scalar *scalar, int n,
                         struct stk_error *err)
{
    int rc = stk__events_add(&fit->events, scalar, n, fit->progress.total_steps, wall_clock(), err);
    return rc == STK_IO ? go_on_without(fit, &fit->is_events_told, err) : rc;
}

/* There is none where a loss knows no right and wrong. */
static int add_accuracy(struct stk__event_scalar *scalar, int n, const char *name, double accuracy)
{
    if (isnan(accuracy))
        return n;
    scalar[n] = (struct stk__event_scalar){ name, (float)accuracy };
    return n + 1;
}

static double seconds_of(const struct stk_fit *fit)
{
    return (double)(stk__clock_ns() - fit->began_ns) * 1e-9;
}

static void add_pace(const struct stk_fit *fit, struct stk__text *line)
{
    double seconds = seconds_of(fit);
    add_real(line, "seconds", seconds);
    add_real(line, "rows_per_second", seconds > 0 ? (double)fit->seen_rows / seconds : 0);
    add_real(line, "waiting", seconds > 0 ? (double)fit->waited_ns * 1e-9 / seconds : 0);
}

static double accuracy_of(const struct stk_step *s)
{
    return s->rows && s->top1 >= 0 ? (double)s->top1 / (double)s->rows : NAN;
}

static int line_of_step(struct stk_fit *fit, struct stk_error *err)
{
    const struct stk_step *s = &fit->result;
    struct stk__text line = begin_line("step");
    stk__json_whole(&line, "epoch", fit->progress.epoch);
    stk__json_whole(&line, "step", fit->progress.total_steps);
    add_real(&line, "loss", s->loss);
    add_real(&line, "accuracy", accuracy_of(s));
    add_real(&line, "learning_rate", s->learning_rate);
    add_real(&line, "loss_scale", (double)s->loss_scale);
    add_real(&line, "gradient_norm", s->gradient_norm);
    stk__json_whole(&line, "skipped", fit->progress.n_skipped);
    add_pace(fit, &line);
    return write_line(fit, &line, err);
}

int stk__fit_log_step(struct stk_fit *fit, struct stk_error *err)
{
    const struct stk_step *s = &fit->result;
    int64_t step = fit->progress.total_steps;
    if ((step - 1) % fit->recipe.log_every && !s->is_skipped)
        return STK_OK;
    int rc = fit->log >= 0 ? line_of_step(fit, err) : STK_OK;
    if (rc || !fit->has_events)
        return rc;
    struct stk__event_scalar scalar[] = {
        { "train/loss", (float)s->loss },
        { "train/learning_rate", (float)s->learning_rate },
        { "train/loss_scale", s->loss_scale },
        { 0 },
    };
    int n = add_accuracy(scalar, 3, "train/accuracy", accuracy_of(s));
    return write_scalars(fit, scalar, n, err);
}

/* ---- epochs ---- */

static void add_means(struct stk__text *line, const char *side, const struct stk__sums *sums)
{
    struct stk_fit_means means = stk__fit_means(sums);
    stk__json_open(line, side, '{');
    stk__json_whole(line, "rows", means.rows);
    add_real(line, "loss", means.loss);
    add_real(line, "accuracy", means.accuracy);
    add_real(line, "top5", means.top5);
    stk__json_close(line, '}');
}

static int line_of_epoch(struct stk_fit *fit, struct stk_error *err)
{
    struct stk__text line = begin_line("epoch");
    stk__json_whole(&line, "epoch", fit->progress.epoch);
    stk__json_whole(&line, "step", fit->progress.total_steps);
    add_means(&line, "train", &fit->progress.train);
    if (fit->valid)
        add_means(&line, "valid", &fit->progress.valid);
    stk__json_whole(&line, "best_epoch", fit->progress.best_epoch);
    stk__json_whole(&line, "skipped", fit->progress.n_skipped);
    stk__json_whole(&line, "bad", stk__fit_epoch_bad(fit));
    add_pace(fit, &line);
    return write_line(fit, &line, err);
}

int stk__fit_log_epoch(struct stk_fit *fit, struct stk_error *err)
{
    int rc = fit->log >= 0 ? line_of_epoch(fit, err) : STK_OK;
    if (rc || !fit->has_events)
        return rc;
    struct stk_fit_means train = stk__fit_means(&fit->progress.train);
    struct stk_fit_means valid = stk__fit_means(&fit->progress.valid);
    struct stk__event_scalar scalar[4] = { { "epoch/loss", (float)train.loss } };
    int n = add_accuracy(scalar, 1, "epoch/accuracy", train.accuracy);
    if (fit->valid) {
        scalar[n++] = (struct stk__event_scalar){ "epoch/valid_loss", (float)valid.loss };
        n = add_accuracy(scalar, n, "epoch/valid_accuracy", valid.accuracy);
    }
    return write_scalars(fit, scalar, n, err);
}
