/* SPDX-License-Identifier: Apache-2.0 */
/* test_api_threads.c: the public functions from several threads at once, batches that outlive
 * everything, cancellation, and a fork in the middle. */
#define _GNU_SOURCE
#include "api_call.h"
#include "file_tree.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { N_THREADS = 4 };

/* ---- several iterators at once ---- */

struct reader {
    struct stk_dataset *data;
    const char *options;
    uint64_t sum, n_rows; /* sum depends on the order */
    int rc;
};

static void *read_all(void *arg)
{
    struct reader *r = arg;
    struct stk_iterator *it = NULL;
    struct stk_batch *batch;
    struct stk_error err;
    struct stk_options *options = stk_options_new();
    r->rc = stk_options_set(options, "workers", r->options, &err);
    if (!r->rc)
        r->rc = stk_iterator_new(r->data, options, &it, &err);
    while (!r->rc && !(r->rc = stk_iterator_next(it, &batch, &err))) {
        struct stk_view x;
        stk_batch_view(batch, "x", &x, NULL);
        for (int64_t i = 0; i < x.shape[0]; i++)
            r->sum = r->sum * 31 + (uint64_t)((const int64_t *)x.data)[i];
        r->n_rows += (uint64_t)x.shape[0];
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    stk_options_free(options);
    return NULL;
}

static void test_iterators_side_by_side(void **state)
{
    static const char *const chains[] = { "range(5000).shuffle().map('x * 3').batch(64)",
                                          "range(5000).filter('x % 2 == 0').shuffle(100).batch(32)",
                                          "range(2000).zip(range(3000).rename({x: y})).batch(7)" };
    static const char *const workers[N_THREADS] = { "0", "1", "2", "3" };
    (void)state;
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        struct stk_dataset *data = make_dataset(chains[c]);
        struct reader reader[N_THREADS];
        pthread_t thread[N_THREADS];
        for (int i = 0; i < N_THREADS; i++) {
            reader[i] = (struct reader){ .data = data, .options = workers[i] };
            assert_int_equal(pthread_create(&thread[i], NULL, read_all, &reader[i]), 0);
        }
        for (int i = 0; i < N_THREADS; i++)
            pthread_join(thread[i], NULL);
        for (int i = 0; i < N_THREADS; i++) {
            assert_int_equal(reader[i].rc, STK_END);
            assert_true(reader[i].sum == reader[0].sum && reader[i].n_rows == reader[0].n_rows);
        }
        assert_true(reader[0].n_rows > 0);
        stk_dataset_unref(data);
    }
}

/* ---- batches and who holds them ---- */

static void *unref_all(void *arg)
{
    for (struct stk_batch **b = arg; *b; b++)
        stk_batch_unref(*b);
    return NULL;
}

/* A consumer that keeps every batch gets as many as there are, and they stay as they were. */
static void test_keeping_every_batch(void **state)
{
    enum { N = 300 };
    static struct stk_batch *kept[N + 1];
    pthread_t thread;
    (void)state;
    struct stk_iterator *it = start_chain("range(3000).batch(10)", "workers=2 memory=100000");
    for (int i = 0; i < N; i++)
        kept[i] = next(it);
    stk_iterator_free(it);
    for (int i = 0; i < N; i++) {
        struct stk_view x = view_of(kept[i], "x");
        for (int64_t k = 0; k < 10; k++)
            assert_int_equal(((const int64_t *)x.data)[k], 10 * i + k);
    }
    assert_int_equal(pthread_create(&thread, NULL, unref_all, kept), 0); /* on another thread */
    pthread_join(thread, NULL);
}

static void test_batches_outlive_everything(void **state)
{
    enum { N = 4 };
    static const char *const chains[N] = {
        "values({name: ['a', 'bc', ''], list: [[1], [2, 3], []]}).batch(3)",
        "files('train/*/*.jpg').decode()",
        "lines('words.txt').batch(5)",
        "files('train/*/*.jpg').read().batch(2).prefetch(3)",
    };
    struct stk_batch *batch[N];
    (void)state;
    for (int i = 0; i < N; i++) {
        struct stk_iterator *it = start_chain(chains[i], "workers=2");
        batch[i] = next(it);
        assert_ptr_equal(stk_batch_ref(batch[i]), batch[i]);
        stk_iterator_free(it);
    }
    struct stk_view name = view_of(batch[0], "name"), text = view_of(batch[2], "text");
    assert_memory_equal(name.data, "abc", 3);
    assert_memory_equal(text.data, "onetwothree", 11);
    for (int i = 0; i < N; i++) {
        struct stk_view view;
        unsigned sum = 0;
        assert_int_equal(stk_batch_view_at(batch[i], 0, &view), STK_OK);
        int64_t bytes = view.rank ? view.shape[0] * view.strides[0] : view.splits[1];
        for (int64_t k = 0; k < bytes; k++)
            sum += ((const uint8_t *)view.data)[k];
        assert_true(sum > 0);
        stk_batch_unref(batch[i]);
        stk_batch_unref(batch[i]);
    }
}

