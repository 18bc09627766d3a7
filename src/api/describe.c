/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c: the ops and the machine as JSON. */
#define _GNU_SOURCE
#include "api/api.h"
#include "base/cgroup.h"
#include "base/cores.h"
#include "base/cpu.h"
#include "base/json_out.h"
#include "base/memory/purse.h"
#include "io/read/lane.h"
#include "op/implied.h"
#include "op/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The table an op is carried out by; ops with an order table may have a serial one beside it,
 * for streams. */
static const char *class_of(const struct stk__op *op)
{
    if (op->flags & STK__OP_ROOT)
        return "source";
    if (op->flags & (STK__OP_BATCH | STK__OP_PREFETCH | STK__OP_NESTS))
        return "executor";
    if (op->row.run || op->flags & STK__OP_FETCH)
        return "row";
    return op->order.count || op->order.at || op->flags & STK__OP_MULTI ? "order" : "serial";
}

/* A source that comes in order, or an op before which such a one is put. */
static bool is_stream(const struct stk__op *op)
{
    const struct stk__op *source = stk__op_begins_with(op) ? stk__op_begins_with(op) : op;
    return source->source.next;
}

static void add_flags(const struct stk__op *op, struct stk__text *out)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {
        { STK_OP_RANDOM, "random" },      { STK_OP_HEAVY, "heavy" },
        { STK_OP_FILTER, "filter" },      { STK__OP_ROOT, "root" },
        { STK__OP_FETCH, "fetch" },       { STK__OP_BATCH, "batch" },
        { STK__OP_PREFETCH, "prefetch" }, { STK__OP_REPEAT, "repeat" },
        { STK__OP_MULTI, "multi" },       { STK__OP_ADDRESSES, "addresses" },
        { STK__OP_SHUFFLES, "shuffles" }, { STK__OP_STABLE, "stable" },
        { STK__OP_EXPANDS, "expands" },   { STK__OP_GROUPS, "groups" },
        { STK__OP_NESTS, "nests" },       { STK__OP_ELEMENT, "element" },
    };
    stk__json_open(out, "flags", '[');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (op->flags & names[i].flag)
            stk__json_string(out, NULL, names[i].name);
    if (is_stream(op))
        stk__json_string(out, NULL, "stream");
    stk__json_close(out, ']');
}

char *stk_ops_json(void)
{
    struct stk__text out = { .is_tight = true };
    const struct stk__namespace *ns = stk__ops_namespace();
    int place;
    stk__json_open(&out, NULL, '[');
    for (int i = 0; i < ns->n_decls; i++) {
        const struct stk__op *op = stk__op_of(ns->decl[i]);
        if (i)
            stk__json_line(&out, 1);
        stk__json_open(&out, NULL, '{');
        stk__decl_json_members(ns->decl[i], &out);
        const char *subject = stk__op_subject(op, &place);
        stk__json_string(&out, "class", class_of(op));
        stk__json_string(&out, "subject", subject);
        stk__json_whole(&out, "subject_place", place);
        add_flags(op, &out);
        stk__json_bool(&out, "plugin", !stk__op_is_built_in(op));
        stk__json_close(&out, '}');
    }
    stk__json_close(&out, ']');
    return stk__text_take(&out);
}

static void add_model(struct stk__text *out)
{
    char line[256], *name = NULL;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !name && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10) && strchr(line, ':'))
            name = strchr(line, ':') + 2;
    if (name)
        name[strcspn(name, "\n")] = 0;
    stk__json_string(out, "model", name ? name : "unknown");
    if (f)
        fclose(f);
}

static void add_levels(struct stk__text *out)
{
    stk__json_open(out, "levels", '[');
    for (int i = 0; i <= (int)stk__cpu_best(); i++)
        stk__json_string(out, NULL, stk__cpu_level_names[i]);
    stk__json_close(out, ']');
    stk__json_string(out, "best", stk__cpu_level_names[stk__cpu_best()]);
    stk__json_string(out, "used", stk__cpu_level_names[stk__cpu_level()]);
    stk__json_string(out, "why",
                     stk__cpu_level() == stk__cpu_best() ? "the best this machine has"
                                                         : "limited by the caller");
}

static long cache_bytes(int name)
{
    long bytes = sysconf(name);
    return bytes > 0 ? bytes : 0;
}

static void add_cores(struct stk__text *out)
{
    struct stk__cores cores = stk__cores_count("");
    struct stk__text why = { 0 };
    stk__cores_explain(&cores, &why);
    stk__json_open(out, "cores", '{');
    stk__json_whole(out, "online", cores.online);
    stk__json_whole(out, "affinity", cores.affinity);
    stk__json_name(out, "quota");
    if (cores.quota > 0)
        stk__text_add_rounded(out, cores.quota, 4);
    else
        stk__text_add(out, "null");
    stk__json_whole(out, "local_ranks", cores.local_ranks);
    stk__json_whole(out, "usable", cores.usable);
    stk__json_string(out, "why", why.data ? why.data : "");
    stk__json_close(out, '}');
    out->failed |= why.failed;
    stk__text_free(&why);
}

static void add_caches(struct stk__text *out)
{
    stk__json_open(out, "caches", '{');
    stk__json_whole(out, "l1d_bytes", cache_bytes(_SC_LEVEL1_DCACHE_SIZE));
    stk__json_whole(out, "l2_bytes", cache_bytes(_SC_LEVEL2_CACHE_SIZE));
    stk__json_whole(out, "l3_bytes", cache_bytes(_SC_LEVEL3_CACHE_SIZE));
    stk__json_close(out, '}');
}

/* Negative: there is none. */
static void add_bytes(struct stk__text *out, const char *name, int64_t bytes)
{
    if (bytes < 0)
        stk__json_null(out, name);
    else
        stk__json_whole(out, name, bytes);
}

static void add_memory(struct stk__text *out)
{
    struct stk__cgroup group;
    stk__cgroup_read("", &group);
    stk__json_open(out, "memory", '{');
    add_bytes(out, "free_bytes", stk__memory_available(""));
    add_bytes(out, "container_limit_bytes", group.memory_limit);
    add_bytes(out, "container_free_bytes", group.memory_left);
    stk__json_whole(out, "default_budget_bytes", stk__purse_limit());
    stk__json_close(out, '}');
}

static void add_io(struct stk__text *out)
{
    char reason[160];
    int error = stk__ring_error();
    stk__json_open(out, "io", '{');
    stk__json_bool(out, "uring", !error);
    stk__json_string(out, "why",
                     error ? strerror_r(error, reason, sizeof reason) : "the system permits rings");
    stk__json_close(out, '}');
}

char *stk_devices_json(void)
{
    static void (*const parts[])(struct stk__text *) = { add_cores, add_caches, add_memory,
                                                         add_io };
    struct stk__text out = { 0 };
    stk__json_open(&out, NULL, '{');
    stk__json_open(&out, "cpu", '{');
    add_model(&out);
    add_levels(&out);
    stk__json_close(&out, '}');
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        stk__json_line(&out, 1);
        parts[i](&out);
    }
    stk__json_close(&out, '}');
    return stk__text_take(&out);
}
