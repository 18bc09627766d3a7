/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan.c: a plan from groups to places. */
#include "train/plan/step_plan.h"

#include "base/cpu.h"
#include "base/error.h"
#include "train/conv/choice.h"

#include <string.h>

/* ---- places ---- */

static bool overlaps(const struct stk__stay *a, const struct stk__stay *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place of a stay among those that have one: `is_placed`. */
static size_t lowest_place(const struct stk__stay *all, int n, const struct stk__stay *stay)
{
    size_t at = 0;
    for (bool is_moved = true; is_moved;) {
        is_moved = false;
        for (int i = 0; i < n; i++) {
            const struct stk__stay *other = &all[i];
            if (other == stay || other->at == SIZE_MAX || !other->bytes || !overlaps(other, stay) ||
                other->at >= at + stay->bytes || at >= other->at + other->bytes)
                continue;
            at = other->at + other->bytes;
            is_moved = true;
        }
    }
    return at;
}

static struct stk__stay *largest_left(struct stk__stay *all, int n)
{
    struct stk__stay *largest = NULL;
    for (int i = 0; i < n; i++)
        if (all[i].at == SIZE_MAX && (!largest || all[i].bytes > largest->bytes))
            largest = &all[i];
    return largest;
}

size_t stk__stays_place(struct stk__stay *stay, int n)
{
    size_t end = 0;
    for (int i = 0; i < n; i++)
        stay[i].at = SIZE_MAX;
    for (struct stk__stay *next; (next = largest_left(stay, n));) {
        next->at = next->bytes ? lowest_place(stay, n, next) : 0;
        if (next->at + next->bytes > end)
            end = next->at + next->bytes;
    }
    return end;
}

/* ---- plans ---- */

int stk__step_plan_make(struct stk__step_plan *plan, const struct stk__model *model,
                        const struct stk__step_plan_options *options, struct stk_arena *arena,
                        struct stk_error *err)
{
    *plan = (struct stk__step_plan){ .arena = arena,
                                     .model = model,
                                     .n_threads = options->n_threads,
                                     .trains = options->trains,
                                     .deterministic = options->deterministic,
                                     .puts_off = options->puts_off,
                                     .dtype = options->dtype,
                                     .max_batch = options->max_batch,
                                     .cpu_level = (int)stk__cpu_level() };
    plan->choices = stk__choices_open(&(struct stk__choice_options){
        .deterministic = options->deterministic, .n_threads = options->n_threads });
    int rc = plan->choices ? stk__step_plan_groups(plan, options->merges_last, err)
                           : stk__out_of_memory(err);
    if (!rc)
        rc = stk__step_plan_tensors(plan, err);
    if (!rc)
        plan->wants_rehearsal = stk__choices_want_rehearsal(plan->choices);
    stk__choices_close(plan->choices);
    plan->choices = NULL;
    if (!rc && plan->trains)
        rc = stk__step_plan_program(plan, true, &plan->train, err);
    if (!rc)
        rc = stk__step_plan_program(plan, false, &plan->use, err);
    if (!rc && plan->trains)
        rc = stk__program_layout(plan, &plan->train, options->max_batch, err);
    if (!rc)
        rc = stk__program_layout(plan, &plan->use, options->max_batch, err);
    if (rc)
        stk__step_plan_close(plan);
    return rc;
}

void stk__step_plan_close(struct stk__step_plan *plan)
{
    for (int g = 0; g < plan->n_groups; g++)
        if (plan->group[g].type->close)
            plan->group[g].type->close(&plan->group[g]);
}
