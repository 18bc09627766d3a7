/* SPDX-License-Identifier: Apache-2.0 */
/* test_field_faults.c: ops that make fields of others while memory or the reads of their files fail:
 * an error that says so, nothing left behind, and no element lost or another. */
#define _GNU_SOURCE
#include "fault_run.h"

static void test_allocations_fail(void **state)
{
    static const char *const chains[] = {
        "values({x: [1, 2, 3], l: [[1, 2], [3], []]}).one_hot(4, l, into=h).slice(step=-1, field=l)"
        ".concat_fields([x, l], into=c).pad([3], field=l).batch(2)",
        "values({t: ['A b', 'c', '1 2 3']}).text_upper(encoding='utf-8').text_strip()"
        ".text_split('', [u, v, w], missing='-').text_join([t, u]).text_lower(t).batch(2)",
        "values({t: ['A b', 'c', '1 2 3']}).text_regex_replace('[a-z]', '<\\\\0>', into=v)"
        ".text_regex_full_match('.*', t).text_to_hash_bucket(9, v, sep='').batch(2)",
        "values({t: ['1 2', '', '3']}).text_to_number(int16, sep=' ', into=n)"
        ".lookup('terms.txt', t, sep='').lookup([1, 3], n, oov=2).batch(2)",
        "values({t: ['b', 'c', 'a']}).lookup('terms.json').batch(2)",
        "values({t: ['b c', '', 'a']}).text_split(' ').shuffle(2)",
        "values({t: [['b', 'C '], [], ['a']]}).text_lower().text_strip(into=u)"
        ".text_regex_replace('b', 'x', field=t).text_regex_full_match('.', u)"
        ".batch(2).unbatch().padded_batch(2)",
    };
    (void)state;
    fail_each_allocation(chains, sizeof chains / sizeof *chains, "fail");
}

/* Want of memory is not the fault of a row, and must not cost good ones. */
static void test_allocations_fail_among_bad_elements(void **state)
{
    static const char *const chains[] = {
        "values({t: ['1', 'x', '', '2 3 4']}).text_to_number(sep=' ').pad([2])",
        "values({t: ['a', 'b c', 'd']}).text_split(' ', [u]).lookup([a], u, default=none)",
        "values({t: ['aaaa', 'aaaaaaaaaaaaaaaaaaaaaaaaaaab', 'a']}).text_regex_full_match('(a+)+')",
        "values({t: [['a'], ['b', 'aaaaaaaaaaaaaaaaaaaaaaaab']]}).text_regex_replace('(a+)+$', '')",
    };
    (void)state;
    fail_each_allocation(chains, sizeof chains / sizeof *chains, "skip");
}

static void fail_accesses(const struct settings *s)
{
    long before = warm_up(s);
    bool has_failed = true;
    for (long n = 1; has_failed; n++) {
        watch(s, n, 0);
        fault_arm(FAULT_ACCESS, n, false);
        run(s, &found);
        has_failed = fault_disarm();
        if (!has_failed)
            assert_true(is_same(&found, &expected));
        else if (found.rc != STK_IO || !strstr(found.err.text, "terms"))
            fail_msg("%s: access %ld: gives %d: %s", s->chain, n, found.rc, found.err.text);
        check_nothing_left(s, n, before);
    }
    alarm(0);
}

static void test_accesses_fail(void **state)
{
    const struct settings lines = { "values({t: ['b', 'c']}).lookup('terms.txt')", "0", "fail" };
    const struct settings json = { "values({t: ['b', 'c']}).lookup('terms.json')", "0", "fail" };
    (void)state;
    fail_accesses(&lines);
    fail_accesses(&json);
}

/* A dataset that goes on from another shares its pattern, and each is let go in either order. */
static void test_patterns_are_shared(void **state)
{
    static const char chain[] =
        "values({t: ['ab', 'b', 'cab']}).text_regex_replace('a(b)', '\\\\1')";
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct stk_dataset *first = NULL, *second = NULL;
        struct stk_error err = { 0 };
        struct outcome seen = { 0 };
        struct stk_options *options = stk_options_new();
        assert_int_equal(stk_dataset_new(chain, NULL, &first, &err), STK_OK);
        assert_int_equal(stk_dataset_then(first, "text_regex_full_match('b')", NULL, &second, &err),
                         STK_OK);
        assert_int_equal(read_batches(first, options, &seen), STK_END);
        if (order)
            stk_dataset_unref(first);
        assert_int_equal(read_batches(second, options, &seen), STK_END);
        assert_int_equal(seen.n_rows, 6);
        stk_dataset_unref(second);
        if (!order)
            stk_dataset_unref(first);
        stk_options_free(options);
    }
}

static int set_up(void **state)
{
    static const char lines[] = "1\n2\n3\nb";
    static const char json[] = "{\"fields\": {\"t\": {\"vocabulary\": [{\"value\": \"a\"}, "
                               "{\"value\": \"\\u0062\"}]}}}";
    if (enter(state))
        return -1;
    signal(SIGALRM, report_hang);
    n_files_at_start = count_open_files();
    write_file("terms.txt", lines, sizeof lines - 1);
    write_file("terms.json", json, sizeof json - 1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_allocations_fail_among_bad_elements),
        cmocka_unit_test(test_accesses_fail),
        cmocka_unit_test(test_patterns_are_shared),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
