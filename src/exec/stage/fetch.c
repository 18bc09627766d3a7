/* SPDX-License-Identifier: Apache-2.0 */
/* fetch.c: reads by request. Whoever takes a ticket asks the lane for all its rows (io/read/lane.h); a worker without
 * work lets more be asked for.
 */
#include "base/error.h"
#include "exec/run.h"

#include <string.h>

/* ---- asking ---- */

/* At most as many; neighbours share one. */
int stk__count_requests(const struct stk__stage *s, int n)
{
    const struct stk__program *program = s->plan->program;
    int count = 0;
    for (int k = 0; k < program->n_reads; k++)
        count += program->read[k]->role == STK__ROLE_SOURCE
                     ? (n * program->read[k]->n_places + STK__PLACES_PER_REQUEST - 1) /
                           STK__PLACES_PER_REQUEST
                     : n;
    return count;
}

static size_t wanted_bytes(const struct stk__wanted *wanted, int n, int n_places)
{
    if (wanted->place)
        return (size_t)n * (size_t)n_places * sizeof *wanted->place;
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += wanted->path[i].data ? wanted->path[i].bytes + 1 : 0;
    return (bytes + 15) / 16 * 16;
}

/* What the rows of a ticket hold now; spans of one buffer count it once. */
static size_t fetched_bytes(const struct stk__program *program, const struct stk__ticket *t)
{
    size_t bytes = 0;
    for (int k = 0; k < program->n_reads; k++) {
        const struct stk_buffer *last = NULL;
        int step = program->read[k]->n_places;
        for (int i = 0; i < t->n_in * step; i++) {
            const struct stk_buffer *buffer =
                t->fetched[k][i % t->n_in * step + i / t->n_in].buffer;
            bytes += buffer && buffer != last ? buffer->capacity : 0;
            last = buffer;
        }
    }
    return bytes;
}

static uint64_t ticket_bytes(const struct stk__program *program, const struct stk__ticket *t)
{
    uint64_t bytes = 0;
    for (int k = 0; k < program->n_reads; k++)
        for (int i = 0, step = program->read[k]->n_places; i < step; i++)
            bytes += stk__fetched_bytes(t->fetched[k] + i, t->n_in, step);
    return bytes;
}

/* Writes down what changed, and asks for as many reads as that calls for. */
static void settle(struct stk__exec *x)
{
    struct stk__depth_change change[STK__MAX_LANE_CHANGES];
    int n = stk__lane_review(x->lane, x->crew.n_sleeping || x->crew.is_consumer_waiting, change);
    for (int i = 0; i < n; i++)
        if (change[i].from != change[i].to)
            stk__decision_note(x, "io_depth", change[i].from, change[i].to, "%s", change[i].reason);
}

static void fetched_ticket(struct stk__exec *x, struct stk__ticket *t)
{
    struct stk__stage *s = t->stage;
    size_t bytes = fetched_bytes(s->plan->program, t);
    uint64_t n_read = ticket_bytes(s->plan->program, t);
    pthread_mutex_lock(&x->lock);
    t->state = STK__FETCHED;
    stk__lane_count(x->lane, -t->n_requests);
    x->watch.stats.bytes_read += n_read;
    size_t per_row = t->n_in ? bytes / (size_t)t->n_in : 0;
    /* files of a size that was not expected are to be expected from now on */
    s->memory.typical_fetch =
        per_row > s->memory.typical_fetch ? per_row : (7 * s->memory.typical_fetch + per_row) / 8;
    x->memory.asked_bytes -= t->fetch_charge;
    if (bytes > t->fetch_charge)
        stk__account_charge(x, &s->memory.io_account, bytes - t->fetch_charge);
    else
        stk__account_credit(x, &s->memory.io_account, t->fetch_charge - bytes);
    t->fetch_charge = bytes;
    settle(x);
    stk__wake_worker(x);
    pthread_mutex_unlock(&x->lock);
}

static void answered(void *exec, void *ticket)
{
    fetched_ticket(exec, ticket);
}

