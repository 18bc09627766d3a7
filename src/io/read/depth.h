/* SPDX-License-Identifier: Apache-2.0 */
/* depth.h: how many reads should be on their way at a time, found out by trying.
 *
 * Little's law: reads in flight = reads per second × seconds a read takes. Where storage answers many
 * at once, a read takes as long however many there are, and more of them are faster. Where it has
 * given all it has (its bandwidth, the one head of a disk), more only wait longer. Which of both
 * holds shows in how fast reads come back, so that is what is compared: depth by depth, over a
 * window of a few reads each.
 *
 *      rush    doubles the depth as long as that pays, from the start
 *      up      tries half as much again, as long as that pays
 *      rest    when it no longer does: stays if more reads are as fast as fewer, since a few too many
 *              keep storage busy when a thread is late; each time for longer
 *      down    then tries what paid last, and a quarter less, as long as fewer are as fast
 *
 * A window counts only if reads were always waiting for their turn, else the depth was not what
 * limited them. Nothing grows unless somebody waits for reads. Depths that are used by a quarter
 * only shrink. A pure function of what it is told, without a clock of its own.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum stk__depth_phase { STK__DEPTH_RUSH, STK__DEPTH_UP, STK__DEPTH_DOWN, STK__DEPTH_REST };

/* What a window found: reads in flight on average, how long one took, and what came per second. */
struct stk__depth_rates {
    double in_flight, ms, reads, bytes;
};

struct stk__depth {
    int now, most;
    enum stk__depth_phase phase;
    bool is_trying; /* `now` is a try; `before` is what it is compared with */
    int before;
    int knee;                             /* the least depth that is as fast as any */
    int n_rests, rest;                    /* windows of the next rest, and those left of this one */
    int n_idle;                           /* windows in a row that used little of it */
    struct stk__depth_rates rates_before; /* of the depth that is compared with */
    /* this window */
    uint64_t began_at, busy_ns, bytes;
    int n;
    int n_old; /* reads to come that were begun when there were more, and do not count */
    bool is_waited_for;
};

struct stk__depth_change {
    int from, to;
    char reason[120];
};

void stk__depth_begin(struct stk__depth *depth, int now, int most);

/* True if more reads at a time were tried and a few are as fast: storage serves one after the other, as a disk
 * does. */
bool stk__depth_is_flat(const struct stk__depth *depth);

/* Somebody who could compute waits for a read. */
void stk__depth_wait(struct stk__depth *depth);

/* A read is done. True if the depth changed, and then how. */
bool stk__depth_note(struct stk__depth *depth, uint64_t begun_at, uint64_t now, uint64_t bytes,
                     struct stk__depth_change *change);
