/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.c: the type of an element that is made of many. */
#include "op/grouping.h"

#include <string.h>

struct stk__grouping *stk__grouping_new(struct stk_infer *inf, int64_t size, bool drops_remainder,
                                        struct stk_error *err)
{
    struct stk__grouping *g = stk_arena_alloc(inf->arena, sizeof *g);
    if (!g) {
        stk_fail(err, STK_MEMORY, "out of memory");
        return NULL;
    }
    *g = (struct stk__grouping){
        .size = size, .shift = size, .stride = 1, .drops_remainder = drops_remainder
    };
    for (int f = 0; f < inf->in[0]->n_fields; f++)
        g->gather[f] = stk__gather_of(&inf->in[0]->field[f]);
    return g;
}

int64_t stk__grouping_rows(const struct stk_infer *inf, const struct stk__grouping *g)
{
    bool is_full = g->drops_remainder || inf->in_count[0] == STK_INFINITE_COUNT;
    return is_full ? g->size : -1;
}

static int check_field(const struct stk__gather *g, struct stk_error *err)
{
    if (g->field.flags & STK_FIELD_PACKED)
        return stk_fail(
            err, STK_TYPE,
            "rows of the field '%s' differ in length, so it can be batched once; leave it "
            "out with select",
            g->field.name);
    if (g->kind != STK__PACK && g->field.rank == STK_MAX_RANK)
        return stk_fail(err, STK_TYPE,
                        "the field '%s' has %d dimensions already, the most there are",
                        g->field.name, STK_MAX_RANK);
    return STK_OK;
}

/* Packed fields keep the shape of a row and get splits; others get one dimension more. */
static struct stk_field gathered(const struct stk__gather *g, int64_t n_rows)
{
    struct stk_field field = g->field;
    if (g->kind == STK__PACK) {
        field.flags |= STK_FIELD_PACKED;
        field.kind = field.kind == STK_BYTES ? STK_BYTES : STK_RAGGED;
        return field;
    }
    memmove(field.shape + 1, field.shape, field.rank * sizeof *field.shape);
    field.shape[0] = n_rows;
    if (g->kind == STK__PAD)
        memcpy(field.shape + 1, g->box, field.rank * sizeof *field.shape);
    field.rank++;
    field.kind = STK_FIXED;
    for (int d = 0; d < field.rank; d++)
        field.kind = field.shape[d] < 0 ? STK_SHAPED : field.kind;
    return field;
}

int stk__grouping_infer(struct stk_infer *inf, struct stk__grouping *g, int64_t n_rows,
                        struct stk_error *err)
{
    stk_infer_pass(inf);
    for (int f = 0; f < inf->out->n_fields; f++) {
        int code = check_field(&g->gather[f], err);
        if (code)
            return code;
        inf->out->field[f] = gathered(&g->gather[f], n_rows);
        inf->from[f] = -1;
        g->is_bounded |= stk__gather_is_bounded(&g->gather[f]);
    }
    inf->state = g;
    return STK_OK;
}
