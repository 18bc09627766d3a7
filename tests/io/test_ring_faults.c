/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_faults.c: what a ring may answer, and storage that is not disturbed does not: reads that are short,
 * interrupted, to be tried again or cancelled, and submissions that are refused. Batches stay the same.
 *
 * The calls that submit are wrapped. Once they return, completions lie in memory that is shared with the
 * system, and some of them are changed before anybody looks at them.
 */
#define _GNU_SOURCE
#include "api_call.h"
#include "file_tree.h"
#include "io/read/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

/* ---- disturbance ---- */

enum { MAX_FLIGHTS = 256 };

static struct disturbance {
    int every;        /* which completions: one in so many */
    int error;        /* that they bring; 0: half of what they brought */
    bool ends;        /* a read that brings nothing, as at the end of a file */
    int refuse_every; /* which submissions get `error` */
} disturbance;

static struct {
    uint64_t flight;
    int opcode;
    bool is_direct;       /* it opens a descriptor of the ring's own */
} submitted[MAX_FLIGHTS]; /* by the one thread that has the ring */
static int n_submitted, n_files_begun;

/* A read of a file by guess that is short is followed by one that finds something. */
static uint64_t shortened[MAX_FLIGHTS];
static int n_shortened;
static unsigned n_seen;
static atomic_int n_completions, n_changed, n_submissions, n_refused;

int __real_io_uring_submit(struct io_uring *ring);
int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned n);
int __real_io_uring_queue_init(unsigned n, struct io_uring *ring, unsigned flags);
int __wrap_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned n);
int __wrap_io_uring_queue_init(unsigned n, struct io_uring *ring, unsigned flags);

int __wrap_io_uring_queue_init(unsigned n, struct io_uring *ring, unsigned flags)
{
    n_seen = 0;
    n_submitted = n_shortened = n_files_begun = 0;
    return __real_io_uring_queue_init(n, ring, flags);
}

/* Remembers what each flight is at. */
static void note_entries(const struct io_uring *ring)
{
    const struct io_uring_sq *sq = &ring->sq;
    for (unsigned i = sq->sqe_head; i != sq->sqe_tail; i++) {
        const struct io_uring_sqe *entry = &sq->sqes[i & *sq->kring_mask];
        int k = 0;
        while (k < n_submitted && submitted[k].flight != entry->user_data)
            k++;
        n_submitted += k == n_submitted && k < MAX_FLIGHTS - 1;
        submitted[k].flight = entry->user_data;
        submitted[k].opcode = entry->opcode;
        submitted[k].is_direct = entry->file_index != 0;
        n_files_begun += entry->opcode == IORING_OP_OPENAT;
    }
}

static int find_submitted(const struct io_uring_cqe *completion)
{
    int k = 0;
    while (k < n_submitted && submitted[k].flight != completion->user_data)
        k++;
    return k;
}

static void answer_probe(struct io_uring_cqe *completion)
{
    for (int i = 0; i < n_shortened; i++)
        if (shortened[i] + 1 == completion->user_data) {
            shortened[i] = shortened[--n_shortened];
            completion->res = 1;
            return;
        }
}

static void change(struct io_uring_cqe *completion)
{
    int k = find_submitted(completion), opcode = k < n_submitted ? submitted[k].opcode : 0;
    bool reads = opcode == IORING_OP_READV || opcode == IORING_OP_READ;
    if (completion->res < 0 || (!disturbance.error && (!reads || completion->res < 2)))
        return;
    if (disturbance.error && opcode == IORING_OP_OPENAT && !submitted[k].is_direct)
        close(completion->res);
    if (!disturbance.error && opcode == IORING_OP_READ && n_shortened < MAX_FLIGHTS)
        shortened[n_shortened++] = completion->user_data;
    completion->res = disturbance.error  ? -disturbance.error
                      : disturbance.ends ? 0
                                         : completion->res / 2;
    atomic_fetch_add(&n_changed, 1);
}

/* Slow enough that nobody takes the files for being in memory and reads them itself. */
static void take_time(void)
{
    const struct timespec pause = { .tv_nsec = 400000 };
    nanosleep(&pause, NULL);
}

