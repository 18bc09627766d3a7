/* SPDX-License-Identifier: Apache-2.0 */
/* nesting.c: the stage of an op that opens a chain for each element and takes from several in turn.
 *
 * It is a source of positions: an open chain is an element's position, how many rows it has and how
 * many were taken. The order is that of tf.data's interleave: places take turns; one whose chain has
 * ended loses its turn, and opens the next element's when it comes again.
 *
 *      place 0   a a a a │ a a ∅ │ c c c c …         block_length 4
 *      place 1   b b b b │ b b ∅ │ d d d d …
 *
 * Once there are no more elements, places without a chain are closed up.
 */
#include "op/order/nesting.h"
#include "base/error.h"
#include "exec/stage/stage_steps.h"
#include "graph/nest.h"
#include "op/op_names.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t most_places = (uint64_t)1 << 56;

struct place {
    uint64_t element, n_taken;
    int64_t n; /* rows; below 0: no end */
    bool is_open;
};

struct turns {
    const struct stk__nest_map *map;
    int64_t block_length;
    int n_places;
    /* of this pass */
    uint64_t next_element;
    bool is_last; /* there are no more elements */
    int n_left;   /* places that may still have rows */
    int turn;     /* the place whose turn it is, of which */
    int64_t n_in_block;
    uint64_t n_empty; /* elements one after the other that had no rows */
    struct place place[];
};

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    (void)x;
    const struct stk__nesting *nesting = s->plan->node->state;
    const struct stk__nest_map *map = s->plan->nest;
    int64_t n = nesting->cycle_length;
    if (map->n_elements >= 0 && map->n_elements < n)
        n = map->n_elements > 0 ? map->n_elements : 1;
    struct turns *t = calloc(1, sizeof *t + sizeof *t->place * (size_t)n);
    if (!t)
        return stk__out_of_memory(err);
    t->map = map;
    t->block_length = nesting->block_length;
    t->n_places = (int)n;
    s->run = t;
    return STK_OK;
}

static void end(struct stk__stage *s)
{
    free(s->run);
}

static void begin_pass(struct turns *t)
{
    t->next_element = t->n_empty = 0;
    t->is_last = false;
    t->n_left = t->n_places;
    t->turn = 0;
    t->n_in_block = 0;
    memset(t->place, 0, sizeof *t->place * (size_t)t->n_places);
}

static void give_turn(struct turns *t)
{
    t->n_in_block = 0;
    t->turn = t->turn + 1 >= t->n_left ? 0 : t->turn + 1;
}

/* Closes up the places without a chain; the order of the others stays. */
static void close_up(struct turns *t)
{
    int n = 0, turn = 0;
    for (int i = 0; i < t->n_left; i++) {
        turn += i < t->turn && t->place[i].is_open;
        if (t->place[i].is_open)
            t->place[n++] = t->place[i];
    }
    t->n_left = n;
    t->turn = turn < n ? turn : 0;
}

/* A pass that only finds chains without rows would never end. */
static int check_progress(struct stk__stage *s, const struct turns *t)
{
    const uint64_t most_empty = (1 << 20) + 4 * (uint64_t)t->map->nest->n_groups;
    if (!stk__nest_has_place(t->map, t->next_element))
        return stk_fail(&s->breaking, STK_VALUE, "there are more elements than can be numbered");
    if (t->n_empty > most_empty)
        return stk_fail(&s->breaking, STK_DATA, "%llu elements one after the other gave nothing",
                        (unsigned long long)t->n_empty);
    return STK_OK;
}

static int open_next(struct stk__stage *s, struct turns *t)
{
    int64_t n_elements = t->map->n_elements;
    if (n_elements >= 0 && t->next_element >= (uint64_t)n_elements) {
        t->is_last = true;
        close_up(t);
        return STK_OK;
    }
    int rc = check_progress(s, t);
    if (rc)
        return rc;
    uint64_t element = t->next_element++;
    struct place *place = &t->place[t->turn];
    *place = (struct place){ .element = element, .is_open = true };
    place->n = stk__nest_rows(t->map, element, stk__pass_path(s));
    t->n_empty = place->n ? 0 : t->n_empty + 1;
    return STK_OK;
}

static void close_place(struct turns *t)
{
    t->place[t->turn].is_open = false;
    t->n_in_block = 0;
    if (t->is_last)
        close_up(t); /* it is the next one's turn, which has moved here */
    else
        give_turn(t);
}

/* Takes as much of the block as there is room for. */
static int take_rows(struct stk__stage *s, struct turns *t, struct stk__chunk *out)
{
    struct place *place = &t->place[t->turn];
    if (place->n < 0 && place->n_taken > most_places / t->map->stride - (uint64_t)out->cap)
        return stk_fail(&s->breaking, STK_VALUE, "there are more elements than can be numbered");
    int64_t n = t->block_length - t->n_in_block, room = out->cap - out->n;
    if (place->n >= 0 && place->n - (int64_t)place->n_taken < n)
        n = place->n - (int64_t)place->n_taken;
    n = n < room ? n : room;
    for (int64_t i = 0; i < n; i++) {
        uint64_t position = stk__nest_place(t->map, place->element, place->n_taken++);
        out->address[out->n++] =
            (struct stk__address){ stk__where(s->plan->origin, position), s->path };
    }
    t->n_in_block += n;
    if (t->n_in_block == t->block_length)
        give_turn(t);
    return STK_OK;
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    struct turns *t = s->run;
    struct stk__chunk *out = s->open_out->chunk;
    int first = out->n, rc = STK_OK;
    if (s->begins_pass)
        begin_pass(t);
    s->begins_pass = false;
    while (!w->is_closed && !rc && out->n < out->cap && t->n_left) {
        const struct place *place = &t->place[t->turn];
        if (!place->is_open)
            rc = open_next(s, t);
        else if (place->n >= 0 && place->n_taken == (uint64_t)place->n)
            close_place(t);
        else
            rc = take_rows(s, t, out);
    }
    w->n = out->n - first;
    w->is_flushed = rc || (out->n < out->cap && w->n == 0);
    w->is_broken = rc != STK_OK;
    if (rc)
        stk__error_prefix(&s->breaking, "%s: ", stk__op_said(s->plan->node->op));
}

const struct stk__stage_type stk__nesting_stage = {
    .name = "nesting",
    .begin = begin,
    .end = end,
    STK__BY_STEPS,
    .is_ready = stk__source_is_ready,
    .step = step,
};