/* ---- looking at a run from elsewhere ---- */

struct watcher {
    struct stk_iterator *it;
    atomic_bool is_over;
    bool is_sound;
};

/* Counts never fall, and every message that is there is a whole one. */
static void *watch_errors(void *arg)
{
    struct watcher *w = arg;
    uint64_t seen = 0;
    w->is_sound = true;
    while (!atomic_load(&w->is_over)) {
        struct stk_stats stats;
        struct stk_error err;
        stk_iterator_stats(w->it, &stats);
        w->is_sound &= stats.errors >= seen;
        seen = stats.errors;
        for (uint64_t i = 0; !stk_iterator_error(w->it, i, &err); i++)
            w->is_sound &=
                strstr(err.text, "division by zero") && strstr(err.text, "range, element");
    }
    return NULL;
}

static void test_errors_are_watched_while_rows_are_judged(void **state)
{
    static const char *const chains[] = {
        "range(30000).map('6 // (x % 3)').batch(16)",
        "range(30000).map('6 // (x % 3)').batch(16).map('x + 1')"
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct stk_iterator *it = start_chain(chains[i], "workers=2 on_error=skip");
        struct watcher watcher = { .it = it };
        struct stk_stats stats;
        struct stk_batch *batch;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, watch_errors, &watcher), 0);
        while (!stk_iterator_next(it, &batch, NULL))
            stk_batch_unref(batch);
        atomic_store(&watcher.is_over, true);
        pthread_join(thread, NULL);
        stk_iterator_stats(it, &stats);
        assert_true(watcher.is_sound);
        assert_int_equal(stats.errors, 10000);
        stk_iterator_free(it);
    }
}

/* ---- cancelling ---- */

static void *cancel_soon(void *arg)
{
    usleep(20000);
    stk_iterator_cancel(arg);
    return NULL;
}

/* Nothing ever passes the filter, so next goes on and on. */
static void test_cancel_while_next_blocks(void **state)
{
    static const char *const options[] = { "workers=0", "workers=1", "workers=2", "workers=4" };
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct stk_iterator *it =
            start_chain("range(2000000000000).filter('x < 0').batch(4)", options[i]);
        struct stk_batch *batch;
        struct stk_error err;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, it), 0);
        assert_int_equal(stk_iterator_next(it, &batch, &err), STK_CANCELLED);
        assert_null(batch);
        pthread_join(thread, NULL);
        assert_int_equal(stk_iterator_next(it, &batch, &err), STK_CANCELLED);
        stk_iterator_cancel(it); /* twice is fine */
        assert_int_equal(stk_iterator_next(it, &batch, NULL), STK_CANCELLED);
        stk_iterator_free(it);
    }
}

static void test_cancel_before_and_between(void **state)
{
    struct stk_iterator *it = start_chain("range(1000).batch(4)", "workers=2");
    struct stk_batch *batch, *held;
    (void)state;
    held = next(it);
    stk_iterator_cancel(it);
    assert_int_equal(stk_iterator_next(it, &batch, NULL), STK_CANCELLED);
    stk_iterator_free(it);
    assert_int_equal(((const int64_t *)view_of(held, "x").data)[3], 3);
    stk_batch_unref(held);
    it = start_chain("files('train/*/*.jpg').repeat(1000).decode().resize(9, 9).batch(4)",
                     "workers=2");
    stk_iterator_cancel(it);
    assert_int_equal(stk_iterator_next(it, &batch, NULL), STK_CANCELLED);
    stk_iterator_free(it);
}

