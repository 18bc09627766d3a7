/* SPDX-License-Identifier: Apache-2.0 */
/* packed_classes.h: class names of packed files, out of the manifest that `pack` left beside them. */
#pragma once
#include "io/paths.h"

struct stk__packed_classes;

/* Finds the manifest that lists all of these files. Without one, or without names in it, *out is NULL: that is
 * no error, the files are then as any others. STK_OK or STK_MEMORY. Returns new. */
int stk__packed_classes_open(const struct stk__paths *files, struct stk__packed_classes **out,
                             struct stk_error *err);
void stk__packed_classes_close(struct stk__packed_classes *classes); /* NULL is fine */

/* The i-th field that has names; NULL: there are no more. */
const char *stk__packed_classes_field(const struct stk__packed_classes *classes, int i);

/* The field that is stored so: of tar files, with this ending. NULL: there is none with names. */
const char *stk__packed_classes_stored(const struct stk__packed_classes *classes,
                                       const char *ending);

/* The name of a number in a field; NULL: it has none. */
const char *stk__packed_classes_name(const struct stk__packed_classes *classes, const char *field,
                                     int64_t value);
