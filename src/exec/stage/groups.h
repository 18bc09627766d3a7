/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h: rows that wait until they are an element: one sequence of them, or one for each value
 * of a field, or for each range of lengths. */
#pragma once
#include "base/rows/chunk.h"
#include "op/group/grouping.h"

struct stk__row_group {
    struct stk__chunk *held; /* NULL until there is a row */
    int first, n;            /* its rows are held[first], …, held[first + n - 1] */
    int64_t to_skip;         /* rows that come and belong to no element */
    int64_t size, span, shift;
    int turn;      /* of several sizes */
    int64_t value; /* whole number or bucket */
    uint64_t hash;
    uint8_t *text; /* or bytes, owned */
    size_t text_bytes;
};

struct stk__groups {
    const struct stk__grouping *grouping;
    const struct stk_type *type; /* of the rows */
    int parts;
    struct stk__row_group *group; /* in order of appearance */
    int n, cap;
    int *slot; /* index of a group + 1 by its hash, 0: free; twice as many as there is room for */
    int *last; /* at the end: groups in the order in which their rest comes */
    bool has_ended;
    int n_flushed;
    size_t held_bytes, max_bytes; /* by value: what all take, and may take */
};

/* The sequence that row belongs to. NULL when out of memory, with a message if it is too much for
 * the budget. */
struct stk__row_group *stk__groups_find(struct stk__groups *groups, const struct stk__chunk *in,
                                        int row, const char **why);

/* The bucket of a row, where rows are told apart by length. */
int stk__grouping_bucket(const struct stk__grouping *grouping, const struct stk__chunk *in,
                         int row);

/* Appends n rows; false when out of memory. */
bool stk__group_add(struct stk__groups *groups, struct stk__row_group *group,
                    const struct stk__chunk *in, int from, int n);

/* Moves on by some elements: the first `shift` rows of each go, and those of them that are yet to
 * come. */
void stk__group_advance(struct stk__groups *groups, struct stk__row_group *group, int n_elements);

/* The sequences whose rest comes at the end, one after the other; NULL after the last. */
struct stk__row_group *stk__groups_rest(struct stk__groups *groups);

/* Forgets all rows; keeps the memory of an only sequence. */
void stk__groups_restart(struct stk__groups *groups);
void stk__groups_free(struct stk__groups *groups);
