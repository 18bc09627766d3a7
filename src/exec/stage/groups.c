/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c: rows that wait, in sequences found by value. */
#define _GNU_SOURCE
#include "exec/stage/groups.h"

#include "base/hash.h"
#include "base/rows/blob.h"
#include "base/type.h"

#include <stdlib.h>
#include <string.h>

/* ---- which sequence ---- */

static int64_t whole_number(const struct stk_field *field, const uint8_t *src)
{
    size_t bytes = stk_dtype_bytes(field->dtype);
    bool is_signed = stk__dtype_kind(field->dtype) == 'i';
    uint64_t word = 0;
    memcpy(&word, src, bytes);
    int unused = 64 - 8 * (int)bytes;
    return is_signed ? (int64_t)(word << unused) >> unused : (int64_t)word;
}

static int64_t length_of(const struct stk_field *field, const struct stk_column *c, int row)
{
    if (field->flags & STK_FIELD_PACKED && field->kind == STK_BYTES && field->rank > 1)
        return field->shape[0];
    if (field->flags & STK_FIELD_PACKED)
        return stk__blob_open(c->span[row].data).n;
    if (field->kind == STK_FIXED)
        return field->shape[0];
    return field->kind == STK_SHAPED ? c->dims[(size_t)row * (size_t)c->rank]
                                     : (int64_t)(c->span[row].bytes / stk__blob_unit(field));
}

int stk__grouping_bucket(const struct stk__grouping *g, const struct stk__chunk *in, int row)
{
    int64_t length = length_of(&in->type->field[g->field], &in->column[g->field], row);
    int bucket = 0;
    while (bucket < g->n_boundaries && (double)length >= g->boundary[bucket])
        bucket++;
    return bucket;
}

/* Of elements that have several sizes in turn. */
static void set_size(const struct stk__grouping *g, struct stk__row_group *group)
{
    group->size = group->span = group->shift = (int64_t)g->cycled_size[group->turn];
}

/* What names the sequence of a row; its text is borrowed. */
static struct stk__row_group name_of(const struct stk__grouping *g, const struct stk__chunk *in,
                                     int row)
{
    const struct stk_field *field = &in->type->field[g->field];
    const struct stk_column *c = &in->column[g->field];
    struct stk__row_group name = { .size = g->size };
    if (g->n_sizes)
        set_size(g, &name);
    if (g->by == STK__BY_LENGTH) {
        name.value = stk__grouping_bucket(g, in, row);
        name.size = (int64_t)g->bucket_size[name.value];
    } else if (g->by == STK__BY_VALUE && field->kind == STK_FIXED) {
        name.value = whole_number(field, c->data + (size_t)row * c->stride);
    } else if (g->by == STK__BY_VALUE) {
        name.text = c->span[row].data;
        name.text_bytes = c->span[row].bytes;
    }
    name.hash = stk__hash_mix((uint64_t)name.value, stk__hash_bytes(0, name.text, name.text_bytes));
    name.shift = g->by == STK__BY_LENGTH || g->n_sizes ? name.size : g->shift;
    name.span = (name.size - 1) * g->stride + 1;
    return name;
}

static bool is_same(const struct stk__row_group *a, const struct stk__row_group *b)
{
    return a->hash == b->hash && a->value == b->value && a->text_bytes == b->text_bytes &&
           (!a->text_bytes || !memcmp(a->text, b->text, a->text_bytes));
}

/* Its slot, or the free one where it belongs. */
static int *slot_of(const struct stk__groups *s, const struct stk__row_group *name)
{
    size_t mask = 2 * (size_t)s->cap - 1, at = name->hash & mask;
    while (s->slot[at] && !is_same(&s->group[s->slot[at] - 1], name))
        at = (at + 1) & mask;
    return &s->slot[at];
}

static bool make_room(struct stk__groups *s)
{
    int cap = s->cap ? 2 * s->cap : 4;
    struct stk__row_group *group = realloc(s->group, sizeof *group * (size_t)cap);
    if (!group)
        return false;
    s->group = group;
    int *last = realloc(s->last, sizeof *last * (size_t)cap);
    if (!last)
        return false;
    s->last = last;
    int *slot = calloc(2 * (size_t)cap, sizeof *slot);
    if (!slot)
        return false;
    free(s->slot);
    s->slot = slot;
    s->cap = cap;
    for (int i = 0; i < s->n; i++)
        *slot_of(s, &s->group[i]) = i + 1;
    return true;
}

static struct stk__row_group *add_group(struct stk__groups *s, struct stk__row_group *name)
{
    if (s->n == s->cap && !make_room(s))
        return NULL;
    uint8_t *text = name->text_bytes ? malloc(name->text_bytes) : NULL;
    if (name->text_bytes && !text)
        return NULL;
    if (text)
        memcpy(text, name->text, name->text_bytes);
    name->text = text;
    s->held_bytes += sizeof *name + 2 * sizeof *s->slot + name->text_bytes;
    s->group[s->n] = *name;
    *slot_of(s, name) = s->n + 1;
    return &s->group[s->n++];
}

