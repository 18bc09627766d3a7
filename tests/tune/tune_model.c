/* SPDX-License-Identifier: Apache-2.0 */
/* tune_model.c: workers, a window and a consumer on shared cores, in steps of a fifth of a
 * millisecond. */
#include "tune_model.h"

#include "base/hash.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { MAX_WINDOW = 64, MAX_WORKERS = 64 };

static const double tick = 0.2, interval = 20;

struct batch {
    int n_taken, n_done;
};

struct run {
    const struct scene *scene;
    double now;                     /* the true time; the clock of samples may jump */
    struct batch batch[MAX_WINDOW]; /* [number % MAX_WINDOW] */
    uint64_t delivered, opened;     /* numbers */
    double left[MAX_WORKERS];       /* of a worker's ticket */
    uint64_t batch_of[MAX_WORKERS]; /* that it belongs to */
    bool is_busy[MAX_WORKERS];
    int n_busy;
    bool is_awake; /* workers look for work until the window is full */
    bool is_waiting;
    double step_left, pause_left;
    double called_at, too_few_since;
    struct stk__sample sample;
    struct stk__controller controller;
    struct outcome out;
    double workers_time, window_time;
};

/* A number in (0, 1) for each pair. */
static double chance(uint64_t a, uint64_t b)
{
    return ((double)(stk__hash_mix(a, b) >> 12) + 0.5) / (double)(1ull << 52);
}

static double spread_out(double mean, double spread, uint64_t a, uint64_t b)
{
    return mean * (1 - spread - spread * log(chance(a, b)));
}

static double ticket_cost(const struct run *r, uint64_t no, int ticket)
{
    const struct scene *s = r->scene;
    double cost = spread_out(s->ticket, s->spread, no, (uint64_t)ticket);
    if (chance(no, 1000) < s->slow_share)
        cost *= s->slow_factor;
    if (s->phase > 0 && (int)(r->now / s->phase) % 2)
        cost *= s->phase_factor;
    return cost;
}

static int n_open(const struct run *r)
{
    return (int)(r->opened - r->delivered);
}

static int n_ready(const struct run *r)
{
    int n = 0;
    while (n < n_open(r) &&
           r->batch[(r->delivered + (uint64_t)n) % MAX_WINDOW].n_done == r->scene->n_tickets)
        n++;
    return n;
}

/* A batch with a ticket that nobody has, or NULL. */
static struct batch *find_batch(struct run *r, uint64_t *no)
{
    for (*no = r->delivered; *no < r->opened; ++*no)
        if (r->batch[*no % MAX_WINDOW].n_taken < r->scene->n_tickets)
            return &r->batch[*no % MAX_WINDOW];
    if (n_open(r) >= r->sample.window.now)
        return NULL;
    r->opened++;
    r->batch[*no % MAX_WINDOW] = (struct batch){ 0 };
    return &r->batch[*no % MAX_WINDOW];
}

static void give_work(struct run *r)
{
    struct stk__sample *s = &r->sample;
    r->is_awake |= n_open(r) <= s->window.now / 2 || r->is_waiting;
    for (int i = 0; i < r->scene->cores && r->is_awake && r->n_busy < s->workers.now; i++) {
        uint64_t no;
        struct batch *batch = r->is_busy[i] ? NULL : find_batch(r, &no);
        if (r->is_busy[i])
            continue;
        if (!batch) {
            r->is_awake = false;
            s->n_full += n_ready(r) == n_open(r);
            s->n_blocked += r->is_waiting;
            return;
        }
        r->is_busy[i] = true;
        r->n_busy++;
        r->batch_of[i] = no;
        r->left[i] = ticket_cost(r, no, batch->n_taken++);
    }
}

static void work(struct run *r, double speed)
{
    r->sample.busy_ns += (uint64_t)(tick * 1e6 * r->n_busy);
    for (int i = 0; i < r->scene->cores && r->n_busy; i++) {
        if (!r->is_busy[i] || (r->left[i] -= tick * speed) > 0)
            continue;
        r->batch[r->batch_of[i] % MAX_WINDOW].n_done++;
        r->is_busy[i] = false;
        r->n_busy--;
        r->is_awake = true;
    }
}

