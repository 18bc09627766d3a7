/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h: what the control groups of this process allow, versions 1 and 2: of each resource the
 * tightest limit on the way from the process's own group up to the root. */
#pragma once
#include <stdint.h>

struct stk__cgroup {
    int64_t memory_limit; /* bytes; -1: there is none */
    int64_t memory_left;  /* what may still be taken under every limit on the way; -1: no limit */
    double cores;         /* of the CPU quota; 0: there is none */
};

/* Groups of this process, and memory that the machine has left. `root` is in front of /proc and
 * /sys: "" for those of this machine. */
void stk__cgroup_read(const char *root, struct stk__cgroup *out);

/* MemAvailable; -1 when it is not known. */
int64_t stk__memory_available(const char *root);
