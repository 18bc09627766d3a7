/* SPDX-License-Identifier: Apache-2.0 */
/* cores.h: how many cores this process may keep busy, how that number came about, and how long
 * its threads wait for one. */
#pragma once
#include "base/text.h"

struct stk__cores {
    int online;       /* of the machine */
    int affinity;     /* in the mask of this process */
    double quota;     /* of its control groups; 0: none */
    int local_ranks;  /* processes of the job on this machine; 1 if nobody says */
    const char *told; /* the variable that says so, or NULL */
    bool is_bound;    /* the mask is narrow enough to be this process's own share */
    int usable;       /* at least 1 */
};

/* `root` as in cgroup.h. */
struct stk__cores stk__cores_count(const char *root);

/* The same from what is known: fills in local_ranks, told, is_bound and usable. */
void stk__cores_share(struct stk__cores *cores);

/* "8 cores; a quota of 4; shared by 2 processes (LOCAL_WORLD_SIZE)" */
void stk__cores_explain(const struct stk__cores *cores, struct stk__text *out);

/* How long a thread of this process had work but no core, since it began; 0 where the system
 * does not tell. A thread that sleeps is not counted: this is what tells being held up by other
 * programs from a lock. */
uint64_t stk__queued_ns(int thread);
