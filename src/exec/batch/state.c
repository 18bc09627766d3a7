/* SPDX-License-Identifier: Apache-2.0 */
/* state.c: a bookmark as text, and back.
 *
 * The text is a call of the language with a declaration of its own, so it is printed, parsed and
 * checked like any call: state@1(chain='range(100).batch(8)', seed=0, …). Beside the place it says
 * what decides the batches; a run that would deliver others is refused. */
#include "base/error.h"
#include "base/hash.h"
#include "exec/run.h"
#include "graph/same_chain.h"
#include "io/file_out.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_CHAIN = 2800 }; /* of which a state keeps the text, so that it stays below 4 KB */

struct state {
    const char *chain;
    int64_t hash, seed;
    int on_error;
    double max_errors;
    int64_t rank, world, count;
    struct stk_numbers passes, yielded, gates;
    int64_t n_in, n_out, judged, bad;
    int64_t epoch, batch, rows, errors, end;
};

static const char *const on_error_names[] = { "fail", "skip", "replace", NULL };

#define COUNT_ROW(name, text) STK_INT_ROW(state, name, 0, 0, INT64_MAX, STK_REQUIRED, text)

static const struct stk_param rows[] = {
    STK_TEXT_ROW(state, chain, NULL, STK_TAKES_NONE, "the chain; none: its text is too long"),
    STK_INT_ROW(state, hash, 0, INT64_MIN + 2, INT64_MAX, STK_REQUIRED, "of the chain"),
    COUNT_ROW(seed, "the run's seed"),
    STK_CHOICE_ROW(state, on_error, on_error_names, 0, STK_REQUIRED, "what a bad element does"),
    STK_REAL_ROW(state, max_errors, DBL_MAX, 0, DBL_MAX, 0, "how many bad elements are accepted"),
    COUNT_ROW(rank, "which part shard() means"),
    COUNT_ROW(world, "how many parts shard() means"),
    STK_INT_ROW(state, count, 0, -2, INT64_MAX, STK_REQUIRED, "elements before the last batch"),
    STK_NUMBERS_ROW(state, passes, NULL, 1, STK__MAX_LEVELS, STK_REQUIRED,
                    "passes that are over, per repetition"),
    STK_NUMBERS_ROW(state, yielded, NULL, 1, STK__MAX_LEVELS, STK_REQUIRED,
                    "batches of this pass, per repetition"),
    STK_NUMBERS_ROW(state, gates, NULL, 0, STK__MAX_GATES, STK_TAKES_NONE,
                    "batches that ops behind the last batch have seen"),
    COUNT_ROW(n_in, "rows since then that need not be made again"),
    COUNT_ROW(n_out, "rows behind those that were used"),
    COUNT_ROW(judged, "rows of this pass"),
    COUNT_ROW(bad, "bad ones among them"),
    COUNT_ROW(epoch, "epoch of the last batch"),
    STK_INT_ROW(state, batch, 0, -1, INT64_MAX, STK_REQUIRED, "its number in the epoch"),
    COUNT_ROW(rows, "elements of the epoch up to its end"),
    COUNT_ROW(errors, "bad elements so far"),
    COUNT_ROW(end, "epoch before which the run ends"),
    STK_ROWS_END
};

static const struct stk_decl decl = {
    .name = "state",
    .version = 1,
    .summary = "The place that a run has come to.",
    .doc = "",
    .params = rows,
    .params_size = sizeof(struct state),
};

/* ---- writing ---- */

static int add_numbers(struct stk_arena *arena, const uint64_t *from, int n,
                       struct stk_numbers *out, struct stk_error *err)
{
    double *item = stk__arena_take(arena, sizeof *item * (size_t)(n + 1));
    if (!item)
        return stk__out_of_memory(err);
    for (int i = 0; i < n; i++)
        item[i] = (double)from[i];
    *out = (struct stk_numbers){ .item = item, .n = n, .choice = -1 };
    return STK_OK;
}

