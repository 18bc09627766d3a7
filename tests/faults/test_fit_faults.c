/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit_faults.c: a whole training with checkpoints and logs while the n-th allocation, access to a file or
 * output call fails, for every n: it says so, leaks nothing, and going on from what is on disk ends with the
 * weights of a training that nothing happened to. */
#define _GNU_SOURCE
#include "fault_wraps.h"
#include "output_faults.h"
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <stoker/stoker.h>
#include <string.h>
#include <unistd.h>

WRAP(ssize_t, write, (int fd, const void *data, size_t bytes), __real_write(fd, data, bytes))
WRAP(int, rename, (const char *from, const char *to), __real_rename(from, to))
WRAP(int, fsync, (int fd), fd < 0) /* nothing here ends the machine, so the real one only costs */

enum { MAX_FAULTS = 4000 };
enum mode { ALLOCATIONS, ACCESSES, OUTPUTS };

static char folder[TEMPORARY_PATH], recipe[2048];

/* ---- one training ---- */

struct outcome {
    int rc; /* STK_END: all is well */
    struct stk_error err;
    int64_t steps;
    uint64_t sum; /* over all bytes of state */
};

static uint64_t sum_state(struct stk_trainer *trainer)
{
    uint64_t sum = 0xcbf29ce484222325u;
    struct stk_view view;
    for (int i = 0; !stk_trainer_state(trainer, i, &view); i++)
        for (int64_t k = 0; k < view.shape[0] * view.strides[0]; k++)
            sum = (sum ^ ((const uint8_t *)view.data)[k]) * 0x100000001b3u;
    return sum;
}

static void train(bool resumes, struct outcome *o)
{
    struct stk_fit_options options = { .resume = resumes };
    struct stk_fit_event event;
    struct stk_fit *fit = NULL;
    memset(o, 0, sizeof *o);
    int rc = stk_fit_new(recipe, &options, &fit, &o->err);
    while (!rc)
        rc = stk_fit_next(fit, &event, &o->err);
    if (rc == STK_END) {
        struct stk_trainer_counts counts;
        stk_trainer_get_counts(stk_fit_trainer(fit), &counts);
        o->steps = counts.step;
        o->sum = sum_state(stk_fit_trainer(fit));
    }
    stk_fit_free(fit);
    o->rc = rc;
}

/* Removes what is in the folder and in those below. */
static void clear(const char *path)
{
    struct dirent *entry;
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        char name[TEMPORARY_PATH + 300];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || !unlink(name))
            continue;
        clear(name);
        rmdir(name);
    }
    if (dir)
        closedir(dir);
}

/* ---- faults ---- */

static void arm(enum mode mode, long n)
{
    arm_output(mode == OUTPUTS ? n : 0);
    if (mode != OUTPUTS)
        fault_arm(mode == ALLOCATIONS ? FAULT_ALLOCATION : FAULT_ACCESS, n, false);
}

static bool disarm(enum mode mode)
{
    bool has_failed = disarm_output();
    return mode == OUTPUTS ? has_failed : fault_disarm();
}

static void check_fault(enum mode mode, long n, const struct outcome *o, bool has_failed)
{
    bool is_told = mode == ALLOCATIONS ? o->rc == STK_MEMORY || strstr(o->err.text, "memory")
                                       : o->rc == STK_IO;
    if (o->rc != STK_END && !has_failed)
        fail_msg("no fault: %s", o->err.text);
    if (o->rc != STK_END && (!is_told || o->err.code != o->rc || !*o->err.text))
        fail_msg("fault %ld of kind %d: %d '%s'", n, (int)mode, o->rc, o->err.text);
}

/* True if a call failed. A training may do without what failed, but then all of it is right. */
static bool fail_nth(enum mode mode, long n, const struct outcome *whole)
{
    struct outcome found;
    clear(folder);
    long before = fault_live_blocks();
    arm(mode, n);
    train(false, &found);
    bool has_failed = disarm(mode);
    check_fault(mode, n, &found, has_failed);
    if (fault_live_blocks() != before)
        fail_msg("fault %ld of kind %d: %ld blocks leaked, one since call %ld", n, (int)mode,
                 fault_live_blocks() - before, fault_live_ordinal());
    if (found.rc != STK_END)
        train(true, &found);
    if (found.rc != STK_END || found.sum != whole->sum || found.steps != whole->steps)
        fail_msg("after fault %ld of kind %d: %d with %lld steps, other weights: %s", n, (int)mode,
                 found.rc, (long long)found.steps, found.err.text);
    return has_failed;
}

static void fail_all(enum mode mode)
{
    struct outcome whole;
    clear(folder);
    train(false, &whole);
    clear(folder);
    train(false, &whole); /* what is made once per process is there */
    if (whole.rc != STK_END)
        fail_msg("%s", whole.err.text);
    assert_int_equal(whole.steps, 8);
    long n = 1;
    while (fail_nth(mode, n, &whole) && n < MAX_FAULTS)
        n++;
    assert_true(n > 10 && n < MAX_FAULTS);
}

static void test_allocations_fail(void **state)
{
    (void)state;
    fail_all(ALLOCATIONS);
}

static void test_accesses_fail(void **state)
{
    (void)state;
    fail_all(ACCESSES);
}

static void test_outputs_fail(void **state)
{
    (void)state;
    fail_all(OUTPUTS);
}

/* Going on reads a checkpoint, which may fail, too. */
static void test_going_on_fails(void **state)
{
    struct outcome whole, found;
    (void)state;
    clear(folder);
    train(false, &whole);
    for (enum mode mode = ALLOCATIONS; mode <= ACCESSES; mode++) {
        bool has_failed = true;
        long n = 1;
        for (; has_failed && n < MAX_FAULTS; n++) {
            long before = fault_live_blocks();
            arm(mode, n);
            train(true, &found);
            has_failed = disarm(mode);
            check_fault(mode, n, &found, has_failed);
            assert_int_equal(fault_live_blocks(), before);
            assert_true(found.rc != STK_END || found.sum == whole.sum);
        }
        assert_true(n > 5 && n < MAX_FAULTS);
    }
}

static int make_folder(void **state)
{
    (void)state;
    if (!make_temporary_directory(folder, "stk_fit_faults"))
        return -1;
    snprintf(
        recipe, sizeof recipe,
        "rows = range(48).map('image = cast(x, float32) / 48; label = cast(x %% 2, float32)')\n"
        "train = @rows.shuffle().batch(4, true).batch(3, true)\n"
        "valid = @rows.take(24).batch(4, true).batch(3, true)\n"
        "model = input(4).dense(5, activation=relu).dropout(0.2).dense(4)\n"
        "loss = mse()\nepochs = 2\nthreads = 1\nworkers = 0\ndeterministic = true\n"
        "checkpoint = '%s/run'\ncheckpoint_every = 3\nkeep = 2\n"
        "log = '%s/log.jsonl'\nlog_every = 2\ntensorboard = '%s/events'\n",
        folder, folder, folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    clear(folder);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_accesses_fail),
        cmocka_unit_test(test_outputs_fail),
        cmocka_unit_test(test_going_on_fails),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
