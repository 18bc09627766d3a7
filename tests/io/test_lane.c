/* SPDX-License-Identifier: Apache-2.0 */
/* test_lane.c: lanes alone. With their drivers, random sets of files and places are answered once each and with the
 * right bytes; with a driver that does nothing, the order in which requests are taken.
 */
#define _GNU_SOURCE
#include "base/memory/buffer.h"
#include "file_tree.h"
#include "io/data_file.h"
#include "io/read/lane_parts.h"

#include <sched.h>
#include <stdbool.h>

enum { N_FILES = 5, FILE_BYTES = 3000, MOST_SETS = 400, MOST_IN_SET = 12, MOST_REQUESTS = 1 << 13 };

static uint8_t content(int file, uint64_t offset)
{
    return (uint8_t)((uint64_t)file * 31 + offset * 7 + offset / 256);
}

static int begin(void **state)
{
    static char data[FILE_BYTES];
    if (enter(state))
        return -1;
    for (int file = 0; file < N_FILES; file++) {
        char name[32];
        for (int i = 0; i < FILE_BYTES; i++)
            data[i] = (char)content(file, (uint64_t)i);
        snprintf(name, sizeof name, "%d.bin", file);
        write_file(name, data, FILE_BYTES);
    }
    return 0;
}

static struct stk__data_files *open_files(void)
{
    struct stk__data_files *files = stk__data_files_new();
    assert_non_null(files);
    for (int file = 0; file < N_FILES; file++) {
        char name[32];
        struct stk_error err = { 0 };
        snprintf(name, sizeof name, "%d.bin", file);
        assert_int_equal(stk__data_files_add(files, name, &err), STK_OK);
    }
    return files;
}

/* ---- what a lane is used with ---- */

struct answer {
    atomic_int n_answered;

    struct stk__read_set set;
    struct stk__file_place place[MOST_IN_SET];
    char path[MOST_IN_SET][32]; /* empty: a place */
    struct stk__fetched fetched[MOST_IN_SET];
    int n;
};

struct user {
    struct stk__lane *lane;
    struct stk__pool *pool;
    struct stk__data_files *files;
    atomic_bool is_cancelled;
    atomic_int n_answered;
    atomic_int n_watched;
    uint64_t watched_bytes;
    uint64_t random;
};

static unsigned below(struct user *user, unsigned n)
{
    user->random = user->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(user->random >> 33) % n;
}

static void on_answer(void *ctx, void *asker)
{
    struct user *user = ctx;
    struct answer *answer = asker;
    atomic_fetch_add(&answer->n_answered, 1);
    stk__lane_count(user->lane, -answer->n);
    atomic_fetch_add(&user->n_answered, 1);
}

static void on_read(void *ctx, const struct stk__read_done *done)
{
    struct user *user = ctx;
    user->n_watched++;
    user->watched_bytes += done->bytes;
}

static struct stk__lane_plan plan_of(struct user *user)
{
    return (struct stk__lane_plan){
        .host = { user->pool, 1 << 20, &user->is_cancelled },
        .answered = on_answer,
        .watched = on_read,
        .ctx = user,
        .most_requests = MOST_REQUESTS,
        .most_depth = 8,
        .n_callers = 2,
        .is_depth_auto = true,
        .reads_places = true,
    };
}

static void use(struct user *user, const struct stk__lane_plan *plan)
{
    struct stk_error err = { 0 };
    assert_int_equal(stk__lane_new(plan, &user->lane, &err), STK_OK);
}

static void user_init(struct user *user, uint64_t seed)
{
    *user = (struct user){ .random = seed };
    user->pool = stk__pool_new();
    assert_non_null(user->pool);
    user->files = open_files();
}

static void user_end(struct user *user)
{
    stk__data_files_free(user->files);
    stk__pool_unref(user->pool);
}

/* ---- with drivers ---- */