/* Elements that batches are made of, all shards together. */
static int64_t count_rows(const struct stk__plan *plan)
{
    return plan->batch ? plan->batch->input[0]->count : plan->graph->root->count;
}

static void describe_run(const struct stk__plan *plan, struct state *out)
{
    out->hash = (int64_t)(stk__chain_hash(plan->graph) >> 1);
    out->seed = plan->options.seed;
    out->on_error = (int)plan->options.on_error;
    out->max_errors = plan->options.max_errors;
    out->rank = plan->options.rank;
    out->world = plan->options.world;
    out->count = count_rows(plan);
    out->end = stk__options_end_epoch(&plan->options);
}

static void describe_place(const struct stk__bookmark *at, struct state *out)
{
    out->n_in = (int64_t)at->restart.n_in;
    out->n_out = (int64_t)at->restart.n_out;
    out->judged = (int64_t)at->n_rows;
    out->bad = (int64_t)at->n_bad;
    out->epoch = (int64_t)at->position.epoch;
    out->batch = (int64_t)at->position.batch;
    out->rows = (int64_t)at->position.rows;
    out->errors = (int64_t)at->position.errors;
}

static int print_state(const struct stk__plan *plan, const struct stk__bookmark *at,
                       struct stk_arena *arena, struct stk__text *out, struct stk_error *err)
{
    struct state state = { 0 };
    struct stk__text chain = { 0 };
    describe_run(plan, &state);
    describe_place(at, &state);
    int rc = add_numbers(arena, at->restart.counter, plan->restart_level + 1, &state.passes, err);
    if (!rc)
        rc = add_numbers(arena, at->n_yielded, plan->depth + 1, &state.yielded, err);
    if (!rc)
        rc = add_numbers(arena, at->n_gated, plan->n_gates, &state.gates, err);
    if (!rc)
        rc = stk__chain_text(plan->graph, &chain, err);
    if (!rc && chain.len <= LONGEST_CHAIN)
        state.chain = chain.data;
    if (!rc)
        rc = stk__print_call(&decl, &state, NULL, STK__CANONICAL, out, err);
    stk__text_free(&chain);
    return rc;
}

static int write_state(const struct stk__plan *plan, const struct stk__bookmark *at, char **out,
                       struct stk_error *err)
{
    struct stk_arena arena;
    struct stk__text text = { 0 };
    stk__arena_init(&arena, 4096);
    int rc = print_state(plan, at, &arena, &text, err);
    stk__arena_free(&arena);
    if (rc)
        stk__text_free(&text);
    else if (!(*out = stk__text_take(&text)))
        rc = stk__out_of_memory(err);
    return rc;
}

int stk_batch_state(const struct stk_batch *batch, char **out, struct stk_error *err)
{
    return write_state(batch->depot->plan, &batch->bookmark, out, err);
}

int stk__exec_state(struct stk__exec *x, char **out, struct stk_error *err)
{
    if (!stk__exec_is_ours(x))
        return stk_fail(err, STK_STATE, "this iterator was started before a fork");
    pthread_mutex_lock(&x->lock);
    struct stk__bookmark at = x->deliveries.handed;
    pthread_mutex_unlock(&x->lock);
    return write_state(x->plan, &at, out, err);
}

/* ---- reading ---- */

static void take_numbers(const struct stk_numbers *from, uint64_t *out)
{
    for (int i = 0; i < from->n; i++)
        out[i] = from->item[i] > 0 && from->item[i] < 0x1p63 ? (uint64_t)from->item[i] : 0;
}

