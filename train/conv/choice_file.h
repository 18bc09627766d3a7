/* SPDX-License-Identifier: Apache-2.0 */
/* choice_file.h: what candidates cost, as lines of a text file:
 *
 *     checksum  key  name run once  name run once …      with tabs between the columns
 *
 * A key says what was measured where. Lines whose checksum is wrong are not there. Writing keeps lines of
 * others, reads them again before, and replaces the file as a whole; of two who write at once, one loses
 * its lines and measures again.
 */
#pragma once
#include "train/conv/candidate.h"

enum { STK__MOST_COSTS = 8 };

struct stk__costs {
    char *key; /* owned */
    int n;
    char name[STK__MOST_COSTS][24];
    struct stk__way_cost cost[STK__MOST_COSTS];
    bool is_new; /* not in the file */
};

struct stk__cost_list {
    struct stk__costs *at;
    int n, cap;
};

/* The place of the file. Returns new; NULL where there is none, or out of memory. */
char *stk__choice_path(void);

/* Adds the lines of a file. */
void stk__costs_read(struct stk__cost_list *list, const char *path);

/* Makes the directory, too. False if it could not be. */
bool stk__costs_write(const struct stk__cost_list *list, const char *path);

/* NULL if there is none. */
struct stk__costs *stk__costs_find(const struct stk__cost_list *list, const char *key);

/* Takes the key. NULL when out of memory, which frees the key. */
struct stk__costs *stk__costs_add(struct stk__cost_list *list, char *key);
void stk__costs_free(struct stk__cost_list *list);