static void disturb(struct io_uring *ring)
{
    const struct io_uring_cq *cq = &ring->cq;
    for (unsigned tail = io_uring_smp_load_acquire(cq->ktail); n_seen != tail; n_seen++) {
        struct io_uring_cqe *completion = &cq->cqes[n_seen & *cq->kring_mask];
        if (!completion->user_data)
            continue; /* the bell */
        answer_probe(completion);
        int ordinal = atomic_fetch_add(&n_completions, 1) + 1;
        if (disturbance.every && ordinal % disturbance.every == 0)
            change(completion);
    }
}

static bool is_refused(void)
{
    int ordinal = atomic_fetch_add(&n_submissions, 1) + 1;
    bool is_refused = disturbance.refuse_every && ordinal % disturbance.refuse_every == 0;
    atomic_fetch_add(&n_refused, is_refused);
    return is_refused;
}

int __wrap_io_uring_submit(struct io_uring *ring)
{
    note_entries(ring);
    if (is_refused())
        return -disturbance.error;
    int rc = __real_io_uring_submit(ring);
    disturb(ring);
    return rc;
}

int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
    note_entries(ring);
    if (is_refused())
        return -disturbance.error;
    int rc = __real_io_uring_submit_and_wait(ring, n);
    take_time();
    disturb(ring);
    return rc;
}

/* ---- system calls of the library that are counted ---- */

static atomic_int n_calls;

int __real_fstat(int fd, struct stat *info);
int __real_close(int fd);
int __real_open(const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *info);
int __wrap_close(int fd);
int __wrap_open(const char *path, int flags, ...);

int __wrap_fstat(int fd, struct stat *info)
{
    atomic_fetch_add(&n_calls, 1);
    return __real_fstat(fd, info);
}

int __wrap_close(int fd)
{
    atomic_fetch_add(&n_calls, 1);
    return __real_close(fd);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    atomic_fetch_add(&n_calls, 1);
    return __real_open(path, flags, mode);
}

/* ---- runs ---- */

enum { N_FILES = 60, N_SMALL = 300, N_RECORDS = 400, RECORD = 1000 };

static void make_files(void)
{
    static char data[N_RECORDS * RECORD];
    char path[64];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 2654435761u >> 24);
    write_file("rows.bin", data, sizeof data);
    for (int i = 0; i < N_FILES; i++) {
        snprintf(path, sizeof path, "many/%02d.bin", i);
        write_file(path, data + i * 100, (size_t)(i * 700));
    }
    for (int i = 0; i < N_SMALL; i++) {
        snprintf(path, sizeof path, "small/%03d.bin", i);
        write_file(path, data + i * 100, 1000 + (size_t)i % 100);
    }
}

static uint64_t add_bytes(uint64_t sum, const uint8_t *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum = (sum ^ data[i]) * 0x100000001b3u;
    return sum;
}

/* A number for all that a chain of texts yields. */
static uint64_t run_chain(const char *chain, const char *options)
{
    struct stk_dataset *data = make_dataset(chain);
    struct stk_iterator *it = start(data, options);
    struct stk_batch *batch;
    struct stk_error err;
    uint64_t sum = 0;
    int rc;
    while (!(rc = stk_iterator_next(it, &batch, &err))) {
        struct stk_view v;
        stk_batch_view_at(batch, stk_batch_n_fields(batch) - 1, &v);
        sum = add_bytes(sum, (const uint8_t *)v.splits, v.n_splits * (int64_t)sizeof *v.splits);
        sum = add_bytes(sum, v.data, v.splits[v.n_splits - 1]);
        stk_batch_unref(batch);
    }
    if (rc != STK_END)
        fail_msg("%s: %s", chain, err.text);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    return sum;
}

static const char *const chains[] = {
    "files('many/*.bin').read().batch(4)",
    "files('many/*.bin').shuffle().read().batch(4)",
    "files('small/*.bin').shuffle().read().batch(4)",
    "fixed_length('rows.bin', 1000).batch(8)",
    "fixed_length('rows.bin', 1000).shuffle().batch(8)",
};

static void expect_same(const char *chain)
{
    const struct disturbance given = disturbance;
    disturbance = (struct disturbance){ 0 };
    uint64_t expected = run_chain(chain, "io=threads workers=1");
    disturbance = given;
    for (int workers = 0; workers < 3; workers += 2) {
        char options[64];
        snprintf(options, sizeof options, "io=uring workers=%d io_depth=6", workers);
        assert_int_equal(run_chain(chain, options), expected);
    }
}

