/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_out.c: JSON that is written piece by piece: where commas go, names and strings, numbers, lines, no memory. */
#include "base/json_out.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Values of every kind, in lists and objects, some empty. */
static void write_all(struct stk__text *out)
{
    static const int64_t sides[] = { 3, -4 };
    stk__json_open(out, NULL, '{');
    stk__json_string(out, "a \"b\"", "c: [");
    stk__json_open(out, "none", '{');
    stk__json_close(out, '}');
    stk__json_open(out, "list", '[');
    stk__json_bool(out, NULL, true);
    stk__json_open(out, NULL, '[');
    stk__json_close(out, ']');
    stk__json_open(out, NULL, '{');
    stk__json_whole(out, "n", INT64_MIN);
    stk__json_close(out, '}');
    stk__json_null(out, NULL);
    stk__json_close(out, ']');
    stk__json_wholes(out, "sides", sides, 2);
    stk__json_wholes(out, "sides", sides, 0);
    stk__json_name(out, "raw");
    stk__text_add(out, "12.50");
    stk__json_count(out, "count", UINT64_MAX);
    stk__json_close(out, '}');
}

static void test_values(void **state)
{
    struct stk__text out = { 0 };
    (void)state;
    write_all(&out);
    assert_string_equal(out.data,
                        "{\"a \\\"b\\\"\": \"c: [\", \"none\": {}, \"list\": [true, [], "
                        "{\"n\": -9223372036854775808}, null], \"sides\": [3, -4], \"sides\": [], "
                        "\"raw\": 12.50, \"count\": 18446744073709551615}");
    stk__text_free(&out);
}

static void test_no_spaces(void **state)
{
    struct stk__text out = { .is_tight = true };
    (void)state;
    write_all(&out);
    assert_string_equal(out.data,
                        "{\"a \\\"b\\\"\":\"c: [\",\"none\":{},\"list\":[true,[],"
                        "{\"n\":-9223372036854775808},null],\"sides\":[3,-4],\"sides\":[],"
                        "\"raw\":12.50,\"count\":18446744073709551615}");
    stk__text_free(&out);
}

static void test_numbers(void **state)
{
    struct stk__text out = { .is_tight = true };
    (void)state;
    stk__json_open(&out, NULL, '[');
    stk__json_real(&out, NULL, 1.0 / 3);
    stk__json_exact(&out, NULL, 0.1);
    stk__json_exact(&out, NULL, NAN);
    stk__json_exact(&out, NULL, -INFINITY);
    stk__json_fixed(&out, NULL, 2.0 / 3, 3);
    stk__json_close(&out, ']');
    assert_string_equal(out.data, "[0.333333333,0.1,null,-1e999,0.667]");
    stk__text_free(&out);
}

/* Lines of their own: the first of a list has no comma, and text before a line that begins is another's. */
static void test_lines(void **state)
{
    struct stk__text out = { 0 };
    (void)state;
    stk__text_add(&out, "{\"before\": 1}\n");
    stk__json_open(&out, NULL, '[');
    for (int i = 0; i < 2; i++) {
        stk__json_line(&out, 2);
        stk__json_open(&out, NULL, '{');
        stk__json_bytes(&out, "name", "abc", (size_t)i);
        stk__json_string(&out, "value", NULL);
        stk__json_close(&out, '}');
    }
    stk__json_line(&out, 0);
    stk__json_whole(&out, NULL, 7);
    stk__json_close(&out, ']');
    assert_string_equal(out.data, "{\"before\": 1}\n[\n  {\"name\": \"\", \"value\": null},\n"
                                  "  {\"name\": \"a\", \"value\": null},\n7]");
    stk__text_free(&out);
}

static void test_nothing_after_a_failure(void **state)
{
    struct stk__text out = { .failed = true };
    (void)state;
    write_all(&out);
    assert_null(out.data);
    assert_null(stk__text_take(&out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_no_spaces),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_nothing_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
