/* SPDX-License-Identifier: Apache-2.0 */
/* test_record_faults.c: sources of records and arrays while memory, reads and the writing of index
 * files fail: an error that says so, the rows of what failed and no others left out, or all as if
 * nothing were. */
#define _GNU_SOURCE
#include "fault_run.h"
#include "output_faults.h"

#include <sys/wait.h>

/* ---- output calls that fail ---- */

static atomic_bool writes_little;

WRAP(ssize_t, write, (int fd, const void *data, size_t bytes),
     __real_write(fd, data, writes_little &&bytes > 3 ? 3 : bytes))
WRAP(int, fsync, (int fd), fd < 0) /* nothing here ends the machine, so the real one only costs */
WRAP(int, fchmod, (int fd, mode_t mode), __real_fchmod(fd, mode))
WRAP(int, mkostemp, (char *name, int flags), __real_mkostemp(name, flags))
WRAP(int, rename, (const char *from, const char *to), __real_rename(from, to))

/* ---- memory ---- */

static void test_allocations_fail(void **state)
{
    static const char *const chains[] = {
        "tfrecord('plain.tfrecord').shuffle().batch(2)",
        "tfrecord('plain.tfrecord', index='indices').take(5)",
        "tfrecord(['plain.tfrecord', 'gzip.tfrecord']).batch(5)",
        "tar('pictures.tar').batch(2)",
        "tar('pictures.tar', {k: '__key__'}).shuffle().batch(2)",
        "tar('pictures.tar.gz', {k: '__key__'}).batch(2)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        for (int mode = 0; mode < 4; mode++) {
            const struct settings s = { chains[i], mode & 1 ? "2" : "0", "fail" };
            fail_allocations(&s, mode & 2);
        }
    }
}

/* ---- reads ---- */

static const char *const located[] = {
    "tfrecord(['plain.tfrecord', 'plain.tfrecord'], index=none).batch(4)",
    "tfrecord('plain.tfrecord', index=none).shuffle()",
    "tar('pictures.tar', {k: '__key__'}, index=none).batch(4)",
    "csv('people.csv', index=none).shuffle().batch(2)",
    "fixed_length('people.csv', 7, header=1).shuffle().batch(3)",
    "npy('volume.npy').batch(2)",
    "npz('deflated.npz').batch(2)",
    "hdf5('chunks.h5', hold=0).shuffle().batch(2)",
};

static const char *const streams[] = {
    "tfrecord('gzip.tfrecord').batch(4)",
    "tar('pictures.tar.gz', {k: '__key__'}).batch(4)",
    "csv('people.csv.gz').batch(2)",
    "lines(['people.csv', 'people.csv.gz']).batch(2)",
    "jsonl('a.jsonl', {a: int64})",
    "fixed_length('people.csv.gz', 7, header=1, compression=gzip).batch(3)",
    "values({p: ['volume.npy']}).shuffle(1).flat_map(npy(p)).batch(2)",
    "values({p: ['chunks.h5', 'chunks.h5']}).shuffle(1).interleave(hdf5(p, hold=0), 2).batch(3)",
};

static bool is_missing_from(const char *origin, const char *path)
{
    char name[256];
    snprintf(name, sizeof name, "%s,", base_name(path));
    return !strncmp(base_name(origin), name, strlen(name));
}

/* Rows of the file that failed are missing, and no others; or the dataset could not be made. */
static void check_skip(const struct settings *s, long n)
{
    bool is_right = found.rc == STK_END && found.n_rows < expected.n_rows;
    for (int i = 0, k = 0; is_right && i < expected.n_rows; i++) {
        if (k < found.n_rows && !strcmp(expected.origin[i], found.origin[k]))
            k++;
        else
            is_right = is_missing_from(expected.origin[i], fault_path());
    }
    bool is_refused =
        found.rc == STK_IO && !found.n_rows && strstr(found.err.text, base_name(fault_path()));
    if (!is_right && !is_refused)
        fail_msg("%s, workers=%s, access %ld (%s): gives %d with %d of %d rows: %s", s->chain,
                 s->workers, n, fault_path(), found.rc, found.n_rows, expected.n_rows,
                 found.err.text);
}

static void check_fail(const struct settings *s, long n)
{
    if (found.rc != STK_IO || found.err.code != STK_IO ||
        !strstr(found.err.text, base_name(fault_path())))
        fail_msg("%s, workers=%s, access %ld (%s): gives %d: %s", s->chain, s->workers, n,
                 fault_path(), found.rc, found.err.text);
}

static void fail_accesses(const struct settings *s)
{
    long before = warm_up(s), n_noticed = 0;
    bool has_failed = true;
    for (long n = 1; has_failed; n++) {
        watch(s, n, 0);
        fault_arm(FAULT_ACCESS, n, false);
        run(s, &found);
        has_failed = fault_disarm();
        check_nothing_left(s, n, before);
        if (is_same(&found, &expected))
            continue; /* a map that could not be made is not needed */
        n_noticed++;
        assert_true(has_failed);
        if (strcmp(s->on_error, "skip"))
            check_fail(s, n);
        else
            check_skip(s, n);
    }
    alarm(0);
    assert_true(n_noticed > 0);
}

static void test_accesses_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof located / sizeof *located; i++) {
        for (int mode = 0; mode < 4; mode++) {
            const struct settings s = { located[i], mode & 1 ? "2" : "0",
                                        mode & 2 ? "skip" : "fail" };
            fail_accesses(&s);
        }
    }
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        const struct settings s = { streams[i], i & 1 ? "2" : "0", "fail" };
        fail_accesses(&s);
    }
}

