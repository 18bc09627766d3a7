/* SPDX-License-Identifier: Apache-2.0 */
/* depth.c: the search for the least depth that is as fast as any. */
#include "io/read/depth.h"

#include <stdio.h>

enum { ONE_HEAD = 2, A_FEW = 8 }; /* reads at a time */
enum { FIRST_REST = 8, LONGEST_REST = 256, IDLE_WINDOWS = 4 };
static const double rush_gain = 1.25, up_gain = 1.05, as_good = 0.98, slower = 0.9;

static void clear_window(struct stk__depth *d)
{
    d->began_at = d->busy_ns = d->bytes = 0;
    d->n = 0;
    d->is_waited_for = false;
}

void stk__depth_begin(struct stk__depth *d, int now, int most)
{
    *d = (struct stk__depth){ .now = now < most ? now : most, .most = most, .n_rests = FIRST_REST };
    d->knee = d->now;
}

bool stk__depth_is_flat(const struct stk__depth *d)
{
    bool was_tried = d->phase == STK__DEPTH_REST || d->phase == STK__DEPTH_DOWN;
    return d->now <= ONE_HEAD || (was_tried && d->knee <= A_FEW);
}

void stk__depth_wait(struct stk__depth *d)
{
    d->is_waited_for = true;
}

static struct stk__depth_rates find(const struct stk__depth *d, uint64_t now)
{
    double seconds = (double)(now - d->began_at) * 1e-9, busy_s = (double)d->busy_ns * 1e-9;
    return (struct stk__depth_rates){ .in_flight = busy_s / seconds,
                                      .ms = busy_s * 1e3 / d->n,
                                      .reads = d->n / seconds,
                                      .bytes = (double)d->bytes / seconds };
}

/* Sizes differ from window to window, and with them one of the rates: that of reads where bytes are
 * short, that of bytes where time per read is. A depth that matters changes both by far. So more
 * reads must gain by both, and fewer do if one of them is as good. */
static double gain_of(const struct stk__depth *d, const struct stk__depth_rates *f)
{
    const struct stk__depth_rates *before = &d->rates_before;
    double reads = f->reads / before->reads, bytes = f->bytes / before->bytes;
    return (reads < bytes) == (d->now > d->before) ? reads : bytes;
}

/* The same by Little's law for depths that are used up: a thread that was late is no reason not to
 * go deeper. */
static double full_gain_of(const struct stk__depth *d, const struct stk__depth_rates *f)
{
    return gain_of(d, f) * (d->now / f->in_flight) / (d->before / d->rates_before.in_flight);
}

static bool set(struct stk__depth *d, int to, struct stk__depth_change *change)
{
    change->from = d->now;
    change->to = d->now = to;
    d->n_old = change->from > to ? change->from : 0;
    return change->from != to;
}

#define SAY(change, ...) snprintf((change)->reason, sizeof(change)->reason, __VA_ARGS__)

static void rest(struct stk__depth *d)
{
    d->rest = d->n_rests;
    d->n_rests = 2 * d->n_rests < LONGEST_REST ? 2 * d->n_rests : LONGEST_REST;
    d->phase = STK__DEPTH_REST;
}

static int next_try(const struct stk__depth *d)
{
    int to = d->phase == STK__DEPTH_RUSH ? 2 * d->now
             : d->phase == STK__DEPTH_UP ? d->now + (d->now + 1) / 2
             : d->now > d->knee          ? d->knee
                                         : d->now - (d->now + 3) / 4;
    return to < 1 ? 1 : to > d->most ? d->most : to;
}

/* Begins to try another depth; false if there is none in that direction. */
static bool try(struct stk__depth *d, const struct stk__depth_rates *f,
                struct stk__depth_change *change)
{
    int to = next_try(d);
    if (to == d->now)
        return false;
    d->rates_before = *f;
    d->before = d->now;
    d->is_trying = true;
    SAY(change, "%s: %.0f reads/s, %.1f MB/s, %.2f ms each",
        to > d->now ? "reads are waited for" : "fewer may do", f->reads, f->bytes * 1e-6, f->ms);
    return set(d, to, change);
}

