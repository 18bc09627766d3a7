/* SPDX-License-Identifier: Apache-2.0 */
/* opened.h: the files that were opened for elements as they came (exec/stage/weaving.c).
 *
 * A source is opened once for each name, and stays open as long as the dataset: further passes need not
 * look at the file again, and its rows can be described long after they were read. The numbers of
 * rows of all of them are told apart by that of the file, in the upper bits. */
#pragma once
#include "graph/graph.h"

struct stk__opened;

enum { STK__OPENED_SHIFT = 32 };

/* Of a source that takes files by the name of a field. Returns new. */
struct stk__opened *stk__opened_new(const struct stk__node *source);
void stk__opened_free(struct stk__opened *opened); /* NULL is fine */

/* The source for a file, which may have to be opened; from any thread. `first` is the number of its
 * first row. */
int stk__opened_find(struct stk__opened *opened, struct stk_span name, const void **state,
                     uint64_t *first, struct stk_error *err);

/* "a.txt, line 12" for a row. */
void stk__opened_describe(struct stk__opened *opened, uint64_t row, char *text, size_t size);
