/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_run.c: a program by the team, segment by segment; and once over nothing. */
#define _GNU_SOURCE
#include "train/trainer/trainer.h"

#include "base/clock.h"
#include "base/error.h"
#include "train/step/strips.h"

#include <stdlib.h>
#include <string.h>

static double now(void)
{
    return 1e-9 * (double)stk__clock_ns();
}

/* ---- results that are not finite ---- */

/* All values lie in a row without gaps, as those of a frame do, which are 0. */
static bool is_finite_image(const struct stk__step_work *work, int tensor, int i)
{
    enum { PIECE = 256 };
    const struct stk__tensor *t = &work->run->plan->tensor[tensor];
    int64_t n = t->row_values * (t->top + t->height + t->bottom);
    float strip[PIECE], sum = 0;
    for (int64_t at = 0; at < n; at += PIECE) {
        struct stk__team_share piece = { at, n - at < PIECE ? n : at + PIECE };
        struct stk__features values = stk__load_features(work, tensor, i, 1, piece, strip);
        for (int64_t k = 0; k < piece.behind - piece.first; k++)
            sum += values.at[k] * 0; /* NaN where it is not finite */
    }
    return sum == 0;
}

static void look_at(const struct stk__step_work *work, int op, int tensor)
{
    struct stk__found *found = &work->run->found[work->thread];
    for (int i = 0; tensor >= 0 && i < work->n; i++) {
        if (op >= found->bad_op || is_finite_image(work, tensor, i))
            continue;
        found->bad_op = op;
        found->bad_row = work->first + i;
    }
}

static void look(const struct stk__step_work *work, int op)
{
    const struct stk__step_program *program = work->run->program;
    if (program->op[op].group < 0)
        return;
    const struct stk__step_group *group = &work->run->plan->group[program->op[op].group];
    unsigned uses = program->op[op].part->uses;
    if (!program->op[op].is_backward && uses & STK__OUT)
        look_at(work, op, group->out);
    for (int i = 0; program->op[op].is_backward && uses & STK__D_IN && i < group->n_inputs; i++)
        look_at(work, op, group->d_in[i]);
}

/* ---- segments ---- */

static void run_op(const struct stk__step_work *work, int op)
{
    const struct stk__run *run = work->run;
    const struct stk__step_op *of = &run->program->op[op];
    double begin = run->seconds ? now() : 0;
    of->part->run(work, of->group < 0 ? NULL : &run->plan->group[of->group]);
    if (run->seconds)
        run->seconds[op * work->n_threads + work->thread] += now() - begin;
    if (run->looks_for_bad && !of->part->is_joint)
        look(work, op);
}

static void run_lots(const struct stk__segment *segment, struct stk__step_work *work)
{
    struct stk__team_share share = stk__share_of(work->run->rows, work->thread, work->n_threads);
    for (int64_t at = share.first; at < share.behind; at += segment->lot) {
        work->first = at;
        work->n = (int)(share.behind - at < segment->lot ? share.behind - at : segment->lot);
        for (int op = segment->first; op < segment->behind; op++)
            run_op(work, op);
    }
}

static void run_segment(const struct stk__segment *segment, struct stk__step_work *work)
{
    work->workspace =
        work->run->arena + segment->workspace_at + (size_t)work->thread * segment->workspace_bytes;
    work->scratch = (float *)(work->workspace + segment->workspace_bytes - segment->scratch_bytes);
    if (!segment->is_joint) {
        run_lots(segment, work);
        stk__team_meet(work->run->team);
        return;
    }
    work->first = 0;
    work->n = (int)work->run->rows;
    run_op(work, segment->first);
    stk__team_meet(work->run->team);
    if (work->run->looks_for_bad && work->thread == 0)
        look(work, segment->first);
}

/* ---- a program ---- */

struct job {
    struct stk_trainer *trainer;
    const struct stk__run *run;
};

static void pack(const struct stk__step_work *work)
{
    const struct stk__step_plan *plan = work->run->plan;
    for (int g = 0; g < plan->n_groups; g++)
        if (plan->group[g].type->pack)
            plan->group[g].type->pack(work, &plan->group[g]);
}

static void collect(const struct stk__step_work *work)
{
    const struct stk__step_plan *plan = work->run->plan;
    for (int g = 0; g < plan->n_groups; g++)
        if (plan->group[g].type->collect && plan->group[g].has_gradient)
            plan->group[g].type->collect(work, &plan->group[g]);
}

typedef void settle_fn(const struct stk__updates *updates, int weight, int64_t first, int64_t n);