static void draw(struct user *user, struct answer *answer)
{
    answer->n = 1 + (int)below(user, MOST_IN_SET);
    bool has_files = below(user, 2);
    for (int i = 0; i < answer->n; i++) {
        if (has_files) {
            snprintf(answer->path[i], sizeof *answer->path,
                     below(user, 8) ? "%u.bin" : "none %u.bin", below(user, N_FILES));
            continue;
        }
        struct stk__file_place *at = &answer->place[i];
        at->file = below(user, 10) ? below(user, N_FILES) : STK__NOWHERE;
        at->offset = below(user, FILE_BYTES + 1);
        at->bytes = below(user, (unsigned)(FILE_BYTES - at->offset) + 1);
        bool is_next = i && below(user, 3) && at[-1].file != STK__NOWHERE;
        if (is_next && at[-1].offset + at[-1].bytes < FILE_BYTES) {
            at->file = at[-1].file;
            at->offset = at[-1].offset + at[-1].bytes;
            at->bytes = below(user, (unsigned)(FILE_BYTES - at->offset) + 1);
        }
    }
}

static void ask(struct user *user, struct answer *answer)
{
    struct stk__read_request r = {
        .set = &answer->set, .files = user->files, .result = answer->fetched, .n = 1, .step = 1
    };
    int n = 0;
    answer->set.asker = answer;
    stk__lane_count(user->lane, answer->n);
    stk__lane_begin(user->lane);
    for (int i = 0; i < answer->n && *answer->path[0]; i++) {
        r.path = answer->path[i];
        r.result = &answer->fetched[i];
        n += stk__lane_add_file(user->lane, &r);
    }
    r.path = NULL;
    r.place = answer->place;
    if (!*answer->path[0])
        n += stk__lane_add_places(user->lane, &r, answer->n);
    stk__lane_end(user->lane, &answer->set, n);
}

static void check_bytes(const struct stk__fetched *got, unsigned file, uint64_t offset,
                        uint64_t bytes)
{
    assert_int_equal(got->code, STK_OK);
    assert_int_equal(got->bytes, bytes);
    for (uint64_t i = 0; i < bytes; i++)
        assert_int_equal(got->data[i], content((int)file, offset + i));
}

static void check(struct answer *answer)
{
    assert_int_equal(atomic_load(&answer->n_answered), 1);
    for (int i = 0; i < answer->n; i++) {
        const struct stk__fetched *got = &answer->fetched[i];
        const struct stk__file_place *at = &answer->place[i];
        if (*answer->path[i] == 'n') {
            assert_int_equal(got->code, STK_IO);
            assert_non_null(strstr(got->text, "cannot open the file"));
        } else if (*answer->path[i]) {
            check_bytes(got, (unsigned)atoi(answer->path[i]), 0, FILE_BYTES);
        } else if (at->file == STK__NOWHERE) {
            assert_null(got->buffer);
            assert_int_equal(got->code, STK_OK);
        } else {
            check_bytes(got, at->file, at->offset, at->bytes);
        }
    }
    stk__fetched_free(answer->fetched, answer->n);
}

static void run_sets(uint64_t seed, bool has_ring, int most_depth)
{
    static struct answer answer[MOST_SETS];
    struct user user;
    user_init(&user, seed);
    struct stk__lane_plan plan = plan_of(&user);
    plan.has_ring = has_ring;
    plan.most_depth = most_depth;
    use(&user, &plan);
    memset(answer, 0, sizeof answer);
    for (int i = 0; i < MOST_SETS; i++) {
        draw(&user, &answer[i]);
        ask(&user, &answer[i]);
        struct stk__depth_change change[STK__MAX_LANE_CHANGES];
        stk__lane_review(user.lane, below(&user, 4) == 0, change);
    }
    while (atomic_load(&user.n_answered) < MOST_SETS)
        sched_yield();
    struct stk__read_metrics seen;
    while (stk__lane_look(user.lane, &seen), user.n_watched < (int)seen.n) /* the last one's note */
        sched_yield();
    stk__lane_free(user.lane);
    assert_int_equal(seen.n_open, 0);
    for (int i = 0; i < MOST_SETS; i++)
        check(&answer[i]);
    user_end(&user);
}

