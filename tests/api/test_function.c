/* SPDX-License-Identifier: Apache-2.0 */
/* test_function.c: functions of the caller: elements, conditions, failures, workers, lifetimes. */
#define _GNU_SOURCE
#include "api_call.h"
#include "row_function.h"

static struct stk_objects *bind_functions(struct row_function *f)
{
    struct stk_objects *objects = stk_objects_new();
    struct stk_error err;
    assert_non_null(objects);
    if (function_bind(objects, f, &err))
        fail_msg("%s", err.text);
    return objects;
}

static struct stk_iterator *start_with(struct row_function *f, const char *chain,
                                       const char *options)
{
    struct stk_objects *objects = bind_functions(f);
    struct stk_dataset *data = make_dataset_with(chain, objects);
    struct stk_iterator *it = start(data, options);
    stk_dataset_unref(data);
    stk_objects_free(objects);
    return it;
}

/* Reads everything; the numbers of a field in order. Returns the code it ended with. */
static int read_all(struct stk_iterator *it, const char *field, int64_t *out, int *n,
                    struct stk_error *err)
{
    struct stk_batch *batch;
    int rc;
    for (*n = 0; !(rc = stk_iterator_next(it, &batch, err)); stk_batch_unref(batch)) {
        struct stk_view view;
        assert_int_equal(stk_batch_view(batch, field, &view, err), STK_OK);
        for (int64_t i = 0; i < stk_batch_n_rows(batch); i++)
            out[(*n)++] = ((const int64_t *)view.data)[i];
    }
    return rc;
}

static const char *const workers[] = { "workers=0", "workers=1", "workers=4" };

static void test_elements_are_made_in_order(void **state)
{
    (void)state;
    for (int w = 0; w < 3; w++) {
        struct row_function f = { .bad = -1, .wrong = -1 };
        struct stk_iterator *it =
            start_with(&f, "range(1000).map_function(@twice).batch(7)", workers[w]);
        struct stk_error err;
        int64_t got[1000];
        int n;
        assert_int_equal(read_all(it, "y", got, &n, &err), STK_END);
        assert_int_equal(n, 1000);
        for (int i = 0; i < n; i++)
            assert_int_equal(got[i], 2 * i);
        stk_iterator_free(it);
        assert_int_equal(f.n_calls, 1000);
        assert_true(f.n_entered < 400); /* once for the rows of a ticket */
        assert_int_equal(f.n_released, 2);
    }
}

/* What @drawn makes under some options. */
static void draw(const char *chain, const char *options, int64_t *out, int *n)
{
    struct row_function f = { .bad = -1, .wrong = -1 };
    struct stk_iterator *it = start_with(&f, chain, options);
    struct stk_error err;
    assert_int_equal(read_all(it, "y", out, n, &err), STK_END);
    stk_iterator_free(it);
}

static void test_seeds_are_those_of_elements(void **state)
{
    static const char *const others[] = { "epoch=1", "seed=7" };
    const char *chain = "range(300).shuffle(seed=1).map_function(@drawn).batch(7)";
    int64_t first[300], got[300];
    int n;
    (void)state;
    draw(chain, workers[0], first, &n);
    assert_int_equal(n, 300);
    for (int i = 1; i < n; i++)
        assert_true(first[i] != -1 && first[i] != first[i - 1]);
    for (int w = 1; w < 3; w++) {
        draw(chain, workers[w], got, &n);
        assert_memory_equal(got, first, sizeof first);
    }
    for (int o = 0; o < 2; o++) {
        draw("range(300).map_function(@drawn).batch(7)", others[o], got, &n);
        for (int i = 0; i < 300; i++)
            for (int k = 0; k < 300; k++)
                assert_true(got[i] != first[k]);
    }
}

static void test_a_cache_keeps_what_was_drawn(void **state)
{
    int64_t got[40], moved[40];
    int n;
    (void)state;
    draw("range(20).map_function(@drawn).cache().batch(5)", "epochs=2", got, &n);
    assert_int_equal(n, 40);
    assert_memory_equal(got, got + 20, 20 * sizeof *got);
    draw("range(20).map_function(@drawn).cache(auto).batch(5)", "epochs=2", moved, &n);
    for (int i = 0; i < 20; i++)
        assert_true(moved[i] != moved[20 + i]);
}

static void test_texts_come_out(void **state)
{
    struct row_function f = { .bad = -1, .wrong = -1 };
    struct stk_iterator *it =
        start_with(&f, "range(12).map_function(@twice).batch(12)", "workers=1");
    struct stk_error err;
    struct stk_view view;
    struct stk_batch *batch = next(it);
    (void)state;
    assert_int_equal(stk_batch_view(batch, "text", &view, &err), STK_OK);
    assert_memory_equal(view.data, "01234567891011", 14);
    assert_int_equal(view.splits[12], 14);
    stk_batch_unref(batch);
    stk_iterator_free(it);
}

