/* SPDX-License-Identifier: Apache-2.0 */
/* cores.c: affinity, quota and the processes that share the machine with this one.
 *
 * Launchers say how many processes of a job run on this machine, and each should take its part.
 * Some of them also bind every process to cores of its own: a mask of which all processes together
 * would not use more than there is is taken for such a part and not divided again. Guessing wrong
 * costs little that way: threads that share cores, instead of cores that nobody uses.
 */
#define _GNU_SOURCE
#include "base/cores.h"

#include "base/cgroup.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* SLURM's "2(x3),1": tasks of each node of the step, in order; those of node number `node`. */
static long tasks_of_node(const char *list, long node)
{
    for (const char *at = list; *at;) {
        char *end;
        long tasks = strtol(at, &end, 10), times = 1;
        if (end == at)
            return 0;
        if (!strncmp(end, "(x", 2)) {
            times = strtol(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < times)
            return tasks;
        node -= times;
        at = *end == ',' ? end + 1 : "";
    }
    return 0;
}

/* What srun's steps see; a script outside of one sees only how many tasks were asked for. */
static const struct {
    const char *name, *also; /* also: must be there, too */
} told_by[] = {
    { "LOCAL_WORLD_SIZE", NULL }, /* torchrun */
    { "OMPI_COMM_WORLD_LOCAL_SIZE", NULL }, { "MPI_LOCALNRANKS", NULL },
    { "SLURM_STEP_TASKS_PER_NODE", NULL },  { "SLURM_NTASKS_PER_NODE", "SLURM_STEP_NUM_TASKS" },
};

static void find_ranks(struct stk__cores *c)
{
    const char *node = getenv("SLURM_NODEID");
    c->local_ranks = 1;
    c->told = NULL;
    for (size_t i = 0; i < sizeof told_by / sizeof *told_by && !c->told; i++) {
        const char *text = getenv(told_by[i].name);
        if (!text || (told_by[i].also && !getenv(told_by[i].also)))
            continue;
        long n = tasks_of_node(
            text, strchr(text, '(') || strchr(text, ',') ? atol(node ? node : "0") : 0);
        if (n < 1 || n > 1 << 20)
            continue;
        c->local_ranks = (int)n;
        c->told = told_by[i].name;
    }
}

void stk__cores_share(struct stk__cores *c)
{
    find_ranks(c);
    int cores = c->affinity < c->online ? c->affinity : c->online;
    c->is_bound =
        c->local_ranks > 1 && cores < c->online && (int64_t)cores * c->local_ranks <= c->online;
    int part = c->is_bound ? cores : cores / c->local_ranks;
    if (c->quota > 0) { /* rounded up: the rest of a core is better used than left */
        double quota = c->quota / c->local_ranks;
        part = quota < part ? (int)quota + (quota > (int)quota) : part;
    }
    c->usable = part < 1 ? 1 : part;
}

struct stk__cores stk__cores_count(const char *root)
{
    struct stk__cores c = { .online = (int)sysconf(_SC_NPROCESSORS_ONLN) };
    struct stk__cgroup group;
    cpu_set_t set;
    c.online = c.online > 0 ? c.online : 1;
    c.affinity = sched_getaffinity(0, sizeof set, &set) ? c.online : CPU_COUNT(&set);
    stk__cgroup_read(root, &group);
    c.quota = group.cores;
    stk__cores_share(&c);
    return c;
}

void stk__cores_explain(const struct stk__cores *c, struct stk__text *out)
{
    bool is_all = c->affinity >= c->online && c->quota == 0 && c->local_ranks == 1;
    stk__text_add(out, "%s%d core%s", is_all ? "all of " : "", c->online,
                  c->online == 1 ? "" : "s");
    if (c->affinity < c->online)
        stk__text_add(out, "; an affinity mask of %d", c->affinity);
    if (c->quota > 0) {
        stk__text_add(out, "; a quota of ");
        stk__text_add_rounded(out, c->quota, 4);
    }
    if (c->local_ranks > 1)
        stk__text_add(out, "; shared by %d processes (%s)%s", c->local_ranks, c->told,
                      c->is_bound ? ", each bound to its own" : "");
}

uint64_t stk__queued_ns(int thread)
{
    char path[64];
    unsigned long long at_work, queued;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", thread);
    FILE *file = thread ? fopen(path, "re") : NULL;
    bool is_told = file && fscanf(file, "%llu %llu", &at_work, &queued) == 2;
    if (file)
        fclose(file);
    return is_told ? queued : 0;
}