static void watched(void *exec, const struct stk__read_done *done)
{
    stk__trace_read_done(exec, done->begun_at, done->ended_at, done->bytes);
}

/* A request per path, which is copied to `at`. */
static int ask_files(struct stk__exec *x, struct stk__read_request r, int n_rows,
                     const struct stk_span *path, char *at)
{
    int n = 0;
    struct stk__fetched *result = r.result;
    r.n = 1;
    for (int i = 0; i < n_rows; i++) {
        if (!path[i].data)
            continue;
        memcpy(at, path[i].data, path[i].bytes);
        at[path[i].bytes] = 0;
        r.path = at;
        r.result = result + i;
        n += stk__lane_add_file(x->lane, &r);
        at += path[i].bytes + 1;
    }
    return n;
}

/* The places of all rows that have the same number follow each other. */
static int ask_places(struct stk__exec *x, struct stk__read_request r, int n_rows,
                      const struct stk__file_place *place)
{
    int n = 0;
    struct stk__fetched *result = r.result;
    for (int i = 0; i < r.step; i++) {
        r.place = place + i;
        r.result = result + i;
        n += stk__lane_add_places(x->lane, &r, n_rows);
    }
    return n;
}

/* What a read of a program asks for, apart from where. */
static struct stk__read_request request_of(const struct stk__pnode *read,
                                           struct stk__fetched *fetched)
{
    struct stk__read_request r = { .result = fetched, .step = read->n_places };
    if (read->judge) {
        r.may_begin = read->judge->op->may_begin;
        r.params = read->judge->params;
    }
    if (read->role == STK__ROLE_SOURCE)
        r.files = read->node->op->source.files(read->node->state);
    return r;
}

/* Copies what is wanted to a buffer of the ticket, and asks for it; returns how many requests that takes. */
static int ask(struct stk__exec *x, const struct stk__work *w, const struct stk__wanted *wanted)
{
    struct stk__ticket *t = w->ticket;
    const struct stk__program *program = w->stage->plan->program;
    uint8_t *at = t->wanted->data;
    int n = 0;
    for (int k = 0; k < program->n_reads; k++) {
        struct stk__read_request r = request_of(program->read[k], t->fetched[k]);
        size_t bytes = wanted_bytes(&wanted[k], t->n_in, r.step);
        r.set = &t->reads;
        if (wanted[k].place) {
            memcpy(at, wanted[k].place, bytes);
            n += ask_places(x, r, t->n_in, (const struct stk__file_place *)(const void *)at);
        } else {
            n += ask_files(x, r, t->n_in, wanted[k].path, (char *)at);
        }
        at += bytes;
    }
    return n;
}

static void answer(struct stk__exec *x, const struct stk__work *w, const struct stk__wanted *wanted,
                   size_t bytes)
{
    struct stk__ticket *t = w->ticket;
    t->wanted = bytes ? stk__buffer_new(x->pool, bytes) : NULL;
    int n = 0;
    if (t->wanted) {
        stk__lane_begin(x->lane);
        n = ask(x, w, wanted);
        if (n) {
            stk__lane_count(x->lane, n - t->n_requests);
            t->n_requests = n;
        }
        stk__lane_end(x->lane, &t->reads, n);
    }
    if (!n) /* nothing to read: bad rows, or no memory, which the run will find */
        fetched_ticket(x, t);
}

void stk__run_fetch(struct stk__exec *x, struct stk__worker *worker, struct stk__work *w)
{
    const struct stk__program *program = w->stage->plan->program;
    struct stk__wanted wanted[STK__MAX_READS];
    struct stk__eval e;
    size_t bytes = 0;
    int rc = stk__eval_prepare(x, worker, w->stage, w->ticket, &e);
    w->n_taken = w->n_made = e.n;
    for (int k = 0; k < program->n_reads && !rc; k++) {
        rc = stk__eval_wanted(&e, k, &wanted[k]);
        if (!rc)
            bytes += wanted_bytes(&wanted[k], w->ticket->n_in, program->read[k]->n_places);
    }
    answer(x, w, wanted, rc ? 0 : bytes);
    stk__arena_reset(&worker->scratch);
}

