/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_log.c: records in a directory: found again as they were, or not at all, whatever happens to
 * the files and to the process that writes them. */
#define _GNU_SOURCE
#include "file_tree.h"

#include "base/crc32c.h"
#include "base/hash.h"
#include "io/row_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char folder[] = "log";

/* ---- records that can be told by their number ---- */

enum { MOST_BYTES = 5000 };

static size_t bytes_of(uint64_t number)
{
    uint64_t word = stk__hash_mix(number, 11);
    return word % 8 == 0 ? word % MOST_BYTES : word % 60;
}

static void fill(uint64_t number, uint8_t *data)
{
    for (size_t i = 0; i < bytes_of(number); i++)
        data[i] = (uint8_t)stk__hash_mix(number, i);
}

static struct stk__row_log *open_log(void)
{
    struct stk__row_log *log = NULL;
    struct stk_error err = { 0 };
    if (stk__row_log_open(folder, "a text\n", &log, &err))
        fail_msg("%s", err.text);
    return log;
}

static bool add(struct stk__row_log *log, uint64_t number)
{
    uint8_t data[MOST_BYTES];
    size_t bytes = bytes_of(number), half = bytes / 2;
    fill(number, data);
    const struct iovec piece[] = { { data, half }, { data + half, bytes - half } };
    return stk__row_log_add(log, number, (uint32_t)number & 3, piece, 2);
}

/* 1: as it was; 0: not there; -1: there, but could not be read. Anything else fails. */
static int look(struct stk__row_log *log, uint64_t number)
{
    uint8_t data[MOST_BYTES], expected[MOST_BYTES];
    struct stk__log_entry entry;
    if (!stk__row_log_find(log, number, &entry))
        return 0;
    assert_int_equal(entry.number, number);
    if (entry.bytes != bytes_of(number))
        return -1; /* an index that was damaged and has the right checksum cannot be */
    size_t first = entry.bytes / 3;
    struct stk__copy piece[] = { { data, NULL, first },
                                 { data + first, NULL, entry.bytes - first } };
    if (!stk__row_log_read(log, &entry, piece, 2))
        return -1;
    fill(number, expected);
    assert_memory_equal(data, expected, entry.bytes);
    assert_int_equal(entry.flags & 3, number & 3);
    return 1;
}

static uint64_t count_good(struct stk__row_log *log, uint64_t most)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < most; i++)
        n += look(log, i) == 1;
    return n;
}

static void empty_home(void **state)
{
    (void)state;
    static const char *const names[] = { "log/rows", "log/index", "log/text", "log/lock" };
    for (int i = 0; i < 4; i++)
        unlink(names[i]);
    rmdir(folder);
}

/* ---- tests ---- */

static void test_records_come_back(void **state)
{
    empty_home(state);
    struct stk__row_log *log = open_log();
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(look(log, i), 0);
        assert_true(add(log, i));
        assert_false(add(log, i)); /* it is there */
        assert_int_equal(look(log, i), 1);
    }
    assert_true(stk__row_log_state(log).is_written);
    for (int pass = 0; pass < 3; pass++) {
        stk__row_log_close(log);
        log = open_log();
        assert_int_equal(count_good(log, 2000), 1000 + 100 * (uint64_t)pass);
        for (uint64_t i = 0; i < 100; i++)
            assert_true(add(log, 1000 + 100 * (uint64_t)pass + i));
    }
    stk__row_log_close(log);
    stk__row_log_close(NULL);
}

static void test_a_lost_record_is_added_again(void **state)
{
    empty_home(state);
    struct stk__row_log *log = open_log();
    assert_true(add(log, 7) && add(log, 8));
    stk__row_log_lose(log, 7);
    assert_int_equal(look(log, 7), 0);
    assert_int_equal(stk__row_log_state(log).n_lost, 1);
    assert_true(add(log, 7));
    assert_int_equal(look(log, 7), 1);
    stk__row_log_close(log);
    log = open_log();
    assert_int_equal(look(log, 7), 1);
    stk__row_log_close(log);
}

static void test_one_writes_and_others_read(void **state)
{
    empty_home(state);
    struct stk__row_log *log = open_log();
    for (uint64_t i = 0; i < 10; i++)
        assert_true(add(log, i));
    struct stk__row_log *other = open_log();
    const struct stk__log_state seen = stk__row_log_state(other);
    assert_false(seen.is_written);
    assert_string_equal(seen.why,
                        "another run writes it; this one reads what was there when it began");
    assert_int_equal(count_good(other, 20), 10); /* though the index has none of them yet */
    assert_false(add(other, 11));
    assert_true(add(log, 11));
    assert_int_equal(look(other, 11), 0);
    stk__row_log_close(log);
    assert_int_equal(count_good(other, 20), 10);
    stk__row_log_close(other);
}