static void test_every_set_is_answered_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        run_sets(seed, false, 1 + (int)seed);
        run_sets(seed, true, 1 + (int)seed);
    }
}

static void test_what_can_never_fit_is_refused(void **state)
{
    (void)state;
    struct user user;
    user_init(&user, 1);
    struct stk__lane_plan plan = plan_of(&user);
    plan.host.budget_bytes = 1000;
    use(&user, &plan);
    static struct answer whole, part;
    whole = (struct answer){ .n = 1, .path = { "2.bin" } };
    part = (struct answer){ .n = 2, .place = { { 0, 1001, 1 }, { 5, 1000, 1 } } };
    ask(&user, &whole);
    ask(&user, &part);
    while (atomic_load(&user.n_answered) < 2)
        sched_yield();
    stk__lane_free(user.lane);
    assert_int_equal(whole.fetched[0].code, STK_BUDGET);
    assert_non_null(strstr(whole.fetched[0].text, "the file has 3000 bytes"));
    assert_int_equal(part.fetched[0].code, STK_BUDGET);
    assert_non_null(strstr(part.fetched[0].text, "it has 1001 bytes"));
    check_bytes(&part.fetched[1], 1, 5, 1000);
    stk__fetched_free(whole.fetched, 1);
    stk__fetched_free(part.fetched, 2);
    user_end(&user);
}

/* ---- order, with a driver that does nothing ---- */

static int n_woken;

static void count_wake(struct stk__lane *lane, int n)
{
    (void)lane;
    n_woken += n;
}

static const struct stk__lane_driver no_driver = { .wake = count_wake };

static void hold(struct user *user)
{
    user_init(user, 1);
    const struct stk__lane_plan plan = plan_of(user);
    use(user, &plan);
    user->lane->driver = &no_driver;
    user->lane->n_threads = 1; /* so that whoever asks leaves it to them */
    n_woken = 0;
}

static void let_go(struct user *user)
{
    user->lane->n_threads = 0;
    stk__lane_free(user->lane);
    assert_int_equal(user->n_answered, 0);
    user_end(user);
}

static void ask_for_place(struct user *user, struct answer *answer, uint32_t file, uint64_t offset,
                          uint64_t bytes)
{
    *answer = (struct answer){ .n = 1, .place = { { offset, bytes, file } } };
    ask(user, answer);
}

/* Takes what comes next, and expects the places of these askers. */
static void expect_next(struct user *user, const struct answer *answer, const char *which)
{
    struct stk__read_request r[STK__MOST_NEIGHBOURS];
    stk__lane_begin(user->lane);
    int n = stk__lane_take(user->lane, r);
    pthread_mutex_unlock(&user->lane->lock);
    assert_int_equal(n, strlen(which));
    for (int i = 0; i < n; i++)
        assert_ptr_equal(r[i].set->asker, &answer[which[i] - 'a']);
}

static void test_neighbours_come_together(void **state)
{
    static struct answer answer[6];
    struct user user;
    (void)state;
    hold(&user);
    ask_for_place(&user, &answer[0], 0, 0, 100);
    ask_for_place(&user, &answer[1], 1, 100, 50);
    ask_for_place(&user, &answer[2], 0, 100, 50);
    ask_for_place(&user, &answer[3], 0, 500, 50);
    ask_for_place(&user, &answer[4], 0, 150, 50);
    assert_int_equal(n_woken, 5);
    expect_next(&user, answer, "ace");
    expect_next(&user, answer, "b");
    expect_next(&user, answer, "d");
    let_go(&user);
}

