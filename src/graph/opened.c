/* SPDX-License-Identifier: Apache-2.0 */
/* opened.c: sources by the names of their files. */
#include "graph/opened.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/purse.h"
#include "base/type.h"
#include "graph/nest.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1 << 24 };

struct entry {
    char *name;
    uint64_t hash;
    void *opened, *state; /* what open made, and what infer made of it */
    struct stk_arena arena;
};

struct stk__opened {
    const struct stk__node *source;
    pthread_mutex_t lock; /* guards what follows; entries do not change */
    struct entry **item;
    uint32_t *slot; /* [n_slots], a power of two: number of an entry plus one, or 0 */
    size_t n, cap, n_slots;
    size_t held_bytes; /* of entries: on the purse of the process */
};

struct stk__opened *stk__opened_new(const struct stk__node *source)
{
    struct stk__opened *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->source = source;
    pthread_mutex_init(&o->lock, NULL);
    return o;
}

static void free_entry(const struct stk__opened *o, struct entry *entry)
{
    if (!entry)
        return;
    if (entry->opened && o->source->op->close)
        o->source->op->close(entry->opened);
    stk__arena_free(&entry->arena);
    free(entry->name);
    free(entry);
}

void stk__opened_free(struct stk__opened *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->n; i++)
        free_entry(o, o->item[i]);
    stk__purse_note(STK__KEEPS_INDEX, -(int64_t)o->held_bytes);
    free(o->item);
    free(o->slot);
    pthread_mutex_destroy(&o->lock);
    free(o);
}

/* ---- the table, under its lock ---- */

/* Where an entry is, or would be. */
static uint32_t *find_slot(const struct stk__opened *o, uint64_t hash, const char *name)
{
    size_t i = hash & (o->n_slots - 1);
    for (; o->slot[i]; i = (i + 1) & (o->n_slots - 1)) {
        const struct entry *entry = o->item[o->slot[i] - 1];
        if (name && entry->hash == hash && !strcmp(entry->name, name))
            break;
    }
    return &o->slot[i];
}

static bool grow(struct stk__opened *o)
{
    size_t cap = o->cap ? 2 * o->cap : 16;
    struct entry **item = realloc(o->item, cap * sizeof(struct entry *));
    uint32_t *slot = item ? calloc(2 * cap, sizeof *slot) : NULL;
    o->item = item ? item : o->item;
    if (!slot)
        return false;
    free(o->slot);
    o->slot = slot;
    o->n_slots = 2 * cap;
    o->cap = cap;
    for (size_t i = 0; i < o->n; i++)
        *find_slot(o, o->item[i]->hash, NULL) = (uint32_t)i + 1;
    return true;
}

static const struct entry *look_up(struct stk__opened *o, uint64_t hash, const char *name,
                                   uint64_t *number)
{
    uint32_t found = o->n_slots ? *find_slot(o, hash, name) : 0;
    *number = found ? found - 1 : 0;
    return found ? o->item[found - 1] : NULL;
}

/* ---- opening ---- */

static bool is_same_type(const struct stk_type *a, const struct stk_type *b)
{
    bool is_same = a->n_fields == b->n_fields;
    for (int f = 0; is_same && f < a->n_fields; f++) {
        const struct stk_field *x = &a->field[f], *y = &b->field[f];
        is_same = !strcmp(x->name, y->name) && x->kind == y->kind && x->dtype == y->dtype &&
                  x->rank == y->rank && !memcmp(x->shape, y->shape, sizeof *x->shape * x->rank);
    }
    return is_same;
}

static int fail_fields(const struct stk__opened *o, const struct entry *entry,
                       const struct stk_type *type, struct stk_error *err)
{
    struct stk__text is = { 0 }, wanted = { 0 };
    stk__type_text(type, &is);
    stk__type_text(&o->source->type, &wanted);
    int code = stk_fail(err, STK_DATA,
                        "'%s' has %s, but the files before have %s; give files that differ to "
                        "sources of their own, which concatenate or sample_from join",
                        entry->name, is.data ? is.data : "?", wanted.data ? wanted.data : "?");
    stk__text_free(&is);
    stk__text_free(&wanted);
    return code;
}