static void show(struct run *r)
{
    struct stk__move move;
    struct stk__sample *s = &r->sample;
    r->called_at = r->now;
    double jump = r->scene->jump_at > 0 && r->now > r->scene->jump_at ? r->scene->jump : 0;
    s->now_ns = (uint64_t)((r->now + jump + 1e7) * 1e6);
    if (stk__controller_step(&r->controller, s, &move)) {
        struct stk__knob *knob = strcmp(move.knob, "window") ? &s->workers : &s->window;
        knob->now = move.to;
        r->is_awake = true;
        r->out.n_moves++;
    }
    s->least_ready = INT_MAX;
}

static void take_batch(struct run *r)
{
    const struct scene *s = r->scene;
    r->is_waiting = false;
    r->step_left = spread_out(s->step, s->step_spread, r->delivered, 2000);
    r->delivered++;
    r->sample.n_batches++;
    if (s->pause_every && r->delivered % (uint64_t)s->pause_every == 0)
        r->pause_left = s->pause;
}

static void consume(struct run *r, double speed)
{
    if (r->pause_left > 0) {
        r->pause_left -= tick;
        return;
    }
    if (r->step_left > 0) {
        r->step_left -= tick * (r->scene->step_threads ? speed : 1);
        r->sample.others_ns += (uint64_t)(tick * 1e6 * r->scene->step_threads * speed);
        if (r->step_left > 0)
            return;
    }
    int ready = n_ready(r);
    if (!r->is_waiting && ready < r->sample.least_ready)
        r->sample.least_ready = ready;
    r->is_waiting = ready == 0;
    if (ready)
        take_batch(r);
}

/* How long it took until a consumer that waits had all workers. */
static void note_growth(struct run *r)
{
    bool is_short = r->is_waiting && r->sample.workers.now < r->sample.workers.most;
    if (r->is_waiting && is_short && r->too_few_since < 0)
        r->too_few_since = r->now;
    if (r->too_few_since >= 0 && !is_short) {
        r->out.slowest_growth = fmax(r->out.slowest_growth, r->now - r->too_few_since);
        r->too_few_since = -1;
    }
}

static void account(struct run *r, double milliseconds)
{
    if (r->is_waiting) {
        r->sample.wait_ns += (uint64_t)(tick * 1e6);
        r->out.wait_share += tick / milliseconds;
        if (r->now > milliseconds / 2)
            r->out.late_share += 2 * tick / milliseconds;
    }
    r->out.mean_workers += r->sample.workers.now * tick / milliseconds;
    r->out.mean_window += r->sample.window.now * tick / milliseconds;
}

struct outcome run_scene(const struct scene *scene, int workers, int window, double milliseconds,
                         bool is_tuned)
{
    struct run r = { .scene = scene, .is_awake = true, .too_few_since = -1 };
    struct stk__sample *s = &r.sample;
    *s = (struct stk__sample){ .least_ready = INT_MAX,
                               .cores = scene->cores,
                               .window = { window, 2, scene->max_window },
                               .workers = { workers, 1, scene->cores } };
    if (scene->fixed_workers)
        s->workers = (struct stk__knob){ workers, workers, workers };
    if (scene->is_window_fixed)
        s->window = (struct stk__knob){ window, window, window };
    for (; r.now < milliseconds; r.now += tick) {
        give_work(&r);
        int threads = r.n_busy + (r.step_left > 0 ? scene->step_threads : 0);
        double speed = threads > scene->cores ? (double)scene->cores / threads : 1;
        work(&r, speed);
        uint64_t before = r.delivered;
        consume(&r, speed);
        account(&r, milliseconds);
        note_growth(&r);
        if (is_tuned && (before != r.delivered || r.is_waiting) && r.now - r.called_at >= interval)
            show(&r);
    }
    r.out.n_batches = (double)r.delivered;
    r.out.window = s->window.now;
    r.out.workers = s->workers.now;
    return r.out;
}

struct outcome best_of_grid(const struct scene *scene, double milliseconds)
{
    static const int windows[] = { 2, 4, 8, 16, 64 };
    struct outcome best = { 0 };
    for (int workers = 1; workers <= scene->cores; workers *= 2)
        for (int i = 0; i < 5 && windows[i] <= scene->max_window; i++) {
            int w = scene->fixed_workers ? scene->fixed_workers : workers;
            struct outcome o = run_scene(scene, w, windows[i], milliseconds, false);
            o.workers = w;
            o.window = windows[i];
            if (o.n_batches > best.n_batches)
                best = o;
        }
    return best;
}
