/* SPDX-License-Identifier: Apache-2.0 */
/* test_api.c: the public functions as a C program uses them: datasets, options, views, origins,
 * objects. */
#define _GNU_SOURCE
#include "api_call.h"
#include "file_tree.h"

/* ---- datasets ---- */

static void test_dataset(void **state)
{
    struct stk_dataset *data = make_dataset("range( 10 ).shuffle(seed = 3).batch(4)");
    struct stk_field_info field;
    (void)state;
    char *brief = stk_dataset_text(data, false), *full = stk_dataset_text(data, true);
    assert_string_equal(brief, "range(10).shuffle(seed=3).batch(4)");
    assert_string_equal(
        full, "range@1(start=10, stop=none, step=1).shuffle@1(buffer_size=none, seed=3, "
              "reshuffle_each_iteration=true).batch@1(batch_size=4, drop_remainder=false)");
    struct stk_dataset *again = make_dataset(full);
    char *same = stk_dataset_text(again, false);
    assert_string_equal(same, brief);
    assert_int_equal(stk_dataset_count(data), 3);
    assert_int_equal(stk_dataset_n_fields(data), 1);
    assert_int_equal(stk_dataset_field(data, 0, &field), STK_OK);
    assert_string_equal(field.name, "x");
    assert_true(field.dtype == STK_I64 && field.rank == 1 && field.shape[0] == -1);
    assert_int_equal(stk_dataset_field(data, 1, &field), STK_VALUE);
    assert_int_equal(stk_dataset_field(data, -1, &field), STK_VALUE);
    assert_ptr_equal(stk_dataset_ref(data), data);
    stk_dataset_unref(data);
    stk_dataset_unref(data);
    stk_dataset_unref(again);
    stk_text_free(brief);
    stk_text_free(full);
    stk_text_free(same);
}

