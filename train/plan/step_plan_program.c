/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan_program.c: parts in order, the segments they make, and when tensors are in use. */
#include "train/plan/step_plan.h"

#include "base/error.h"
#include "train/trainer/team.h"

/* What a thread works on while it carries a lot through: most of a second-level cache. */
enum { LOT_BYTES = 768 << 10 };
/* Where weights are read once per lot: lots of as many images, if larger ones do not fit. */
enum { LONG_LOT = 8, LONG_LOT_BYTES = 8 << 20 };

/* ---- ops ---- */

static int count_parts(const struct stk__part *part)
{
    int n = 0;
    while (part && part[n].run)
        n++;
    return n;
}

static void add_parts(struct stk__step_program *program, int group, bool is_backward,
                      const struct stk__part *part)
{
    int n = count_parts(part);
    for (int i = 0; i < n; i++)
        program->op[program->n_ops++] = (struct stk__step_op){ group, is_backward, &part[i] };
}

static int most_ops(const struct stk__step_plan *plan)
{
    int n = 1;
    for (int g = 0; g < plan->n_groups; g++) {
        const struct stk__group_type *type = plan->group[g].type;
        n += count_parts(type->forward) + count_parts(type->backward) + count_parts(type->use) +
             count_parts(type->late);
    }
    return n;
}

static void list_training(const struct stk__step_plan *plan, struct stk__step_program *program)
{
    for (int g = 0; g < plan->n_groups; g++)
        if (!plan->group[g].is_merged)
            add_parts(program, g, false, plan->group[g].type->forward);
    program->op[program->n_ops++] = (struct stk__step_op){ -1, false, &stk__loss_part };
    for (int g = plan->n_groups - 1; g >= 0; g--)
        if (!plan->group[g].is_merged && plan->group[g].has_gradient)
            add_parts(program, g, true, plan->group[g].type->backward);
    int n_ops = program->n_ops;
    for (int g = 0; plan->puts_off && g < plan->n_groups; g++)
        if (!plan->group[g].is_merged && plan->group[g].has_gradient)
            add_parts(program, g, true, plan->group[g].type->late);
    program->n_late = program->n_ops - n_ops; /* joint: a segment each */
}

static void list_use(const struct stk__step_plan *plan, struct stk__step_program *program)
{
    for (int g = 0; g < plan->n_groups; g++)
        add_parts(program, g, false, plan->group[g].type->use);
    program->op[program->n_ops++] = (struct stk__step_op){ -1, false, &stk__use_loss_part };
}

static void find_segments(struct stk__step_program *program)
{
    for (int i = 0; i < program->n_ops; i++) {
        struct stk__segment *last = &program->segment[program->n_segments - 1];
        bool is_joint = program->op[i].part->is_joint;
        if (program->n_segments && !is_joint && !last->is_joint)
            last->behind = i + 1;
        else
            program->segment[program->n_segments++] =
                (struct stk__segment){ .first = i, .behind = i + 1, .is_joint = is_joint };
    }
}

static int segment_of(const struct stk__step_program *program, int op)
{
    int s = 0;
    while (op >= program->segment[s].behind)
        s++;
    return s;
}

/* ---- when tensors are in use ---- */

static void use(struct stk__step_program *program, int tensor, int op)
{
    if (tensor < 0)
        return;
    struct stk__tensor_place *place = &program->place[tensor];
    if (place->first > op)
        place->first = op;
    if (place->last < op)
        place->last = op;
    if (program->op[op].part->is_joint)
        place->is_shared = true;
}

static void use_of_group(const struct stk__step_plan *plan, struct stk__step_program *program,
                         int op)
{
    const struct stk__step_group *group = &plan->group[program->op[op].group];
    unsigned uses = program->op[op].part->uses;
    if (program->op[op].is_backward)
        uses &= ~group->spares;
    for (int i = 0; i < group->n_inputs; i++) {
        if (uses & STK__IN)
            use(program, group->in[i], op);
        if (uses & STK__D_IN)
            use(program, group->d_in[i], op);
    }
    if (uses & STK__OUT)
        use(program, group->out, op);
    if (uses & STK__D_OUT)
        use(program, group->d_out, op);
    if (uses & STK__CELLS)
        use(program, group->cells, op);
}