/* Reads the files of rows one after the other. */
static int read_files(const struct stk__read_host *host, struct stk__eval *e,
                      struct stk__read_request r, const struct stk_span *path)
{
    struct stk__fetched *fetched = r.result;
    for (int i = 0; i < e->n; i++) {
        if (!path[i].data)
            continue;
        r.path = stk__arena_text_n(e->scratch, (const char *)path[i].data, path[i].bytes);
        r.result = &fetched[i];
        if (!r.path)
            return STK_MEMORY;
        stk__read_file(host, &r);
    }
    return STK_OK;
}

int stk__fetch_rows(struct stk__exec *x, struct stk__eval *e, struct stk__fetched **fetched)
{
    int rc = STK_OK;
    for (int k = 0; k < e->program->n_reads && !rc; k++) {
        const struct stk__pnode *read = e->program->read[k];
        struct stk__read_request r = request_of(read, fetched[k]);
        struct stk__wanted wanted;
        stk__fetched_free(fetched[k], e->n * read->n_places);
        e->fetched[k] = fetched[k];
        if (stk__eval_wanted(e, k, &wanted))
            return STK_MEMORY;
        if (!wanted.place) {
            rc = read_files(stk__lane_host(x->lane), e, r, wanted.path);
            continue;
        }
        r.place = wanted.place;
        r.n = e->n * read->n_places;
        r.step = 1;
        stk__read_places(stk__lane_host(x->lane), &r, true);
    }
    return rc;
}

int stk__fetch_row(struct stk__exec *x, struct stk__eval *e, struct stk__fetched **fetched)
{
    for (int k = 0; k < e->program->n_reads; k++) {
        size_t n = (size_t)e->program->read[k]->n_places;
        if (!(fetched[k] = stk_arena_alloc(e->scratch, n * sizeof **fetched)))
            return STK_MEMORY;
    }
    return stk__fetch_rows(x, e, fetched);
}

/* How many requests there may ever be: one for each row that a ticket has room for, and each of its places. */
static size_t count_places(const struct stk__exec *x)
{
    size_t n = 0;
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__stage_plan *s = x->stage[i].plan;
        for (int k = 0; s->program && k < s->program->n_reads; k++)
            n += (size_t)s->ticket_rows * (size_t)s->program->read[k]->n_places *
                 x->stage[i].ring.cap;
    }
    return n;
}

static bool reads_places(const struct stk__exec *x)
{
    for (int i = 0; i < x->n_stages; i++) {
        const struct stk__program *program = x->stage[i].plan->program;
        for (int k = 0; program && k < program->n_reads; k++)
            if (program->read[k]->role == STK__ROLE_SOURCE)
                return true;
    }
    return false;
}

static struct stk__read_host host_of(const struct stk__exec *x)
{
    return (struct stk__read_host){ x->pool, x->memory.budget_bytes, x->cancelled };
}

int stk__reads_begin(struct stk__exec *x, struct stk_error *err)
{
    const struct stk__options *options = &x->plan->options;
    const size_t n_places = count_places(x);
    if (!n_places)
        return STK_OK;
    const struct stk__lane_plan plan = {
        .host = host_of(x),
        .answered = answered,
        .watched = watched,
        .ctx = x,
        .most_requests = (int)n_places,
        .most_depth = (int)options->io_depth,
        .n_callers = x->crew.n_workers,
        .is_depth_auto = options->is_depth_auto,
        .has_ring = options->io == STK__IO_URING,
        .reads_places = reads_places(x),
    };
    return stk__lane_new(&plan, &x->lane, err);
}

void stk__reads_lend(struct stk__exec *x)
{
    const struct stk__read_host host = host_of(x);
    if (x->lane)
        stk__lane_lend(x->lane, &host);
}
