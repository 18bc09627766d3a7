/* SPDX-License-Identifier: Apache-2.0 */
/* test_combining_faults.c: for all n, the n-th allocation of a small run fails, for ops that number,
 * draw, choose and remember. */
#define _GNU_SOURCE
#include "fault_run.h"

static void test_allocations_fail(void **state)
{
    static const char *const chains[] = {
        "counter(3, 2).take(20).enumerate().shuffle().batch(7)",
        "random(1).take(9).enumerate().batch(4)",
        "range(9).filter('x != 3').enumerate().batch(4)",
        "sample_from([range(9), range(20, 23).shuffle()], [1, 2]).map('x + 1').batch(4)",
        "sample_from([range(9).filter('x > 1'), range(20, 23)]).batch(4)",
        "values({c: [0, 1, 1]}).choose_from([lines('words.txt'), lines('words.txt')]).batch(2)",
        "values({c: [0, 1, 1]}).repeat().choose_from([range(9), range(5)]).shuffle().batch(4)",
        "range(2).repeat().choose_from([range(3), range(5)], stop_on_empty=false).batch(4)",
        "values({p: ['texts.npy', 'texts.npy']}).shuffle(1).interleave(npy(p), 2).batch(3)",
        "values({p: ['deflated.npz']}).shuffle(1).flat_map(npz(p)).batch(3)",
        "values({k: ['a', 'b', 'a', 'a'], x: [1, 2, 3, 4]}).balance(k).batch(3)",
        "range(30).map('y = x // 28').rejection_resample(y, [1, 1]).batch(3)",
        "values({s: ['a', 'bc', 'a', ''], g: [[1], [], [1], [2]]}).unique().batch(3)",
        "range(150).unique().batch(40)",
        "range(9).take_while('x * 2 < 11').batch(4)",
        "values({s: ['a', 'bc', '']}).scan({n: 0}, 'n = n + len(s)').batch(2)",
        "range(9).reduce({n: 0, v: [1, 2]}, 'n = n + x; v = v * 2')",
    };
    (void)state;
    fail_each_allocation(chains, sizeof chains / sizeof *chains, "fail");
}

/* Want of memory is not the fault of an element: it is not ignored. */
static void test_allocations_fail_among_bad_elements(void **state)
{
    static const char *const chains[] = {
        "range(9).map('y = 8 // (x - 3)').ignore_errors().batch(2)",
        "range(9).map('y = 8 // (x - 3)').enumerate().unique(x).batch(2)",
        "range(9).map('x = 8 // (x - 3)').map('x % 2').choose_from([range(5), range(9)]).batch(2)",
        "range(9).scan({n: 1}, 'n = n + 8 // (x - 3)').batch(2)",
        "range(9).take_while('8 // (x - 3) < 9').batch(2)",
        "range(9).reduce({n: 1}, 'n = n + 8 // (x - 3)').batch(2)",
    };
    (void)state;
    fail_each_allocation(chains, sizeof chains / sizeof *chains, "skip");
}

static int set_up(void **state)
{
    static const char words[] = "one\ntwo\nthree\n\nfive";
    if (enter(state))
        return -1;
    signal(SIGALRM, report_hang);
    n_files_at_start = count_open_files();
    write_file("words.txt", words, sizeof words - 1);
    copy_file("tests/golden/arrays/unicode.npy", "texts.npy");
    copy_file("tests/golden/arrays/deflated.npz", "deflated.npz");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_allocations_fail_among_bad_elements),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
