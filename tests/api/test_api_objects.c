/* SPDX-License-Identifier: Apache-2.0 */
/* test_api_objects.c: arrays and streams of the calling program, elements by number, appended
 * calls, waiting with a limit. */
#define _GNU_SOURCE
#include "api_call.h"
#include "file_tree.h"
#include "row_stream.h"

#include <pthread.h>

static struct stk_dataset *make_rows(struct row_stream *stream, const char *calls)
{
    char text[256];
    struct stk_objects *objects = row_objects(stream);
    assert_non_null(objects);
    snprintf(text, sizeof text, "generator(@rows)%s", calls);
    struct stk_dataset *data = make_dataset_with(text, objects);
    stk_objects_free(objects);
    return data;
}

/* ---- arrays whose rows differ in length ---- */

static const int64_t word_splits[] = { 0, 3, 3, 8 }, list_splits[] = { 0, 1, 3, 3 };
static const int16_t pairs[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
static const struct stk_array word_array = { .data = "onethree",
                                             .dtype = STK_U8,
                                             .rank = 1,
                                             .shape = { 3 },
                                             .kind = STK_BYTES,
                                             .splits = word_splits };
static const struct stk_array list_array = { .data = pairs,
                                             .dtype = STK_I16,
                                             .rank = 2,
                                             .shape = { 3, 2 },
                                             .kind = STK_RAGGED,
                                             .splits = list_splits };

static void test_arrays_with_splits(void **state)
{
    struct stk_objects *objects = stk_objects_new();
    (void)state;
    assert_int_equal(stk_objects_add_array(objects, "words", &word_array, NULL), STK_OK);
    assert_int_equal(stk_objects_add_array(objects, "lists", &list_array, NULL), STK_OK);
    struct stk_dataset *data =
        make_dataset_with("values({word: @words, list: @lists}).batch(3)", objects);
    stk_objects_free(objects);
    struct stk_iterator *it = start(data, "workers=1");
    struct stk_batch *batch = next(it);
    struct stk_view word = view_of(batch, "word"), list = view_of(batch, "list");
    assert_int_equal(word.kind, STK_BYTES);
    assert_memory_equal(word.data, "onethree", 8);
    assert_memory_equal(word.splits, word_splits, sizeof word_splits);
    assert_int_equal(list.kind, STK_RAGGED);
    CHECK_NUMBERS(list.shape, 3, 2);
    assert_memory_equal(list.data, pairs, sizeof pairs);
    assert_memory_equal(list.splits, list_splits, sizeof list_splits);
    stk_batch_unref(batch);
    stk_iterator_free(it);
    stk_dataset_unref(data);
}

static void refuse_array(struct stk_array array, int code)
{
    struct stk_objects *objects = stk_objects_new();
    assert_int_equal(stk_objects_add_array(objects, "array", &array, NULL), code);
    stk_objects_free(objects);
}

static void test_splits_refused(void **state)
{
    static const int64_t falling[] = { 0, 4, 3, 8 }, negative[] = { -1, 3, 3, 8 };
    struct stk_array array = word_array;
    (void)state;
    array.splits = NULL;
    refuse_array(array, STK_TYPE);
    array.splits = falling;
    refuse_array(array, STK_VALUE);
    array.splits = negative;
    refuse_array(array, STK_VALUE);
    array = word_array;
    array.kind = STK_SHAPED;
    refuse_array(array, STK_TYPE);
    array = word_array;
    array.dtype = STK_I16;
    refuse_array(array, STK_TYPE);
    array = word_array;
    array.data = NULL;
    refuse_array(array, STK_VALUE);
}

/* ---- streams ---- */

static void check_row(const struct stk_batch *batch, int64_t i)
{
    char text[32];
    struct stk_view number = view_of(batch, "number"), image = view_of(batch, "image");
    struct stk_view bytes = view_of(batch, "text"), list = view_of(batch, "list");
    assert_int_equal(*(const int64_t *)number.data, i);
    CHECK_NUMBERS(image.shape, i % 3 + 1, 2);
    for (int64_t k = 0; k < 2 * (i % 3 + 1); k++)
        assert_true(((const float *)image.data)[k] == (float)(10 * i + k));
    snprintf(text, sizeof text, "row %lld", (long long)i);
    assert_int_equal(bytes.splits[1], strlen(text));
    assert_memory_equal(bytes.data, text, strlen(text));
    CHECK_NUMBERS(list.shape, i % 4);
    for (int64_t k = 0; k < i % 4; k++)
        assert_int_equal(((const int64_t *)list.data)[k], i + k);
}

static void test_stream_elements(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        struct row_stream stream = { .n = 3000, .bad = -1 };
        char options[64];
        snprintf(options, sizeof options, "workers=%d epochs=2", workers);
        struct stk_dataset *data = make_rows(&stream, "");
        assert_int_equal(stk_dataset_count(data), STK_UNKNOWN_COUNT);
        struct stk_iterator *it = start(data, options);
        stk_dataset_unref(data);
        for (int64_t i = 0; i < 6000; i++) {
            struct stk_batch *batch = next(it);
            check_row(batch, i % 3000);
            stk_batch_unref(batch);
        }
        struct stk_batch *none;
        assert_int_equal(stk_iterator_next(it, &none, NULL), STK_END);
        stk_iterator_free(it);
        assert_int_equal(stream.n_opened, 2);
        assert_int_equal(stream.n_closed, 2);
        assert_int_equal(stream.n_released, 1);
    }
}