static void test_counts(void **state)
{
    static const struct {
        const char *text;
        int64_t count;
    } cases[] = {
        { "range(10)", 10 },
        { "range(10).batch(3, drop_remainder=true)", 3 },
        { "range(10).repeat(3)", 30 },
        { "range(10).repeat()", STK_INFINITE_COUNT },
        { "range(10).filter('x > 3')", STK_UNKNOWN_COUNT },
        { "lines('words.txt')", 5 },
        { "lines('words.txt').filter('len(text) > 3')", STK_UNKNOWN_COUNT },
        { "range(0)", 0 },
        { "range(5).zip(range(3).rename({x: y}))", 3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk_dataset *data = make_dataset(cases[i].text);
        assert_int_equal(stk_dataset_count(data), cases[i].count);
        stk_dataset_unref(data);
    }
}

static void test_then(void **state)
{
    struct stk_dataset *base = make_dataset("range(10)"), *more = NULL;
    struct stk_error err;
    (void)state;
    assert_int_equal(stk_dataset_then(base, "map('x * 2').batch(4)", NULL, &more, &err), STK_OK);
    assert_int_equal(stk_dataset_count(base), 10); /* unchanged */
    assert_int_equal(stk_dataset_count(more), 3);
    char *text = stk_dataset_text(more, false);
    assert_string_equal(text, "range(10).map('x * 2').batch(4)");
    stk_text_free(text);
    stk_dataset_unref(more);
    const char *calls = "batch(4).shufle()";
    assert_int_equal(stk_dataset_then(base, calls, NULL, &more, &err), STK_NAME);
    assert_int_equal(err.at, strlen("batch(4).")); /* the place is in the calls */
    assert_int_equal(err.len, strlen("shufle"));
    assert_non_null(strstr(err.text, "shuffle"));
    assert_int_equal(stk_dataset_then(base, "", NULL, &more, &err), STK_SYNTAX);
    assert_int_equal(stk_dataset_then(base, "batch(", NULL, &more, NULL), STK_SYNTAX);
    stk_dataset_unref(base);
}

/* Each fault has a code, a sentence and a place; the code is the same when nobody wants the
 * sentence. */
static void test_faults_of_chains(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *place, *says;
    } cases[] = {
        { "rang(10)", STK_NAME, "rang", "range" },
        { "range(10).batch(0)", STK_VALUE, "0", "batch_size" },
        { "range(10).batch(4, dop_remainder=true)", STK_NAME, "dop_remainder", "drop_remainder" },
        { "range(10).decode()", STK_TYPE, "decode", "picture bytes" },
        { "range(10).cast(float32, field=y)", STK_NAME, "cast", "'y'" },
        { "files('nothing/*.jpg')", STK_IO, "files", "nothing/*.jpg" },
        { "image_folder('nothing')", STK_IO, "image_folder", "nothing" },
        { "lines('nothing.txt')", STK_IO, "lines", "nothing.txt" },
        { "range(10).batch(4).range(3)", STK_TYPE, "range", "begins a chain" },
        { "batch(4)", STK_TYPE, "batch", "source" },
        { "range(10", STK_SYNTAX, NULL, "" },
        { "", STK_SYNTAX, NULL, "" },
        { "values({x: @missing})", STK_NAME, "@missing", "missing" },
        { "range(10).filter('x > 3').shuffle()", STK_VALUE, "shuffle", "buffer_size" },
        { "range(10).repeat().shuffle()", STK_VALUE, "shuffle", "buffer_size" },
        { "range(10).map('y + 1')", STK_NAME, "map", "y" },
        { "values({x: [1, 2], y: [1]})", STK_VALUE, "[1]", "2" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk_dataset *data = NULL;
        struct stk_error err = { 0 };
        const char *text = cases[i].text, *found = cases[i].place;
        int rc = stk_dataset_new(text, NULL, &data, &err);
        if (rc != cases[i].code || err.code != rc || !strstr(err.text, cases[i].says))
            fail_msg("%s: gives %d: %s", text, rc, err.text);
        if (err.at + err.len > strlen(text) + 1 ||
            (found && strncmp(text + err.at, found, strlen(found))))
            fail_msg("%s: the place is %u, %u", text, err.at, err.len);
        assert_null(data);
        assert_int_equal(stk_dataset_new(text, NULL, &data, NULL), cases[i].code);
    }
}

static void test_plan(void **state)
{
    struct stk_dataset *data =
        make_dataset("files('train/*/*.jpg').decode().resize(8, 8).batch(2)");
    struct stk_options *options = make_options("workers=3 window=5");
    struct stk_error err;
    char *text = NULL, *json = NULL;
    (void)state;
    assert_int_equal(stk_dataset_plan(data, options, false, &text, &err), STK_OK);
    assert_non_null(strstr(text, "3 workers"));
    assert_non_null(strstr(text, "read("));
    assert_int_equal(stk_dataset_plan(data, NULL, true, &json, &err), STK_OK);
    assert_true(json[0] == '{' && strstr(json, "\"stages\""));
    stk_text_free(text);
    stk_text_free(json);
    stk_options_free(options);
    options = make_options("memory=10");
    assert_int_equal(stk_dataset_plan(data, options, false, &text, &err), STK_BUDGET);
    stk_options_free(options);
    stk_dataset_unref(data);
}

static void test_class_names(void **state)
{
    struct stk_dataset *data =
        make_dataset("image_folder('train').shuffle().decode().resize(8, 8).batch(2)");
    (void)state;
    assert_string_equal(stk_dataset_class_name(data, "label", 0), "cat");
    assert_string_equal(stk_dataset_class_name(data, "label", 1), "dog");
    assert_null(stk_dataset_class_name(data, "label", 2));
    assert_null(stk_dataset_class_name(data, "label", -1));
    assert_null(stk_dataset_class_name(data, "image", 0));
    assert_null(stk_dataset_class_name(data, "nothing", 0));
    stk_dataset_unref(data);
    data = make_dataset("range(3)");
    assert_null(stk_dataset_class_name(data, "x", 0));
    stk_dataset_unref(data);
}

static void test_describing(void **state)
{
    (void)state;
    char *ops = stk_ops_json(), *devices = stk_devices_json();
    assert_non_null(strstr(ops, "\"image_folder\""));
    assert_non_null(strstr(devices, "\"usable\""));
    assert_non_null(strstr(devices, "\"io\": {\"uring\": "));
    stk_text_free(ops);
    stk_text_free(devices);
    stk_text_free(NULL);
    assert_true(stk_version()[0]);
}

/* ---- options ---- */

static void test_option_faults(void **state)
{
    static const struct {
        const char *name, *value;
        int code;
        const char *says;
    } cases[] = {
        { "worker", "2", STK_NAME, "workers" },
        { "sead", "2", STK_NAME, "seed" },
        { "", "2", STK_NAME, "" },
        { "workers", "-1", STK_VALUE, "workers" },
        { "workers", "many", STK_TYPE, "workers" },
        { "memory", "0", STK_VALUE, "memory" },
        { "on_error", "skipp", STK_VALUE, "skip" },
        { "max_errors", "-0.5", STK_VALUE, "max_errors" },
        { "seed", "1.5", STK_TYPE, "seed" },
        { "workers", "2, seed=3", STK_VALUE, "workers" },
        { "workers", "2) # ", STK_VALUE, "workers" },
        { "workers", "2).range(3", STK_VALUE, "workers" },
        { "workers", "", STK_VALUE, "workers" },
        { "workers", "[2]", STK_TYPE, "workers" },
        { "window", "none", STK_VALUE, "window" },
        { "epochs", "0", STK_VALUE, "epochs" },
    };
    struct stk_options *options = stk_options_new();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk_error err = { 0 };
        int rc = stk_options_set(options, cases[i].name, cases[i].value, &err);
        bool is_refused = cases[i].code == STK_NAME
                              ? rc == STK_NAME
                              : rc == STK_VALUE || rc == STK_TYPE || rc == STK_SYNTAX;
        if (!is_refused || err.code != rc || !strstr(err.text, cases[i].says) || err.len)
            fail_msg("%s=%s: gives %d: %s", cases[i].name, cases[i].value, rc, err.text);
        assert_int_equal(stk_options_set(options, cases[i].name, cases[i].value, NULL), rc);
    }
    stk_options_free(options);
    stk_options_free(NULL);
}