static int parse_state(const char *text, struct stk_arena *arena, struct state *out,
                       struct stk_error *err)
{
    const struct stk_value *value;
    int rc = stk__parse(text, NULL, arena, &value, err);
    if (rc == STK_MEMORY)
        return rc;
    if (rc || value->kind != STK__CHAIN || value->n_calls != 1 ||
        strcmp(value->call[0].name, decl.name))
        return stk_fail(err, STK_STATE, "this is not an iterator state");
    if (value->call[0].version != decl.version)
        return stk_fail(err, STK_STATE, "the state has version %d; this stoker reads version %d",
                        value->call[0].version, decl.version);
    rc = stk__call_bind(&value->call[0], &decl, arena, out, err);
    if (rc && err)
        err->at = err->len = 0; /* a place in the state's text, not in the chain's */
    return rc;
}

/* True if the runs differ in nothing but the number of processes that share the data, and the place
 * is one that all have come to together. */
static bool is_resharded(const struct stk__plan *plan, const struct state *was,
                         const struct state *now)
{
    return was->world != now->world && plan->batch && !plan->n_gates &&
           stk__chain_ends_in_shard(plan->batch->input[0]) && was->on_error != STK__SKIP;
}

static int refuse(struct stk_error *err, const char *what, int64_t was, int64_t now)
{
    return stk_fail(err, STK_STATE, "the state is of another run: %s was %lld, and is %lld now",
                    what, (long long)was, (long long)now);
}

/* A run with another number of processes, where one's place does not tell that of the others. */
static int refuse_world(const struct stk__plan *plan, const struct state *was,
                        const struct state *now, struct stk_error *err)
{
    char why[200] = "";
    const struct stk__node *last = plan->batch ? plan->batch->input[0] : plan->graph->root;
    if (!stk__chain_ends_in_shard(last))
        snprintf(why, sizeof why,
                 "behind %s the place of one process does not tell that of the others",
                 stk__chain_mixes_shares(last));
    else if (was->on_error == STK__SKIP)
        snprintf(why, sizeof why, "on_error=skip leaves out elements of one process");
    else
        snprintf(why, sizeof why, "elements must be counted in batches, by one batch at the end");
    return stk_fail(
        err, STK_STATE,
        "the state is of another run: world was %lld, and is %lld now; %s. Put only ops "
        "on single elements between shard() and batch, and shuffle() without a size "
        "before them, or continue with world=%lld to the end of the epoch",
        (long long)was->world, (long long)now->world, why, (long long)was->world);
}

/* `but_world`: rank and world may differ. */
static int check_run(const struct stk__plan *plan, const struct state *was, const struct state *now,
                     bool but_world, struct stk_error *err)
{
    if (was->seed != now->seed)
        return refuse(err, "seed", was->seed, now->seed);
    if (was->on_error != now->on_error)
        return stk_fail(err, STK_STATE,
                        "the state is of another run: on_error was %s, and is %s now",
                        on_error_names[was->on_error], on_error_names[now->on_error]);
    if (!but_world && was->world != now->world)
        return refuse_world(plan, was, now, err);
    if (was->count != now->count)
        return refuse(err, "the number of elements", was->count, now->count);
    if (!but_world && was->rank != now->rank)
        return refuse(err, "rank", was->rank, now->rank);
    return STK_OK;
}

/* The same place of the whole, as one of another number of processes counts it. */
static int reshard(const struct stk__plan *plan, const struct state *was,
                   struct stk__bookmark *place, struct stk_error *err)
{
    uint64_t world = (uint64_t)plan->options.world, batch = (uint64_t)plan->batch_rows;
    uint64_t all = (place->restart.n_in + place->restart.n_out) * (uint64_t)was->world;
    if (all % (world * batch) && all < (uint64_t)was->count)
        return stk_fail(err, STK_STATE,
                        "the state is of world=%lld at element %llu of all, which is no end of a "
                        "batch with world=%lld and batches of %llu",
                        (long long)was->world, (unsigned long long)all,
                        (long long)plan->options.world, (unsigned long long)batch);
    uint64_t mine = (all + world - 1) / world, most = plan->stage[plan->last].count;
    place->restart.n_in = mine < most ? mine : most;
    place->restart.n_out = 0;
    place->position.rows = place->n_rows = place->restart.n_in;
    place->position.batch = (place->restart.n_in + batch - 1) / batch - 1;
    return STK_OK;
}

