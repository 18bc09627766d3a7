/* SPDX-License-Identifier: Apache-2.0 */
/* plan_sizes.c: how large everything of a plan is, and whether it fits into the budget. */
#include "base/error.h"
#include "base/memory/pages.h"
#include "exec/plan/plan_parts.h"
#include "exec/run.h"
#include "op/order/order.h"

#include <math.h>

/* Rows that are not fixed show their size only when they are there; until then: a file or an
 * image, or a string. */
size_t stk__row_bytes(const struct stk_type *type, bool is_heavy, size_t small)
{
    const size_t large = 1 << 16;
    size_t bytes = 0;
    for (int f = 0; f < type->n_fields; f++) {
        const struct stk_field *field = &type->field[f];
        bool is_large = is_heavy || field->kind == STK_SHAPED;
        bytes += field->kind == STK_FIXED ? stk_field_bytes(field) : is_large ? large : small;
    }
    return bytes;
}

/* What a string of the stage's rows takes: as much as all of its row where that is known. */
size_t stk__small_bytes(const struct stk__stage_plan *s)
{
    const size_t usual = 256;
    size_t located = s->program ? s->program->located_bytes : 0;
    return located ? located : usual;
}

static bool is_judge(const struct stk__plan *plan, const struct stk__node *node)
{
    for (int i = 0; i < plan->n_stages; i++)
        if (plan->stage[i].is_judge && plan->stage[i].node == node)
            return true;
    return false;
}

/* Of so many rows those that are chosen or repeated. Splits are left out: which rows are in a part of them depends on
 * how many there are, and so does how many. */
static int64_t most_chosen(const struct stk__node *node, int64_t most)
{
    struct stk__infer_inside inside = { .world = 1 };
    const struct stk_infer inf = { .params = node->params,
                                   .state = node->state,
                                   .n_inputs = 1,
                                   .in = { &node->input[0]->type },
                                   .in_count = { most },
                                   .inside = &inside };
    int64_t count = STK_UNKNOWN_COUNT;
    return node->op->order.count(&inf, &count, NULL) ? STK_UNKNOWN_COUNT : count;
}

static bool chooses(const struct stk__node *node)
{
    return node->n_inputs == 1 && node->op->order.count && node->op->order.at &&
           !(node->op->flags & STK__OP_STABLE);
}

/* The most rows a pass may have, or that this is unknown. They are more than the node counts where bad rows pass
 * beside what is made of the others: then what is made is taken apart to no more than without them. */
int64_t stk__most_rows(const struct stk__plan *plan, const struct stk__node *node)
{
    bool is_exact = true, is_known = true;
    int64_t sum = 0;
    if (is_judge(plan, node))
        return node->count;
    for (int i = 0; i < node->n_inputs; i++) {
        int64_t most = stk__most_rows(plan, node->input[i]);
        is_exact &= most == node->input[i]->count;
        is_known &= most >= 0 && sum <= STK__MAX_COUNT - most;
        sum += is_known ? most : 0;
    }
    if (stk__node_merges(node))
        return is_known ? sum + 1 : STK_UNKNOWN_COUNT;
    if (is_exact || node->count < 0)
        return node->count;
    if (!is_known || node->op->flags & STK__OP_NESTS)
        return STK_UNKNOWN_COUNT;
    if (node->op->flags & STK__OP_EXPANDS)
        return sum + node->count;
    return chooses(node) ? most_chosen(node, sum) : sum;
}

/* Rows that are files or images, as far as anybody can tell. */
bool stk__has_large_rows(const struct stk__stage_plan *s)
{
    const size_t most_small = 4096;
    if (!s->program)
        return false;
    size_t located = s->program->located_bytes;
    return s->program->is_heavy || (s->program->n_reads && (!located || located > most_small));
}

static size_t stage_row_bytes(const struct stk__plan *plan, const struct stk__stage_plan *s,
                              bool is_heavy)
{
    return s->kind->row_bytes ? s->kind->row_bytes(plan, s, is_heavy)
                              : stk__row_bytes(s->type, is_heavy, stk__small_bytes(s));
}

/* One where a row is work enough; a few where it is only read, so that requests are asked for
 * together; else as many as stay in the first-level cache. */