static void test_stream_in_a_chain(void **state)
{
    struct row_stream stream = { .n = 100, .bad = -1 };
    int64_t n_rows, sum = 0;
    struct stk_batch *batch;
    (void)state;
    struct stk_dataset *data =
        make_rows(&stream, ".select('number').shuffle(16).take(60).batch(8)");
    struct stk_iterator *it = start(data, "workers=2 epochs=3");
    for (n_rows = 0; stk_iterator_next(it, &batch, NULL) == STK_OK; stk_batch_unref(batch)) {
        struct stk_view view = view_of(batch, "number");
        n_rows += view.shape[0];
        for (int64_t i = 0; i < view.shape[0]; i++)
            sum += ((const int64_t *)view.data)[i];
    }
    assert_int_equal(n_rows, 180);
    assert_true(sum > 0);
    stk_iterator_free(it); /* with a pass that was cut short */
    assert_int_equal(stream.n_opened, stream.n_closed);
    assert_int_equal(stream.n_released, 0);
    stk_dataset_unref(data);
    assert_int_equal(stream.n_released, 1);
}

static void check_break(struct row_stream stream, int code, const char *words)
{
    struct stk_error err;
    int64_t n_rows;
    struct stk_dataset *data = make_rows(&stream, "");
    struct stk_iterator *it = start(data, "workers=2 on_error=skip");
    assert_int_equal(drain(it, &n_rows, &err), code);
    assert_int_equal(n_rows, stream.bad);
    if (!strstr(err.text, words) || !strstr(err.text, "generator"))
        fail_msg("'%s' is not in: %s", words, err.text);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    assert_int_equal(stream.n_opened, stream.n_closed);
}

static void test_stream_breaks(void **state)
{
    (void)state;
    check_break((struct row_stream){ .n = 50, .bad = 20, .fault = STK_DATA }, STK_DATA,
                "row 20 will not do");
    check_break((struct row_stream){ .n = 50, .bad = 0, .fault = STK_IO }, STK_IO,
                "row 0 will not do");
    check_break((struct row_stream){ .n = 50, .bad = 7 }, STK_TYPE,
                "element 7: the field 'image' has a dimension of 3");
}

