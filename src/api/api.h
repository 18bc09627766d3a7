/* SPDX-License-Identifier: Apache-2.0 */
/* api.h: what the files of this room share. */
#pragma once
#include "exec/options.h"

const struct stk__options *stk__options_of(const struct stk_options *options); /* NULL for NULL */

/* stk_iterator_new with options as values. */
int stk__iterator_start(struct stk_dataset *dataset, const struct stk__options *options,
                        struct stk_iterator **out, struct stk_error *err);
