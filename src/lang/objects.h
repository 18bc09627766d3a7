/* SPDX-License-Identifier: Apache-2.0 */
/* objects.h: the table behind @name. */
#pragma once
#include <stoker/stoker.h>

/* The array bound to a name, or NULL. `objects` may be NULL. Borrowed from the table. */
const struct stk_array *stk__objects_find(const struct stk_objects *objects, const char *name);

/* For messages. `objects` may be NULL: none. */
int stk__objects_count(const struct stk_objects *objects);
const char *stk__objects_name(const struct stk_objects *objects, int index);

/* Keeps an array that came from a table alive beyond it: its release is called when the table and
 * everyone else have let go. Any thread. */
void stk__array_ref(const struct stk_array *array);
void stk__array_unref(const struct stk_array *array);

/* Adds an array of another table under its name, kept alive as above; an array that is in already is left
 * alone. STK_OK or STK_MEMORY. */
int stk__objects_keep(struct stk_objects *objects, const struct stk_array *array);
