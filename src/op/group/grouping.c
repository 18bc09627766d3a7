/* SPDX-License-Identifier: Apache-2.0 */
/* grouping.c: the type of an element that is made of many. */
#include "op/group/grouping.h"

#include "base/type.h"

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

int stk__grouping_by_value(const struct stk_infer *inf, const char *name, struct stk__grouping *g,
                           struct stk_error *err)
{
    g->by = STK__BY_VALUE;
    g->field = stk_type_find(inf->in[0], name);
    if (g->field < 0)
        return stk_fail(err, STK_NAME, "there is no field '%s'", name);
    const struct stk_field *field = &inf->in[0]->field[g->field];
    bool is_number =
        field->kind == STK_FIXED && !field->rank && stk__dtype_kind(field->dtype) != 'f';
    bool is_text = field->kind == STK_BYTES && !(field->flags & STK_FIELD_PACKED);
    if (!is_number && !is_text)
        return stk_fail(err, STK_TYPE,
                        "elements are told apart by a whole number or a text, and the field '%s' "
                        "is neither",
                        name);
    return STK_OK;
}

static int check_field(const struct stk__gather *g, struct stk_error *err)
{
    if (g->field.flags & STK_FIELD_LISTS)
        return stk_fail(err, STK_TYPE,
                        "rows of the field '%s' are lists of lists already, the "
                        "most that a batch can hold; leave it out with select",
                        g->field.name);
    if (g->kind != STK__PACK && g->field.rank == STK_MAX_RANK)
        return stk_fail(err, STK_TYPE,
                        "the field '%s' has %d dimensions already, the most there are",
                        g->field.name, STK_MAX_RANK);
    return STK_OK;
}

/* An array whose size is known must be of a size that can be counted. */
static int check_size(const struct stk_field *field, struct stk_error *err)
{
    const int64_t most = (int64_t)1 << 48;
    int64_t bytes = (int64_t)stk_dtype_bytes(field->dtype);
    for (int d = 0; field->kind == STK_FIXED && d < field->rank; d++)
        if (__builtin_mul_overflow(bytes, field->shape[d], &bytes) || bytes > most)
            return stk_fail(err, STK_BUDGET, "the field '%s' would be too large for any memory",
                            field->name);
    return STK_OK;
}

/* Texts and lists keep the shape of a row and get splits, once more if they have some. */
static struct stk_field packed(const struct stk__gather *g)
{
    struct stk_field field = g->field;
    if (field.flags & STK_FIELD_PACKED)
        field.flags |= STK_FIELD_LISTS;
    field.flags |= STK_FIELD_PACKED;
    field.kind = field.kind == STK_BYTES ? STK_BYTES : STK_RAGGED;
    if (g->kind == STK__PAD) { /* lists of texts, now equally long */
        field.rank = (uint8_t)stk__gather_rank(g);
        memcpy(field.shape, g->box, sizeof field.shape);
    }
    return field;
}

/* Other fields get one dimension more. */
static struct stk_field gathered(const struct stk__gather *g, int64_t n_rows)
{
    if (g->kind == STK__PACK || g->field.kind == STK_BYTES)
        return packed(g);
    struct stk_field field = g->field;
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
        code = check_size(&inf->out->field[f], err);
        if (code)
            return code;
        inf->from[f] = -1;
        g->is_bounded |= stk__gather_is_bounded(&g->gather[f]);
    }
    inf->state = g;
    return STK_OK;
}
