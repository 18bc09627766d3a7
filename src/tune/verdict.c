/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c: what holds a run up.
 *
 * A consumer that hardly waits is the bound itself. Otherwise something in the input is, and the
 * question is what would have to be there for the next batch: a lock or a stage that is never
 * free, workers that are never idle, or, where workers are idle, what stages waited for.
 */
#include "tune/verdict.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char *const bound_names[] = {
#define BOUND_NAME(name, text, meaning) text,
    STK__BOUND_LIST(BOUND_NAME)
#undef BOUND_NAME
};

const char *stk__bound_name(enum stk__bound bound)
{
    return bound_names[bound];
}

static const double few_waits = 0.05, nearly_all = 0.8, half_of_it = 0.5;

/* ---- what is never free ---- */

/* Time in the lock of a stage, by all stages that need the same one. */
static double time_in_lock(const struct stk__stretch *s, const char *lock)
{
    double all = 0;
    for (int i = 0; i < s->n_stages; i++)
        if (s->stage[i].lock && !strcmp(s->stage[i].lock, lock))
            all += s->stage[i].work_s;
    return all;
}

static int find_locked(const struct stk__stretch *s)
{
    for (int i = 0; i < s->n_stages; i++)
        if (s->stage[i].lock && time_in_lock(s, s->stage[i].lock) > nearly_all * s->seconds)
            return i;
    return -1;
}

static int find_serial(const struct stk__stretch *s)
{
    int most = -1;
    for (int i = 0; i < s->n_stages; i++)
        if (s->stage[i].is_serial && (most < 0 || s->stage[i].work_s > s->stage[most].work_s))
            most = i;
    return most >= 0 && s->stage[most].work_s > nearly_all * s->seconds ? most : -1;
}

static double time_in_ops(const struct stk__stretch *s)
{
    double all = 0;
    for (int i = 0; i < s->n_ops; i++)
        all += s->op[i].node || s->op[i].stage < s->n_stages - 1 ? s->op[i].wall_s : 0;
    return all;
}

/* An op that sleeps where the others compute: in a lock of its library, as far as we know. A
 * thread that has no core does not sleep. It loses its core between two ops more often than
 * elsewhere, so one of them may be charged with nearly all of that. */
static int find_sleeper(const struct stk__stretch *s)
{
    int most = -1;
    double slept = 0, wall = 0, cpu = 0;
    for (int i = 0; i < s->n_ops; i++) {
        double here = s->op[i].wall_s - s->op[i].cpu_s;
        wall += s->op[i].wall_s;
        cpu += s->op[i].cpu_s;
        if (here > slept) {
            slept = here;
            most = i;
        }
    }
    if (most < 0 || s->workers < 2 || slept - s->queued_s < 0.3 * s->seconds)
        return -1;
    bool do_others_compute =
        wall - s->op[most].wall_s < 1.3 * (cpu - s->op[most].cpu_s) + 0.05 * wall;
    return do_others_compute ? most : -1;
}

/* Batches so small that what is done for each of them counts for more than its rows. */
static bool are_batches_tiny(const struct stk__stretch *s)
{
    const double short_s = 50e-6, most_rows = 128;
    return s->batches > 0 && s->elements / s->batches < most_rows &&
           s->seconds / s->batches < short_s && time_in_ops(s) < 0.5 * s->seconds;
}

/* ---- what is waited for ---- */

static double waited_for(const struct stk__stretch *s, enum stk__wait what, int *stage)
{
    double all = 0, most = -1;
    for (int i = 0; i < s->n_stages; i++) {
        double here = s->stage[i].wait_s[what];
        all += here;
        if (here > most) {
            most = here;
            *stage = i;
        }
    }
    return all;
}

static enum stk__bound find_wait(const struct stk__stretch *s, int *stage)
{
    static const struct {
        enum stk__wait wait;
        enum stk__bound bound;
    } kinds[] = { { STK__WAIT_READS, STK__BOUND_STORAGE },
                  { STK__WAIT_MEMORY, STK__BOUND_MEMORY },
                  { STK__WAIT_LOCK, STK__BOUND_LOCK },
                  { STK__WAIT_SPACE, STK__BOUND_ORDER } };
    enum stk__bound bound = STK__BOUND_COMPUTE;
    double most = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int at = -1;
        double waited = waited_for(s, kinds[i].wait, &at);
        if (waited > most) {
            most = waited;
            bound = kinds[i].bound;
            *stage = at;
        }
    }
    return bound;
}

/* Workers have work, but no cores for it. Where this process has them all itself, its other threads do: those
 * that read, if there are many reads, or the step. */
static enum stk__bound who_has_the_cores(const struct stk__stretch *s)
{
    if (s->process_cores_used < nearly_all * s->cores)
        return STK__BOUND_OTHERS;
    return s->read_s > s->seconds ? STK__BOUND_STORAGE : STK__BOUND_COMPUTE;
}