static void test_stream_is_checked(void **state)
{
    struct row_stream stream = { .n = 1, .bad = -1 };
    struct stk_field_info field[2] = { row_fields[0], row_fields[1] };
    struct stk_stream bound = { 2, field, row_open, row_next, row_close, row_release, &stream };
    struct stk_objects *objects = stk_objects_new();
    struct stk_dataset *data;
    struct stk_error err;
    (void)state;
    field[1].name = "number";
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_NAME);
    field[1].name = "";
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_NAME);
    field[1] = row_fields[1];
    field[1].shape[1] = -1;
    field[1].shape[0] = 0;
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_VALUE);
    field[1] = row_fields[1];
    field[1].dtype = STK_N_DTYPES;
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_TYPE);
    field[1] = row_fields[3];
    field[1].rank = 0;
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_VALUE);
    field[1] = row_fields[1];
    bound.next = NULL;
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_VALUE);
    bound.next = row_next;
    bound.n_fields = 0;
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_VALUE);
    bound.n_fields = 2;
    assert_int_equal(stk_objects_add_stream(objects, "not a name", &bound, &err), STK_NAME);
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_OK);
    assert_int_equal(stk_objects_add_stream(objects, "s", &bound, &err), STK_NAME);
    assert_int_equal(stk_dataset_new("values({x: @s})", objects, &data, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "generator(@name)"));
    assert_int_equal(stk_dataset_new("generator(3)", objects, &data, &err), STK_TYPE);
    assert_int_equal(stk_dataset_new("generator(@t)", objects, &data, &err), STK_NAME);
    stk_objects_free(objects);
    assert_int_equal(stream.n_released, 1);
}

/* ---- elements by number ---- */

/* Every element that iterating delivers is there by its number too. */
static void check_numbers_of(const char *text, const char *option_text)
{
    struct stk_dataset *data = make_dataset(text);
    struct stk_options *options = make_options(option_text);
    struct stk_iterator *it = start(data, option_text);
    struct stk_batch *batch, *same;
    struct stk_error err;
    int64_t i = 0;
    for (; stk_iterator_next(it, &batch, &err) == STK_OK; i++) {
        struct stk_position at, of;
        if (stk_dataset_at(data, options, i, &same, &err))
            fail_msg("%s, element %lld: %s", text, (long long)i, err.text);
        struct stk_view a = view_of(batch, "x"), b = view_of(same, "x");
        assert_int_equal(a.rank, b.rank);
        assert_int_equal(stk_batch_n_rows(batch), stk_batch_n_rows(same));
        assert_memory_equal(a.data, b.data, (size_t)stk_batch_n_rows(batch) * sizeof(int64_t));
        char *origin = stk_batch_origin(batch, 0), *origin_of = stk_batch_origin(same, 0);
        assert_string_equal(origin, origin_of);
        stk_batch_position(batch, &at);
        stk_batch_position(same, &of);
        assert_int_equal(at.epoch, of.epoch);
        stk_text_free(origin);
        stk_text_free(origin_of);
        stk_batch_unref(batch);
        stk_batch_unref(same);
    }
    assert_true(i > 0);
    assert_int_equal(stk_dataset_at(data, options, i, &same, &err), STK_VALUE);
    assert_int_equal(stk_dataset_at(data, options, -1, &same, &err), STK_VALUE);
    stk_iterator_free(it);
    stk_options_free(options);
    stk_dataset_unref(data);
}

static void test_elements_by_number(void **state)
{
    (void)state;
    check_numbers_of("range(23)", "workers=1");
    check_numbers_of("range(23).shuffle()", "workers=1 epoch=5 seed=3");
    check_numbers_of("range(23).shuffle().repeat(2).map('x * 3').batch(4)", "workers=1 epoch=2");
    check_numbers_of("range(23).batch(4, drop_remainder=true).prefetch()", "workers=0");
    check_numbers_of("range(50).batch(4).skip(2).take(7)", "workers=0");
    check_numbers_of("range(50).batch(4).shard(3, 1)", "workers=0");
    check_numbers_of("range(50).shard().batch(4)", "workers=0 rank=1 world=3");
    check_numbers_of(
        "range(9).zip(range(9).rename({x: y})).concatenate(range(3).zip(range(3).rename({x: y})))",
        "workers=0");
}