struct stk__row_group *stk__groups_find(struct stk__groups *s, const struct stk__chunk *in, int row,
                                        const char **why)
{
    *why = "out of memory";
    if (s->n && s->grouping->by == STK__BY_NOTHING)
        return &s->group[0];
    struct stk__row_group name = name_of(s->grouping, in, row);
    int *slot = s->n ? slot_of(s, &name) : NULL;
    if (slot && *slot)
        return &s->group[*slot - 1];
    if (s->held_bytes <= s->max_bytes)
        return add_group(s, &name);
    *why = "the rows that wait for each value take more than the memory budget";
    return NULL;
}

/* ---- rows ---- */

/* What rows take beside their place in the chunk. */
static size_t span_bytes(const struct stk__chunk *chunk, int from, int n)
{
    size_t bytes = 0;
    for (int f = 0; f < chunk->type->n_fields; f++)
        for (int i = from; chunk->column[f].span && i < from + n; i++)
            bytes += chunk->column[f].span[i].bytes;
    return bytes;
}

static bool grow(struct stk__groups *s, struct stk__row_group *group, int n)
{
    int64_t cap = group->held ? 2 * (int64_t)group->held->cap : 0;
    bool overlaps = group->shift < group->span;
    cap = !overlaps && cap > group->span ? group->span : cap;
    cap = cap < n ? n : cap;
    if (cap > INT32_MAX)
        return false;
    struct stk__chunk *held = stk__chunk_new(s->type, (int)cap, s->parts);
    if (!held)
        return false;
    s->held_bytes += stk__chunk_bytes(s->type, (int)cap, s->parts);
    if (group->held) {
        stk__chunk_copy_rows(held, 0, group->held, group->first, group->n);
        s->held_bytes -= stk__chunk_bytes(s->type, group->held->cap, s->parts);
        stk__chunk_free(group->held);
    }
    group->held = held;
    group->first = 0;
    return true;
}

/* Rows are moved to the front only if that makes room for as many as are moved. */
static bool reserve(struct stk__groups *s, struct stk__row_group *group, int n)
{
    int cap = group->held ? group->held->cap : 0;
    if (group->first + group->n + n <= cap)
        return true;
    if (group->n + n > cap || group->first < group->n)
        return grow(s, group, group->n + n);
    stk__chunk_copy_rows(group->held, 0, group->held, group->first, group->n);
    group->first = 0;
    return true;
}

bool stk__group_add(struct stk__groups *s, struct stk__row_group *group,
                    const struct stk__chunk *in, int from, int n)
{
    if (!reserve(s, group, n))
        return false;
    stk__chunk_copy_rows(group->held, group->first + group->n, in, from, n);
    group->n += n;
    if (s->grouping->by != STK__BY_NOTHING)
        s->held_bytes += span_bytes(in, from, n);
    return true;
}

void stk__group_advance(struct stk__groups *s, struct stk__row_group *group, int n_elements)
{
    int64_t shift = n_elements * group->shift;
    int n = shift < group->n ? (int)shift : group->n;
    if (s->grouping->by != STK__BY_NOTHING)
        s->held_bytes -= span_bytes(group->held, group->first, n);
    stk__chunk_drop(group->held, group->first, n);
    group->to_skip = shift - n;
    group->n -= n;
    group->first = group->n ? group->first + n : 0;
    if (s->grouping->n_sizes) {
        group->turn = (group->turn + 1) % s->grouping->n_sizes;
        set_size(s->grouping, group);
    }
}

/* ---- the end ---- */

static int compare_values(const void *a, const void *b, void *groups)
{
    const struct stk__groups *s = groups;
    const struct stk__row_group *one = &s->group[*(const int *)a],
                                *other = &s->group[*(const int *)b];
    return (one->value > other->value) - (one->value < other->value);
}

static void order_rest(struct stk__groups *s)
{
    for (int i = 0; i < s->n; i++)
        s->last[i] = i;
    if (s->n && (s->grouping->ends_in_order || s->grouping->by == STK__BY_LENGTH))
        qsort_r(s->last, (size_t)s->n, sizeof *s->last, compare_values, s);
    s->has_ended = true;
}

struct stk__row_group *stk__groups_rest(struct stk__groups *s)
{
    if (!s->has_ended)
        order_rest(s);
    while (s->n_flushed < s->n) {
        struct stk__row_group *group = &s->group[s->last[s->n_flushed]];
        if (group->n)
            return group;
        s->n_flushed++;
    }
    return NULL;
}

void stk__groups_restart(struct stk__groups *s)
{
    s->has_ended = false;
    s->n_flushed = 0;
    if (s->grouping->by != STK__BY_NOTHING) {
        stk__groups_free(s);
    } else if (s->n) {
        struct stk__row_group *only = &s->group[0];
        if (only->held)
            stk__chunk_drop(only->held, only->first, only->n);
        only->first = only->n = 0;
        only->to_skip = only->turn = 0;
        if (s->grouping->n_sizes)
            set_size(s->grouping, only);
    }
}

void stk__groups_free(struct stk__groups *s)
{
    for (int i = 0; i < s->n; i++) {
        stk__chunk_free(s->group[i].held);
        free(s->group[i].text);
    }
    free(s->group);
    free(s->slot);
    free(s->last);
    s->group = NULL;
    s->slot = s->last = NULL;
    s->n = s->cap = 0;
    s->held_bytes = 0;
}
