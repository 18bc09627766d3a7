/* SPDX-License-Identifier: Apache-2.0 */
/* width.c: see width.h. */
#include "io/read/width.h"

#include <limits.h>

enum { PATIENCE = 16, FIRST_NEEDED = 2, MOST_NEEDED = 64 };

void stk__width_begin(struct stk__width *w, int now)
{
    *w = (struct stk__width){ .now = now, .n_needed = FIRST_NEEDED };
}

bool stk__width_slow(struct stk__width *w)
{
    w->n_quick = 0;
    w->n_slow++;
    if (w->now)
        return true;
    if (w->n_slow < w->n_needed)
        return false;
    w->n_slow = 0;
    w->has_begun = true;
    return true;
}

/* Whether threads were worth it shows in how many reads waited. */
static void stop(struct stk__width *w)
{
    bool was_worth_it = w->n_slow >= PATIENCE;
    int more = 2 * w->n_needed < MOST_NEEDED ? 2 * w->n_needed : MOST_NEEDED;
    w->n_needed = was_worth_it || !w->has_begun ? FIRST_NEEDED : more;
    w->has_begun = false;
    w->n_slow = 0;
}

bool stk__width_quick(struct stk__width *w)
{
    if (++w->n_quick < PATIENCE)
        return false;
    bool was_one = w->now == 1;
    w->n_quick = 0;
    w->now /= 2;
    if (was_one)
        stop(w);
    else if (!w->now)
        w->n_slow = 0; /* those were by chance */
    return was_one;
}

int stk__most_ahead(const struct stk__width *w, int depth, bool reads_places)
{
    if (w->now == 0)
        return 0;
    return reads_places ? INT_MAX : 4 * depth;
}