static bool go_back(struct stk__depth *d, const struct stk__depth_rates *f,
                    struct stk__depth_change *change)
{
    SAY(change, "%s with %d: %.1f MB/s, %.1f before", d->before < d->now ? "no faster" : "slower",
        d->now, f->bytes * 1e-6, d->rates_before.bytes * 1e-6);
    return set(d, d->before, change);
}

/* More in flight: faster, as fast or slower. */
static bool judge_more(struct stk__depth *d, const struct stk__depth_rates *f,
                       struct stk__depth_change *change)
{
    double gain = full_gain_of(d, f);
    if (gain >= (d->phase == STK__DEPTH_RUSH ? rush_gain : up_gain)) {
        d->knee = d->now;
        d->n_rests = FIRST_REST;
        return try(d, f, change);
    }
    rest(d);
    return gain < slower && go_back(d, f, change);
}

static bool judge_fewer(struct stk__depth *d, const struct stk__depth_rates *f,
                        struct stk__depth_change *change)
{
    if (gain_of(d, f) >= as_good) {
        d->knee = d->now;
        return try(d, f, change);
    }
    d->knee = d->before;
    d->phase = STK__DEPTH_UP;
    return go_back(d, f, change);
}

/* Reads that few wait for need few at a time. */
static bool leave_idle(struct stk__depth *d, const struct stk__depth_rates *f,
                       struct stk__depth_change *change)
{
    d->n_idle = f->in_flight < d->now / 4.0 || d->is_trying ? d->n_idle + 1 : 0;
    if (d->n_idle < IDLE_WINDOWS)
        return false;
    SAY(change, "%.1f reads in flight are enough", f->in_flight);
    int to = d->is_trying && d->before < d->now ? d->before : (d->now + 1) / 2;
    d->n_idle = 0;
    d->is_trying = false;
    d->knee = to;
    return set(d, to, change);
}

static bool review(struct stk__depth *d, uint64_t now, struct stk__depth_change *change)
{
    struct stk__depth_rates f = find(d, now);
    if (f.in_flight < 0.5 * d->now)
        return leave_idle(d, &f, change);
    d->n_idle = 0;
    if (d->is_trying) {
        d->is_trying = false;
        return d->now > d->before ? judge_more(d, &f, change) : judge_fewer(d, &f, change);
    }
    if (d->phase == STK__DEPTH_REST && d->rest-- > 0)
        return false;
    if (d->phase == STK__DEPTH_REST)
        d->phase = STK__DEPTH_DOWN;
    if (d->phase != STK__DEPTH_DOWN && !d->is_waited_for)
        return false;
    if (try(d, &f, change))
        return true;
    if (d->phase == STK__DEPTH_DOWN)
        d->phase = STK__DEPTH_UP;
    else
        rest(d);
    return false;
}

bool stk__depth_note(struct stk__depth *d, uint64_t begun_at, uint64_t now, uint64_t bytes,
                     struct stk__depth_change *change)
{
    int enough = d->phase == STK__DEPTH_RUSH ? 2 * d->now : 4 * d->now;
    int least = d->phase == STK__DEPTH_RUSH ? 4 : 32;
    if (d->n_old) {
        d->n_old--;
        return false;
    }
    if (!d->began_at) {
        d->began_at = now; /* a window begins where one read ends, and that one is not in it */
        return false;
    }
    d->busy_ns += now > begun_at ? now - begun_at : 1;
    d->bytes += bytes;
    d->n++;
    if (d->n < (enough > least ? enough : least) || now <= d->began_at)
        return false;
    bool has_changed = review(d, now, change);
    clear_window(d);
    return has_changed;
}
