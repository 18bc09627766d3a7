/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c: the ops and the machine as JSON. */
#define _GNU_SOURCE
#include "api/api.h"
#include "base/cgroup.h"
#include "base/cores.h"
#include "base/cpu.h"
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
    const char *separator = "";
    stk__text_add(out, ",\"flags\":[");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(op->flags & names[i].flag))
            continue;
        stk__text_add(out, "%s\"%s\"", separator, names[i].name);
        separator = ",";
    }
    if (is_stream(op))
        stk__text_add(out, "%s\"stream\"", separator);
    stk__text_add(out, "]");
}

char *stk_ops_json(void)
{
    struct stk__text out = { 0 };
    const struct stk__namespace *ns = stk__ops_namespace();
    int place;
    stk__text_add(&out, "[");
    for (int i = 0; i < ns->n_decls; i++) {
        const struct stk__op *op = stk__op_of(ns->decl[i]);
        stk__text_add(&out, "%s{", i ? ",\n " : "");
        stk__decl_json_members(ns->decl[i], &out);
        const char *subject = stk__op_subject(op, &place);
        stk__text_add(&out, ",\"class\":\"%s\",\"subject\":\"%s\",\"subject_place\":%d",
                      class_of(op), subject, place);
        add_flags(op, &out);
        stk__text_add(&out, ",\"plugin\":%s}", stk__op_is_built_in(op) ? "false" : "true");
    }
    stk__text_add(&out, "]");
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
    stk__text_add(out, "\"model\": ");
    stk__text_add_json(out, name ? name : "unknown", strlen(name ? name : "unknown"));
    if (f)
        fclose(f);
}

static void add_levels(struct stk__text *out)
{
    stk__text_add(out, ", \"levels\": [");
    for (int i = 0; i <= (int)stk__cpu_best(); i++)
        stk__text_add(out, "%s\"%s\"", i ? ", " : "", stk__cpu_level_names[i]);
    stk__text_add(out, "], \"best\": \"%s\", \"used\": \"%s\", \"why\": \"%s\"",
                  stk__cpu_level_names[stk__cpu_best()], stk__cpu_level_names[stk__cpu_level()],
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
    stk__text_add(out, " \"cores\": {\"online\": %d, \"affinity\": %d, \"quota\": ", cores.online,
                  cores.affinity);
    if (cores.quota > 0)
        stk__text_add_rounded(out, cores.quota, 4);
    else
        stk__text_add(out, "null");
    stk__text_add(out, ", \"local_ranks\": %d, \"usable\": %d, \"why\": \"%s\"},\n",
                  cores.local_ranks, cores.usable, why.data ? why.data : "");
    out->failed |= why.failed;
    stk__text_free(&why);
}

static void add_number(struct stk__text *out, const char *name, int64_t value)
{
    stk__text_add(out, "\"%s\": ", name);
    if (value < 0)
        stk__text_add(out, "null, ");
    else
        stk__text_add(out, "%lld, ", (long long)value);
}

static void add_memory(struct stk__text *out)
{
    struct stk__cgroup group;
    stk__cgroup_read("", &group);
    stk__text_add(out, " \"memory\": {");
    add_number(out, "free_bytes", stk__memory_available(""));
    add_number(out, "container_limit_bytes", group.memory_limit);
    add_number(out, "container_free_bytes", group.memory_left);
    stk__text_add(out, "\"default_budget_bytes\": %lld}", (long long)stk__purse_limit());
}

static void add_io(struct stk__text *out)
{
    char reason[160];
    int error = stk__ring_error();
    stk__text_add(out, ",\n \"io\": {\"uring\": %s, \"why\": \"%s\"}", error ? "false" : "true",
                  error ? strerror_r(error, reason, sizeof reason) : "the system permits rings");
}

char *stk_devices_json(void)
{
    struct stk__text out = { 0 };
    stk__text_add(&out, "{\"cpu\": {");
    add_model(&out);
    add_levels(&out);
    stk__text_add(&out, "},\n");
    add_cores(&out);
    stk__text_add(&out,
                  " \"caches\": {\"l1d_bytes\": %ld, \"l2_bytes\": %ld, \"l3_bytes\": %ld},\n",
                  cache_bytes(_SC_LEVEL1_DCACHE_SIZE), cache_bytes(_SC_LEVEL2_CACHE_SIZE),
                  cache_bytes(_SC_LEVEL3_CACHE_SIZE));
    add_memory(&out);
    add_io(&out);
    stk__text_add(&out, "}");
    return stk__text_take(&out);
}
