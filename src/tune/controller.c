/* SPDX-License-Identifier: Apache-2.0 */
/* controller.c: the moves of a controller; see controller.h. */
#include "tune/controller.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

static const double second_ns = 1e9;
static const uint64_t first_patience_ns = 1000000000, most_patience_ns = 256000000000;

static double seconds(uint64_t ns)
{
    return (double)ns / second_ns;
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

static int at_least(int a, int b)
{
    return a > b ? a : b;
}

/* ---- what is seen ---- */

static void begin_calm(struct stk__controller *c, const struct stk__sample *s)
{
    c->calm = (struct stk__calm){ .begin = *s, .least_ready = INT_MAX };
}

/* A pause of the consumer, or of the machine, says nothing about the run. */
static bool is_jump(const struct stk__controller *c, const struct stk__sample *s)
{
    const uint64_t long_ns = 5000000000;
    if (s->now_ns <= c->last.now_ns)
        return true;
    uint64_t ns = s->now_ns - c->last.now_ns;
    return ns > long_ns && ns / 8 > c->typical_ns;
}

static void forget(struct stk__controller *c, const struct stk__sample *s)
{
    if (c->has_last && s->now_ns > c->last.now_ns) /* it may be the first of many */
        c->typical_ns = (c->typical_ns + s->now_ns - c->last.now_ns) / 2;
    c->has_last = true;
    c->last = *s;
    c->averaged_ns = c->wait_share = c->busy = c->waiting = c->rate = 0;
    c->trial.is_on = false;
    begin_calm(c, s);
}

static double rate_since(const struct stk__sample *begin, const struct stk__sample *s)
{
    return (double)(s->n_batches - begin->n_batches) / seconds(s->now_ns - begin->now_ns);
}

static void look(struct stk__controller *c, const struct stk__sample *s)
{
    double ns = (double)(s->now_ns - c->last.now_ns);
    c->averaged_ns = fmin(c->averaged_ns + ns, second_ns);
    double share = (double)(s->wait_ns - c->last.wait_ns) / ns;
    double busy = (double)(s->busy_ns - c->last.busy_ns) / ns;
    c->wait_share += fmin(ns / second_ns, 1) * (share - c->wait_share);
    c->busy += fmin(ns / c->averaged_ns, 1) * (busy - c->busy);
    c->waiting += fmin(ns / c->averaged_ns, 1) * (share - c->waiting);
    c->rate += fmin(ns / c->averaged_ns, 1) * (rate_since(&c->last, s) - c->rate);
    c->typical_ns = c->typical_ns ? (7 * c->typical_ns + (uint64_t)ns) / 8 : (uint64_t)ns;
    if (s->n_full > c->last.n_full)
        c->full_at = s->now_ns;
    c->calm.least_ready = at_most(c->calm.least_ready, s->least_ready);
}

/* Work in a batch, since the period began. */
static double batch_cost(const struct stk__sample *begin, const struct stk__sample *s)
{
    uint64_t n = s->n_batches - begin->n_batches;
    return n ? (double)(s->busy_ns - begin->busy_ns) / (double)n : 0;
}

/* ---- moves ---- */

static void set_move(struct stk__move *move, const char *name, const struct stk__knob *knob, int to)
{
    *move = (struct stk__move){ .knob = name, .from = knob->now, .to = to };
}

static uint64_t longer(uint64_t patience_ns)
{
    return !patience_ns                         ? first_patience_ns
           : patience_ns < most_patience_ns / 4 ? 4 * patience_ns
                                                : most_patience_ns;
}

/* Shrinking was wrong if growing follows. */
static void note_growth(struct stk__caution *caution, double cost_ns)
{
    if (caution->has_shrunk) {
        caution->patience_ns = longer(caution->patience_ns);
        caution->cost_ns = cost_ns;
    }
    caution->has_shrunk = false;
}

static bool is_patient(struct stk__caution *caution, uint64_t calm_ns, double cost_ns)
{
    if (!caution->patience_ns || (cost_ns > 0 && cost_ns < caution->cost_ns / 2)) {
        caution->patience_ns = first_patience_ns;
        caution->cost_ns = 0;
    }
    return calm_ns >= caution->patience_ns;
}

/* While the consumer waited for `share` of the time, `busy` workers were; without waiting it would
 * have taken more, in proportion. */
static bool grow_workers(struct stk__controller *c, const struct stk__sample *s,
                         struct stk__move *move)
{
    const struct stk__knob *k = &s->workers;
    if (k->now >= k->most)
        return false;
    double ns = (double)(s->now_ns - c->last.now_ns);
    double share = fmin((double)(s->wait_ns - c->last.wait_ns) / ns, 0.99);
    double wanted = (double)(s->busy_ns - c->last.busy_ns) / ns / (1 - share) / 0.7;
    int to = wanted < k->most ? at_least((int)ceil(wanted), k->now + 1) : k->most;
    set_move(move, "workers", k, to);
    snprintf(
        move->reason, sizeof move->reason,
        "the consumer waited %.1f %% of the last second; at its own pace it needs %.1f workers",
        100 * c->wait_share, fmin(wanted * 0.7, 1e3));
    note_growth(&c->workers, batch_cost(&c->calm.begin, s));
    return true;
}

/* A consumer that waits most of the time may be ahead of whatever the input could do, whether by its
 * work or its storage. Then a larger window is a trial, and not one for the first second, in which
 * everybody waits. */
static bool may_try(struct stk__controller *c, const struct stk__sample *s)
{
    const double most_share = 0.5;
    if (c->waiting < most_share)
        return true;
    if (c->trial.is_on || c->averaged_ns < second_ns || s->now_ns < c->trial.not_before)
        return false;
    c->trial.is_on = true;
    c->trial.begin = *s;
    c->trial.rate = c->rate;
    return true;
}

static bool grow_window(struct stk__controller *c, const struct stk__sample *s,
                        struct stk__move *move)
{
    const struct stk__knob *k = &s->window;
    bool is_blocked = s->n_blocked > c->last.n_blocked;
    bool was_full = c->full_at && seconds(s->now_ns - c->full_at) < 1 &&
                    c->busy < 0.95 * s->workers.now; /* else they have done all they can */
    if (k->now >= k->most || (!is_blocked && !was_full) || !may_try(c, s))
        return false;
    set_move(move, "window", k, at_most(k->now + at_least(k->now / 2, 1), k->most));
    snprintf(move->reason, sizeof move->reason,
             is_blocked ? "the consumer waited %.1f %% of the last second while workers were idle: "
                          "all batches in flight were being finished"
                        : "the consumer waited %.1f %% of the last second though all batches in "
                          "flight had been ready before",
             100 * c->wait_share);
    note_growth(&c->window, batch_cost(&c->calm.begin, s));
    return true;
}

/* Leaves room for a batch that takes longer: less where the rest of the process has use for the
 * cores. */
static bool shrink_workers(struct stk__controller *c, const struct stk__sample *s, uint64_t calm_ns,
                           struct stk__move *move)
{
    const struct stk__knob *k = &s->workers;
    const struct stk__sample *begin = &c->calm.begin;
    double busy = (double)(s->busy_ns - begin->busy_ns) / (double)calm_ns;
    double others = (double)(s->others_ns - begin->others_ns) / (double)calm_ns;
    bool is_crowded = others + k->now > s->cores + 0.2;
    int to = at_least((int)ceil(busy / (is_crowded ? 0.85 : 0.6)), k->least);
    if (to >= k->now)
        return false;
    set_move(move, "workers", k, to);
    snprintf(move->reason, sizeof move->reason,
             "for %.1f s the consumer did not wait, %.2f workers were busy and the rest of the "
             "process used %.1f of %d cores",
             seconds(calm_ns), busy, others, s->cores);
    c->workers.has_shrunk = true;
    return true;
}

/* A window is filled again when half of it is gone. Of the batches that are then left two stay, for
 * one that takes longer. */
static bool shrink_window(struct stk__controller *c, const struct stk__sample *s, uint64_t calm_ns,
                          struct stk__move *move)
{
    const struct stk__knob *k = &s->window;
    int least = at_most(c->calm.least_ready, k->now);
    int to = at_least(k->now - 2 * (least - 2), k->least);
    if (4 * to > 3 * k->now)
        return false;
    set_move(move, "window", k, to);
    snprintf(move->reason, sizeof move->reason,
             "for %.1f s at least %d of %d batches were ready whenever the consumer asked",
             seconds(calm_ns), least, k->now);
    c->window.has_shrunk = true;
    c->drained_at = s->n_batches + (uint64_t)(k->now - to);
    return true;
}

/* A window that has grown has had time to fill. Where batches come no faster it was not worth
 * its memory. */
static bool judge_window(struct stk__controller *c, const struct stk__sample *s,
                         struct stk__move *move)
{
    struct stk__knob_trial *t = &c->trial;
    double ns = (double)(s->now_ns - t->begin.now_ns);
    bool is_filled = s->n_batches - t->begin.n_batches >= 4 * (uint64_t)s->window.now;
    if (!t->is_on || ns < second_ns || (!is_filled && ns < 4 * second_ns))
        return false;
    double rate = rate_since(&t->begin, s);
    t->is_on = false;
    if (rate > 1.03 * t->rate) {
        t->patience_ns = 0;
        return false;
    }
    t->patience_ns = longer(t->patience_ns);
    t->not_before = s->now_ns + t->patience_ns;
    set_move(move, "window", &s->window, t->begin.window.now);
    snprintf(move->reason, sizeof move->reason,
             "more did not help: %.1f batches a second, and %.1f before", rate, t->rate);
    return true;
}

/* ---- when ---- */

static bool try_growing(struct stk__controller *c, const struct stk__sample *s,
                        struct stk__move *move)
{
    return grow_workers(c, s, move) || grow_window(c, s, move);
}

static bool try_shrinking(struct stk__controller *c, const struct stk__sample *s,
                          struct stk__move *move)
{
    const struct stk__sample *begin = &c->calm.begin;
    uint64_t ns = s->now_ns - begin->now_ns, n = s->n_batches - begin->n_batches;
    double cost = batch_cost(begin, s);
    bool is_ahead = s->n_full > begin->n_full && n >= 16 && n >= 2 * (uint64_t)s->window.now;
    if (!is_ahead)
        return false;
    return (is_patient(&c->workers, ns, cost) && shrink_workers(c, s, ns, move)) ||
           (is_patient(&c->window, ns, cost) && shrink_window(c, s, ns, move));
}

bool stk__controller_step(struct stk__controller *c, const struct stk__sample *s,
                          struct stk__move *move)
{
    const double starved_share = 0.005, calm_share = 0.001;
    if (!c->has_last || is_jump(c, s)) {
        forget(c, s);
        return false;
    }
    look(c, s);
    double waited = (double)(s->wait_ns - c->last.wait_ns) / (double)(s->now_ns - c->last.now_ns);
    bool is_starved = waited > 0 && c->wait_share > starved_share;
    bool has_moved = judge_window(c, s, move) ||
                     (is_starved ? try_growing(c, s, move) : try_shrinking(c, s, move));
    if (has_moved || waited > calm_share || s->n_batches < c->drained_at)
        begin_calm(c, s);
    c->last = *s;
    return has_moved;
}
