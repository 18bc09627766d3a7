/* SPDX-License-Identifier: Apache-2.0 */
/* test_depth.c: the search for the depth, on simulated storage and a simulated clock. */
#include "io/read/depth.h"
#include "io/read/width.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 128 };

/* Storage as tests/interpose/storage.h has it. */
struct device {
    double latency_s, seek_s, bytes_per_s;
    int n_servers; /* reads at a time, beyond which they queue; 0: any number */
};

/* A run: `depth` reads are always on their way unless the consumer takes only `wanted_per_s`. */
struct run {
    struct device device;
    double wanted_per_s;
    double now, free_at, server_free[MOST];
    double begun[MOST], done[MOST];
    uint64_t bytes[MOST];
    int n_flying, n_done, n_changes, deepest;
    uint64_t random, all_bytes;
    struct stk__depth depth;
};

static double random_unit(struct run *r)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(r->random >> 11) / 9007199254740992.0;
}

static double finish_time(struct run *r, uint64_t bytes)
{
    const struct device *d = &r->device;
    double jitter = 1 + 0.1 * random_unit(r), done = r->now + d->latency_s * jitter;
    if (d->n_servers) {
        int first = 0;
        for (int i = 1; i < d->n_servers; i++)
            first = r->server_free[i] < r->server_free[first] ? i : first;
        double start = r->server_free[first] > r->now ? r->server_free[first] : r->now;
        return r->server_free[first] = start + d->latency_s * jitter;
    }
    if (!d->bytes_per_s)
        return done;
    done = done > r->free_at ? done : r->free_at;
    return r->free_at = done + d->seek_s + (double)bytes / d->bytes_per_s;
}

static void begin_reads(struct run *r)
{
    for (; r->n_flying < r->depth.now; r->n_flying++) {
        if (r->wanted_per_s && r->n_done + r->n_flying > r->now * r->wanted_per_s)
            return;
        r->bytes[r->n_flying] = 60000 + (uint64_t)(random_unit(r) * 100000);
        r->begun[r->n_flying] = r->now;
        r->done[r->n_flying] = finish_time(r, r->bytes[r->n_flying]);
    }
}

static void end_one(struct run *r)
{
    struct stk__depth_change change;
    int first = 0;
    for (int i = 1; i < r->n_flying; i++)
        first = r->done[i] < r->done[first] ? i : first;
    r->now = r->done[first];
    r->all_bytes += r->bytes[first];
    r->n_done++;
    if (!r->wanted_per_s)
        stk__depth_wait(&r->depth);
    r->n_changes += stk__depth_note(&r->depth, 1 + (uint64_t)(r->begun[first] * 1e9),
                                    1 + (uint64_t)(r->now * 1e9), r->bytes[first], &change);
    r->deepest = r->depth.now > r->deepest ? r->depth.now : r->deepest;
    r->n_flying--;
    r->begun[first] = r->begun[r->n_flying];
    r->done[first] = r->done[r->n_flying];
    r->bytes[first] = r->bytes[r->n_flying];
}

static void run_on(struct run *r, int n)
{
    for (int target = r->n_done + n; r->n_done < target;) {
        begin_reads(r);
        if (r->n_flying)
            end_one(r);
        else
            r->now = (r->n_done + 1) / r->wanted_per_s;
    }
}

static struct run run_of(struct device device)
{
    struct run r = { .device = device, .random = 1 };
    stk__depth_begin(&r.depth, 2, MOST);
    return r;
}

/* Bytes per second at a depth that stays. */
static double rate_at(struct device device, int depth)
{
    struct run r = run_of(device);
    stk__depth_begin(&r.depth, depth, depth);
    run_on(&r, 20000);
    return (double)r.all_bytes / r.now;
}

static double best_rate(struct device device)
{
    double best = 0;
    for (int depth = 1; depth <= MOST; depth *= 2) {
        double rate = rate_at(device, depth);
        best = rate > best ? rate : best;
    }
    return best;
}

static const struct device far_away = { .latency_s = 0.002 };
static const struct device cold = { .latency_s = 0.002, .bytes_per_s = 200e6 };
static const struct device disk = { .seek_s = 0.008, .bytes_per_s = 200e6 };
static const struct device few_servers = { .latency_s = 0.001, .n_servers = 8 };

static void test_reaches_the_best(void **state)
{
    (void)state;
    const struct device device[] = { far_away, cold, disk, few_servers };
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        struct run r = run_of(device[i]);
        run_on(&r, 20000);
        double began = r.now;
        r.all_bytes = 0;
        run_on(&r, 100000);
        double share = (double)r.all_bytes / (r.now - began) / best_rate(device[i]);
        if (share < 0.97)
            fail_msg("device %zu: %.1f %% of the best, depth %d", i, 100 * share, r.depth.now);
    }
}

static void test_parallel_storage_gets_all_it_takes(void **state)
{
    (void)state;
    struct run r = run_of(far_away);
    run_on(&r, 2000);
    assert_int_equal(r.deepest, MOST);
}

/* Bandwidth × latency is 400 KB, four reads of 110 KB. */
static void test_no_deeper_than_bandwidth_calls_for(void **state)
{
    (void)state;
    struct run r = run_of(cold);
    run_on(&r, 20000);
    assert_in_range(r.depth.now, 4, 12);
    assert_true(r.deepest <= 16);
}

static void test_a_disk_gets_one_at_a_time(void **state)
{
    (void)state;
    struct run r = run_of(disk);
    run_on(&r, 5000);
    assert_in_range(r.depth.now, 1, 3);
    assert_true(r.deepest <= 6);
}