/* All chains, with one in 2, 3 and 7 disturbed, from this one on. */
static void expect_all_same(struct disturbance given, size_t first_chain)
{
    static const int every[] = { 2, 3, 7 };
    atomic_store(&n_changed, 0); /* a chain whose neighbours come with few reads may have none */
    for (size_t i = first_chain; i < sizeof chains / sizeof *chains; i++)
        for (size_t k = 0; k < sizeof every / sizeof *every; k++) {
            disturbance = given;
            disturbance.every = every[k];
            expect_same(chains[i]);
        }
    disturbance = (struct disturbance){ 0 };
    assert_true(atomic_load(&n_changed) > 0);
}

static void test_undisturbed(void **state)
{
    (void)state;
    atomic_store(&n_completions, 0);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        expect_same(chains[i]);
    assert_true(atomic_load(&n_completions) > N_FILES); /* the ring reads, and not whoever asks */
}

/* Files of about one size: the first are asked how large they are, and the others come by ring operations alone,
 * where a file of its own had an open, a question for its size, a read and a close. */
static void test_small_files_are_gathered(void **state)
{
    (void)state;
    const char *chain = "files('small/*.bin').read().batch(10)";
    struct stk_dataset *data = make_dataset(chain);
    struct stk_iterator *it = start(data, "io=uring workers=1 io_depth=16");
    struct stk_batch *batch;
    int n_rows = 0;
    atomic_store(&n_calls, 0);
    atomic_store(&n_submissions, 0);
    while (!stk_iterator_next(it, &batch, NULL)) {
        n_rows += (int)stk_batch_n_rows(batch);
        stk_batch_unref(batch);
    }
    int n_all = atomic_load(&n_calls) + atomic_load(&n_submissions);
    assert_int_equal(n_rows, N_SMALL);
    assert_true(n_files_begun > N_SMALL / 2); /* the ring reads, and not whoever asks */
    print_message("%d files: %d calls of files, %d of the ring\n", n_files_begun,
                  atomic_load(&n_calls), atomic_load(&n_submissions));
    assert_true(n_all < 2 * N_SMALL);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    expect_same(chain);
}

static void test_short_reads(void **state)
{
    (void)state;
    expect_all_same((struct disturbance){ 0 }, 0);
}

static void test_errors(void **state)
{
    static const int errors[] = { EINTR, EAGAIN, ECANCELED, EIO, ENOMEM };
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        expect_all_same((struct disturbance){ .error = errors[i] }, 0);
}

/* A place of a file that seems to be shorter than it was is read again, and is there. */
static void test_reads_that_end_early(void **state)
{
    (void)state;
    expect_all_same((struct disturbance){ .ends = true }, 3);
}

static void test_refused_submissions(void **state)
{
    static const int errors[] = { EINTR, EAGAIN, EBUSY };
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        atomic_store(&n_refused, 0);
        disturbance = (struct disturbance){ .error = errors[i], .refuse_every = 3 };
        for (size_t k = 0; k < sizeof chains / sizeof *chains; k++)
            expect_same(chains[k]);
        assert_true(atomic_load(&n_refused) > 0);
    }
    disturbance = (struct disturbance){ 0 };
}

/* Whoever leaves a run while reads are on their way waits for them, and no descriptor is lost. */
static void test_leaving_early(void **state)
{
    (void)state;
    int before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++) {
        struct stk_dataset *data = make_dataset(chains[i % 5]);
        struct stk_iterator *it = start(data, "io=uring workers=1 io_depth=8");
        struct stk_batch *batch;
        assert_int_equal(stk_iterator_next(it, &batch, NULL), STK_OK);
        stk_batch_unref(batch);
        stk_iterator_free(it);
        stk_dataset_unref(data);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

static int set_up(void **state)
{
    int rc = enter(state);
    if (!rc)
        make_files();
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undisturbed),
        cmocka_unit_test(test_small_files_are_gathered),
        cmocka_unit_test(test_short_reads),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_reads_that_end_early),
        cmocka_unit_test(test_refused_submissions),
        cmocka_unit_test(test_leaving_early),
    };
    int error = stk__ring_error();
    if (error) {
        printf("skipped: the system permits no rings here (%s)\n", strerror(error));
        return 0;
    }
    return cmocka_run_group_tests(tests, set_up, leave);
}
