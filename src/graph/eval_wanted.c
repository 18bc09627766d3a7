/* SPDX-License-Identifier: Apache-2.0 */
/* eval_wanted.c: what must be read before rows can be evaluated: down to one read, through the order ops above it;
 * and to the source of one row. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/arena.h"
#include "graph/eval_parts.h"
#include "graph/nest.h"

#include <string.h>

struct search {
    const struct stk__pnode *read;
    struct stk_span *path;         /* of a read, */
    struct stk__file_place *place; /* of a located source */
};

/* The rows have arrived at their source, which knows where they lie. */
static int find_places(struct stk__eval *e, const struct search *search, struct stk__places at,
                       const int *row, int n)
{
    const struct stk__node *node = search->read->node;
    size_t places = (size_t)search->read->n_places;
    struct stk__file_place *found = stk__arena_take(e->scratch, (size_t)n * places * sizeof *found);
    if (!found)
        return STK_MEMORY;
    node->op->source.locate(node->state, n, at.position, found);
    for (int i = 0; i < n; i++)
        memcpy(search->place + (size_t)row[i] * places, found + (size_t)i * places,
               places * sizeof *found);
    return STK_OK;
}

/* The rows have arrived at the read: what is below it yields their paths. */
static int evaluate_paths(struct stk__eval *e, const struct search *search, struct stk__places at,
                          const int *row, int n)
{
    const struct stk__node *node = search->read->node;
    struct stk__frame frame;
    int rc = stk__eval_node(e, search->read->input[0], at, n, &frame);
    if (rc)
        return rc;
    int f = 0;
    while (f < node->type.n_fields - 1 && node->from[f] >= 0)
        f++;
    for (int i = 0; i < n; i++)
        if (frame.mask[i] == STK_LIVE)
            search->path[row[i]] = frame.column[f].span[i];
    return STK_OK;
}

static int find_paths(struct stk__eval *e, const struct stk__pnode *p, const struct search *search,
                      struct stk__places at, const int *row, int n);

/* Input k gets the rows that come from it; `input` is NULL when all do (zip). */
static int find_paths_in(struct stk__eval *e, const struct stk__pnode *p, int k,
                         const uint8_t *input, const struct search *search, struct stk__places at,
                         const int *row, int n)
{
    struct stk__places part;
    int *part_row = stk__arena_take(e->scratch, stk__frame_rows(n) * sizeof *part_row), n_part = 0;
    if (!part_row || !stk__eval_places_copy(e, at, n, &part))
        return STK_MEMORY;
    for (int i = 0; i < n; i++) {
        if (input && input[i] != k)
            continue;
        part.position[n_part] = at.position[i];
        part.path[n_part] = at.path[i];
        part_row[n_part++] = row[i];
    }
    return find_paths(e, p->input[k], search, part, part_row, n_part);
}

/* Nothing is wanted for rows that are kept. */
static int find_uncached(struct stk__eval *e, const struct stk__pnode *p, uint8_t *is_kept,
                         const struct search *search, struct stk__places at, const int *row, int n)
{
    for (int i = 0; i < n; i++) {
        is_kept[i] = p->kept && stk__kept_has(p->kept, at.position[i]);
        at.path[i] = stk__first_path();
    }
    return find_paths_in(e, p, 0, is_kept, search, at, row, n);
}

static int find_paths(struct stk__eval *e, const struct stk__pnode *p, const struct search *search,
                      struct stk__places at, const int *row, int n)
{
    if (n == 0)
        return STK_OK;
    if (p == search->read)
        return search->place ? find_places(e, search, at, row, n)
                             : evaluate_paths(e, search, at, row, n);
    if (p->role == STK__ROLE_SOURCE || p->role == STK__ROLE_CUT)
        return STK_OK;
    uint8_t *input = NULL;
    bool has_parts = p->role == STK__ROLE_CONCAT || p->role == STK__ROLE_CACHE;
    if (has_parts && !(input = stk_arena_alloc(e->scratch, stk__frame_rows(n))))
        return STK_MEMORY;
    if (p->role == STK__ROLE_CACHE)
        return find_uncached(e, p, input, search, at, row, n);
    if (p->role == STK__ROLE_CONCAT || p->role == STK__ROLE_ORDER)
        stk__eval_map_places(e, p, at, n, input);
    if (p->role == STK__ROLE_NEST && stk__eval_enter_nest(e, at, n))
        return STK_MEMORY;
    if (p->node->n_inputs == 1)
        return find_paths(e, p->input[0], search, at, row, n);
    for (int k = 0; k < p->node->n_inputs; k++) {
        int rc = find_paths_in(e, p, k, input, search, at, row, n);
        if (rc)
            return rc;
    }
    return STK_OK;
}

/* Room for what is wanted, all of it unset. */
static bool search_new(struct stk__eval *e, struct search *search)
{
    size_t rows = stk__frame_rows(e->n), n = rows * (size_t)search->read->n_places;
    if (search->read->role != STK__ROLE_SOURCE) {
        search->path = stk_arena_alloc(e->scratch, rows * sizeof *search->path);
        return search->path != NULL;
    }
    search->place = stk__arena_take(e->scratch, n * sizeof *search->place);
    for (size_t i = 0; search->place && i < n; i++)
        search->place[i] = (struct stk__file_place){ .file = STK__NOWHERE };
    return search->place != NULL;
}

int stk__eval_wanted(struct stk__eval *e, int slot, struct stk__wanted *wanted)
{
    struct stk__places at;
    struct search search = { .read = e->program->read[slot] };
    int *row = stk__arena_take(e->scratch, stk__frame_rows(e->n) * sizeof *row);
    struct stk__chunk *out = e->out;
    e->out = NULL;
    int rc = row && search_new(e, &search) ? stk__eval_start(e, &at) : STK_MEMORY;
    for (int i = 0; !rc && i < e->n; i++)
        row[i] = i;
    if (!rc)
        rc = find_paths(e, e->program->root, &search, at, row, e->n);
    e->out = out;
    stk__faults_free(e->faults); /* the run will find them again */
    e->faults = NULL;
    *wanted = (struct stk__wanted){ search.path, search.place };
    return rc;
}

const struct stk__node *stk__eval_locate(const struct stk__program *program, uint64_t position,
                                         uint64_t path, uint64_t *index)
{
    const struct stk__pnode *p = program->root;
    while (p->role != STK__ROLE_SOURCE && p->role != STK__ROLE_CUT) {
        uint8_t input = 0;
        const struct stk__order_run run = { .params = p->node->params,
                                            .state = p->node->state,
                                            .seed = p->seed,
                                            .in_count = p->in_count,
                                            .n_inputs = p->node->n_inputs,
                                            .rank = program->rank,
                                            .world = program->world };
        if (p->role == STK__ROLE_ORDER || p->role == STK__ROLE_CONCAT)
            p->node->op->order.at(&run, 1, &position, &path, &input);
        if (p->role == STK__ROLE_NEST)
            stk__nest_resolve(program->nest, 1, &position, &path, NULL);
        if (p->role == STK__ROLE_CACHE)
            path = stk__first_path();
        p = p->input[input];
    }
    *index = position;
    return p->node;
}