static void test_comes_to_rest(void **state)
{
    (void)state;
    const struct device device[] = { far_away, cold, disk, few_servers };
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        struct run r = run_of(device[i]);
        run_on(&r, 20000);
        int before = r.n_changes;
        run_on(&r, 20000);
        if (r.n_changes - before > 40)
            fail_msg("device %zu: %d changes", i, r.n_changes - before);
    }
}

static void test_nobody_waits_nothing_grows(void **state)
{
    (void)state;
    struct run r = run_of(far_away);
    r.wanted_per_s = 500;
    run_on(&r, 2000);
    assert_int_equal(r.deepest, 2);
}

/* A consumer that became slow needs fewer; one that is fast again gets them back. */
static void test_shrinks_and_grows_again(void **state)
{
    (void)state;
    struct run r = run_of(far_away);
    run_on(&r, 5000);
    int fast = r.depth.now;
    r.n_done = 0;
    r.wanted_per_s = 1000;
    r.now = r.free_at = 0;
    r.n_flying = 0;
    stk__depth_begin(&r.depth, fast, MOST);
    run_on(&r, 20000);
    int slow = r.depth.now;
    r.wanted_per_s = 0;
    run_on(&r, 40000);
    assert_true(fast > 64 && slow <= 16 && r.depth.now > 64);
}

static void test_a_disk_is_told_from_the_rest(void **state)
{
    (void)state;
    struct run r = run_of(disk), far = run_of(far_away);
    run_on(&r, 2000);
    run_on(&far, 2000);
    assert_true(stk__depth_is_flat(&r.depth));
    assert_false(stk__depth_is_flat(&far.depth));
}

static void test_stays_within_bounds(void **state)
{
    (void)state;
    struct run r = run_of(far_away);
    stk__depth_begin(&r.depth, 2, 5);
    run_on(&r, 5000);
    assert_int_equal(r.deepest, 5);
    stk__depth_begin(&r.depth, 2, 1);
    assert_int_equal(r.depth.now, 1);
    r.n_flying = 0;
    run_on(&r, 500);
    assert_int_equal(r.depth.now, 1);
}

/* ---- width: whether anybody reads but those who ask ---- */

/* Reads of which one in `every` waits; returns how often it began or ended. */
static int n_turns(struct stk__width *w, int n, int every)
{
    int n_turns = 0;
    for (int i = 0; i < n; i++) {
        if (i % every == every - 1 && stk__width_slow(w) && !w->now) {
            w->now = 4;
            n_turns++;
        } else if (i % every != every - 1) {
            n_turns += stk__width_quick(w);
        }
    }
    return n_turns;
}

static void test_files_in_memory_are_read_by_who_asks(void **state)
{
    (void)state;
    struct stk__width w;
    stk__width_begin(&w, 2);
    assert_int_equal(n_turns(&w, 10000, 100),
                     1); /* a read that is slow by chance changes nothing */
    assert_int_equal(w.now, 0);
    stk__width_begin(&w, 2);
    assert_int_equal(n_turns(&w, 100000, 20), 1); /* nor do many */
}

static void test_slow_storage_is_seen_at_once(void **state)
{
    (void)state;
    struct stk__width w;
    stk__width_begin(&w, 2);
    n_turns(&w, 1000, 10000);
    assert_int_equal(w.now, 0);
    assert_false(stk__width_slow(&w));
    assert_true(stk__width_slow(&w));
}

/* Bursts of slow reads between long rows of quick ones: fewer and fewer turns, until it pays. */
static void test_turns_that_are_in_vain_become_rare(void **state)
{
    (void)state;
    struct stk__width w;
    int turns = 0;
    stk__width_begin(&w, 2);
    for (int i = 0; i < 1000; i++) {
        turns += n_turns(&w, 10, 1);
        turns += n_turns(&w, 200, 1000);
    }
    assert_in_range(turns, 2, 8);
    for (int i = 0; i < 70; i++)
        stk__width_slow(&w);
    w.now = 4;
    for (int i = 0; i < 20; i++)
        stk__width_slow(&w); /* storage is slow in earnest */
    n_turns(&w, 1000, 10000);
    assert_int_equal(w.now, 0);
    assert_false(stk__width_slow(&w));
    assert_true(stk__width_slow(&w)); /* and is believed quickly the next time */
}

static void test_how_far_reads_are_ahead(void **state)
{
    (void)state;
    struct stk__width w;
    stk__width_begin(&w, 2);
    assert_int_equal(stk__most_ahead(&w, 16, false), 64);
    assert_int_equal(stk__most_ahead(&w, 16, true), INT_MAX);
    n_turns(&w, 1000, 10000);
    assert_int_equal(w.now, 0);
    assert_int_equal(stk__most_ahead(&w, 16, false), 0);
    assert_int_equal(stk__most_ahead(&w, 16, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reaches_the_best),
        cmocka_unit_test(test_parallel_storage_gets_all_it_takes),
        cmocka_unit_test(test_no_deeper_than_bandwidth_calls_for),
        cmocka_unit_test(test_a_disk_gets_one_at_a_time),
        cmocka_unit_test(test_comes_to_rest),
        cmocka_unit_test(test_nobody_waits_nothing_grows),
        cmocka_unit_test(test_shrinks_and_grows_again),
        cmocka_unit_test(test_a_disk_is_told_from_the_rest),
        cmocka_unit_test(test_stays_within_bounds),
        cmocka_unit_test(test_files_in_memory_are_read_by_who_asks),
        cmocka_unit_test(test_slow_storage_is_seen_at_once),
        cmocka_unit_test(test_turns_that_are_in_vain_become_rare),
        cmocka_unit_test(test_how_far_reads_are_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