static void test_seed_and_rank(void **state)
{
    static const char *const chain = "range(100).shuffle().batch(100)";
    struct stk_iterator *a = start_chain(chain, "seed=1"), *b = start_chain(chain, "seed=2");
    struct stk_batch *first = next(a), *second = next(b);
    int64_t n_rows;
    struct stk_error err;
    (void)state;
    struct stk_view x = view_of(first, "x"), y = view_of(second, "x");
    assert_memory_not_equal(x.data, y.data, 800);
    stk_batch_unref(first);
    stk_batch_unref(second);
    stk_iterator_free(a);
    stk_iterator_free(b);
    a = start_chain("range(10).shard().batch(4)", "rank=1 world=3");
    assert_int_equal(drain(a, &n_rows, &err), STK_END);
    assert_int_equal(n_rows, 3);
    stk_iterator_free(a);
    struct stk_dataset *data = make_dataset("range(10).shard().batch(4)");
    assert_int_equal(try_start(data, "rank=3 world=3", &a, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "rank"));
    stk_dataset_unref(data);
}

/* ---- iterating ---- */

static void test_next_to_the_end_and_beyond(void **state)
{
    struct stk_dataset *data = make_dataset("range(10).batch(4)");
    (void)state;
    for (int workers = 0; workers <= 2; workers += 2) {
        struct stk_iterator *it = start(data, workers ? "workers=2" : "workers=0");
        struct stk_error err;
        for (int64_t at = 0; at < 10; at += 4) {
            struct stk_batch *batch = next(it);
            struct stk_view view = view_of(batch, "x");
            assert_int_equal(stk_batch_n_rows(batch), at < 8 ? 4 : 2);
            for (int64_t i = 0; i < view.shape[0]; i++)
                assert_int_equal(((const int64_t *)view.data)[i], at + i);
            stk_batch_unref(batch);
        }
        for (int i = 0; i < 5; i++) {
            struct stk_batch *batch = (struct stk_batch *)&err;
            assert_int_equal(stk_iterator_next(it, &batch, i ? &err : NULL), STK_END);
            assert_null(batch);
        }
        stk_iterator_free(it);
    }
    stk_dataset_unref(data);
}

