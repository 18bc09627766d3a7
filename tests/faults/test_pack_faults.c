/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack_faults.c: for all n, the n-th allocation, access or output call of a pack fails: it says
 * so, leaves nothing but whole files behind, leaks nothing, and the next call completes it. */
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

enum { HANG_SECONDS = 60, MAX_FAULTS = 3000, MAX_FILES = 8, MAX_BYTES = 1 << 16 };

WRAP(ssize_t, write, (int fd, const void *data, size_t bytes), __real_write(fd, data, bytes))
WRAP(int, ftruncate, (int fd, off_t bytes), __real_ftruncate(fd, bytes))
WRAP(int, rename, (const char *from, const char *to), __real_rename(from, to))
WRAP(int, fsync, (int fd), fd < 0) /* nothing here ends the machine, so the real one only costs */
WRAP(int, fdatasync, (int fd), fd < 0)

/* ---- packs ---- */

static char directory[TEMPORARY_PATH];

struct settings {
    const char *chain;
    struct stk_pack_options options;
};

static int pack(const struct settings *s, const char *chain, bool force, struct stk_error *err)
{
    struct stk_dataset *data = NULL;
    struct stk_pack_result result = { 0 };
    struct stk_pack_options options = s->options;
    char out[TEMPORARY_PATH + 20];
    snprintf(out, sizeof out, "%s/x-{shard}", directory);
    options.out = out;
    options.force = force;
    int rc = stk_dataset_new(chain, NULL, &data, err);
    if (!rc)
        rc = stk_pack(data, NULL, &options, &result, err);
    stk_text_free(result.manifest);
    stk_dataset_unref(data);
    return rc;
}

struct file {
    char name[256];
    size_t bytes;
    char data[MAX_BYTES];
};

/* Everything in the directory, sorted by name; then removes it if asked. */
static int look(struct file *file, bool removes)
{
    struct dirent **list;
    int n = 0, n_names = scandir(directory, &list, NULL, alphasort);
    for (int i = 0; i < n_names; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", directory, list[i]->d_name);
        if (strcmp(list[i]->d_name, ".") != 0 && strcmp(list[i]->d_name, "..") != 0) {
            assert_true(n < MAX_FILES);
            FILE *in = fopen(path, "r");
            assert_non_null(in);
            snprintf(file[n].name, sizeof file[n].name, "%s", list[i]->d_name);
            file[n].bytes = fread(file[n].data, 1, MAX_BYTES, in);
            fclose(in);
            n++;
            if (removes)
                unlink(path);
        }
        free(list[i]);
    }
    free(list);
    return n;
}

static struct file whole[MAX_FILES], found[MAX_FILES];

static const struct file *find(const struct file *file, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(file[i].name, name))
            return &file[i];
    return NULL;
}

/* Under a final name is what belongs there, or nothing; and no temporary file is left. */
static void assert_sound(int n_whole)
{
    int n = look(found, false);
    for (int i = 0; i < n; i++) {
        if (strstr(found[i].name, ".partial"))
            continue;
        const struct file *wanted = find(whole, n_whole, found[i].name);
        if (!wanted)
            fail_msg("%s was left behind", found[i].name);
        assert_int_equal(found[i].bytes, wanted->bytes);
        assert_memory_equal(found[i].data, wanted->data, wanted->bytes);
    }
}

static void assert_whole(int n_whole)
{
    int n = look(found, true);
    assert_int_equal(n, n_whole);
    for (int i = 0; i < n; i++) {
        assert_string_equal(found[i].name, whole[i].name);
        assert_int_equal(found[i].bytes, whole[i].bytes);
        assert_memory_equal(found[i].data, whole[i].data, whole[i].bytes);
    }
}

/* ---- faults ---- */

enum mode { ALLOCATIONS, ACCESSES, OUTPUTS };

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

/* True if a call failed. A pack may do without what failed, but then all of it is right. */
static bool fail_nth(const struct settings *s, enum mode mode, long n, int n_whole)
{
    struct stk_error err = { 0 };
    long before = fault_live_blocks();
    alarm(HANG_SECONDS);
    arm(mode, n);
    int rc = pack(s, s->chain, false, &err);
    bool has_failed = disarm(mode);
    if (rc && rc != (mode == ALLOCATIONS ? STK_MEMORY : STK_IO))
        fail_msg("%s, fault %ld of kind %d: %s", s->chain, n, (int)mode, err.text);
    if (rc && !has_failed)
        fail_msg("%s, no fault: %s", s->chain, err.text);
    if (fault_live_blocks() != before)
        fail_msg("%s, fault %ld of kind %d: %ld blocks leaked, one since call %ld", s->chain, n,
                 (int)mode, fault_live_blocks() - before, fault_live_ordinal());
    assert_sound(n_whole);
    rc = pack(s, s->chain, false, &err);
    if (rc)
        fail_msg("%s, after fault %ld of kind %d: %s", s->chain, n, (int)mode, err.text);
    assert_whole(n_whole);
    return has_failed;
}

static const struct settings all[] = {
    { "range(60).shuffle(seed=1)", { .shards = 3 } },
    { "range(60).filter('x % 7 != 2')", { .shards = 2, .compression = "gzip" } },
    { "range(20).batch(6)", { .shards = 2, .format = "tar" } },
};

static void fail_all(enum mode mode)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct stk_error err = { 0 };
        if (pack(&all[i], all[i].chain, false, &err))
            fail_msg("%s", err.text);
        int n_whole = look(whole, true);
        long n = 1;
        while (fail_nth(&all[i], mode, n, n_whole) && n < MAX_FAULTS)
            n++;
        assert_true(n > 5 && n < MAX_FAULTS);
    }
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

/* Replacing another chain's files may fail at any call; forcing it again always completes. */
static void test_forced_replacement_fails(void **state)
{
    const struct settings *s = &all[0];
    struct stk_error err = { 0 };
    bool has_failed = true;
    (void)state;
    assert_int_equal(pack(s, s->chain, false, &err), STK_OK);
    int n_whole = look(whole, true);
    for (long n = 1; has_failed; n++) {
        assert_int_equal(pack(s, "range(61)", false, &err), STK_OK);
        assert_int_equal(pack(s, s->chain, false, &err), STK_STATE);
        alarm(HANG_SECONDS);
        arm(OUTPUTS, n);
        int rc = pack(s, s->chain, true, &err);
        has_failed = disarm(OUTPUTS);
        assert_true(rc == STK_OK || (has_failed && rc == STK_IO));
        assert_int_equal(pack(s, s->chain, true, &err), STK_OK);
        assert_whole(n_whole);
    }
}

static int make_directory(void **state)
{
    (void)state;
    return make_temporary_directory(directory, "stoker-pack") ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_accesses_fail),
        cmocka_unit_test(test_outputs_fail),
        cmocka_unit_test(test_forced_replacement_fails),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
