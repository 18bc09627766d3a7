/* SPDX-License-Identifier: Apache-2.0 */
/* profile_run.c: running a chain for a while, and what it came to. */
#define _GNU_SOURCE
#include "report/profile_run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json_out.h"
#include "exec/exec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* ---- one run ---- */

/* Sleeps until then. A sleep may end later by what the thread allows its timers, 50 µs by itself, and mostly does, which is
 * much of a step of a millisecond: so it ends earlier by that. */
static void sleep_until(uint64_t until)
{
    int slack = prctl(PR_GET_TIMERSLACK);
    uint64_t end = until - (slack > 0 ? (uint64_t)slack : 0);
    const struct timespec time = { .tv_sec = (time_t)(end / 1000000000u),
                                   .tv_nsec = (long)(end % 1000000000u) };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* A step of a training that is done elsewhere: this thread sleeps. What the loop takes is done here, from
 * when it got the batch. */
static void do_step(const struct stk__advice_trial *trial, uint64_t got_at)
{
    uint64_t until = got_at + (uint64_t)(trial->consumer_s * 1e9);
    if (trial->consumer_s > 0)
        sleep_until(until);
    if (trial->loop_s > 0)
        for (until += (uint64_t)(trial->loop_s * 1e9); stk__clock_ns() < until;)
            ;
}

static bool is_over(struct stk_iterator *it, uint64_t passed_ns, double seconds, bool wants_epoch)
{
    const double most_s = 10; /* to wait for an epoch */
    double passed = (double)passed_ns * 1e-9;
    struct stk_stats stats;
    if (!wants_epoch)
        return passed >= seconds;
    stk_iterator_stats(it, &stats);
    return passed >= most_s || (passed >= seconds && stats.epochs > 0);
}

/* Has the batch before until the next one is there, as a loop with a variable has. */
static int take_batch(struct stk_iterator *it, const struct stk__advice_trial *trial,
                      struct stk_batch **held, struct stk_error *err)
{
    struct stk_batch *batch;
    int rc = stk_iterator_poll(it, 50, &batch, err);
    if (rc)
        return rc == STK_AGAIN ? STK_OK : rc;
    bool has_step = trial->consumer_s > 0 || trial->loop_s > 0;
    uint64_t got_at = has_step ? stk__clock_ns() : 0;
    stk_batch_unref(*held);
    *held = batch;
    if (has_step)
        do_step(trial, got_at);
    return STK_OK;
}

/* To read the clock costs as much as a small batch does: that is done about every 20 µs where batches are small. */
static int next_look(int n, uint64_t passed_ns)
{
    const uint64_t often_ns = 20000;
    const int most = 16; /* of batches that may have become slow */
    if (passed_ns > often_ns)
        return n > 1 ? n / 2 : 1;
    return n < most ? 2 * n : most;
}

/* Takes batches for so long; STK_END where there are no more. */
static int consume(struct stk_iterator *it, const struct stk__advice_trial *trial, double seconds,
                   bool wants_epoch, struct stk_error *err)
{
    const uint64_t report_ns = 200000000;
    uint64_t began = stk__clock_ns(), reported = began, looked = began, now = began;
    struct stk_batch *held = NULL;
    int rc = STK_OK, n = 1;
    while (!rc && !is_over(it, now - began, seconds, wants_epoch)) {
        for (int i = 0; i < n && !rc; i++)
            rc = take_batch(it, trial, &held, err);
        now = stk__clock_ns();
        n = next_look(n, now - looked);
        looked = now;
        if (rc || now - reported < report_ns)
            continue;
        reported = now;
        if (trial->how->progress && trial->how->progress(trial->how->context, trial->doing))
            rc = stk_fail(err, STK_CANCELLED, "cancelled");
    }
    stk_batch_unref(held);
    return rc;
}

static char *decisions_of(struct stk_iterator *it)
{
    struct stk__text out = { 0 };
    struct stk_decision d;
    stk__json_open(&out, NULL, '[');
    for (uint64_t i = 0; !stk_iterator_decision(it, i, &d); i++) {
        stk__json_open(&out, NULL, '{');
        stk__json_fixed(&out, "seconds", (double)d.at_ns * 1e-9, 6);
        stk__json_string(&out, "knob", d.knob);
        stk__json_whole(&out, "from", d.from);
        stk__json_whole(&out, "to", d.to);
        stk__json_string(&out, "reason", d.reason);
        stk__json_close(&out, '}');
    }
    stk__json_close(&out, ']');
    return stk__text_take(&out);
}

/* What is missing of it is not in the report. */
static void keep_records(struct stk_profile *profile, struct stk_iterator *it)
{
    profile->decisions = decisions_of(it);
    if (stk_iterator_metrics(it, "json", &profile->metrics, NULL))
        profile->metrics = NULL;
    if (stk_iterator_trace(it, &profile->trace, NULL))
        profile->trace = NULL;
}

static int watch(struct stk_iterator *it, const struct stk__advice_trial *trial,
                 struct stk__stretch *out, struct stk_error *err)
{
    const int64_t n_intervals = 3000; /* of each thread: some hundred milliseconds of small work */
    const double warm_s = trial->seconds / 4 < 0.5 ? trial->seconds / 4 : 0.5;
    struct stk__exec *x = stk__iterator_exec(it);
    struct stk__metrics *first = stk__metrics_new(x), *last = stk__metrics_new(x);
    int rc = first && last ? STK_OK : stk__out_of_memory(err);
    if (!rc)
        rc = consume(it, trial, warm_s, trial->warms_up, err);
    bool is_short = rc == STK_END; /* all of it was warm-up: then that is what there is */
    if (!rc) {
        stk__metrics_read(x, first);
        if (trial->how->records && trial->records)
            rc = stk_iterator_trace_start(it, n_intervals, err);
    }
    if (!rc)
        rc = consume(it, trial, trial->seconds, false, err);
    if (!rc || rc == STK_END) {
        stk__metrics_read(x, last);
        stk__stretch_between(is_short ? NULL : first, last, stk__exec_plan(x), out);
        out->has_consumer = trial->consumer_s > 0;
        if (trial->records)
            keep_records(trial->records, it);
        rc = STK_OK;
    }
    stk__metrics_free(first);
    stk__metrics_free(last);
    return rc;
}

int stk__trial_run(struct stk_dataset *dataset, const struct stk__advice_trial *trial,
                   struct stk__stretch *out, struct stk_error *err)
{
    struct stk__options options = *trial->options;
    struct stk_iterator *it = NULL;
    options.epochs = STK_NONE;
    int rc = stk__iterator_start(dataset, &options, &it, err);
    if (!rc)
        rc = watch(it, trial, out, err);
    stk_iterator_free(it);
    return rc;
}

/* ---- profiles ---- */

static const struct stk_profile_options no_wishes;

static double seconds_of(const struct stk_profile_options *how)
{
    const double usual = 3;
    return how->seconds > 0 ? how->seconds : usual;
}

static int profile_new(struct stk_dataset *dataset, const struct stk__options *options,
                       struct stk_profile **out, struct stk_error *err)
{
    struct stk_profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return stk__out_of_memory(err);
    stk__arena_init(&profile->arena, 1 << 12);
    profile->dataset = stk_dataset_ref(dataset);
    profile->options = *options;
    *out = profile;
    return STK_OK;
}

void stk_profile_free(struct stk_profile *profile)
{
    if (!profile)
        return;
    stk__arena_free(&profile->arena);
    stk_dataset_unref(profile->dataset);
    stk_text_free(profile->metrics);
    stk_text_free(profile->trace);
    stk_text_free(profile->decisions);
    free(profile);
}

/* How fast the input is when nobody holds it up. */
static int run_alone(struct stk_profile *profile, const struct stk_profile_options *how,
                     struct stk_error *err)
{
    struct stk__stretch alone;
    double seconds = seconds_of(how) / 3 < 1 ? seconds_of(how) / 3 : 1;
    const struct stk__advice_trial trial = { .options = &profile->options,
                                             .how = how,
                                             .doing = "runs without a step",
                                             .loop_s = profile->loop_s,
                                             .seconds = seconds };
    int rc = stk__trial_run(profile->dataset, &trial, &alone, err);
    if (!rc)
        profile->rate_alone = stk__stretch_rate(&alone);
    return rc;
}

/* From a stretch to a verdict, and from that to advice. */
static int conclude(struct stk_profile *profile, const struct stk_profile_options *how,
                    struct stk_error *err)
{
    stk__verdict_of(&profile->stretch, &profile->verdict);
    const struct stk__situation situation = { .dataset = profile->dataset,
                                              .options = &profile->options,
                                              .stretch = &profile->stretch,
                                              .verdict = &profile->verdict,
                                              .arena = &profile->arena };
    if (stk__advice_make(&situation, &profile->advice))
        return stk__out_of_memory(err);
    if (how->no_trials) {
        stk__advice_rank(&profile->advice);
        return STK_OK;
    }
    int rc = profile->verdict.bound == STK__BOUND_STEP ? run_alone(profile, how, err) : STK_OK;
    return rc ? rc : stk__profile_try(profile, how, err);
}

int stk_dataset_profile(struct stk_dataset *dataset, const struct stk_options *options,
                        const struct stk_profile_options *how, struct stk_profile **out,
                        struct stk_error *err)
{
    struct stk__options values = options ? *stk__options_of(options) : stk__options_default();
    struct stk_profile *profile = NULL;
    how = how ? how : &no_wishes;
    int rc = profile_new(dataset, &values, &profile, err);
    if (rc)
        return rc;
    profile->consumer_s = how->consumer_ms * 1e-3;
    profile->loop_s = how->loop_us * 1e-6;
    const struct stk__advice_trial trial = { .options = &profile->options,
                                             .how = how,
                                             .doing = "watches the run",
                                             .records = profile,
                                             .consumer_s = profile->consumer_s,
                                             .loop_s = profile->loop_s,
                                             .seconds = seconds_of(how) };
    rc = stk__trial_run(dataset, &trial, &profile->stretch, err);
    if (!rc)
        rc = conclude(profile, how, err);
    if (rc)
        stk_profile_free(profile);
    else
        *out = profile;
    return rc;
}

int stk_iterator_profile(struct stk_iterator *it, const struct stk_profile_options *how,
                         struct stk_profile **out, struct stk_error *err)
{
    struct stk__exec *x = stk__iterator_exec(it);
    struct stk_profile *profile = NULL;
    how = how ? how : &no_wishes;
    if (!stk__exec_is_ours(x))
        return stk_fail(err, STK_STATE, "this iterator was started before a fork");
    int rc = profile_new(stk__plan_graph(stk__exec_plan(x)), stk__plan_given(stk__exec_plan(x)),
                         &profile, err);
    if (rc)
        return rc;
    struct stk__metrics *metrics = stk__metrics_new(x);
    rc = metrics ? STK_OK : stk__out_of_memory(err);
    if (!rc) {
        stk__metrics_read(x, metrics);
        stk__stretch_between(NULL, metrics, stk__exec_plan(x), &profile->stretch);
        keep_records(profile, it);
        if (profile->stretch.has_consumer)
            profile->consumer_s = profile->stretch.step_s;
        else
            profile->loop_s = profile->stretch.step_s;
        rc = conclude(profile, how, err);
    }
    stk__metrics_free(metrics);
    if (rc)
        stk_profile_free(profile);
    else
        *out = profile;
    return rc;
}