static void test_error_for_ever(void **state)
{
    struct stk_iterator *it =
        start_chain("files('mixed/*').decode().resize(4, 4).batch(2)", "workers=2");
    struct stk_error err, again;
    struct stk_batch *batch;
    int64_t n_rows;
    (void)state;
    assert_int_equal(drain(it, &n_rows, &err), STK_DATA);
    assert_int_equal(n_rows, 2); /* what came before the bad one, in whole batches */
    assert_non_null(strstr(err.text, "decode"));
    assert_non_null(strstr(err.text, "mixed/2.jpg"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stk_iterator_next(it, &batch, &again), STK_DATA);
        assert_string_equal(again.text, err.text);
    }
    stk_iterator_free(it);
}

static void test_nothing_is_fine(void **state)
{
    struct stk_dataset *data = make_dataset("range(1000).shuffle().batch(4)");
    (void)state;
    stk_dataset_unref(NULL);
    stk_batch_unref(NULL);
    stk_iterator_free(NULL);
    stk_objects_free(NULL);
    for (int i = 0; i < 10; i++)
        stk_iterator_free(start(data, i % 2 ? "workers=2" : "workers=0")); /* nothing read */
    struct stk_iterator *it = start(data, "workers=2");
    stk_dataset_unref(data); /* the iterator keeps it */
    stk_batch_unref(next(it));
    stk_iterator_free(it);
}

static void check_position(const struct stk_batch *batch, uint64_t epoch, uint64_t ordinal,
                           uint64_t rows)
{
    struct stk_position position;
    stk_batch_position(batch, &position);
    assert_int_equal(position.epoch, epoch);
    assert_int_equal(position.batch, ordinal);
    assert_int_equal(position.rows, rows);
}

static uint64_t hash_of(const char *chain, const char *options)
{
    struct stk_iterator *it = start_chain(chain, options);
    struct stk_batch *batch = next(it);
    struct stk_position position;
    stk_batch_position(batch, &position);
    stk_batch_unref(batch);
    stk_iterator_free(it);
    return position.hash;
}

static void test_position(void **state)
{
    struct stk_iterator *it = start_chain("range(10).batch(4)", "epochs=2 workers=2");
    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        struct stk_batch *batch = next(it);
        check_position(batch, i / 3, i % 3, i % 3 == 2 ? 10 : 4 * (i % 3 + 1));
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    uint64_t hash = hash_of("range(10).batch(4)", "");
    assert_true(hash == hash_of("range( start=10 ).batch(4)", "workers=0"));
    assert_true(hash != hash_of("range(10).batch(5)", ""));
    assert_true(hash != hash_of("range(10).batch(4)", "seed=1"));
}

static char *state_of(struct stk_iterator *it)
{
    char *text = NULL;
    struct stk_error err;
    if (stk_iterator_state(it, &text, &err))
        fail_msg("%s", err.text);
    return text;
}

