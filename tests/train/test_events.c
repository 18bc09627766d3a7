/* SPDX-License-Identifier: Apache-2.0 */
/* test_events.c: an event file has the bytes that TensorBoard's own writer gives it
 * (golden/make_events.py).
 *
 *     test_events --write DIRECTORY     writes that file, for who wants to look at it
 */
#define _GNU_SOURCE
#include "temporary.h"
#include "train/file/events.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int add_all(struct stk__events *events, struct stk_error *err)
{
    static const struct stk__event_scalar first[] = { { "train/loss", 2.5f },
                                                      { "train/accuracy", 0 } };
    static const struct stk__event_scalar second[] = { { "train/loss", INFINITY } };
    static const struct stk__event_scalar third[] = { { "train/loss", -1e-30f },
                                                      { "größe", 3.25f } };
    int rc = stk__events_add(events, first, 2, 0, 1700000000.0, err);
    if (!rc)
        rc = stk__events_add(events, second, 1, 1, 1700000000.25, err);
    return rc ? rc : stk__events_add(events, third, 2, 1000000, 1700000001.5, err);
}

static size_t read_all(const char *path, char *data, size_t most)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: cannot be opened; tests run in the top directory", path);
    size_t bytes = fread(data, 1, most, file);
    fclose(file);
    return bytes;
}

/* Two files of one second have different names, and the directory is made. */
static void test_bytes_are_those_of_tensorboard(void **state)
{
    char top[TEMPORARY_PATH], directory[TEMPORARY_PATH + 16], first[TEMPORARY_PATH + 100];
    static char want[4096], got[4096];
    struct stk__events events;
    struct stk_error err = { 0 };
    (void)state;
    assert_true(make_temporary_directory(top, "stk_events"));
    snprintf(directory, sizeof directory, "%s/runs/one", top);
    for (int i = 0; i < 2; i++) {
        if (stk__events_open(&events, directory, 1700000000.0, &err) || add_all(&events, &err))
            fail_msg("%s", err.text);
        assert_non_null(strstr(events.path, "/runs/one/events.out.tfevents.1700000000."));
        assert_true(!i || strcmp(first, events.path) < 0);
        size_t n = read_all(events.path, got, sizeof got); /* there before it is closed */
        assert_int_equal(n, read_all("tests/golden/events.bin", want, sizeof want));
        assert_memory_equal(got, want, n);
        if (i)
            unlink(first);
        snprintf(first, sizeof first, "%s", events.path);
        stk__events_close(&events);
    }
    unlink(first);
    rmdir(directory);
    *strrchr(directory, '/') = '\0';
    rmdir(directory);
    assert_int_equal(rmdir(top), 0);
}

static void test_faults(void **state)
{
    struct stk__events events;
    struct stk_error err = { 0 };
    char file[TEMPORARY_PATH], below[TEMPORARY_PATH + 8];
    (void)state;
    assert_true(make_temporary_file(file, "stk_events"));
    snprintf(below, sizeof below, "%s/runs", file);
    assert_int_equal(stk__events_open(&events, below, 0, &err), STK_IO);
    assert_non_null(strstr(err.text, file));
    unlink(file);
    events = (struct stk__events){ .fd = -1, .path = strdup("gone") };
    assert_int_equal(stk__events_add(&events, NULL, 0, 1, 1, &err), STK_IO);
    assert_non_null(strstr(err.text, "gone"));
    stk__events_close(&events);
}

int main(int argc, char **argv)
{
    struct stk_error err = { 0 };
    struct stk__events events;
    if (argc == 3 && !strcmp(argv[1], "--write")) {
        int rc = stk__events_open(&events, argv[2], 1700000000.0, &err);
        if (!rc)
            rc = add_all(&events, &err);
        stk__events_close(&events);
        fputs(err.text, stderr);
        return rc != STK_OK;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_those_of_tensorboard),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