static void find_uses(const struct stk__step_plan *plan, struct stk__step_program *program)
{
    for (int i = 0; i < plan->n_tensors; i++)
        program->place[i] = (struct stk__tensor_place){ .first = program->n_ops, .last = -1 };
    for (int op = 0; op < program->n_ops; op++) {
        if (program->op[op].group >= 0) {
            use_of_group(plan, program, op);
            continue;
        }
        use(program, plan->logits, op);
        use(program, plan->outputs, op);
        use(program, plan->gradient_of[plan->logits], op);
    }
    for (int i = 0; i < plan->n_tensors; i++) {
        struct stk__tensor_place *place = &program->place[i];
        if (place->first <= place->last &&
            segment_of(program, place->first) != segment_of(program, place->last))
            place->is_shared = true;
    }
}

/* Scratch is of one part at a time. */
static void find_scratch(const struct stk__step_plan *plan, struct stk__step_program *program)
{
    for (int s = 0; s < program->n_segments; s++) {
        struct stk__segment *segment = &program->segment[s];
        for (int op = segment->first; op < segment->behind; op++) {
            const struct stk__step_op *of = &program->op[op];
            if (of->group < 0)
                continue;
            const struct stk__step_group *group = &plan->group[of->group];
            bool has_strips = group->n_strips && group->strip_floats;
            if (!(of->part->uses & STK__SCRATCH) && !has_strips)
                continue;
            size_t bytes = group->scratch_bytes;
            if (bytes > segment->scratch_bytes)
                segment->scratch_bytes = bytes;
        }
    }
}

/* ---- memory ---- */

static size_t bytes_of(const struct stk__tensor *tensor, int64_t n)
{
    return (size_t)n * tensor->image_bytes;
}

struct layout {
    const struct stk__step_plan *plan;
    struct stk__step_program *program;
    struct stk__stay *stay;
    int *tensor; /* of each stay; -1 - segment: a workspace */
    int64_t max_batch;
};

/* Places of the tensors that a lot of n has in a workspace. Returns how large it is with its scratch. */
static size_t place_lot(struct layout *l, const struct stk__segment *segment, int n)
{
    int n_stays = 0;
    for (int i = 0; i < l->plan->n_tensors; i++) {
        const struct stk__tensor_place *place = &l->program->place[i];
        if (place->is_shared || place->first < segment->first || place->first >= segment->behind)
            continue;
        l->tensor[n_stays] = i;
        l->stay[n_stays++] = (struct stk__stay){ .first = place->first,
                                                 .last = place->last,
                                                 .bytes = bytes_of(&l->plan->tensor[i], n) };
    }
    size_t bytes = stk__stays_place(l->stay, n_stays);
    for (int i = 0; i < n_stays; i++)
        l->program->place[l->tensor[i]].at = l->stay[i].at;
    return bytes + segment->scratch_bytes;
}

static bool wants_long_lots(const struct layout *l, const struct stk__segment *segment)
{
    for (int i = segment->first; i < segment->behind; i++) {
        int group = l->program->op[i].group;
        if (group >= 0 && l->plan->group[group].type->wants_long_lots)
            return true;
    }
    return false;
}