static enum stk__bound find_bound(const struct stk__stretch *s, int *stage, int *op)
{
    int sleeper;
    *stage = -1;
    if (s->batches < 2 || s->seconds <= 0)
        return STK__BOUND_NOTHING;
    if (s->has_consumer && s->waited < few_waits)
        return STK__BOUND_STEP;
    if (are_batches_tiny(s))
        return STK__BOUND_BATCHES;
    if (s->workers != 1 && (*stage = find_locked(s)) >= 0)
        return STK__BOUND_LOCK;
    if (s->workers != 1 && (*stage = find_serial(s)) >= 0)
        return STK__BOUND_SERIAL;
    if (waited_for(s, STK__WAIT_MEMORY, stage) > 0.25 * s->seconds &&
        find_wait(s, stage) == STK__BOUND_MEMORY)
        return STK__BOUND_MEMORY;
    *stage = -1;
    if ((sleeper = find_sleeper(s)) >= 0) {
        *op = sleeper;
        return STK__BOUND_LOCK;
    }
    int workers = s->workers ? s->workers : 1;
    if (s->cores_used * s->seconds < half_of_it * s->work_s && s->work_s > 0.5 * s->seconds)
        return who_has_the_cores(s);
    if (s->work_s > nearly_all * s->seconds * workers * (1 - s->outside * (s->workers == 0)))
        return workers < s->cores ? STK__BOUND_WORKERS : STK__BOUND_COMPUTE;
    return find_wait(s, stage);
}

/* ---- in words ---- */

static void add_compute(const struct stk__stretch *s, int op, struct stk__text *out)
{
    if (op < 0)
        return;
    stk__text_add(out, "; %s uses %.1f of %d cores", s->op[op].name, s->op[op].cpu_s / s->seconds,
                  s->cores);
    if (s->queued_s > 0.2 * s->work_s)
        stk__text_add(out, ", and of %.1f s at work workers waited %.1f s for a core", s->work_s,
                      s->queued_s);
}

static void add_storage(const struct stk__stretch *s, struct stk__text *out)
{
    double in_flight = s->read_s / s->seconds;
    stk__text_add(out, "; a read of %.0f KB takes %.1f ms, with %.1f in flight: %.0f MB/s",
                  s->reads > 0 ? s->read_bytes / s->reads / 1024 : 0,
                  s->reads > 0 ? s->read_s / s->reads * 1e3 : 0, in_flight,
                  s->read_bytes / s->seconds / 1e6);
}

static void add_cause(const struct stk__stretch *s, const struct stk__verdict *v,
                      struct stk__text *out)
{
    const char *stage = v->stage >= 0 ? s->stage[v->stage].name : "";
    const char *lock = v->stage >= 0 ? s->stage[v->stage].lock : NULL;
    switch (v->bound) {
    case STK__BOUND_COMPUTE:
        add_compute(s, v->op, out);
        break;
    case STK__BOUND_WORKERS:
        stk__text_add(out, "; %d worker%s busy all the time, and there are %d cores",
                      s->workers ? s->workers : 1, s->workers > 1 ? "s are" : " is", s->cores);
        break;
    case STK__BOUND_OTHERS:
        stk__text_add(out,
                      "; other programs take the cores: workers that were at work for %.1f s had a "
                      "core for %.1f s",
                      s->work_s, s->cores_used * s->seconds);
        break;
    case STK__BOUND_STORAGE:
        add_storage(s, out);
        break;
    case STK__BOUND_MEMORY:
        stk__text_add(out, "; the budget of %.0f MB is used up, so that less is done at a time",
                      s->budget_bytes / (1 << 20));
        break;
    case STK__BOUND_LOCK:
        if (v->stage < 0) {
            stk__text_add(
                out,
                "; %s waits inside its library, which one thread at a time may use: %.1f of "
                "%.1f s",
                s->op[v->op].name, s->op[v->op].wall_s - s->op[v->op].cpu_s, s->op[v->op].wall_s);
            break;
        }
        stk__text_add(out, "; %s is done by one thread at a time: it needs the lock of %s", stage,
                      lock && !strcmp(lock, "function") ? "Python"
                      : lock                            ? lock
                                                        : "a library");
        break;
    case STK__BOUND_SERIAL:
        stk__text_add(out, "; %s is at work %.0f %% of the time, and only one thread can do it",
                      stage, 100 * s->stage[v->stage].work_s / s->seconds);
        break;
    case STK__BOUND_BATCHES:
        stk__text_add(out,
                      "; batches of %.0f elements take %.1f µs each, most of it to hand them over",
                      s->elements / s->batches, s->seconds / s->batches * 1e6);
        break;
    case STK__BOUND_ORDER:
        stk__text_add(
            out,
            "; some elements take far longer than others: half of the batches come within "
            "%.1f ms, one in a hundred after %.1f ms",
            s->batch_p50_s * 1e3, s->batch_p99_s * 1e3);
        break;
    case STK__BOUND_STEP:
        stk__text_add(out, "; the input uses %.1f of %d cores", s->cores_used, s->cores);
        break;
    default:
        break;
    }
}

void stk__verdict_of(const struct stk__stretch *s, struct stk__verdict *out)
{
    struct stk__text text = { 0 };
    *out = (struct stk__verdict){ .op = stk__stretch_costliest(s) };
    out->bound = find_bound(s, &out->stage, &out->op);
    if (out->bound == STK__BOUND_NOTHING)
        stk__text_add(&text, "too little was delivered to tell: %.0f batches in %.1f s", s->batches,
                      s->seconds);
    else if (out->bound == STK__BOUND_STEP)
        stk__text_add(&text, "step-bound: the step waits %.1f %% of the time", 100 * s->waited);
    else if (s->has_consumer)
        stk__text_add(&text, "input-bound: the step waits %.0f %% of the time", 100 * s->waited);
    else
        stk__text_add(&text, "input alone: %.0f elements/s", stk__stretch_rate(s));
    if (out->bound != STK__BOUND_NOTHING)
        add_cause(s, out, &text);
    snprintf(out->sentence, sizeof out->sentence, "%s", text.data ? text.data : "");
    stk__text_free(&text);
}
