/* SPDX-License-Identifier: Apache-2.0 */
/* api.h: what the files of this room share. */
#pragma once
#include "exec/exec.h"

const struct stk__options *stk__options_of(const struct stk_options *options); /* NULL for NULL */

/* stk_iterator_new with options as values. */
int stk__iterator_start(struct stk_dataset *dataset, const struct stk__options *options,
                        struct stk_iterator **out, struct stk_error *err);

/* What a dataset runs as; borrowed from it. Options NULL: as far as it is known; otherwise what
 * elements cost is found out where it has to be. */
int stk__dataset_form(struct stk_dataset *dataset, const struct stk__options *options,
                      struct stk_dataset **out, struct stk_error *err);

/* Where the cache(auto) of a graph went and why; false if there was nothing to choose. */
struct stk__cache_choice;
bool stk__cache_was_chosen(const struct stk_dataset *graph, struct stk__cache_choice *out);

struct stk__exec *stk__iterator_exec(struct stk_iterator *it);

/* Fails in the child of a fork, where nobody works for the iterator. */
int stk__iterator_check(const struct stk_iterator *it, struct stk_error *err);