static int find_place(const struct stk__plan *plan, const struct state *state,
                      struct stk__bookmark *out, struct stk_error *err)
{
    *out = (struct stk__bookmark){
        .restart = { .n_in = (uint64_t)state->n_in, .n_out = (uint64_t)state->n_out },
        .position = { .epoch = (uint64_t)state->epoch,
                      .batch = (uint64_t)state->batch,
                      .rows = (uint64_t)state->rows,
                      .errors = (uint64_t)state->errors,
                      .hash = stk__hash_mix(plan->graph->hash, (uint64_t)state->seed) },
        .n_rows = (uint64_t)state->judged,
        .n_bad = (uint64_t)state->bad,
    };
    take_numbers(&state->passes, out->restart.counter);
    take_numbers(&state->yielded, out->n_yielded);
    take_numbers(&state->gates, out->n_gated);
    struct state now = { 0 };
    describe_run(plan, &now);
    bool changes_world = is_resharded(plan, state, &now);
    bool uses_world = stk__chain_uses_world(plan->graph);
    bool but_batch = changes_world || (uses_world && state->world != now.world);
    int rc = STK_OK;
    if (state->hash != now.hash)
        rc = stk__chain_differs(plan->graph, state->chain, but_batch, err);
    if (!rc)
        rc = check_run(plan, state, &now, changes_world || !uses_world, err);
    if (!rc && changes_world)
        rc = reshard(plan, state, out, err);
    return rc;
}

int stk_state_read(const char *text, struct stk_state_info *out, struct stk_error *err)
{
    struct stk_arena arena;
    struct state state;
    stk__arena_init(&arena, 4096);
    int rc = parse_state(text, &arena, &state, err);
    if (!rc)
        *out = (struct stk_state_info){ .epoch = (uint64_t)state.epoch,
                                        .batches = (uint64_t)state.batch + 1,
                                        .rows = (uint64_t)state.rows,
                                        .errors = (uint64_t)state.errors,
                                        .end_epoch = (uint64_t)state.end };
    stk__arena_free(&arena);
    return rc;
}

int stk_state_save(const char *state, const char *path, struct stk_error *err)
{
    return stk__file_write_whole(path, state, strlen(state), err);
}

int stk_state_load(const char *path, char **out, struct stk_error *err)
{
    enum { MOST_BYTES = 1 << 16 };
    FILE *f = fopen(path, "re");
    if (!f)
        return stk_fail(err, STK_IO, "'%s' cannot be opened: %s", path, strerror(errno));
    char *text = malloc(MOST_BYTES);
    size_t n = text ? fread(text, 1, MOST_BYTES, f) : 0;
    bool is_bad = ferror(f) || n == MOST_BYTES;
    fclose(f);
    if (!text)
        return stk__out_of_memory(err);
    text[is_bad ? 0 : n] = '\0';
    struct stk_state_info info;
    int rc = is_bad ? stk_fail(err, STK_STATE, "this is not an iterator state")
                    : stk_state_read(text, &info, err);
    if (rc) {
        free(text);
        stk__error_prefix(err, "'%s': ", path);
        return rc;
    }
    *out = text;
    return STK_OK;
}

static int find_state(const struct stk__plan *plan, const char *text, struct stk__bookmark *out,
                      struct stk_error *err)
{
    struct stk_arena arena;
    struct state state;
    stk__arena_init(&arena, 4096);
    int rc = parse_state(text, &arena, &state, err);
    if (!rc)
        rc = find_place(plan, &state, out, err);
    stk__arena_free(&arena);
    return rc;
}

int stk__exec_resume(struct stk__plan *plan, const char *state, struct stk__exec **out,
                     struct stk_error *err)
{
    struct stk__bookmark from;
    int rc = find_state(plan, state, &from, err);
    return rc ? rc : stk__exec_new(plan, &from, out, err);
}