static void test_conditions_keep_and_drop(void **state)
{
    (void)state;
    for (int w = 0; w < 3; w++) {
        struct row_function f = { .bad = -1, .wrong = -1 };
        struct stk_iterator *it =
            start_with(&f, "range(500).filter_function(@even).shuffle(1).batch(9)", workers[w]);
        struct stk_error err;
        int64_t got[500];
        int n;
        assert_int_equal(read_all(it, "x", got, &n, &err), STK_END);
        assert_int_equal(n, 250);
        for (int i = 0; i < n; i++)
            assert_int_equal(got[i], 2 * i);
        stk_iterator_free(it);
        assert_int_equal(f.n_calls, 500);
    }
}

static void test_a_failure_is_a_bad_element(void **state)
{
    (void)state;
    for (int w = 0; w < 3; w++) {
        char options[64];
        struct row_function f = { .bad = 5, .wrong = 8, .code = STK_DATA };
        struct stk_error err;
        int64_t got[20];
        int n;
        struct stk_iterator *it =
            start_with(&f, "range(20).map_function(@twice).batch(4)", workers[w]);
        assert_int_equal(read_all(it, "y", got, &n, &err), STK_DATA);
        assert_non_null(strstr(err.text, "map_function: range, element 5"));
        assert_non_null(strstr(err.text, "5 will not do"));
        stk_iterator_free(it);
        snprintf(options, sizeof options, "%s on_error=skip", workers[w]);
        it = start_with(&f, "range(20).map_function(@twice).batch(4)", options);
        assert_int_equal(read_all(it, "y", got, &n, &err), STK_END);
        assert_int_equal(n, 18);
        for (int i = 0; i < n; i++)
            assert_int_equal(got[i], 2 * (i + (i > 4) + (i > 6)));
        assert_int_equal(stk_iterator_error(it, 1, &err), STK_OK);
        assert_non_null(strstr(err.text, "the field 'y' has bytes: 4, not 8"));
        stk_iterator_free(it);
    }
}

static void test_a_wrong_state_ends_the_run(void **state)
{
    struct row_function f = { .bad = 5, .wrong = -1, .code = STK_STATE };
    struct stk_iterator *it =
        start_with(&f, "range(20).map_function(@twice).batch(4)", "workers=2 on_error=skip");
    struct stk_error err;
    int64_t got[20];
    int n;
    (void)state;
    assert_int_equal(read_all(it, "y", got, &n, &err), STK_STATE);
    assert_int_equal(n, 4);
    stk_iterator_free(it);
    it = start_with(&f, "range(4).cast(float32).map_function(@twice).batch(4)", "on_error=skip");
    assert_int_equal(read_all(it, "y", got, &n, &err), STK_STATE);
    assert_non_null(strstr(err.text, "no numbers"));
    stk_iterator_free(it);
}

static void check_refused(struct stk_objects *objects, const char *chain, const char *words)
{
    struct stk_dataset *data = NULL;
    struct stk_error err = { 0 };
    int rc = stk_dataset_new(chain, objects, &data, &err);
    assert_true(rc == STK_TYPE || rc == STK_VALUE);
    if (!strstr(err.text, words) || !err.len)
        fail_msg("%s: %s", chain, err.text);
}

static void test_what_cannot_be_is_refused(void **state)
{
    struct row_function f = { .bad = -1, .wrong = -1 };
    struct stk_objects *objects = bind_functions(&f);
    int64_t numbers[3] = { 1, 2, 3 };
    const struct stk_array array = { .data = numbers, .dtype = STK_I64, .rank = 1, .shape = { 3 } };
    const struct stk_function none = { .n_fields = 0 };
    struct stk_error err;
    (void)state;
    assert_int_equal(stk_objects_add_array(objects, "numbers", &array, &err), STK_OK);
    assert_int_equal(stk_objects_add_function(objects, "none", &none, &err), STK_VALUE);
    assert_int_equal(stk_objects_add_function(objects, "twice", &none, &err), STK_NAME);
    check_refused(objects, "range(3).map_function(@even)", "it makes no fields");
    check_refused(objects, "range(3).filter_function(@twice)", "it is no condition");
    check_refused(objects, "range(3).map_function(@numbers)", "wants a function");
    check_refused(objects, "range(3).map_function('x + 1')", "wants a function");
    check_refused(objects, "values({x: @twice})", "is a function");
    stk_objects_free(objects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_are_made_in_order),
        cmocka_unit_test(test_seeds_are_those_of_elements),
        cmocka_unit_test(test_a_cache_keeps_what_was_drawn),
        cmocka_unit_test(test_texts_come_out),
        cmocka_unit_test(test_conditions_keep_and_drop),
        cmocka_unit_test(test_a_failure_is_a_bad_element),
        cmocka_unit_test(test_a_wrong_state_ends_the_run),
        cmocka_unit_test(test_what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