/* Where a few reads at a time are as fast as many, there is one head, and ways are kept short. */
static void test_a_disk_is_swept(void **state)
{
    static struct answer answer[6];
    struct user user;
    (void)state;
    hold(&user);
    user.lane->depth.now = 1;
    assert_true(stk__lane_is_swept(user.lane));
    ask_for_place(&user, &answer[0], 1, 900, 10);
    ask_for_place(&user, &answer[1], 1, 100, 10);
    ask_for_place(&user, &answer[2], 0, 500, 10);
    expect_next(&user, answer, "c");
    ask_for_place(&user, &answer[3], 0, 700, 10); /* for the next sweep */
    expect_next(&user, answer, "b");
    expect_next(&user, answer, "a");
    expect_next(&user, answer, "d");
    let_go(&user);
}

static void test_places_of_a_set_are_grouped(void **state)
{
    static struct answer answer;
    struct user user;
    (void)state;
    hold(&user);
    answer = (struct answer){ .n = 9 };
    for (int i = 0; i < answer.n; i++)
        answer.place[i] = (struct stk__file_place){ (uint64_t)(100 * i), i < 6 ? 100 : 10, 0 };
    ask(&user, &answer); /* six that follow each other and the one behind them; then two apart */
    assert_int_equal(user.lane->queue.len, 2);
    assert_int_equal(user.lane->queue.item[0].n, 7);
    assert_int_equal(user.lane->queue.item[0].run_bytes, 610);
    assert_int_equal(user.lane->queue.item[1].n, 2);
    assert_int_equal(user.lane->queue.item[1].run_bytes, 0);
    assert_int_equal(atomic_load(&answer.set.n_left), 2);
    let_go(&user);
}

static void test_more_is_asked_for_when_somebody_waits(void **state)
{
    struct stk__depth_change change[STK__MAX_LANE_CHANGES];
    struct user user;
    (void)state;
    hold(&user);
    assert_int_equal(user.lane->most_open, 6);
    assert_true(stk__lane_may_ask(user.lane));
    stk__lane_count(user.lane, 6);
    assert_false(stk__lane_may_ask(user.lane));
    assert_int_equal(stk__lane_review(user.lane, false, change), 0);
    assert_int_equal(user.lane->most_open, 6);
    for (int i = 0; i < 10; i++)
        stk__lane_review(user.lane, true, change);
    assert_int_equal(user.lane->most_open, 2 * user.lane->depth.now + 64);
    assert_true(stk__lane_may_ask(user.lane));
    stk__lane_count(user.lane, -6);
    let_go(&user);
}

/* Reads from memory narrow a lane down to none, and that is told once. */
static void test_memory_needs_nobody(void **state)
{
    const struct stk__read_done quick = { .begun_at = 1, .ended_at = 1000, .bytes = 10 };
    struct stk__depth_change change[STK__MAX_LANE_CHANGES];
    struct user user;
    int n_told = 0;
    (void)state;
    hold(&user);
    stk__lane_begin(user.lane);
    for (int i = 0; i < 200; i++)
        stk__lane_note(user.lane, &quick);
    pthread_mutex_unlock(&user.lane->lock);
    assert_int_equal(user.lane->width.now, 0);
    assert_int_equal(stk__lane_most_ahead(user.lane), 0);
    n_told = stk__lane_review(user.lane, false, change);
    assert_int_equal(n_told, 1);
    assert_int_equal(change[0].to, 0);
    assert_non_null(strstr(change[0].reason, "files are in memory"));
    assert_int_equal(stk__lane_review(user.lane, false, change), 0);
    assert_int_equal(user.n_watched, 200);
    assert_int_equal(user.watched_bytes, 2000);
    let_go(&user);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_set_is_answered_once),
        cmocka_unit_test(test_what_can_never_fit_is_refused),
        cmocka_unit_test(test_neighbours_come_together),
        cmocka_unit_test(test_a_disk_is_swept),
        cmocka_unit_test(test_places_of_a_set_are_grouped),
        cmocka_unit_test(test_more_is_asked_for_when_somebody_waits),
        cmocka_unit_test(test_memory_needs_nobody),
    };
    return cmocka_run_group_tests(tests, begin, leave);
}