/* Every second batch is given back, and comes again with its place: 0, 0, 4, 8, 8. */
static void test_unread(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 2; workers += 2) {
        struct stk_iterator *it =
            start_chain("range(10).batch(4)", workers ? "workers=2" : "workers=0");
        struct stk_error err;
        for (int64_t at = 0; at < 10; at += 4) {
            char *before = state_of(it);
            struct stk_batch *batch = next(it);
            if (at != 4) {
                assert_int_equal(stk_iterator_unread(it, batch, &err), STK_OK);
                char *after = state_of(it);
                assert_string_equal(after, before);
                stk_text_free(after);
                batch = next(it);
            }
            assert_int_equal(*(const int64_t *)view_of(batch, "x").data, at);
            check_position(batch, 0, (uint64_t)at / 4, at < 8 ? (uint64_t)at + 4 : 10);
            stk_batch_unref(batch);
            stk_text_free(before);
        }
        struct stk_stats stats;
        stk_iterator_stats(it, &stats);
        assert_int_equal(stats.batches, 3);
        assert_int_equal(stats.elements, 10);
        stk_iterator_free(it);
    }
}

/* Only the last batch can be given back, to its own iterator, once; one that lies there at the end
 * goes with the iterator. */
static void test_unread_of_others(void **state)
{
    struct stk_dataset *data = make_dataset("range(10).batch(4)");
    struct stk_iterator *it = start(data, ""), *other = start(data, "");
    struct stk_batch *first = next(it), *last = next(it), *foreign = next(other);
    struct stk_error err;
    (void)state;
    assert_int_equal(stk_iterator_unread(it, first, &err), STK_STATE);
    assert_int_equal(stk_iterator_unread(it, foreign, &err), STK_STATE);
    assert_int_equal(stk_iterator_unread(it, last, &err), STK_OK);
    assert_int_equal(stk_iterator_unread(it, first, &err), STK_STATE);
    assert_non_null(strstr(err.text, "came last"));
    stk_batch_unref(first);
    stk_batch_unref(foreign);
    stk_iterator_free(it);
    stk_iterator_free(other);
    stk_dataset_unref(data);
}

static void test_skipped_errors(void **state)
{
    struct stk_iterator *it = start_chain("files('mixed/*').decode().resize(4, 4).batch(2)",
                                          "workers=2 on_error=skip epochs=2");
    struct stk_stats stats;
    struct stk_error err;
    struct stk_batch *batch = next(it);
    struct stk_position position;
    int64_t n_rows;
    (void)state;
    stk_batch_unref(batch);
    batch = next(it);
    stk_batch_position(batch, &position);
    /* rows 2 and 3 are bad, 0 1 4 are good */
    assert_true(position.rows == 5 && position.errors == 2);
    stk_batch_unref(batch);
    assert_int_equal(drain(it, &n_rows, &err), STK_END);
    assert_int_equal(n_rows, 3);
    stk_iterator_stats(it, &stats);
    assert_true(stats.errors == 4 && stats.elements == 6 && stats.batches == 4 &&
                stats.epochs == 2);
    assert_true(stats.bytes_read > 0 && stats.workers == 2);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(stk_iterator_error(it, i, &err), STK_OK);
        assert_non_null(strstr(err.text, i % 2 ? "mixed/3.jpg" : "mixed/2.jpg"));
    }
    assert_int_equal(stk_iterator_error(it, 4, &err), STK_END);
    stk_iterator_free(it);
}

static void test_kept_errors(void **state)
{
    struct stk_iterator *it =
        start_chain("files('mixed/3.jpg').repeat(100).decode().resize(4, 4).batch(2)",
                    "workers=2 on_error=skip");
    struct stk_stats stats;
    struct stk_error err;
    int64_t n_rows;
    (void)state;
    assert_int_equal(drain(it, &n_rows, &err), STK_END);
    stk_iterator_stats(it, &stats);
    assert_true(stats.errors == 100 && n_rows == 0);
    assert_int_equal(stk_iterator_error(it, 63, &err), STK_OK);
    assert_non_null(strstr(err.text, "element 99 "));
    assert_int_equal(stk_iterator_error(it, 0, &err), STK_OK);
    assert_non_null(strstr(err.text, "element 36 ")); /* the last 64 */
    assert_int_equal(stk_iterator_error(it, 64, &err), STK_END);
    stk_iterator_free(it);
}

