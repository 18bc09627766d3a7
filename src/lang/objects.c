/* SPDX-License-Identifier: Apache-2.0 */
/* objects.c: the table behind @name. Entries are counted, so a dataset may outlive its table. */
#define _GNU_SOURCE
#include "lang/objects.h"

#include "base/error.h"
#include "lang/lexer.h"

#include <stoker/op.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct stk__object object;    /* first: an object of a table is its entry */
    atomic_int refs;              /* pairs with itself: acq_rel on the last unref */
    struct stk_field_info *field; /* [n_fields]: of a stream or a function */
    int n_fields;
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

static struct entry *entry_of(const struct stk__object *object)
{
    return (struct entry *)(void *)(uintptr_t)object;
}

void stk__object_ref(const struct stk__object *object)
{
    atomic_fetch_add_explicit(&entry_of(object)->refs, 1, memory_order_relaxed);
}

static void free_fields(struct entry *entry)
{
    for (int f = 0; entry->field && f < entry->n_fields; f++)
        free((char *)(uintptr_t)entry->field[f].name);
    free(entry->field);
}

void stk__object_unref(const struct stk__object *object)
{
    struct entry *entry = entry_of(object);
    if (!object || atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (object->kind == STK__ARRAY && object->array.release)
        object->array.release(object->array.context);
    if (object->kind == STK__STREAM_OF_CALLER && object->stream.release)
        object->stream.release(object->stream.context);
    if (object->kind == STK__FUNCTION && object->function.release)
        object->function.release(object->function.context);
    free_fields(entry);
    free(entry);
}

void stk_objects_free(struct stk_objects *objects)
{
    if (!objects)
        return;
    for (int i = 0; i < objects->n; i++)
        stk__object_unref(&objects->entry[i]->object);
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

const struct stk__object *stk__objects_find(const struct stk_objects *objects, const char *name)
{
    for (int i = 0; i < stk__objects_count(objects); i++)
        if (!strcmp(objects->entry[i]->name, name))
            return &objects->entry[i]->object;
    return NULL;
}

static int check_splits(const char *name, const struct stk_array *array, struct stk_error *err)
{
    bool is_bytes = array->kind == STK_BYTES;
    if ((!is_bytes && array->kind != STK_RAGGED) || !array->splits)
        return stk_fail(err, STK_TYPE,
                        "@%.64s: an array is fixed, or has bytes or ragged values and splits",
                        name);
    if (is_bytes && (array->dtype != STK_U8 || array->rank != 1))
        return stk_fail(err, STK_TYPE, "@%.64s: bytes are uint8 of rank 1", name);
    for (int64_t i = 0; i < array->shape[0]; i++)
        if (array->splits[i] < 0 || array->splits[i] > array->splits[i + 1])
            return stk_fail(err, STK_VALUE, "@%.64s: split %lld is larger than the next", name,
                            (long long)i);
    return STK_OK;
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
    int code = array->kind == STK_FIXED ? STK_OK : check_splits(name, array, err);
    if (code)
        return code;
    is_empty |= array->splits && array->splits[0] == array->splits[array->shape[0]];
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

int stk__objects_keep(struct stk_objects *objects, const struct stk__object *object)
{
    struct entry *entry = entry_of(object);
    if (stk__objects_find(objects, entry->name))
        return STK_OK;
    if (!make_room(objects))
        return STK_MEMORY;
    stk__object_ref(object);
    objects->entry[objects->n++] = entry;
    return STK_OK;
}

int stk__objects_join(struct stk_objects *objects, const struct stk_objects *others,
                      struct stk_error *err)
{
    for (int i = 0; i < stk__objects_count(others); i++) {
        const struct stk__object *other = &others->entry[i]->object;
        const char *name = others->entry[i]->name;
        const struct stk__object *known = stk__objects_find(objects, name);
        if (known && known != other)
            return stk_fail(err, STK_NAME, "@%.64s is bound to another object already", name);
        if (stk__objects_keep(objects, other))
            return stk__out_of_memory(err);
    }
    return STK_OK;
}

static int check_name(const struct stk_objects *objects, const char *name, struct stk_error *err)
{
    if (!stk__is_name(name, strlen(name)))
        return stk_fail(err, STK_NAME,
                        "'%.64s' cannot be written as @name: use letters, digits and _", name);
    if (stk__objects_find(objects, name))
        return stk_fail(err, STK_NAME, "@%.64s is bound already", name);
    return STK_OK;
}

/* Returns new, in no table yet; NULL when out of memory. */
static struct entry *entry_new(const char *name, enum stk__object_kind kind)
{
    size_t len = strlen(name);
    struct entry *entry = calloc(1, sizeof *entry + len + 1);
    if (!entry)
        return NULL;
    entry->object.kind = kind;
    atomic_init(&entry->refs, 1);
    memcpy(entry->name, name, len + 1);
    return entry;
}

/* On a fault the array stays the caller's and release is not called. */
int stk_objects_add_array(struct stk_objects *objects, const char *name,
                          const struct stk_array *array, struct stk_error *err)
{
    int status = check_name(objects, name, err);
    if (!status)
        status = check_array(name, array, err);
    if (status)
        return status;
    struct entry *entry = make_room(objects) ? entry_new(name, STK__ARRAY) : NULL;
    if (!entry)
        return stk__out_of_memory(err);
    entry->object.array = *array;
    objects->entry[objects->n++] = entry;
    return STK_OK;
}

/* A field that a stream or a function makes; `before` are those in front of it. */
static int check_field(const char *name, const struct stk_field_info *before,
                       const struct stk_field_info *field, struct stk_error *err)
{
    const char *label = field->name ? field->name : "";
    if (!*label)
        return stk_fail(err, STK_NAME, "@%.64s: a field has no name", name);
    for (; before != field; before++)
        if (!strcmp(before->name, label))
            return stk_fail(err, STK_NAME, "@%.64s: two fields are called '%.64s'", name, label);
    if (field->kind < STK_FIXED || field->kind > STK_RAGGED || !stk_dtype_bytes(field->dtype))
        return stk_fail(err, STK_TYPE, "@%.64s: the field '%.64s' has no such kind or dtype", name,
                        label);
    bool has_list = field->kind == STK_RAGGED;
    if (field->kind == STK_BYTES && field->rank > 1)
        return stk_fail(err, STK_VALUE,
                        "@%.64s: the field '%.64s' has one text per element, or a list of them",
                        name, label);
    if (field->rank < has_list || field->rank > STK_MAX_RANK - 1)
        return stk_fail(err, STK_VALUE, "@%.64s: rank %d of the field '%.64s' is outside [%d, %d]",
                        name, field->rank, label, has_list, STK_MAX_RANK - 1);
    size_t bytes = stk_dtype_bytes(field->dtype);
    for (int d = has_list; d < field->rank; d++) {
        bool may_differ =
            (field->kind == STK_SHAPED || field->kind == STK_BYTES) && field->shape[d] == -1;
        if (!may_differ && (field->shape[d] < 1 ||
                            __builtin_mul_overflow(bytes, (size_t)field->shape[d], &bytes) ||
                            bytes > PTRDIFF_MAX / 4096))
            return stk_fail(err, STK_VALUE, "@%.64s: dimension %d of the field '%.64s' is %lld",
                            name, d, label, (long long)field->shape[d]);
    }
    return STK_OK;
}

static int check_fields(const char *name, int n, const struct stk_field_info *field,
                        struct stk_error *err)
{
    int status = STK_OK;
    for (int f = 0; f < n && !status; f++)
        status = check_field(name, field, &field[f], err);
    return status;
}

static int check_stream(const char *name, const struct stk_stream *stream, struct stk_error *err)
{
    if (stream->n_fields < 1 || stream->n_fields > STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "@%.64s: %d fields; 1 to %d are possible", name,
                        stream->n_fields, STK_MAX_FIELDS);
    if (!stream->open || !stream->next || !stream->close)
        return stk_fail(err, STK_VALUE, "@%.64s: a stream needs open, next and close", name);
    return check_fields(name, stream->n_fields, stream->field, err);
}

static int check_function(const char *name, const struct stk_function *function,
                          struct stk_error *err)
{
    if (function->n_fields < 0 || function->n_fields > STK_MAX_FIELDS)
        return stk_fail(err, STK_VALUE, "@%.64s: %d fields; 0 to %d are possible", name,
                        function->n_fields, STK_MAX_FIELDS);
    if (!function->call)
        return stk_fail(err, STK_VALUE, "@%.64s: a function needs call", name);
    return check_fields(name, function->n_fields, function->field, err);
}

/* The fields with their names; false when out of memory. */
static bool copy_fields(struct entry *entry, int n, const struct stk_field_info *field)
{
    entry->field = calloc((size_t)n + 1, sizeof *entry->field);
    bool is_whole = entry->field != NULL;
    for (; is_whole && entry->n_fields < n; entry->n_fields++) {
        struct stk_field_info *copy = &entry->field[entry->n_fields];
        *copy = field[entry->n_fields];
        copy->name = strdup(copy->name);
        is_whole = copy->name != NULL;
    }
    return is_whole;
}

/* A new entry with copies of the fields, at the end of the table; NULL when out of memory. */
static struct entry *add_entry(struct stk_objects *objects, const char *name,
                               enum stk__object_kind kind, int n,
                               const struct stk_field_info *field)
{
    struct entry *entry = make_room(objects) ? entry_new(name, kind) : NULL;
    if (!entry)
        return NULL;
    if (!copy_fields(entry, n, field)) {
        free_fields(entry);
        free(entry);
        return NULL;
    }
    objects->entry[objects->n++] = entry;
    return entry;
}

/* As with arrays, a fault leaves the stream to the caller. */
int stk_objects_add_stream(struct stk_objects *objects, const char *name,
                           const struct stk_stream *stream, struct stk_error *err)
{
    int status = check_name(objects, name, err);
    if (!status)
        status = check_stream(name, stream, err);
    if (status)
        return status;
    struct entry *entry =
        add_entry(objects, name, STK__STREAM_OF_CALLER, stream->n_fields, stream->field);
    if (!entry)
        return stk__out_of_memory(err);
    entry->object.stream = *stream;
    entry->object.stream.field = entry->field;
    return STK_OK;
}

int stk_objects_add_function(struct stk_objects *objects, const char *name,
                             const struct stk_function *function, struct stk_error *err)
{
    int status = check_name(objects, name, err);
    if (!status)
        status = check_function(name, function, err);
    if (status)
        return status;
    struct entry *entry =
        add_entry(objects, name, STK__FUNCTION, function->n_fields, function->field);
    if (!entry)
        return stk__out_of_memory(err);
    entry->object.function = *function;
    entry->object.function.field = entry->field;
    return STK_OK;
}