static int ticket_rows(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    /* chains may be open by the hundred */
    const size_t chunk_bytes = plan->is_inner ? 1 << 13 : 1 << 15, read_bytes = 1 << 17;
    /* functions of the caller may be slow, and a lock that is taken for 64 rows costs little */
    const size_t most = s->program && s->program->exclusive ? 64 : 1024;
    if (s->program && s->program->is_heavy)
        return 1;
    size_t rows = chunk_bytes / (stage_row_bytes(plan, s, false) + sizeof(struct stk__address));
    size_t located = s->program ? s->program->located_bytes : 0;
    if (located)
        rows = rows < read_bytes / located ? rows : read_bytes / located;
    else if (s->program && s->program->n_reads)
        rows = plan->options.is_depth_auto ? 4 : (size_t)plan->options.io_depth / 8;
    rows = rows < 1 ? 1 : rows > most ? most : rows;
    bool is_cut =
        plan->is_direct && s == &plan->stage[plan->last] && rows > (uint64_t)plan->batch_rows;
    return is_cut ? (int)plan->batch_rows : (int)rows;
}

/* What a stage keeps of its input. */
size_t stk__held_bytes_of(const struct stk__plan *plan, const struct stk__stage_plan *s)
{
    const struct stk__stage_plan *in = &plan->stage[s->input[0]];
    size_t row =
        stk__row_bytes(in->type, false, stk__small_bytes(in)) + sizeof(struct stk__address) + 1;
    return stk__chunk_bytes(in->type, 1, stk__stage_parts(plan, in)) + row * s->held_rows;
}

static void size_held(const struct stk__plan *plan, struct stk__stage_plan *s)
{
    uint64_t rows = 0;
    bool keeps = s->kind->held_rows && s->kind->held_rows(plan, s, &rows);
    s->held_rows = (size_t)rows;
    s->held_bytes = s->kind->held_bytes ? s->kind->held_bytes(plan, s)
                    : keeps             ? stk__held_bytes_of(plan, s)
                                        : 0;
}

static void size_stages(struct stk__plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        struct stk__stage_plan *s = &plan->stage[i];
        s->ticket_rows = ticket_rows(plan, s);
        size_t variable = stage_row_bytes(plan, s, stk__has_large_rows(s)) * (size_t)s->ticket_rows;
        s->unit_bytes =
            stk__chunk_bytes(s->type, s->ticket_rows, stk__stage_parts(plan, s)) + variable;
        size_held(plan, s);
    }
    const struct stk__stage_plan *last = &plan->stage[plan->last];
    plan->batch_bytes =
        stk__row_bytes(last->type, stk__has_large_rows(last), stk__small_bytes(last)) *
            (size_t)plan->batch_rows +
        (sizeof(struct stk__address) + 1) * (size_t)plan->batch_rows + 4096;
}

static int64_t prefetch_window(const struct stk__node *node)
{
    for (; stk__is_prefetch(node) || stk__is_passes(node) || stk__is_gate(node);
         node = node->input[0])
        if (stk__is_prefetch(node) && stk__int_param(node, "buffer_size") > 0)
            return stk__int_param(node, "buffer_size");
    return STK_AUTO;
}

/* How many batches fit in so many bytes, within bounds. */
static int64_t fit_batches(const struct stk__plan *plan, size_t bytes, int64_t least, int64_t most)
{
    int64_t fit = (int64_t)(bytes / (plan->batch_bytes + 1));
    return fit < least ? least : fit > most ? most : fit;
}

static void size_window(struct stk__plan *plan)
{
    const size_t window_bytes = (size_t)48 << 20;
    int64_t window = plan->options.window;
    if (window == STK_AUTO)
        window = prefetch_window(plan->graph->root);
    plan->is_window_given = window != STK_AUTO;
    if (!plan->is_window_given)
        window = fit_batches(plan, window_bytes, 2, 16);
    plan->window = plan->max_window = (int)(window > 4096 ? 4096 : window);
    if (!plan->is_window_given)
        plan->max_window = (int)fit_batches(plan, (size_t)plan->options.memory / 4, window, 64);
}

