/* SPDX-License-Identifier: Apache-2.0 */
/* purse.h: the memory budget of the process, which all runs share.
 *
 *      limit ├─ indices, caches ─┼─ runs with a budget of their own ─┼─ shared runs ─┼─ free ─┤
 *                                                                     minima, spare
 *
 * A run with a budget of its own takes all of it when it begins. A shared one takes its minima,
 * which it keeps to its end so that it can always go on, and more in steps while there is some. The last
 * eighth is left free for the minima of runs that begin later. While somebody is refused, those that have more than
 * their part of what is shared get no more, and give back what comes free.
 *
 * Nothing here waits, and nothing is allocated: these are numbers. Any thread. A forked child
 * begins with an empty purse: the runs of its parent are not its own.
 */
#pragma once
#include "base/text.h"

/* What a run has of it; zeroed before it joins, changed by whoever holds the run's lock. */
struct stk__share {
    int64_t owned_bytes; /* for ever: the minima, or all of a budget of its own */
    int64_t taken_bytes; /* beyond that, for the time being */
    bool is_fixed;       /* a budget of its own */
    bool is_wanting;     /* was refused, and got nothing since */
    bool has_joined;
};

/* What the process may use: what stk__purse_set_limit said, else a quarter of what was free when
 * no run was on, from 64 MiB to 2 GiB. */
int64_t stk__purse_limit(void);

/* 0: by the machine again. Runs that are on give back what is too much as it comes free. */
void stk__purse_set_limit(int64_t bytes);

/* False, and nothing is taken, where `bytes` do not fit beside what others own and a limit was
 * set; a default limit gives way. */
bool stk__purse_join(struct stk__share *share, int64_t bytes, bool is_fixed);
void stk__purse_leave(struct stk__share *share);

/* From `least` to `most` bytes more; 0: there is not enough now. */
int64_t stk__purse_take(struct stk__share *share, int64_t least, int64_t most);
void stk__purse_give(struct stk__share *share, int64_t bytes);

/* Whether what comes free should be given back at once: the purse is overdrawn, or others are
 * refused while this one has more than its part. */
bool stk__purse_is_tight(const struct stk__share *share);

/* ---- what belongs to no run ---- */

enum stk__keeper { STK__KEEPS_CACHE, STK__KEEPS_INDEX, STK__N_KEEPERS };

/* Leftovers, for what may as well not be there: false while any run is refused, and where less
 * than a quarter of the limit would be left. */
bool stk__purse_reserve(enum stk__keeper keeper, int64_t bytes);

/* What there is anyway; below 0: no longer. */
void stk__purse_note(enum stk__keeper keeper, int64_t bytes);

struct stk__purse_state {
    int64_t limit, free;         /* free: below 0 while it is overdrawn */
    int64_t fixed, owned, taken; /* of runs */
    int64_t kept[STK__N_KEEPERS];
    int n_runs, n_wanting;
};
struct stk__purse_state stk__purse_look(void);