/* This thread's share of every weight, and then all wait. */
static void settle(const struct stk__step_work *work, settle_fn *act)
{
    const struct stk__model *model = work->run->plan->model;
    for (int w = 0; w < model->n_weights; w++) {
        struct stk__team_share share =
            stk__share_of(model->weight[w].n_values, work->thread, work->n_threads);
        act(work->run->updates, w, share.first, share.behind - share.first);
    }
    stk__team_meet(work->run->team);
}

static void run_thread(void *context, int thread)
{
    const struct job *job = context;
    const struct stk__run *run = job->run;
    struct stk__step_work work = {
        .run = run, .thread = thread, .n_threads = run->plan->n_threads, .n = (int)run->rows
    };
    bool trains = run->program == &run->plan->train;
    run->found[thread] = (struct stk__found){ .bad_op = run->program->n_ops };
    if (trains && run->plan->sums_floats) /* a model without weights has no sums */
        memset(run->sums[thread], 0, run->plan->sums_floats * sizeof(float));
    if (run->settles) {
        settle(&work, stk__update_settle_mask);
        settle(&work, stk__update_settle_used);
    }
    pack(&work);
    stk__team_meet(run->team);
    for (int s = 0; s < run->program->n_segments - run->program->n_late; s++)
        run_segment(&run->program->segment[s], &work);
    if (trains)
        collect(&work);
}

void stk__trainer_run(struct stk_trainer *t, struct stk__run *run)
{
    struct job job = { t, run };
    int level = run->program == &t->plan.train ? 2 : 1;
    run->packed_for = t->packed_for;
    run->settles = t->packed_for == 0 && stk__updates_want_settling(&t->updates);
    stk__team_run(t->team, run_thread, &job);
    if (t->packed_for < level)
        t->packed_for = level;
}

static void run_late(void *context, int thread)
{
    const struct stk__run *run = context;
    const struct stk__step_program *program = run->program;
    struct stk__step_work work = { .run = run,
                                   .thread = thread,
                                   .n_threads = run->plan->n_threads };
    for (int s = program->n_segments - program->n_late; s < program->n_segments; s++)
        run_segment(&program->segment[s], &work);
}

void stk__trainer_run_late(struct stk_trainer *t, struct stk__run *run)
{
    if (run->program->n_late)
        stk__team_run(t->team, run_late, run);
}

struct stk__found stk__trainer_found(const struct stk_trainer *t)
{
    struct stk__found all = t->found[0];
    for (int i = 1; i < t->plan.n_threads; i++) {
        const struct stk__found *one = &t->found[i];
        all.loss += one->loss;
        all.top1 += one->top1;
        all.top5 += one->top5;
        all.is_infinite |= one->is_infinite;
        all.squares += one->squares;
        if (one->bad_op < all.bad_op) {
            all.bad_op = one->bad_op;
            all.bad_row = one->bad_row;
        }
    }
    return all;
}

/* ---- before the first step ---- */

/* Some candidates make what they need for a band when they first run one of its height (oneDNN
 * compiles a kernel). All images of a batch are cut alike, so a batch with an image for each
 * thread shows them every band that steps will have, and steps make nothing.
 *
 * Zeros are images, and labels or values of any type. */
static int rehearse(struct stk_trainer *t, int64_t rows, const void *zeros, struct stk_error *err)
{
    const struct stk__shape *shape = &t->model->node[0].shape;
    int64_t outputs = stk__shape_values(&t->model->node[t->model->n_nodes - 1].shape);
    bool is_sparse = t->loss.type->has_classes;
    struct stk_view images = stk_view_rows(
        zeros, STK_F32, 4, (int64_t[]){ rows, shape->height, shape->width, shape->channels });
    struct stk_view targets = stk_view_rows(zeros, is_sparse ? STK_I32 : STK_F32, is_sparse ? 1 : 2,
                                            (int64_t[]){ rows, outputs });
    struct stk__run run;
    double divisor;
    int rc = stk__trainer_take(t, &images, &targets, &run, err);
    if (!rc)
        rc = stk__loss_begin(&t->loss, &run.batch, &divisor, err);
    if (rc)
        return rc;
    run.program = t->plan.trains ? &t->plan.train : &t->plan.use;
    stk__trainer_run(t, &run);
    return STK_OK;
}

int stk__trainer_rehearse(struct stk_trainer *t, struct stk_error *err)
{
    int64_t rows =
        t->options.threads < t->options.max_batch ? t->options.threads : t->options.max_batch;
    int64_t values = stk__shape_values(&t->model->node[0].shape);
    int64_t outputs = stk__shape_values(&t->model->node[t->model->n_nodes - 1].shape);
    void *zeros =
        calloc((size_t)rows * (size_t)(values > outputs ? values : outputs), sizeof(float));
    if (!zeros)
        return stk__out_of_memory(err);
    int rc = rehearse(t, rows, zeros, err);
    free(zeros);
    return rc;
}
