/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_update.c: from gradients to weights, in one pass that all threads share.
 *
 * Where a loss scale, a norm or skipping needs to know all gradients first, a pass over them comes before;
 * else the pass itself tells whether they were finite.
 */
#include "train/trainer/trainer.h"

#include "base/error.h"

#include <math.h>

enum { SQUARES_APART = 8 };

bool stk__update_is_late(const struct stk_trainer *t)
{
    return t->has_scale || !isinf(t->optimizer.clip_norm) ||
           t->options.on_nonfinite == STK_NONFINITE_SKIP;
}

bool stk__update_puts_off(const struct stk_trainer *t)
{
    return stk__update_is_late(t) && isinf(t->optimizer.clip_norm);
}

struct update {
    struct stk_trainer *trainer;
    bool is_late;
    double inverse_scale;
    double squares; /* of all */
    bool is_finite; /* known before */
};

/* Does `act` for this thread's share of all values of weights that are to be updated. */
typedef void span_fn(const struct update *update, int weight, int64_t first, int64_t n, int thread);

static void for_share(const struct update *u, int thread, span_fn *act)
{
    const struct stk_trainer *t = u->trainer;
    struct stk__team_share share = stk__share_of(t->n_trainable, thread, t->plan.n_threads);
    int64_t at = 0;
    for (int w = 0; w < t->model->n_weights; w++) {
        int64_t n = t->model->weight[w].n_values;
        if (!t->model->weight[w].is_trainable)
            continue;
        int64_t first = share.first > at ? share.first - at : 0;
        int64_t behind = share.behind - at < n ? share.behind - at : n;
        if (first < behind && !t->updates.of[w].is_used_up)
            act(u, w, first, behind - first, thread);
        at += n;
    }
}

static struct stk__gradient_span span_of(const struct update *u, int weight, int64_t first,
                                         int64_t n)
{
    return (struct stk__gradient_span){ weight, first, n, u->trainer->gradient[weight] + first };
}

static void add_squares(const struct update *u, int weight, int64_t first, int64_t n, int thread)
{
    const struct stk__gradient_span span = span_of(u, weight, first, n);
    u->trainer->squares[thread * SQUARES_APART] += stk__update_squares(&u->trainer->updates, &span);
}

static void square(void *context, int thread)
{
    const struct update *u = context;
    u->trainer->squares[thread * SQUARES_APART] = 0;
    for_share(u, thread, add_squares);
}

static void update_span(const struct update *u, int weight, int64_t first, int64_t n, int thread)
{
    const struct stk__gradient_span span = span_of(u, weight, first, n);
    if (!stk__update_span(&u->trainer->updates, &span))
        u->trainer->found[thread].is_infinite = true;
}

static void update(void *context, int thread)
{
    for_share(context, thread, update_span);
}

static void sum_squares(struct update *u)
{
    struct stk_trainer *t = u->trainer;
    stk__team_run(t->team, square, u);
    for (int i = 0; i < t->plan.n_threads; i++)
        u->squares += t->squares[i * SQUARES_APART];
    u->is_finite = isfinite(u->squares);
}

/* Those that were put off; their gradients are part of the norm. */
static void update_late(const struct update *u, struct stk__run *run, struct stk_step *out)
{
    if (!run || !run->puts_off)
        return;
    stk__trainer_run_late(u->trainer, run);
    out->gradient_norm =
        sqrt(u->squares + stk__trainer_found(u->trainer).squares) * u->inverse_scale;
}

int stk__trainer_update(struct stk_trainer *t, struct stk__run *run, struct stk_step *out,
                        struct stk_error *err)
{
    struct update u = { .trainer = t,
                        .is_late = stk__update_is_late(t),
                        .inverse_scale = 1 / (double)t->gradient_scale,
                        .is_finite = true };
    if (t->has_scale && t->gradient_scale != 1)
        u.inverse_scale = stk__loss_scale_inverse(&t->scale);
    out->gradient_norm = NAN;
    out->learning_rate = stk__schedule_rate(&t->optimizer.rate, t->step);
    out->step = t->step;
    if (u.is_late) {
        sum_squares(&u);
        out->gradient_norm = sqrt(u.squares) * u.inverse_scale;
    }
    t->has_gradients = false;
    out->is_skipped = !u.is_finite;
    if (t->has_scale)
        stk__loss_scale_update(&t->scale, u.is_finite);
    if (!u.is_finite)
        return STK_OK;
    stk__updates_begin(&t->updates, t->step,
                       stk__optimizer_factor(&t->optimizer, u.squares, u.inverse_scale));
    stk__team_run(t->team, update, &u);
    update_late(&u, run, out);
    t->packed_for = 0;
    t->step++;
    if (stk__trainer_found(t).is_infinite)
        return stk_fail(err, STK_DATA,
                        "step %lld: gradients are not finite, and weights changed by them; "
                        "on_nonfinite=skip leaves such steps out",
                        (long long)out->step);
    return STK_OK;
}

struct keeping {
    struct stk_trainer *trainer;
    const struct stk__run *run;
};

static void keep(void *context, int thread)
{
    const struct keeping *k = context;
    const struct stk__step_plan *plan = k->run->plan;
    struct stk__step_work work = { .run = k->run, .thread = thread, .n_threads = plan->n_threads };
    for (int g = 0; g < plan->n_groups; g++)
        if (plan->group[g].type->keep)
            plan->group[g].type->keep(&work, &plan->group[g]);
}

void stk__trainer_keep(struct stk_trainer *t, const struct stk__run *run)
{
    for (int g = 0; g < t->plan.n_groups; g++)
        if (t->plan.group[g].type->keep) {
            stk__team_run(t->team, keep, &(struct keeping){ t, run });
            return;
        }
}