/* As many images as fit, in lots of about one size. */
static int lot_of(struct layout *l, const struct stk__segment *segment)
{
    int64_t share = (l->max_batch + l->plan->n_threads - 1) / l->plan->n_threads;
    size_t one = place_lot(l, segment, 1), two = place_lot(l, segment, 2);
    size_t more = two > one ? two - one : 1;
    if (l->plan->dtype != STK_F32) { /* the same images in half of the memory */
        one += one - segment->scratch_bytes;
        more *= 2;
    }
    int64_t n = one < LOT_BYTES ? 1 + (int64_t)((LOT_BYTES - one) / more) : 1;
    if (wants_long_lots(l, segment) && n < LONG_LOT && one + (LONG_LOT - 1) * more < LONG_LOT_BYTES)
        n = LONG_LOT;
    if (n > share)
        n = share;
    int64_t n_lots = (share + n - 1) / n;
    return (int)((share + n_lots - 1) / n_lots);
}

/* Tensors of the batch and workspaces, by segments: how much memory they are, with or without scratch. */
static size_t place_shared(struct layout *l, bool has_scratch)
{
    struct stk__step_program *program = l->program;
    int n = 0;
    for (int i = 0; i < l->plan->n_tensors; i++) {
        const struct stk__tensor_place *place = &program->place[i];
        if (!place->is_shared)
            continue;
        l->tensor[n] = i;
        l->stay[n++] = (struct stk__stay){ .first = segment_of(program, place->first),
                                           .last = segment_of(program, place->last),
                                           .bytes = bytes_of(&l->plan->tensor[i], l->max_batch) };
    }
    for (int s = 0; s < program->n_segments; s++) {
        size_t bytes = program->segment[s].workspace_bytes;
        bytes -= has_scratch ? 0 : program->segment[s].scratch_bytes;
        l->tensor[n] = -1 - s;
        l->stay[n++] = (struct stk__stay){ .first = s,
                                           .last = s,
                                           .bytes = (size_t)l->plan->n_threads * bytes };
    }
    size_t bytes = stk__stays_place(l->stay, n);
    for (int i = 0; i < n; i++)
        if (l->tensor[i] >= 0)
            program->place[l->tensor[i]].at = l->stay[i].at;
        else
            program->segment[-1 - l->tensor[i]].workspace_at = l->stay[i].at;
    return bytes;
}

int stk__program_layout(const struct stk__step_plan *plan, struct stk__step_program *program,
                        int64_t max_batch, struct stk_error *err)
{
    size_t n = (size_t)(plan->n_tensors + program->n_segments);
    struct stk__arena_mark mark = stk__arena_mark(plan->arena);
    struct layout l = { .plan = plan,
                        .program = program,
                        .stay = stk_arena_alloc(plan->arena, n * sizeof *l.stay),
                        .tensor = stk_arena_alloc(plan->arena, n * sizeof *l.tensor),
                        .max_batch = max_batch };
    if (!l.stay || !l.tensor)
        return stk__out_of_memory(err);
    for (int s = 0; s < program->n_segments; s++) {
        struct stk__segment *segment = &program->segment[s];
        segment->workspace_bytes = segment->scratch_bytes;
        if (segment->is_joint)
            continue;
        segment->lot = lot_of(&l, segment);
        segment->workspace_bytes = place_lot(&l, segment, segment->lot);
    }
    program->tensor_bytes = place_shared(&l, false);
    program->arena_bytes = place_shared(&l, true);
    stk__arena_rewind(plan->arena, mark);
    return STK_OK;
}

int stk__step_plan_program(const struct stk__step_plan *plan, bool trains,
                           struct stk__step_program *out, struct stk_error *err)
{
    size_t n = (size_t)most_ops(plan);
    *out = (struct stk__step_program){
        .op = stk_arena_alloc(plan->arena, n * sizeof *out->op),
        .segment = stk_arena_alloc(plan->arena, n * sizeof *out->segment),
        .place = stk_arena_alloc(plan->arena, (size_t)plan->n_tensors * sizeof *out->place)
    };
    if (!out->op || !out->segment || !out->place)
        return stk__out_of_memory(err);
    if (trains)
        list_training(plan, out);
    else
        list_use(plan, out);
    find_segments(out);
    find_uses(plan, out);
    find_scratch(plan, out);
    return STK_OK;
}
