/* SPDX-License-Identifier: Apache-2.0 */
/* passes.c: how sources count their passes, and how a stage that needs no more rows ends one
 * early.
 *
 * A source at depth d counts d + 1 levels, the iterator's epochs first. pass_no[l] is how many
 * ends of passes of level l or further out a stage has published, n_ended[l] how many of them
 * the stage downstream has read: it is in pass n_ended[l] + 1. Through a stage with one input
 * ends come one by one, so this number means the same to everything above it, up to a source or
 * to a stage with several inputs, which asks each of them with its own number.
 */
#include "base/hash.h"
#include "exec/run.h"

/* Hash of the pass counters from a level on. A chain that is opened for elements has the path of its
 * element in place of that of an epoch. */
static uint64_t path_from(const struct stk__stage *s, int first_level)
{
    bool is_opened = s->base_path && !first_level;
    uint64_t path = is_opened ? s->base_path : first_level ? stk__first_path() : 0;
    for (int level = is_opened ? 1 : first_level; level <= s->plan->depth; level++)
        path = stk__hash_mix(path, s->counter[level]);
    return path;
}

static void set_path(struct stk__stage *s)
{
    s->path = path_from(s, s->plan->first_level);
}

uint64_t stk__pass_path(const struct stk__stage *s)
{
    return path_from(s, s->plan->drawn_level);
}

void stk__source_begin(struct stk__stage *s)
{
    s->is_exhausted = s->plan->level_count[0] == 0;
    s->begins_pass = true;
    set_path(s);
}

bool stk__is_closed(const struct stk__stage *s)
{
    for (int level = 0; level <= s->plan->depth; level++)
        if (s->pass_no[level] < s->closed[level] || s->plan->level_count[level] == 0)
            return true;
    return false;
}

/* The outermost level that may not go on: closed, or out of passes once this one is counted. */
int stk__source_end_pass(struct stk__stage *s)
{
    const struct stk__stage_plan *plan = s->plan;
    int level = plan->depth;
    for (int l = plan->depth; l >= 0; l--)
        if (s->pass_no[l] < s->closed[l] || plan->level_count[l] == 0)
            level = l;
    if (plan->level_count[level] == 0 && level > 0)
        level--; /* repeat(0): the pass around it ends with it */
    for (s->counter[level]++; level > 0 && s->counter[level] >= plan->level_count[level];)
        s->counter[--level]++;
    for (int l = level + 1; l <= plan->depth; l++)
        s->counter[l] = 0;
    for (int l = level; l <= plan->depth; l++)
        s->pass_no[l]++;
    s->is_exhausted = s->counter[0] >= plan->level_count[0];
    s->position = 0;
    s->begins_pass = true;
    set_path(s);
    return level;
}

/* Sources and serial stages count their passes themselves. */
void stk__note_mark(struct stk__exec *x, struct stk__stage *s, int level)
{
    if (s != stk__last_stage(x))
        return;
    if (s->plan->program && !s->plan->is_source) {
        s->counter[level]++;
        for (int l = level + 1; l < STK__MAX_LEVELS; l++)
            s->counter[l] = 0;
    }
    if (level <= x->plan->restart_level)
        s->n_since = 0;
}

void stk__close_pass(struct stk__exec *x, struct stk__stage *s, int depth, uint64_t pass)
{
    if (s->closed[depth] < pass)
        s->closed[depth] = pass;
    if (s->plan->n_inputs == 1)
        stk__close_pass(x, &x->stage[s->plan->input[0]], depth, pass);
    else if (s->pass_no[depth] < pass)
        stk__close_inputs(x, s, depth);
    x->crew.has_changed = true;
}

void stk__close_inputs(struct stk__exec *x, struct stk__stage *s, int depth)
{
    for (int i = 0; i < s->plan->n_inputs; i++) {
        struct stk__stage *input = &x->stage[s->plan->input[i]];
        if (!s->plan->kind->is_join ||
            s->joint.seen_level[i] > depth) /* else it has come to the end by itself */
            stk__close_pass(x, input, depth, input->reader.n_ended[depth] + 1);
    }
}