static void read_little(const char *chain)
{
    const struct settings s = { chain, "2", "fail" };
    warm_up(&s);
    watch(&s, 0, 0);
    fault_arm(FAULT_SHORT, 1, true);
    run(&s, &found);
    assert_true(fault_disarm());
    alarm(0);
    if (!is_same(&found, &expected))
        fail_msg("%s, read little by little: gives %d with %d of %d rows: %s", chain, found.rc,
                 found.n_rows, expected.n_rows, found.err.text);
}

static void test_reads_give_a_few_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof located / sizeof *located; i++)
        read_little(located[i]);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        read_little(streams[i]);
    read_little("tfrecord('plain.tfrecord', index='indices').batch(4)");
}

/* ---- sidecars ---- */

static const struct settings indexed = { "tfrecord('plain.tfrecord', index='indices').batch(4)",
                                         "0", "fail" };

/* Whole sidecars, and what else there is. */
static void count_sidecars(int *n_whole, int *n_other)
{
    struct dirent **list;
    int n = scandir("indices", &list, NULL, alphasort);
    *n_whole = *n_other = 0;
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(list[i]->d_name, '.');
        bool is_whole = dot && !strcmp(dot, ".stkidx");
        *n_whole += is_whole;
        *n_other += !is_whole && list[i]->d_name[0] != '.';
        free(list[i]);
    }
    free(list);
}

static void remove_sidecars(void)
{
    assert_int_equal(system("rm -f indices/*"), 0);
}

static void test_sidecars_cannot_be_written(void **state)
{
    int n_whole = 0, n_other;
    (void)state;
    warm_up(&indexed);
    long n = 1;
    for (; !n_whole; n++) {
        remove_sidecars();
        arm_output(n);
        run(&indexed, &found);
        disarm_output();
        assert_true(is_same(&found, &expected));
        count_sidecars(&n_whole, &n_other);
        assert_int_equal(n_other, 0);
        assert_true(n < 20);
    }
    assert_true(n > 4); /* made, written, synced, renamed */
    assert_int_equal(n_whole, 1);
}

static void test_sidecars_are_written_little_by_little(void **state)
{
    int n_whole, n_other;
    struct stat before, after;
    (void)state;
    remove_sidecars();
    atomic_store(&writes_little, true);
    run(&indexed, &found);
    atomic_store(&writes_little, false);
    assert_true(is_same(&found, &expected));
    count_sidecars(&n_whole, &n_other);
    assert_true(n_whole == 1 && n_other == 0);
    assert_int_equal(stat("indices", &before), 0);
    run(&indexed, &found);
    assert_true(is_same(&found, &expected));
    assert_int_equal(stat("indices", &after), 0); /* it was believed: nothing new was written */
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void test_sidecars_have_no_home(void **state)
{
    static const char *const chains[] = {
        "tfrecord('plain.tfrecord', index='nowhere/at/all').batch(4)",
        "tfrecord('plain.tfrecord', index='people.csv').batch(4)",
        "tfrecord('plain.tfrecord', index='/proc/self').batch(4)",
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const struct settings s = { chains[i], "0", "fail" };
        run(&s, &found);
        assert_true(is_same(&found, &expected));
    }
}

static void test_sidecars_are_written_by_several_processes(void **state)
{
    enum { N_PROCESSES = 4, N_TIMES = 10 };
    pid_t child[N_PROCESSES];
    int n_whole, n_other, status;
    (void)state;
    for (int i = 0; i < N_PROCESSES; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i])
            continue;
        alarm(5 * HANG_SECONDS);
        for (int k = 0; k < N_TIMES; k++) {
            if (system("rm -f indices/*.stkidx"))
                _exit(3);
            run(&indexed, &found);
            if (!is_same(&found, &expected))
                _exit(1);
        }
        _exit(0);
    }
    for (int i = 0; i < N_PROCESSES; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    count_sidecars(&n_whole, &n_other);
    assert_true(n_whole <= 1 && n_other == 0);
}

/* ---- files ---- */

static int set_up(void **state)
{
    static const char people[] = "name,age,height,city\n\"A \"\"n\"\"\",31,1.7,Bern\n,44,,Oslo\n"
                                 "B,1,2,Linz\nC,2,,R\n";
    static const char texts[] = "{\"a\": 1}\n\n{\"a\": 2}\n";
    if (enter(state) || mkdir("indices", 0777))
        return -1;
    signal(SIGALRM, report_hang);
    n_files_at_start = count_open_files();
    write_file("people.csv", people, sizeof people - 1);
    write_file("a.jsonl", texts, sizeof texts - 1);
    copy_file("tests/golden/records/plain.tfrecord", "plain.tfrecord");
    copy_file("tests/golden/records/gzip.tfrecord", "gzip.tfrecord");
    copy_file("tests/golden/records/pictures.tar", "pictures.tar");
    copy_file("tests/golden/arrays/volume.npy", "volume.npy");
    copy_file("tests/golden/arrays/deflated.npz", "deflated.npz");
    copy_file("tests/golden/arrays/chunks.h5", "chunks.h5");
    return system("gzip -k people.csv pictures.tar");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_accesses_fail),
        cmocka_unit_test(test_reads_give_a_few_bytes),
        cmocka_unit_test(test_sidecars_cannot_be_written),
        cmocka_unit_test(test_sidecars_are_written_little_by_little),
        cmocka_unit_test(test_sidecars_have_no_home),
        cmocka_unit_test(test_sidecars_are_written_by_several_processes),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