/* Bytes of one slot in all rings. */
static size_t slot_bytes(const struct stk__plan *plan)
{
    size_t bytes = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__stage_plan *s = &plan->stage[i];
        bytes += sizeof(struct stk__ticket);
        for (int k = 0; s->program && k < s->program->n_reads; k++)
            bytes += (size_t)s->ticket_rows * (size_t)s->program->read[k]->n_places *
                     sizeof(struct stk__fetched);
    }
    return bytes;
}

/* As many tickets as may be in flight; with a small budget as many as take little of it, since nobody counts
 * them. */
static void size_rings(struct stk__plan *plan)
{
    const int64_t least = 16, most = 1024, part = 64;
    int64_t in_flight = 2 * plan->options.io_depth + 2 * plan->options.workers;
    int64_t fit = plan->options.memory / part / (int64_t)slot_bytes(plan);
    int64_t ring = in_flight < fit ? in_flight : fit;
    plan->ring = (int)(ring < least ? least : ring > most ? most : ring);
    plan->ring_bytes = (size_t)plan->ring * slot_bytes(plan);
}

/* Threads get a quarter of the budget at most: what they take is not there for what they work on. */
static void limit_workers(struct stk__plan *plan)
{
    int64_t *workers = &plan->options.workers;
    int64_t fit =
        (plan->options.memory / 4 - (int64_t)plan->ring_bytes) / STK__THREAD_BYTES - 1; /* next's */
    plan->wanted_workers = *workers;
    if (*workers > 1 && *workers > fit)
        *workers = fit > 1 ? fit : 1;
}

/* ---- the budget ---- */

/* What is missing, and which op keeps most of it. */
static int fail_budget(const struct stk__plan *plan, const struct stk__stage_plan *keeper,
                       struct stk_error *err)
{
    struct stk__text text = { 0 };
    bool is_much = keeper->held_bytes > plan->minimum_bytes / 2;
    bool are_indices_much = plan->index_bytes > plan->minimum_bytes / 2;
    if (are_indices_much)
        stk__text_add(&text, "; lists of files and indices take %zu of them", plan->index_bytes);
    if (is_much)
        stk__text_add(&text, "; %s keeps %zu of them", keeper->node->op->decl.name,
                      keeper->held_bytes);
    bool is_batch_much = plan->batch_bytes > plan->minimum_bytes / 2;
    const char *help = are_indices_much ? ", fewer files need less"
                       : is_much        ? ", and it can be told to keep less"
                       : is_batch_much  ? ", a smaller batch needs less"
                                        : "";
    int rc = stk__fail_at(err, STK_BUDGET, is_much ? keeper->node->at : 0,
                          is_much ? keeper->node->len : 0,
                          "memory: this chain needs at least %zu bytes (one batch is %zu), but the "
                          "budget is %lld%s; memory= gives it more%s",
                          plan->minimum_bytes, plan->batch_bytes, (long long)plan->options.memory,
                          text.data ? text.data : "", help);
    stk__text_free(&text);
    return rc;
}

static bool keeps_more(const struct stk__stage_plan *s)
{
    return s->kind->keeps_more && s->kind->keeps_more(s);
}

static bool waits_by_value(const struct stk__stage_plan *s)
{
    return s->kind->waits_by_value && s->kind->waits_by_value(s);
}

/* One unit of every account. */
static size_t stages_bytes(const struct stk__plan *plan)
{
    size_t least = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__stage_plan *s = &plan->stage[i];
        least += s->unit_bytes + s->held_bytes + (keeps_more(s) ? STK__KEPT_LEAST : 0);
        if (s->program && s->program->n_reads)
            least += 1 << 16;
    }
    return least;
}

size_t stk__stage_scratch(const struct stk__stage_plan *s)
{
    const size_t head = 512; /* of a block */
    return s->program ? stk__memory_bytes(s->program->scratch_bytes * (size_t)s->ticket_rows +
                                          STK__SCRATCH_BLOCK + head)
                      : 0;
}

/* Of one ticket, whichever stage it is of. */
static void size_scratch(struct stk__plan *plan)
{
    for (int i = 0; i < plan->n_stages; i++) {
        size_t bytes = stk__stage_scratch(&plan->stage[i]);
        plan->scratch_bytes = bytes > plan->scratch_bytes ? bytes : plan->scratch_bytes;
    }
}