/* A copy of a file's bytes. */
struct bytes {
    uint8_t *data;
    size_t n;
};

static struct bytes load(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && !fstat(fd, &info));
    struct bytes all = { malloc((size_t)info.st_size + 1), (size_t)info.st_size };
    assert_int_equal(read(fd, all.data, all.n), (ssize_t)all.n);
    close(fd);
    return all;
}

static void store(const char *path, const uint8_t *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), (ssize_t)n);
    close(fd);
}

/* Whatever is found of n records is good; and the log can be written on. */
static uint64_t check_damaged(uint64_t n)
{
    struct stk__row_log *log = open_log();
    uint64_t n_good = count_good(log, n);
    for (uint64_t i = 0; i < n; i++)
        if (look(log, i) == -1)
            stk__row_log_lose(log, i);
    for (uint64_t i = 0; i < n; i++)
        add(log, i);
    assert_int_equal(count_good(log, n), n);
    stk__row_log_close(log);
    log = open_log();
    assert_int_equal(count_good(log, n), n);
    stk__row_log_close(log);
    return n_good;
}

enum { N_DAMAGED = 30 };

static void damage_each(const char *path, uint64_t least_good)
{
    empty_home(NULL);
    struct stk__row_log *log = open_log();
    for (uint64_t i = 0; i < N_DAMAGED; i++)
        add(log, i);
    stk__row_log_close(log);
    struct bytes rows = load("log/rows"), index = load("log/index");
    struct bytes *damaged = strcmp(path, "log/rows") ? &index : &rows;
    for (size_t at = 0; at < damaged->n; at += 1 + damaged->n / 300) {
        for (int cut = 0; cut < 2; cut++) {
            store("log/rows", rows.data, rows.n);
            store("log/index", index.data, index.n);
            damaged->data[at] ^= 0x24;
            store(path, damaged->data, cut ? at : damaged->n);
            damaged->data[at] ^= 0x24;
            uint64_t n_good = check_damaged(N_DAMAGED);
            if (n_good < (cut && damaged == &rows ? 0 : least_good))
                fail_msg("%s, byte %zu: only %d are left", path, at, (int)n_good);
        }
    }
    free(rows.data);
    free(index.data);
}

static void test_damage(void **state)
{
    (void)state;
    damage_each("log/rows", N_DAMAGED - 1);
    damage_each("log/index", N_DAMAGED); /* what is behind is found by going over it */
}

static struct sigaction guarding; /* which cmocka replaces by its own */

static void test_cut_while_it_is_mapped(void **state)
{
    empty_home(state);
    sigaction(SIGBUS, &guarding, NULL);
    struct stk__row_log *log = open_log();
    for (uint64_t i = 0; i < 400; i++)
        assert_true(add(log, i));
    assert_int_equal(count_good(log, 400), 400);
    assert_int_equal(truncate("log/rows", 5000), 0);
    uint64_t n_good = count_good(log, 400);
    assert_true(n_good > 0 && n_good < 400);
    unlink("log/rows");
    assert_int_equal(count_good(log, 400), n_good);
    stk__row_log_close(log);
    check_damaged(400);
}

/* A limit on the size of files stands for a disk that is full. */
static void test_no_room(void **state)
{
    empty_home(state);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = { 20000, 20000 };
        signal(SIGXFSZ, SIG_IGN);
        struct stk__row_log *log = open_log();
        setrlimit(RLIMIT_FSIZE, &limit);
        uint64_t n = 0;
        while (add(log, n))
            n++;
        const struct stk__log_state end = stk__row_log_state(log);
        bool is_well =
            n > 10 && !end.is_written && strstr(end.why, "cannot write") && count_good(log, n) == n;
        stk__row_log_close(log);
        _exit(is_well ? (int)(n % 200) + 1 : 0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) > 0);
    struct stk__row_log *log = open_log();
    assert_int_equal(count_good(log, 1000) % 200 + 1, WEXITSTATUS(status));
    stk__row_log_close(log);
}

