/* SPDX-License-Identifier: Apache-2.0 */
/* field_map.h: maps from fields to what they are made of, as parse_example, jsonl and csv take
 * them: what holds for all. */
#pragma once
#include "lang/lang.h"

/* Fails unless the value is a map with some fields, not too many, whose names are all right; `wants`
 * is what is said of other values. */
int stk__field_map_check(const struct stk_value *map, const char *wants, struct stk_error *err);

/* Puts dimensions behind those that the field has; *n_values becomes their product. Messages point at
 * the value. */
int stk__field_map_shape(const struct stk_value *value, const struct stk_numbers *shape,
                         struct stk_field *field, size_t *n_values, struct stk_error *err);

/* A list of strings as a row of such a field has it; *row is in the arena. */
int stk__text_list_read(const struct stk_value *list, struct stk_arena *arena, const void **row,
                        size_t *bytes, struct stk_error *err);

/* Appends a field to the output; `from` as in stk_infer. */
int stk__field_add(struct stk_infer *inf, const struct stk_field *field, int from,
                   struct stk_error *err);
