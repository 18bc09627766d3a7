/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c: control groups, from /proc/self/cgroup upwards.
 *
 * A line of that file is hierarchy:controllers:path; version 2 has one, with hierarchy 0 and no
 * controllers. Inside a container the path may be that of the machine while the files are mounted
 * as if its group were the root, so a folder that is not there is passed over.
 */
#include "base/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 4096 }; /* paths; what is longer is passed over */

/* ---- files ---- */

static bool read_text(const char *dir, const char *name, char *out, size_t size)
{
    char path[LONGEST];
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return false;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(out, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    out[n] = 0;
    return n > 0;
}

/* A number, or -1 where there is none: "max" in version 2. */
static int64_t read_number(const char *dir, const char *name)
{
    char text[64];
    long long value;
    bool is_number = read_text(dir, name, text, sizeof text) && sscanf(text, "%lld", &value) == 1;
    return is_number && value >= 0 ? value : -1;
}

/* The number behind a word at the beginning of a line. */
static int64_t read_entry(const char *dir, const char *name, const char *word)
{
    char text[8192];
    long long value = -1;
    size_t len = strlen(word);
    if (!read_text(dir, name, text, sizeof text))
        return -1;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, word, len) && sscanf(line + len, " %lld", &value) == 1)
            return value;
    }
    return -1;
}

int64_t stk__memory_available(const char *root)
{
    char dir[LONGEST];
    snprintf(dir, sizeof dir, "%s/proc", root);
    int64_t kilobytes = read_entry(dir, "meminfo", "MemAvailable:");
    return kilobytes < 0 ? -1 : kilobytes * 1024;
}

/* ---- one group ---- */

/* Pages of files that nobody used lately go before anybody is refused. */
static int64_t in_use(int64_t used, int64_t idle_pages)
{
    return idle_pages > 0 && idle_pages < used ? used - idle_pages : used;
}

static void tighten_memory(struct stk__cgroup *c, int64_t limit, int64_t used)
{
    const int64_t no_limit = INT64_MAX / 4; /* version 1 writes a number of about 2^63 */
    if (limit < 0 || limit > no_limit || used < 0)
        return;
    int64_t left = used < limit ? limit - used : 0;
    if (c->memory_limit < 0 || limit < c->memory_limit)
        c->memory_limit = limit;
    if (c->memory_left < 0 || left < c->memory_left)
        c->memory_left = left;
}

static void tighten_cores(struct stk__cgroup *c, int64_t quota, int64_t period)
{
    double cores = quota > 0 && period > 0 ? (double)quota / (double)period : 0;
    if (cores > 0 && (c->cores == 0 || cores < c->cores))
        c->cores = cores;
}

static void look_v2(const char *dir, struct stk__cgroup *c)
{
    int64_t used =
        in_use(read_number(dir, "memory.current"), read_entry(dir, "memory.stat", "inactive_file"));
    tighten_memory(c, read_number(dir, "memory.max"), used);
    tighten_memory(c, read_number(dir, "memory.high"), used);
    char text[64];
    long long quota, period;
    if (read_text(dir, "cpu.max", text, sizeof text) &&
        sscanf(text, "%lld %lld", &quota, &period) == 2)
        tighten_cores(c, quota, period);
}

static void look_memory_v1(const char *dir, struct stk__cgroup *c)
{
    int64_t used = in_use(read_number(dir, "memory.usage_in_bytes"),
                          read_entry(dir, "memory.stat", "total_inactive_file"));
    tighten_memory(c, read_number(dir, "memory.limit_in_bytes"), used);
}

static void look_cpu_v1(const char *dir, struct stk__cgroup *c)
{
    tighten_cores(c, read_number(dir, "cpu.cfs_quota_us"), read_number(dir, "cpu.cfs_period_us"));
}

/* ---- the way up ---- */

static void climb(const char *mount, const char *path,
                  void (*look)(const char *, struct stk__cgroup *), struct stk__cgroup *c)
{
    char dir[LONGEST];
    size_t root = strlen(mount);
    if (snprintf(dir, sizeof dir, "%s%s", mount, path) >= (int)sizeof dir)
        return;
    for (char *end = dir + strlen(dir); end; end = strrchr(dir + root, '/')) {
        *end = 0;
        look(dir, c);
    }
}

static bool has_controller(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
            return true;
    }
    return false;
}

/* One line of /proc/self/cgroup. Version 2 is mounted by itself or, beside version 1, at
 * unified. */
static void look_line(const char *root, char *line, struct stk__cgroup *c)
{
    char mount[LONGEST];
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = 0;
    controllers++;
    bool is_v2 = !*controllers;
    static const struct {
        bool is_v2;
        const char *controller, *mount;
        void (*look)(const char *, struct stk__cgroup *);
    } mounts[] = {
        { true, "", "", look_v2 },
        { true, "", "/unified", look_v2 },
        { false, "memory", "/memory", look_memory_v1 },
        { false, "cpu", "/cpu", look_cpu_v1 },
        { false, "cpu", "/cpu,cpuacct", look_cpu_v1 },
    };
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        if (mounts[i].is_v2 != is_v2 ||
            (!is_v2 && !has_controller(controllers, mounts[i].controller)))
            continue;
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, mounts[i].mount);
        climb(mount, path, mounts[i].look, c);
    }
}

void stk__cgroup_read(const char *root, struct stk__cgroup *out)
{
    char path[LONGEST], line[LONGEST];
    *out = (struct stk__cgroup){ .memory_limit = -1, .memory_left = -1 };
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        look_line(root, line, out);
    }
    if (f)
        fclose(f);
}