/* Killed at 200 moments: what was added before is there, and what is there is good. */
static void test_killed(void **state)
{
    uint64_t n_seen = 0;
    empty_home(state);
    srand(5);
    for (int round = 0; round < 200; round++) {
        int told[2];
        assert_int_equal(pipe(told), 0);
        pid_t child = fork();
        if (child == 0) {
            struct stk__row_log *log = open_log();
            for (uint64_t i = n_seen; i < n_seen + 3000; i++)
                if (!add(log, i) || write(told[1], &i, sizeof i) != sizeof i)
                    _exit(1);
            pause();
        }
        close(told[1]);
        uint64_t last = n_seen;
        const struct timespec time = { .tv_nsec = rand() % 3000000 };
        nanosleep(&time, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        uint64_t n_told = n_seen;
        while (read(told[0], &last, sizeof last) == sizeof last)
            n_told = last + 1;
        close(told[0]);
        struct stk__row_log *log = open_log();
        assert_true(stk__row_log_state(log).is_written); /* nobody holds the lock any more */
        uint64_t n = 0;
        while (look(log, n) == 1)
            n++;
        if (n < n_told)
            fail_msg("round %d: %d are there of %d", round, (int)n, (int)n_told);
        stk__row_log_close(log);
        n_seen = n > 6000 ? 0 : n;
        if (!n_seen)
            empty_home(NULL);
    }
}

/* A file of holes that is longer than a log can be, and a record at the end of what can be. */
static void test_longer_than_any(void **state)
{
    const uint64_t most = (uint64_t)1 << 44;
    struct {
        uint32_t magic, crc, n, reserved;
        struct stk__log_entry entry;
    } block = { 0x324b5453, 0, 1, 0, { .number = 7, .offset = most - 32 } };
    char target[64];
    struct stat info;
    empty_home(state);
    int fd = memfd_create("rows", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)most + 4096) == 0);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
    assert_true(mkdir(folder, 0777) == 0 && symlink(target, "log/rows") == 0);
    block.crc = stk__crc32c(0, &block.n, sizeof block - 8);
    store("log/index", (const uint8_t *)&block, sizeof block);
    struct stk__row_log *log = open_log();
    assert_int_equal(stk__row_log_state(log).n, 1);
    assert_int_equal(look(log, 7), -1);
    assert_false(add(log, 8)); /* there is no place behind */
    stk__row_log_lose(log, 7); /* stands still if its lock was written over */
    assert_int_equal(stk__row_log_state(log).n_lost, 1);
    stk__row_log_close(log);
    assert_true(fstat(fd, &info) == 0 && (uint64_t)info.st_size == most);
    close(fd);
}

static void test_removed_files(void **state)
{
    empty_home(state);
    struct stk__row_log *log = open_log();
    assert_true(add(log, 1));
    assert_true(unlink("log/rows") == 0);
    const struct stk__log_state seen = stk__row_log_state(log);
    assert_string_equal(seen.why,
                        "its files were removed meanwhile; the next run makes them again");
    assert_false(add(log, 2)); /* nobody would find it */
    assert_int_equal(look(log, 1), 1);
    stk__row_log_close(log);
}

static void test_places_that_are_none(void **state)
{
    struct stk__row_log *log = NULL;
    struct stk_error err = { 0 };
    (void)state;
    store("file", (const uint8_t *)"x", 1);
    assert_int_equal(stk__row_log_open("file", "", &log, &err), STK_IO);
    assert_non_null(strstr(err.text, "'file' is a file"));
    assert_int_equal(stk__row_log_open("file/below", "", &log, &err), STK_IO);
    assert_non_null(strstr(err.text, "'file' is a file"));
    assert_int_equal(stk__row_log_open("/sys/none/below", "", &log, &err), STK_IO);
    assert_non_null(strstr(err.text, "cannot make the directory '/sys/none': "));
    assert_null(strstr(err.text, "No such file")); /* which is how it was found not to be there */
    assert_int_equal(stk__row_log_open("", "", &log, &err), STK_VALUE);
    assert_int_equal(stk__row_log_open("a/b//c/", "", &log, &err), STK_OK);
    stk__row_log_close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_come_back),
        cmocka_unit_test(test_a_lost_record_is_added_again),
        cmocka_unit_test(test_one_writes_and_others_read),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_cut_while_it_is_mapped),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_longer_than_any),
        cmocka_unit_test(test_removed_files),
        cmocka_unit_test(test_places_that_are_none),
    };
    if (!stk__guard_start() || sigaction(SIGBUS, NULL, &guarding))
        return 1;
    return cmocka_run_group_tests(tests, enter, leave);
}
