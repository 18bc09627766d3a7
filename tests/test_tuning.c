/* SPDX-License-Identifier: Apache-2.0 */
/* test_tuning.c: the log of decisions. */
#include "exec/exec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct stk__exec *new_log(void)
{
    struct stk__exec *x = calloc(1, sizeof *x);
    assert_non_null(x);
    stk__decisions_begin(&x->decisions);
    return x;
}

static void free_log(struct stk__exec *x)
{
    stk__decisions_end(&x->decisions);
    free(x);
}

static void test_decisions_are_kept(void **state)
{
    (void)state;
    struct stk__exec *x = new_log();
    struct stk__decision d, next;
    assert_false(stk__decision_at(x, 0, &d));
    stk__decide(x, "window", 4, 6, "the consumer waited %d %% of the time", 12);
    stk__decide(x, "workers", 2, 1, "one is enough");
    assert_true(stk__decision_at(x, 0, &d));
    assert_string_equal(d.knob, "window");
    assert_int_equal(d.from, 4);
    assert_int_equal(d.to, 6);
    assert_string_equal(d.reason, "the consumer waited 12 % of the time");
    assert_true(stk__decision_at(x, 1, &next));
    assert_string_equal(next.reason, "one is enough");
    assert_true(next.at_ns >= d.at_ns);
    assert_false(stk__decision_at(x, 2, &d));
    free_log(x);
}

/* The last ones stay, in order; a long reason is cut. */
static void test_decisions_are_bounded(void **state)
{
    (void)state;
    struct stk__exec *x = new_log();
    struct stk__decision d;
    for (int i = 0; i < STK__KEPT_DECISIONS + 7; i++)
        stk__decide(x, "window", i, i + 1, "%0*d", 2 * STK__REASON_BYTES, i);
    for (int i = 0; i < STK__KEPT_DECISIONS; i++) {
        assert_true(stk__decision_at(x, (uint64_t)i, &d));
        assert_int_equal(d.from, i + 7);
        assert_int_equal(strlen(d.reason), STK__REASON_BYTES - 1);
    }
    assert_false(stk__decision_at(x, STK__KEPT_DECISIONS, &d));
    assert_int_equal(x->decisions.n_made, STK__KEPT_DECISIONS + 7);
    free_log(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions_are_kept),
        cmocka_unit_test(test_decisions_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
