/* SPDX-License-Identifier: Apache-2.0 */
/* test_purse.c: the budget of the process, and what its control groups leave of the machine, in
 * trees of files that look like theirs. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/cores.h"
#include "base/memory/purse.h"
#include "temporary.h"

enum { MB = 1 << 20 };

/* ---- control groups ---- */

static char root[TEMPORARY_PATH];

static void write_file(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = strchr(full + strlen(root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(full, 0777);
        *at = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int new_root(void **state)
{
    (void)state;
    return make_temporary_directory(root, "stoker_cgroup") ? 0 : -1;
}

static int drop_root(void **state)
{
    char command[TEMPORARY_PATH + 16];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static struct stk__cgroup look(void)
{
    struct stk__cgroup c;
    stk__cgroup_read(root, &c);
    return c;
}

static void test_no_groups(void **state)
{
    (void)state;
    assert_int_equal(look().memory_limit, -1);
    assert_int_equal(look().memory_left, -1);
    assert_true(look().cores == 0);
    assert_int_equal(stk__memory_available(root), -1);
    write_file("/proc/meminfo", "MemTotal:  100 kB\nMemFree: 7 kB\nMemAvailable:     42 kB\n");
    assert_int_equal(stk__memory_available(root), 42 * 1024);
}

/* Each resource has its tightest limit at another level. */
static void test_nested_v2(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "0::/job/step/task\n");
    write_file("/sys/fs/cgroup/job/step/task/memory.max", "max\n");
    write_file("/sys/fs/cgroup/job/step/task/memory.current", "1000\n");
    write_file("/sys/fs/cgroup/job/step/task/cpu.max", "max 100000\n");
    assert_int_equal(look().memory_limit, -1);
    write_file("/sys/fs/cgroup/job/step/memory.max", "8000000\n");
    write_file("/sys/fs/cgroup/job/step/memory.current", "1000000\n");
    write_file("/sys/fs/cgroup/job/step/cpu.max", "350000 100000\n");
    assert_int_equal(look().memory_limit, 8000000);
    assert_int_equal(look().memory_left, 7000000);
    assert_true(look().cores == 3.5);
    write_file("/sys/fs/cgroup/job/memory.max", "9000000\n"); /* larger, but fuller */
    write_file("/sys/fs/cgroup/job/memory.current", "8500000\n");
    write_file("/sys/fs/cgroup/job/cpu.max", "800000 100000\n");
    assert_int_equal(look().memory_limit, 8000000);
    assert_int_equal(look().memory_left, 500000);
    assert_true(look().cores == 3.5);
    write_file("/sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 400000\nactive_file 3\n");
    assert_int_equal(look().memory_left, 900000); /* pages that would go first */
    write_file("/sys/fs/cgroup/job/memory.high", "8200000\n");
    assert_int_equal(look().memory_left, 100000);
    write_file("/sys/fs/cgroup/job/memory.current", "99000000\n");
    assert_int_equal(look().memory_left, 0);
}

static void test_nested_v1(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "5:cpu,cpuacct:/a/b\n4:memory:/a/b\n3:cpuset:/x\n0::/user\n");
    write_file("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "5\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    assert_int_equal(look().memory_limit, -1);
    assert_true(look().cores == 0);
    write_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096000\n");
    write_file("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "96000\n");
    write_file("/sys/fs/cgroup/memory/a/memory.stat", "cache 1\ntotal_inactive_file 6000\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    assert_int_equal(look().memory_limit, 4096000);
    assert_int_equal(look().memory_left, 4006000);
    assert_true(look().cores == 1.5);
}

/* The path is that of the machine, the files are mounted as the root. */
static void test_container(void **state)
{
    (void)state;
    write_file("/proc/self/cgroup", "0::/docker/0123\n");
    write_file("/sys/fs/cgroup/memory.max", "1000\n");
    write_file("/sys/fs/cgroup/memory.current", "400\n");
    write_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_int_equal(look().memory_left, 600);
    assert_true(look().cores == 0.5);
}

/* ---- cores ---- */

static const char *const variables[] = { "LOCAL_WORLD_SIZE",      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                         "MPI_LOCALNRANKS",       "SLURM_STEP_TASKS_PER_NODE",
                                         "SLURM_NTASKS_PER_NODE", "SLURM_STEP_NUM_TASKS",
                                         "SLURM_NODEID" };

static int usable(int online, int affinity, double quota, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strcmp(variables[i], "SLURM_NODEID") && strcmp(variables[i], "SLURM_STEP_NUM_TASKS"))
            unsetenv(variables[i]);
    if (name)
        setenv(name, value, 1);
    struct stk__cores c = { .online = online, .affinity = affinity, .quota = quota };
    stk__cores_share(&c);
    return c.usable;
}

static void test_cores(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    assert_int_equal(usable(8, 8, 0, NULL, NULL), 8);
    assert_int_equal(usable(8, 3, 0, NULL, NULL), 3);
    assert_int_equal(usable(8, 8, 2.5, NULL, NULL), 3);
    assert_int_equal(usable(8, 8, 0.2, NULL, NULL), 1);
    assert_int_equal(usable(8, 8, 0, "LOCAL_WORLD_SIZE", "4"), 2);
    assert_int_equal(usable(8, 8, 0, "OMPI_COMM_WORLD_LOCAL_SIZE", "3"), 2);
    assert_int_equal(usable(8, 8, 0, "MPI_LOCALNRANKS", "16"), 1);
    assert_int_equal(usable(8, 8, 4, "LOCAL_WORLD_SIZE", "2"), 2);
    assert_int_equal(usable(8, 2, 0, "LOCAL_WORLD_SIZE", "4"), 2); /* bound, each to its own */
    assert_int_equal(usable(8, 6, 0, "LOCAL_WORLD_SIZE", "2"), 3); /* a mask for all of them */
    assert_int_equal(usable(8, 8, 0, "SLURM_STEP_TASKS_PER_NODE", "4(x2),1"), 2);
    assert_int_equal(usable(8, 8, 0, "SLURM_NTASKS_PER_NODE", "4"), 8); /* outside of a step */
    setenv("SLURM_STEP_NUM_TASKS", "8", 1);
    assert_int_equal(usable(8, 8, 0, "SLURM_NTASKS_PER_NODE", "4"), 2);
    setenv("SLURM_NODEID", "2", 1);
    assert_int_equal(usable(8, 8, 0, "SLURM_STEP_TASKS_PER_NODE", "4(x2),1"), 8);
    assert_int_equal(usable(8, 8, 0, "LOCAL_WORLD_SIZE", "many"), 8);
    assert_int_equal(usable(8, 8, 0, "LOCAL_WORLD_SIZE", "-2"), 8);
    assert_int_equal(usable(8, 8, 0, NULL, NULL), 8);
}

static void test_cores_are_explained(void **state)
{
    struct stk__text text = { 0 };
    struct stk__cores c = { .online = 16, .affinity = 16, .quota = 3.5 };
    (void)state;
    setenv("LOCAL_WORLD_SIZE", "2", 1);
    stk__cores_share(&c);
    stk__cores_explain(&c, &text);
    assert_string_equal(text.data,
                        "16 cores; a quota of 3.5; shared by 2 processes (LOCAL_WORLD_SIZE)");
    assert_int_equal(c.usable, 2);
    stk__text_free(&text);
    unsetenv("LOCAL_WORLD_SIZE");
    assert_true(stk__cores_count("").usable >= 1);
}

/* ---- the purse ---- */

static void test_limit(void **state)
{
    (void)state;
    assert_true(stk__purse_limit() >= 64 * MB);
    stk__purse_set_limit(1000);
    assert_int_equal(stk__purse_limit(), 1000);
    stk__purse_set_limit(0);
    assert_true(stk__purse_limit() >= 64 * MB);
}

static void test_sharing(void **state)
{
    struct stk__share train, eval, own;
    (void)state;
    stk__purse_set_limit(800);
    assert_true(stk__purse_join(&train, 100, false));
    assert_int_equal(stk__purse_take(&train, 100, 1000), 600); /* an eighth stays */
    assert_int_equal(stk__purse_take(&train, 1, 1), 0);
    assert_false(stk__purse_is_tight(&train)); /* nobody else wants any */
    assert_true(stk__purse_join(&eval, 100, false));
    assert_int_equal(stk__purse_take(&eval, 50, 200), 0);
    assert_true(stk__purse_is_tight(&train));
    assert_false(stk__purse_is_tight(&eval));
    stk__purse_give(&train, 200);
    assert_int_equal(stk__purse_take(&train, 10, 10), 0); /* it has more than its part */
    assert_int_equal(stk__purse_take(&eval, 50, 300), 100);
    assert_false(stk__purse_is_tight(&eval));
    stk__purse_leave(&train);
    assert_int_equal(stk__purse_take(&eval, 10, 10000), 500);
    stk__purse_give(&eval, 400);
    assert_true(stk__purse_join(&own, 300, true));
    assert_int_equal(stk__purse_take(&own, 1, 1), 0); /* it has all it gets */
    assert_int_equal(stk__purse_look().free, 800 - 300 - 300);
    assert_int_equal(stk__purse_look().n_runs, 2);
    stk__purse_leave(&own);
    stk__purse_leave(&eval);
    assert_int_equal(stk__purse_look().free, 800);
    assert_int_equal(stk__purse_look().n_wanting, 0);
    stk__purse_set_limit(0);
}

static void test_minima(void **state)
{
    struct stk__share a, b = { 0 };
    (void)state;
    stk__purse_set_limit(1000);
    assert_true(stk__purse_join(&a, 700, false));
    assert_false(stk__purse_join(&b, 400, false));
    assert_false(stk__purse_join(&b, 400, true));
    stk__purse_leave(&b); /* it never joined */
    assert_true(stk__purse_join(&b, 300, false));
    stk__purse_leave(&a);
    stk__purse_leave(&b);
    stk__purse_set_limit(0); /* a default gives way to what somebody asked for */
    assert_true(stk__purse_join(&a, INT64_MAX / 4, true));
    assert_true(stk__purse_join(&b, 100, false));
    assert_int_equal(stk__purse_take(&b, 1, 1), 0);
    stk__purse_leave(&a);
    stk__purse_leave(&b);
}

static void test_leftovers(void **state)
{
    struct stk__share run;
    (void)state;
    stk__purse_set_limit(1000);
    stk__purse_note(STK__KEEPS_INDEX, 100);
    assert_true(stk__purse_reserve(STK__KEEPS_CACHE, 600));
    assert_false(stk__purse_reserve(STK__KEEPS_CACHE, 100)); /* a quarter is for runs */
    assert_true(stk__purse_join(&run, 100, false));
    assert_int_equal(stk__purse_take(&run, 10, 500), 75);
    stk__purse_note(STK__KEEPS_CACHE, -500);
    assert_int_equal(stk__purse_take(&run, 1000, 1000), 0);
    assert_false(stk__purse_reserve(STK__KEEPS_CACHE, 1)); /* a run is refused */
    assert_int_equal(stk__purse_look().kept[STK__KEEPS_CACHE], 100);
    stk__purse_leave(&run);
    stk__purse_note(STK__KEEPS_CACHE, -100);
    stk__purse_note(STK__KEEPS_INDEX, -100);
    assert_int_equal(stk__purse_look().free, 1000);
    stk__purse_set_limit(0);
}

static void test_fork(void **state)
{
    struct stk__share run;
    int status;
    (void)state;
    stk__purse_set_limit(1000);
    assert_true(stk__purse_join(&run, 900, false));
    pid_t child = fork();
    if (child == 0)
        _exit(stk__purse_look().free == 1000 && stk__purse_look().n_runs == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(stk__purse_look().free, 100);
    stk__purse_leave(&run);
    stk__purse_set_limit(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_groups, new_root, drop_root),
        cmocka_unit_test_setup_teardown(test_nested_v2, new_root, drop_root),
        cmocka_unit_test_setup_teardown(test_nested_v1, new_root, drop_root),
        cmocka_unit_test_setup_teardown(test_container, new_root, drop_root),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_cores_are_explained),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_minima),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