static void test_stats(void **state)
{
    struct stk_iterator *it =
        start_chain("range(1000).batch(100)", "workers=2 memory=1000000 epochs=3");
    struct stk_stats stats;
    struct stk_error err;
    int64_t n_rows;
    (void)state;
    assert_int_equal(drain(it, &n_rows, &err), STK_END);
    stk_iterator_stats(it, &stats);
    assert_true(stats.elements == 3000 && stats.batches == 30 && stats.epochs == 3 &&
                !stats.errors);
    assert_true(stats.direct_tickets > 0 && stats.tickets >= stats.direct_tickets);
    assert_true(stats.budget_bytes == 1000000 && stats.peak_bytes <= 1000000 &&
                stats.peak_bytes > 0);
    stk_iterator_free(it);
}

/* The number in the message is the number that is needed. */
static void test_budget_names_what_is_needed(void **state)
{
    static const char *const chains[] = {
        "range(100000).shuffle().batch(256)", "range(5000).shuffle(1000).map('x + 1').batch(64)",
        "files('train/*/*.jpg').repeat(20).decode().resize(9, 9).batch(4)",
        "lines('words.txt').repeat(50).batch(3)", "range(1000).batch(10).map('x * 2')"
    };
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct stk_dataset *data = make_dataset(chains[i]);
        struct stk_iterator *it;
        struct stk_error err;
        char options[64];
        unsigned long long least;
        int64_t n_rows;
        assert_int_equal(try_start(data, "memory=100", &it, &err), STK_BUDGET);
        const char *number = strstr(err.text, "at least ");
        assert_non_null(number);
        assert_int_equal(sscanf(number, "at least %llu", &least), 1);
        snprintf(options, sizeof options, "workers=2 memory=%llu", least - 1);
        assert_int_equal(try_start(data, options, &it, &err), STK_BUDGET);
        snprintf(options, sizeof options, "workers=2 memory=%llu", least);
        it = start(data, options);
        assert_int_equal(drain(it, &n_rows, &err), STK_END);
        stk_iterator_free(it);
        stk_dataset_unref(data);
    }
}

static int set_up(void **state)
{
    static const char words[] = "one\ntwo\nthree\n\nfive", text[] = "this is no picture";
    if (enter(state))
        return -1;
    write_file("words.txt", words, sizeof words - 1);
    copy_file("tests/golden/decode/gray.jpg", "train/cat/0.jpg");
    copy_file("tests/golden/decode/optimized.jpg", "train/cat/1.jpg");
    copy_file("tests/golden/decode/orientation_3.jpg", "train/dog/2.jpg");
    copy_file("tests/golden/decode/gray.jpg", "mixed/0.jpg");
    copy_file("tests/golden/decode/gray.jpg", "mixed/1.jpg");
    write_file("mixed/2.jpg", text, sizeof text - 1);
    write_file("mixed/3.jpg", text, 0);
    copy_file("tests/golden/decode/optimized.jpg", "mixed/4.jpg");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dataset),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_then),
        cmocka_unit_test(test_faults_of_chains),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_class_names),
        cmocka_unit_test(test_describing),
        cmocka_unit_test(test_option_faults),
        cmocka_unit_test(test_seed_and_rank),
        cmocka_unit_test(test_next_to_the_end_and_beyond),
        cmocka_unit_test(test_error_for_ever),
        cmocka_unit_test(test_nothing_is_fine),
        cmocka_unit_test(test_position),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_unread_of_others),
        cmocka_unit_test(test_skipped_errors),
        cmocka_unit_test(test_kept_errors),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_budget_names_what_is_needed),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
