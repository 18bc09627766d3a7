/* SPDX-License-Identifier: Apache-2.0 */
/* gauge.h: what the arenas of one worker hold, and asking before much more is taken.
 *
 * An arena with a gauge counts its blocks there. Whoever is about to need more than usual for one
 * element (a large picture) asks first, and so does every arena before a large block that is beyond what was set
 * aside. What arenas keep of ops that are done is given back then. The run charges the rest, and where its budget
 * has no room the worker waits for the one permit of the process, so that at most one such element is about that
 * nothing was set aside for. It has the permit until it is done with its piece of work: what an element
 * was made to is as large as what it took to make it.
 *
 * Libraries take memory by malloc, which keeps what they give back for the next time. So it counts as held from
 * the first time on, by an estimate, until the run has malloc give it back.
 */
#pragma once
#include "base/memory/arena.h"

struct stk__gauge {
    struct stk_arena *first; /* arenas that count here; changed by the worker */
    _Atomic size_t held_bytes;
    size_t peak_bytes;    /* since the gauge was put in force */
    size_t granted_bytes; /* what was set aside for the worker */
    size_t library_bytes; /* of what is held: that malloc has for libraries */
    bool is_unlimited;    /* nothing is set aside for this worker: somebody else did */
    /* Sets more aside, up to `wanted_bytes`; false: there is no room for it. With `is_forced`
     * there is. */
    bool (*grant)(void *ctx, size_t wanted_bytes, bool is_forced);
    void *ctx;
};

/* Puts a gauge in force on this thread; NULL: none. Returns the one that was. */
struct stk__gauge *stk__gauge_use(struct stk__gauge *gauge);

/* Nobody waits on this thread until it is resumed: it holds a lock of somebody who may be waited for. Returns what
 * stk__gauge_resume wants. */
struct stk__gauge *stk__gauge_pause(void);
void stk__gauge_resume(struct stk__gauge *paused);

/* Lets an arena count on the gauge of this thread, if there is one, from now on. */
void stk__gauge_join(struct stk_arena *arena);
void stk__gauge_part(struct stk_arena *arena);

/* By arenas: blocks come or go. */
void stk__gauge_count(struct stk__gauge *gauge, size_t more_bytes, size_t fewer_bytes);

/* What was set aside for the worker and is not held; SIZE_MAX of one that is unlimited. */
size_t stk__gauge_room(const struct stk__gauge *gauge);

/* By an arena with a gauge: a block of so many bytes is about to come. Where it is beyond what was set aside for the
 * worker, it is asked for; may wait. */
void stk__gauge_grow(const struct stk_arena *arena, size_t bytes);

/* Gives the blocks of all its arenas back; none is in use. */
void stk__gauge_release(struct stk__gauge *gauge);

/* Before an element that takes `bytes` of scratch; may wait. A thread without a gauge goes on at once. */
void stk__gauge_expect(size_t bytes);

/* The same before one that takes `bytes` beside what is held, of which a library takes `library_bytes` more. */
void stk__gauge_expect_more(size_t bytes, size_t library_bytes);

/* malloc has given back what libraries took. */
void stk__gauge_forget_library(struct stk__gauge *gauge);

/* The work is done for which this thread may have taken the permit. */
void stk__permit_return(void);
