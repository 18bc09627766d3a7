/* SPDX-License-Identifier: Apache-2.0 */
/* objects.h: the table behind @name. */
#pragma once
#include <stoker/stoker.h>

enum stk__object_kind { STK__ARRAY, STK__STREAM_OF_CALLER, STK__FUNCTION };

/* What a name is bound to; constant. */
struct stk__object {
    enum stk__object_kind kind;
    struct stk_array array;
    struct stk_stream stream;     /* its fields and their names live as long as the object */
    struct stk_function function; /* likewise */
};

/* The object bound to a name, or NULL. `objects` may be NULL. Borrowed from the table. */
const struct stk__object *stk__objects_find(const struct stk_objects *objects, const char *name);

/* For messages. `objects` may be NULL: none. */
int stk__objects_count(const struct stk_objects *objects);
const char *stk__objects_name(const struct stk_objects *objects, int index);

/* Keeps an object that came from a table alive beyond it: its release is called when the table and
 * everyone else have let go. Any thread. */
void stk__object_ref(const struct stk__object *object);
void stk__object_unref(const struct stk__object *object);

/* Adds an object of another table under its name, kept alive as above; one that is in already is
 * left alone. STK_OK or STK_MEMORY. */
int stk__objects_keep(struct stk_objects *objects, const struct stk__object *object);

/* Adds all objects of another table, which may be NULL. Two tables may not bind one name to
 * different objects. */
int stk__objects_join(struct stk_objects *objects, const struct stk_objects *others,
                      struct stk_error *err);