/* Freed while workers and reads are under way. */
static void test_free_in_the_middle(void **state)
{
    static const char *const chains[] = {
        "files('train/*/*.jpg').repeat(1000).decode().resize(9, 9).shuffle(20).batch(4)",
        "range(100000).shuffle(1000).map('x + 1').batch(16)",
        "lines('words.txt').repeat().shuffle(10).batch(3)",
        "range(100000).batch(10).map('x + 1').shuffle(5)",
    };
    (void)state;
    for (int i = 0; i < 40; i++) {
        struct stk_iterator *it = start_chain(chains[i % 4], "workers=3");
        for (int k = 0; k < i % 7; k++)
            stk_batch_unref(next(it));
        stk_iterator_free(it);
    }
}

static void *watch_stats(void *arg)
{
    struct stk_stats stats;
    struct stk_error err;
    for (int i = 0; i < 200; i++) {
        stk_iterator_stats(arg, &stats);
        stk_iterator_error(arg, stats.errors, &err);
    }
    return NULL;
}

static void test_stats_from_another_thread(void **state)
{
    struct stk_iterator *it = start_chain(
        "files('mixed/*').repeat(100).decode().resize(5, 5).batch(4)", "workers=2 on_error=skip");
    struct stk_error err;
    pthread_t thread;
    int64_t n_rows;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, watch_stats, it), 0);
    assert_int_equal(drain(it, &n_rows, &err), STK_END);
    assert_int_equal(n_rows, 100);
    pthread_join(thread, NULL);
    stk_iterator_free(it);
}

/* ---- forks ---- */

/* In the child: everything about a running iterator is refused or does nothing, and nothing
 * hangs; the dataset can be read anew. Returns the exit code. */
static int use_in_child(struct stk_dataset *data, struct stk_iterator *it, struct stk_batch *held)
{
    struct stk_batch *batch;
    struct stk_stats stats;
    struct stk_error err;
    alarm(20);
    if (stk_iterator_next(it, &batch, &err) != STK_STATE || !strstr(err.text, "fork"))
        return 1;
    stk_iterator_stats(it, &stats);
    stk_iterator_error(it, 0, &err);
    stk_iterator_cancel(it);
    struct stk_view x;
    if (stk_batch_view(held, "x", &x, &err) || ((const int64_t *)x.data)[0] < 0)
        return 2;
    stk_batch_unref(held);
    stk_iterator_free(it);
    struct reader reader = { .data = data, .options = "0" };
    read_all(&reader);
    stk_dataset_unref(data);
    return reader.rc == STK_END && reader.n_rows == 20000 ? 0 : 3;
}

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

static void test_fork_in_the_middle(void **state)
{
#if defined HAS_ASAN
    print_message(
        "skipped under AddressSanitizer: its allocator's locks do not survive a fork of threads\n");
    skip();
#endif
    struct stk_dataset *data = make_dataset("range(20000).shuffle().map('x + 1').batch(8)");
    (void)state;
    for (int round = 0; round < 30; round++) {
        struct stk_iterator *it = start(data, "workers=2");
        struct stk_batch *held = next(it);
        for (int i = 0; i < round; i++)
            stk_batch_unref(next(it));
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child)
            _exit(use_in_child(data, it, held));
        int64_t n_rows;
        int status;
        struct stk_error err;
        assert_int_equal(drain(it, &n_rows, &err), STK_END); /* the parent goes on */
        assert_int_equal(n_rows, 20000 - 8 * (round + 1));
        stk_batch_unref(held);
        stk_iterator_free(it);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            fail_msg("the child of round %d ended with status %#x", round, (unsigned)status);
    }
    stk_dataset_unref(data);
}

/* ---- files ---- */

static int set_up(void **state)
{
    static const char words[] = "one\ntwo\nthree\n\nfive";
    if (enter(state))
        return -1;
    write_file("words.txt", words, sizeof words - 1);
    copy_file("tests/golden/decode/gray.jpg", "train/cat/0.jpg");
    copy_file("tests/golden/decode/optimized.jpg", "train/dog/1.jpg");
    copy_file("tests/golden/decode/gray.jpg", "mixed/0.jpg");
    write_file("mixed/1.jpg", words, sizeof words - 1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_iterators_side_by_side),
        cmocka_unit_test(test_keeping_every_batch),
        cmocka_unit_test(test_batches_outlive_everything),
        cmocka_unit_test(test_errors_are_watched_while_rows_are_judged),
        cmocka_unit_test(test_cancel_while_next_blocks),
        cmocka_unit_test(test_cancel_before_and_between),
        cmocka_unit_test(test_free_in_the_middle),
        cmocka_unit_test(test_stats_from_another_thread),
        cmocka_unit_test(test_fork_in_the_middle),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