static void check_refused(const char *text, const char *words)
{
    struct stk_dataset *data = make_dataset(text);
    struct stk_batch *batch;
    struct stk_error err;
    assert_int_equal(stk_dataset_at(data, NULL, 0, &batch, &err), STK_TYPE);
    assert_null(batch);
    if (!strstr(err.text, words))
        fail_msg("'%s' is not in: %s", words, err.text);
    stk_dataset_unref(data);
}

static void test_numbers_refused(void **state)
{
    (void)state;
    check_refused("range(9).filter('x > 3').batch(2)",
                  "filter: elements cannot be reached by number");
    check_refused("range(9).shuffle(4)", "shuffle: elements cannot be reached by number");
    check_refused("range(9).batch(4).repeat(2)", "behind a repeat");
    check_refused("range(9).batch(4).shuffle(2)", "batch: elements cannot be reached by number");
}

/* ---- epochs ---- */

static uint64_t digest_of(struct stk_iterator *it, uint64_t *epoch)
{
    struct stk_batch *batch = next(it);
    struct stk_view view = view_of(batch, "x");
    struct stk_position position;
    uint64_t digest = 0;
    for (int64_t i = 0; i < view.shape[0]; i++)
        digest = digest * 31 + (uint64_t)((const int64_t *)view.data)[i];
    stk_batch_position(batch, &position);
    *epoch = position.epoch;
    stk_batch_unref(batch);
    return digest;
}

static void check_epochs(const char *text)
{
    struct stk_iterator *all = start_chain(text, "workers=2 epochs=4");
    for (uint64_t e = 0; e < 4; e++) {
        char options[64];
        uint64_t epoch = 9;
        snprintf(options, sizeof options, "workers=1 epoch=%d epochs=1", (int)e);
        struct stk_iterator *one = start_chain(text, options);
        assert_int_equal(digest_of(all, &epoch), digest_of(one, &epoch));
        assert_int_equal(epoch, e);
        struct stk_batch *none;
        assert_int_equal(stk_iterator_next(one, &none, NULL), STK_END);
        stk_iterator_free(one);
    }
    stk_iterator_free(all);
}

static void test_epoch_by_number(void **state)
{
    (void)state;
    check_epochs("range(40).shuffle().batch(40)");
    check_epochs("range(40).shuffle(7).batch(40)");
    check_epochs("range(20).shuffle().repeat(2).batch(40)");
    check_epochs("range(40).filter('x >= 0').shuffle(9).batch(40)");
}

/* ---- appended calls ---- */

static void test_then_shares_what_is_open(void **state)
{
    struct stk_dataset *base = make_dataset("files('two/*')"), *more, *most;
    struct stk_error err;
    int64_t n_rows;
    (void)state;
    write_file("two/third", "x", 1); /* comes too late for this dataset */
    assert_int_equal(stk_dataset_then(base, "split([0.5, 0.5], part=0).read()", NULL, &more, &err),
                     STK_OK);
    stk_dataset_unref(base);
    assert_int_equal(stk_dataset_then(more, "repeat(2)", NULL, &most, &err), STK_OK);
    stk_dataset_unref(more);
    assert_int_equal(stk_dataset_count(most), 2);
    struct stk_iterator *it = start(most, "workers=1");
    stk_dataset_unref(most);
    assert_int_equal(drain(it, &n_rows, &err), STK_END);
    assert_int_equal(n_rows, 2);
    stk_iterator_free(it);
    struct stk_dataset *fresh = make_dataset("files('two/*')");
    assert_int_equal(stk_dataset_count(fresh), 3);
    stk_dataset_unref(fresh);
}

