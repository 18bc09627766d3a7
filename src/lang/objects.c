/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c: the table behind @name. Entries are counted, so a dataset may outlive its table. */
#include "lang/objects.h"

#include "base/error.h"
#include "lang/lexer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct stk_array array; /* first: an array of a table is its entry */
    atomic_int refs;        /* pairs with itself: acq_rel on the last unref */
    char name[];
};

struct stk_objects {
    struct entry **entry;
    int n;
};

struct stk_objects *stk_objects_new(void)
{
    return calloc(1, sizeof(struct stk_objects));
}

void stk__array_ref(const struct stk_array *array)
{
    atomic_fetch_add_explicit(&((struct entry *)(void *)(uintptr_t)array)->refs, 1,
                              memory_order_relaxed);
}

void stk__array_unref(const struct stk_array *array)
{
    struct entry *entry = (struct entry *)(void *)(uintptr_t)array;
    if (!array || atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (array->release)
        array->release(array->context);
    free(entry);
}

void stk_objects_free(struct stk_objects *objects)
{
    if (!objects)
        return;
    for (int i = 0; i < objects->n; i++)
        stk__array_unref(&objects->entry[i]->array);
    free(objects->entry);
    free(objects);
}

int stk__objects_count(const struct stk_objects *objects)
{
    return objects ? objects->n : 0;
}

const char *stk__objects_name(const struct stk_objects *objects, int index)
{
    return objects->entry[index]->name;
}

const struct stk_array *stk__objects_find(const struct stk_objects *objects, const char *name)
{
    for (int i = 0; i < stk__objects_count(objects); i++)
        if (!strcmp(objects->entry[i]->name, name))
            return &objects->entry[i]->array;
    return NULL;
}

static int check_array(const char *name, const struct stk_array *array, struct stk_error *err)
{
    size_t bytes = stk_dtype_bytes(array->dtype);
    if (!bytes)
        return stk_fail(err, STK_TYPE, "@%.64s: %d is not a dtype", name, array->dtype);
    if (array->rank < 1 || array->rank > STK_MAX_RANK)
        return stk_fail(err, STK_VALUE, "@%.64s: rank %d is outside [1, %d]", name, array->rank,
                        STK_MAX_RANK);
    bool is_empty = false, is_huge = false;
    for (int d = 0; d < array->rank; d++) {
        if (array->shape[d] < 0)
            return stk_fail(err, STK_VALUE, "@%.64s: dimension %d is negative", name, d);
        is_empty |= !array->shape[d];
        is_huge |=
            __builtin_mul_overflow(bytes, (size_t)array->shape[d], &bytes) || bytes > PTRDIFF_MAX;
    }
    if (is_huge && !is_empty)
        return stk_fail(err, STK_VALUE, "@%.64s: the shape is larger than memory", name);
    if (!array->data && !is_empty)
        return stk_fail(err, STK_VALUE, "@%.64s: the array has no data", name);
    return STK_OK;
}

/* For one more entry; false when out of memory. */
static bool make_room(struct stk_objects *objects)
{
    size_t bytes = ((size_t)objects->n + 1) * sizeof *objects->entry;
    struct entry **grown = realloc(objects->entry, bytes);
    if (grown)
        objects->entry = grown;
    return grown != NULL;
}

int stk__objects_keep(struct stk_objects *objects, const struct stk_array *array)
{
    struct entry *entry = (struct entry *)(void *)(uintptr_t)array;
    if (stk__objects_find(objects, entry->name))
        return STK_OK;
    if (!make_room(objects))
        return STK_MEMORY;
    stk__array_ref(array);
    objects->entry[objects->n++] = entry;
    return STK_OK;
}

/* On a fault the array stays the caller's and release is not called. */
int stk_objects_add_array(struct stk_objects *objects, const char *name,
                          const struct stk_array *array, struct stk_error *err)
{
    size_t len = strlen(name);
    if (!stk__is_name(name, len))
        return stk_fail(err, STK_NAME,
                        "'%.64s' cannot be written as @name: use letters, digits and _", name);
    if (stk__objects_find(objects, name))
        return stk_fail(err, STK_NAME, "@%.64s is bound already", name);
    int status = check_array(name, array, err);
    if (status)
        return status;
    struct entry *entry = make_room(objects) ? malloc(sizeof *entry + len + 1) : NULL;
    if (!entry)
        return stk__out_of_memory(err);
    entry->array = *array;
    atomic_init(&entry->refs, 1);
    memcpy(entry->name, name, len + 1);
    objects->entry[objects->n++] = entry;
    return STK_OK;
}