static int check_fields(const struct stk__opened *o, struct entry *entry, struct stk_error *err)
{
    struct stk_type *type = stk_arena_alloc(&entry->arena, sizeof *type);
    struct stk__infer_inside inside = { .world = 1 };
    struct stk_infer inf = { .params = o->source->params,
                             .state = entry->opened,
                             .out = type,
                             .arena = &entry->arena,
                             .inside = &inside };
    int rc = type ? o->source->op->infer(&inf, err) : stk__out_of_memory(err);
    entry->state = inf.state;
    return rc || is_same_type(type, &o->source->type) ? rc : fail_fields(o, entry, type, err);
}

/* The source with this one file in place of the field's name. */
static int open_entry(const struct stk__opened *o, struct entry *entry, struct stk_error *err)
{
    const struct stk__op *op = o->source->op;
    size_t bytes = op->decl.params_size;
    void *params = stk_arena_alloc(&entry->arena, bytes + 1);
    const char **item = stk_arena_alloc(&entry->arena, sizeof *item);
    if (!params || !item)
        return stk__out_of_memory(err);
    memcpy(params, o->source->params, bytes);
    *item = entry->name;
    *stk__nest_reference(op, params) = (struct stk_texts){ item, 1, true };
    int rc = op->open(params, &entry->arena, &entry->opened, err);
    return rc ? rc : check_fields(o, entry, err);
}

static struct entry *new_entry(struct stk_span name, struct stk_error *err)
{
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry)
        stk__arena_init(&entry->arena, 1 << 10);
    if (entry && (entry->name = malloc(name.bytes + 1))) {
        memcpy(entry->name, name.data, name.bytes);
        entry->name[name.bytes] = 0;
        entry->hash = stk__hash_bytes(0, entry->name, name.bytes);
        return entry;
    }
    free(entry);
    stk__out_of_memory(err);
    return NULL;
}

static void count_entry(struct stk__opened *o, const struct entry *entry)
{
    const struct stk__op *op = o->source->op;
    size_t bytes = sizeof *entry + entry->arena.total_bytes;
    bytes += op->held_bytes ? op->held_bytes(entry->opened) : 0;
    stk__purse_note(STK__KEEPS_INDEX, (int64_t)bytes);
    o->held_bytes += bytes;
}

/* Keeps an entry, unless somebody else was quicker: then that is returned, and this one is freed. */
static const struct entry *keep(struct stk__opened *o, struct entry *entry, uint64_t *number,
                                struct stk_error *err)
{
    const struct entry *kept = look_up(o, entry->hash, entry->name, number);
    bool has_room = kept || o->n < o->cap || (o->n < MOST_FILES && grow(o));
    if (!kept && has_room) {
        *number = o->n;
        o->item[o->n] = entry;
        *find_slot(o, entry->hash, NULL) = (uint32_t)++o->n;
        count_entry(o, entry);
        return entry;
    }
    if (!has_room)
        stk_fail(err, STK_MEMORY, "no memory for more than %zu open files", o->n);
    free_entry(o, entry);
    return kept;
}

int stk__opened_find(struct stk__opened *o, struct stk_span name, const void **state,
                     uint64_t *first, struct stk_error *err)
{
    if (!name.bytes || memchr(name.data, 0, name.bytes))
        return stk_fail(err, STK_VALUE, "the name is empty or has a NUL byte: no file");
    struct entry *entry = new_entry(name, err);
    if (!entry)
        return STK_MEMORY;
    uint64_t number;
    pthread_mutex_lock(&o->lock);
    const struct entry *found = look_up(o, entry->hash, entry->name, &number);
    pthread_mutex_unlock(&o->lock);
    int rc = found ? STK_OK : open_entry(o, entry, err);
    if (found || rc)
        free_entry(o, entry);
    if (!found && !rc) {
        pthread_mutex_lock(&o->lock);
        found = keep(o, entry, &number, err);
        pthread_mutex_unlock(&o->lock);
    }
    if (!found)
        return rc ? rc : STK_MEMORY;
    *state = found->state;
    *first = number << STK__OPENED_SHIFT;
    return STK_OK;
}

void stk__opened_describe(struct stk__opened *o, uint64_t row, char *text, size_t size)
{
    uint64_t number = row >> STK__OPENED_SHIFT;
    pthread_mutex_lock(&o->lock);
    const struct entry *entry = number < o->n ? o->item[number] : NULL;
    pthread_mutex_unlock(&o->lock);
    if (!entry)
        snprintf(text, size, "a file of %s", o->source->op->decl.name);
    else
        o->source->op->source.describe(entry->state, row & (((uint64_t)1 << STK__OPENED_SHIFT) - 1),
                                       text, size);
}
