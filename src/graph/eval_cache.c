/* SPDX-License-Identifier: Apache-2.0 */
/* eval_cache.c: rows of a program that a cache may have. Those that are there are loaded to where they are
 * delivered; the others are made, and kept. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/arena.h"
#include "graph/eval_parts.h"

/* Rows as they come to a cache, and those of them that must be made. */
struct recall {
    struct stk__places at;
    int *missing;
    int n_missing;
};

static int look_up(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                   struct recall *r)
{
    r->n_missing = 0;
    r->missing = stk__arena_take(e->scratch, stk__frame_rows(n) * sizeof *r->missing);
    if (!r->missing || !stk__eval_places_copy(e, at, n, &r->at))
        return STK_MEMORY;
    for (int i = 0; i < n; i++)
        if (!p->kept || !stk__kept_has(p->kept, at.position[i]))
            r->missing[r->n_missing++] = i;
    e->n_hits += n - r->n_missing;
    e->n_misses += r->n_missing;
    return STK_OK;
}

static int recall_row(struct stk__eval *e, const struct stk__pnode *p, uint64_t number, int row,
                      struct stk__frame *frame)
{
    const struct stk__row_place place = { .column = frame->column,
                                          .row = row,
                                          .mask = &frame->mask[row],
                                          .key = frame->key ? &frame->key[row] : NULL,
                                          .faults = &e->faults,
                                          .scratch = e->scratch };
    return stk__kept_load(p->kept, number, &place);
}

/* Rows of a run that is over may not have been made. */
static bool may_keep(const struct stk__eval *e, int mask, const struct stk__fault *fault)
{
    if (e->cancelled && atomic_load(e->cancelled))
        return false;
    return mask == STK_LIVE || (mask == STK_BAD && stk__fault_is_lasting(fault));
}

/* Keeps the rows that were made; `made` has all rows or, if `is_part`, those alone. */
static void keep_rows(struct stk__eval *e, const struct stk__pnode *p, const struct recall *r,
                      const struct stk__frame *made, bool is_part)
{
    for (int k = 0; p->kept && e->leave && k < r->n_missing; k++) {
        int row = r->missing[k], at = is_part ? k : row;
        bool is_bad = made->mask[at] == STK_BAD;
        const struct stk__fault *fault = is_bad ? stk__fault_find(e->faults, row) : NULL;
        if (may_keep(e, made->mask[at], fault))
            stk__kept_keep(p->kept, r->at.position[row],
                           &(struct stk__row_ref){ .column = made->column,
                                                   .row = at,
                                                   .key = made->key ? &made->key[at] : NULL,
                                                   .is_bad = is_bad,
                                                   .fault = fault },
                           e->leave);
    }
}

/* Loads the rows that are there. Those that are there no longer are missing too: where files would
 * have to be read for them, all is to be done again. */
static int recall_rows(struct stk__eval *e, const struct stk__pnode *p, struct recall *r, int n,
                       struct stk__frame *frame)
{
    int n_missing = 0, *missing = stk__arena_take(e->scratch, stk__frame_rows(n) * sizeof *missing);
    if (!missing)
        return STK_MEMORY;
    for (int i = 0, k = 0; i < n; i++) {
        bool is_missing = k < r->n_missing && r->missing[k] == i;
        int rc = is_missing ? STK_DATA : recall_row(e, p, r->at.position[i], i, frame);
        k += is_missing;
        if (rc == STK_MEMORY)
            return rc;
        if (rc)
            missing[n_missing++] = i;
    }
    e->n_hits -= n_missing - r->n_missing;
    e->n_misses += n_missing - r->n_missing;
    bool is_lost = n_missing > r->n_missing;
    r->missing = missing;
    r->n_missing = n_missing;
    return is_lost && e->program->n_reads ? STK_AGAIN : STK_OK;
}

/* Some rows are there: the others are made apart, and put where they belong. */
static int recall_some(struct stk__eval *e, const struct stk__pnode *p, struct recall *r,
                       struct stk__places at, int n, struct stk__frame *frame)
{
    const struct stk_type *type = &p->node->type;
    struct stk__chunk *out = e->out;
    struct stk__frame made;
    if (!stk__eval_frame_new(e, type, n, true, frame))
        return STK_MEMORY;
    for (int f = 0; f < type->n_fields; f++)
        if (!stk__eval_column_new(e, &type->field[f], p->dest[f], n, &frame->column[f]))
            return STK_MEMORY;
    if (e->program->has_keys &&
        !(frame->key = stk__arena_take(e->scratch, stk__frame_rows(n) * sizeof *frame->key)))
        return STK_MEMORY;
    int rc = recall_rows(e, p, r, n, frame);
    if (rc || !r->n_missing)
        return rc;
    for (int k = 0; k < r->n_missing; k++)
        at.position[k] = r->at.position[r->missing[k]];
    e->out = NULL; /* no row of these is in its final place */
    rc = stk__eval_some(e, p->input[0], r->missing, at, r->n_missing, &made);
    e->out = out;
    for (int k = 0; !rc && k < r->n_missing; k++) {
        for (int f = 0; f < type->n_fields; f++)
            stk__eval_row_copy(&frame->column[f], r->missing[k], &made.column[f], k);
        frame->mask[r->missing[k]] = made.mask[k];
        if (frame->key)
            frame->key[r->missing[k]] = made.key[k];
    }
    if (!rc)
        keep_rows(e, p, r, &made, true);
    return rc;
}

/* What lies below sees the first epoch in all of them; what lies above, other keys in each. */
int stk__eval_cache(struct stk__eval *e, const struct stk__pnode *p, struct stk__places at, int n,
                    struct stk__frame *frame)
{
    struct recall r;
    int rc = look_up(e, p, at, n, &r);
    for (int i = 0; !rc && i < n; i++)
        at.path[i] = stk__first_path();
    if (!rc && r.n_missing < n)
        rc = recall_some(e, p, &r, at, n, frame);
    else if (!rc && !(rc = stk__eval_node(e, p->input[0], at, n, frame)))
        keep_rows(e, p, &r, frame, false);
    for (int i = 0; !rc && frame->key && i < n; i++)
        frame->key[i] =
            stk__key_join(frame->key[i], stk__key_make(p->node->ordinal, r.at.path[i], 0));
    return rc;
}