static void test_then_with_objects(void **state)
{
    static const int64_t numbers[] = { 7, 8, 9 };
    struct stk_array array = { .data = numbers, .dtype = STK_I64, .rank = 1, .shape = { 3 } };
    struct row_stream stream = { .n = 3, .bad = -1 };
    struct stk_dataset *rows = make_rows(&stream, ""), *both;
    struct stk_objects *objects = stk_objects_new(), *clash = stk_objects_new();
    struct stk_error err;
    (void)state;
    assert_int_equal(stk_objects_add_array(objects, "a", &array, &err), STK_OK);
    assert_int_equal(stk_objects_add_array(clash, "rows", &array, &err), STK_OK);
    assert_int_equal(stk_dataset_then(rows, "zip(values({v: @a}))", clash, &both, &err), STK_NAME);
    assert_int_equal(stk_dataset_then(rows, "zip(values({v: @a}))", NULL, &both, &err), STK_NAME);
    assert_int_equal(stk_dataset_then(rows, "zip(values({v: @a}))", objects, &both, &err), STK_OK);
    stk_objects_free(objects);
    stk_objects_free(clash);
    stk_dataset_unref(rows);
    struct stk_iterator *it = start(both, "workers=0");
    stk_dataset_unref(both);
    for (int i = 0; i < 3; i++) {
        struct stk_batch *batch = next(it);
        assert_int_equal(*(const int64_t *)view_of(batch, "v").data, 7 + i);
        check_row(batch, i);
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    assert_int_equal(stream.n_released, 1);
}

/* ---- waiting with a limit ---- */

/* A stream whose next waits until it is told to go on. */
struct slow {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool may_go;
};

static int slow_open(void *context, void **pass, struct stk_error *err)
{
    (void)err;
    *pass = context;
    return STK_OK;
}

static int slow_next(void *pass, struct stk_cell *cell, struct stk_error *err)
{
    static const int64_t number = 5;
    struct slow *slow = pass;
    (void)err;
    pthread_mutex_lock(&slow->lock);
    while (!slow->may_go)
        pthread_cond_wait(&slow->changed, &slow->lock);
    pthread_mutex_unlock(&slow->lock);
    cell[0] = (struct stk_cell){ .data = &number, .bytes = sizeof number };
    return STK_OK;
}

static void slow_close(void *pass)
{
    (void)pass;
}

static void test_poll(void **state)
{
    struct slow slow = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
    const struct stk_stream stream = {
        1, row_fields, slow_open, slow_next, slow_close, NULL, &slow
    };
    struct stk_objects *objects = stk_objects_new();
    struct stk_batch *batch;
    struct stk_error err;
    (void)state;
    assert_int_equal(stk_objects_add_stream(objects, "slow", &stream, &err), STK_OK);
    struct stk_dataset *data = make_dataset_with("generator(@slow).take(1)", objects);
    stk_objects_free(objects);
    struct stk_iterator *it = start(data, "workers=1");
    stk_dataset_unref(data);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stk_iterator_poll(it, i, &batch, &err), STK_AGAIN);
        assert_null(batch);
    }
    pthread_mutex_lock(&slow.lock);
    slow.may_go = true;
    pthread_cond_broadcast(&slow.changed);
    pthread_mutex_unlock(&slow.lock);
    assert_int_equal(stk_iterator_poll(it, -1, &batch, &err), STK_OK);
    assert_int_equal(*(const int64_t *)view_of(batch, "number").data, 5);
    stk_batch_unref(batch);
    assert_int_equal(stk_iterator_poll(it, INT64_MAX, &batch, &err), STK_END);
    stk_iterator_free(it);
}

static int set_up(void **state)
{
    int rc = enter(state);
    write_file("two/first", "a", 1);
    write_file("two/second", "b", 1);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_with_splits), cmocka_unit_test(test_splits_refused),
        cmocka_unit_test(test_stream_elements),    cmocka_unit_test(test_stream_in_a_chain),
        cmocka_unit_test(test_stream_breaks),      cmocka_unit_test(test_stream_is_checked),
        cmocka_unit_test(test_elements_by_number), cmocka_unit_test(test_numbers_refused),
        cmocka_unit_test(test_epoch_by_number),    cmocka_unit_test(test_then_shares_what_is_open),
        cmocka_unit_test(test_then_with_objects),  cmocka_unit_test(test_poll),
    };
    return cmocka_run_group_tests(tests, set_up, leave);
}