static int check_budget(struct stk__plan *plan, struct stk_error *err)
{
    size_scratch(plan);
    size_t least = plan->batch_bytes + plan->scratch_bytes + stages_bytes(plan);
    plan->index_bytes = stk__graph_bytes(plan->graph);
    if (plan->has_own_budget)
        least += plan->index_bytes;
    const struct stk__stage_plan *keeper = plan->stage;
    for (int i = 0; i < plan->n_stages; i++)
        keeper = plan->stage[i].held_bytes > keeper->held_bytes ? &plan->stage[i] : keeper;
    plan->minimum_bytes = least;
    return least > (uint64_t)plan->options.memory ? fail_budget(plan, keeper, err) : STK_OK;
}

size_t stk__plan_least(const struct stk__plan *plan)
{
    return plan->minimum_bytes + (plan->has_own_budget ? 0 : plan->index_bytes);
}

/* Ops that keep what they have seen share half of what the others leave. */
static void size_kept(struct stk__plan *plan)
{
    size_t n = 0;
    for (int i = 0; i < plan->n_stages; i++)
        n += keeps_more(&plan->stage[i]);
    for (int i = 0; i < plan->n_stages; i++)
        if (keeps_more(&plan->stage[i]))
            plan->stage[i].kept_bytes =
                STK__KEPT_LEAST + ((size_t)plan->options.memory - plan->minimum_bytes) / 2 / n;
}

/* What a window takes that caches leave alone: all of it where somebody asked for it; else a
 * quarter of the budget, since a narrow window serves a cache as well, and a wide one would
 * leave nothing to serve. */
static double reserved_window(const struct stk__plan *plan)
{
    double wanted = (double)plan->batch_bytes * plan->window;
    double least = 2.0 * (double)plan->batch_bytes, part = (double)plan->options.memory / 4;
    if (plan->is_window_given)
        return wanted;
    return fmin(wanted, fmax(least, part));
}

/* Caches get what is left when the window is full and every worker has a chunk of each stage. */
static void size_cache(struct stk__plan *plan)
{
    double wanted = (double)plan->minimum_bytes + reserved_window(plan);
    double n_chunks = 2 + 2 * (double)plan->options.workers;
    double reads = fmin((double)plan->options.io_depth * 65536, (double)plan->options.memory / 8);
    for (int i = 0; i < plan->n_stages; i++) {
        const struct stk__stage_plan *s = &plan->stage[i];
        wanted += n_chunks * (double)s->unit_bytes + (double)s->kept_bytes;
        if (s->program && s->program->n_reads)
            wanted += reads;
    }
    double left = (double)plan->options.memory - wanted;
    plan->cache_bytes = left > 0 ? (size_t)left : 0;
}

int stk__plan_size(struct stk__plan *plan, struct stk_error *err)
{
    size_stages(plan);
    size_window(plan);
    size_rings(plan);
    limit_workers(plan);
    int rc = check_budget(plan, err);
    if (rc)
        return rc;
    size_kept(plan);
    size_cache(plan);
    return STK_OK;
}

/* Room for what is kept by value in a chain that is opened. It has no part of what the run does not need:
 * chains that are open together share a MB, as far as it goes. */
static size_t inner_room(const struct stk__plan *inner, int64_t n_chains)
{
    const int64_t all = 1 << 20, least = 1 << 16;
    int64_t each = all / n_chains > least ? all / n_chains : least;
    int n = 0;
    for (int i = 0; i < inner->n_stages; i++)
        n += keeps_more(&inner->stage[i]) || waits_by_value(&inner->stage[i]);
    return (size_t)(n * each);
}

/* Of its stages each has one unit, and the last one another, so that it can be ahead. */
void stk__plan_size_inner(struct stk__plan *inner, int64_t n_chains)
{
    stk__plan_set_trace(inner);
    size_stages(inner);
    inner->window = 1;
    inner->ring = 8;
    inner->minimum_bytes = stages_bytes(inner);
    size_t room = inner_room(inner, n_chains);
    inner->options.memory = (int64_t)(inner->minimum_bytes + room);
    size_kept(inner);
    inner->options.memory += (int64_t)inner->stage[inner->last].unit_bytes;
}
