/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_places.c: where a cache(auto) goes: on costs that are made up, on counters that are,
 * and on a chain that is really run; and that batches are the same wherever it is. */
#define _GNU_SOURCE
#include "api/api.h"
#include "api_call.h"
#include "base/hash.h"
#include "exec/plan/plan.h"
#include "exec/watch/run_metrics.h"
#include "rewrite/rewrites.h"
#include "tune/cache_cost.h"

#define MB 1048576.0

/* draws, and stands behind something that shuffles and that no cache comes before */
#define FOLDER_OF_RANDOM "image_folder('tests/golden').shuffle().take(5).decode().random_crop(8, 8)"

/* ---- made-up costs ---- */

static struct stk_dataset *graph_of(const char *text)
{
    struct stk_dataset *graph = NULL;
    struct stk_error err;
    if (stk__graph_new(text, NULL, NULL, &graph, &err) || stk__rewrite_place_cache(graph, &err))
        fail_msg("%s\n%s", text, err.text);
    return graph;
}

/* Places of a chain, from the cache down. */
static struct stk__cache_places places_of(const struct stk_dataset *graph)
{
    struct stk__cache_places places;
    struct stk__node *cache = stk__cache_auto(graph);
    assert_non_null(cache);
    stk__cache_places(cache, &places);
    return places;
}

#define DECODED "image_folder('tests/golden').decode().resize(8, 8, dtype=uint8).cast(float32)"

/* behind cast, resize, decode, read, image_folder */
static const double decoded_ns[] = { 5.2e6, 5.1e6, 4e6, 0.1e6, 100 };
static const double decoded_bytes[] = { 600e3, 150e3, 2e6, 100e3, 40 };

static void set_costs(struct stk__cache_places *places)
{
    assert_int_equal(places->n, 5);
    for (int i = 0; i < places->n; i++) {
        places->place[i].ns = decoded_ns[i];
        places->place[i].bytes = decoded_bytes[i];
    }
}

static void test_all_fits(void **state)
{
    (void)state;
    struct stk_dataset *graph = graph_of(DECODED ".cache(auto)");
    struct stk__cache_places places = places_of(graph);
    set_costs(&places);
    assert_int_equal(stk__cache_best_place(&places, 1000, 700 * MB), 0);
    stk_dataset_unref(graph);
}

static void test_some_fits(void **state)
{
    (void)state;
    struct stk_dataset *graph = graph_of(DECODED ".cache(auto).flip(probability=0.5).batch(2)");
    struct stk__cache_places places = places_of(graph);
    struct stk__cache_choice choice;
    set_costs(&places);
    /* a quarter of the floats, or all of the bytes */
    assert_int_equal(stk__cache_best_place(&places, 1000, 150 * MB), 1);
    /* a few of either: a byte saves four times as much */
    assert_int_equal(stk__cache_best_place(&places, 1000, 3 * MB), 1);
    assert_int_equal(stk__cache_best_place(&places, -1, 3 * MB), 1);
    stk__cache_describe(&places, 1, 1000, 3 * MB, &choice);
    assert_int_equal(choice.from, 5);
    assert_int_equal(choice.to, 4);
    assert_string_equal(choice.why, "behind resize a byte saves 34 ns (behind cast 8.67), an "
                                    "element of 146 KB 5.1 ms; 21 of 1000 fit in 3 MB");
    stk_dataset_unref(graph);
}

static void test_small_gains_change_nothing(void **state)
{
    (void)state;
    struct stk_dataset *graph = graph_of("range(9).map('x + 1').map('x + 2').cache(auto)");
    struct stk__cache_places places = places_of(graph);
    assert_int_equal(places.n, 3);
    for (int i = 0; i < 3; i++)
        places.place[i] = (struct stk__cache_place){ places.place[i].below, 100 + i, 100 };
    assert_int_equal(stk__cache_best_place(&places, -1, MB), 0);
    /* to copy them would take longer than to make them */
    for (int i = 0; i < 3; i++)
        places.place[i].ns = 1;
    assert_int_equal(stk__cache_best_place(&places, -1, MB), 0);
    stk_dataset_unref(graph);
}

/* What it may not come before. */
static void test_borders(void **state)
{
    static const struct {
        const char *chain;
        int n;
    } cases[] = {
        { "range(9).cache(auto)", 1 },
        { "range(9).map('x + 1').cache(auto)", 2 },
        { "range(9).map('x + 1').filter('x > 2').cache(auto)", 1 },
        { "range(9).filter('x > 2').map('x + 1').cache(auto)", 2 },
        { "range(9).shuffle().take(5).map('x + 1').cache(auto)", 2 },
        { "range(9).shuffle().map('x + 1').cache(auto)", 2 },
        { "range(9).shuffle().map('x + 1').shuffle(seed=3).map('x + 2').cache(auto)", 3 },
        { "range(9).shuffle(4).map('x + 1').cache(auto)", 2 }, /* it cannot come before that */
        { "range(9).batch(2).map('x + 1').cache(auto)", 2 },
        { FOLDER_OF_RANDOM ".cache(auto)", 1 },
        { FOLDER_OF_RANDOM ".resize(4, 4).cache(auto)", 2 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk_dataset *graph = graph_of(cases[i].chain);
        if (places_of(graph).n != cases[i].n)
            fail_msg("%s: %d places", cases[i].chain, places_of(graph).n);
        stk_dataset_unref(graph);
    }
    struct stk_dataset *two =
        graph_of("range(9).map('x + 1').cache(auto).map('x * 2').cache(auto)");
    assert_null(stk__cache_auto(two));
    stk_dataset_unref(two);
}

/* ---- made-up counters ---- */

/* 100 elements in 0.5 s: 0.3 s of it in ops, of which two workers will have half each. */
static void test_costs_of_counters(void **state)
{
    (void)state;
    struct stk_dataset *graph = graph_of(DECODED ".cache(auto)");
    struct stk__cache_places places = places_of(graph);
    struct stk__op_metrics op[5] = { { 0 } };
    static const uint64_t wall_ns[] = { 20000000, 60000000, 200000000, 10000000, 10000000 };
    static const uint64_t bytes_out[] = { 8 * 8 * 3 * 4, 8 * 8 * 3, 500000, 40000, 30 + 8 };
    for (int i = 0; i < 5; i++)
        op[i] = (struct stk__op_metrics){ .node = places.place[i].below,
                                          .work = { .rows_out = 100, .wall_ns = wall_ns[i] },
                                          .bytes_out = 100 * bytes_out[i] };
    const struct stk__metrics m = { .op = op, .n_ops = 5 };
    stk__cache_costs(&m, 100, 5e8, 2, &places);
    static const double ns[] = { 3.5e6, 3.4e6, 3.1e6, 2.1e6, 0.05e6 };
    static const double bytes[] = { 64 + 768 + 8, 64 + 192 + 8, 64 + 500000 + 8, 64 + 40000 + 8,
                                    64 + 30 + 8 };
    for (int i = 0; i < 5; i++) {
        assert_float_equal(places.place[i].ns, ns[i], 1);
        assert_float_equal(places.place[i].bytes, bytes[i], 1);
    }
    stk_dataset_unref(graph);
}

/* ---- runs ---- */

static uint64_t hash_view(uint64_t hash, const struct stk_view *view)
{
    size_t n = (size_t)stk_dtype_bytes(view->dtype);
    for (int i = 0; i < view->rank; i++)
        n *= (size_t)view->shape[i];
    return stk__hash_bytes(hash, view->data, n);
}

/* All that is left. */
static uint64_t hash_rest(struct stk_iterator *it, const char *field)
{
    uint64_t hash = 0;
    struct stk_batch *batch;
    struct stk_error err;
    int rc;
    while ((rc = stk_iterator_next(it, &batch, &err)) == STK_OK) {
        struct stk_view view = view_of(batch, field);
        hash = hash_view(hash, &view);
        stk_batch_unref(batch);
    }
    if (rc != STK_END)
        fail_msg("%s", err.text);
    return hash;
}

/* Plans a dataset as it is before its place is known, which makes a store of what comes there. */
static void plan_unplaced(struct stk_dataset *data, const char *text)
{
    struct stk_options *options = make_options(text);
    struct stk_error err;
    struct stk__plan *plan;
    if (stk__plan_new(data, stk__options_of(options), &plan, &err))
        fail_msg("%s", err.text);
    stk__plan_unref(plan);
    stk_options_free(options);
}

/* A dataset whose cache(auto) is told where to be: behind its place number `i` from above. */
static struct stk_dataset *make_placed(const char *chain, const char *options, int i, int *n)
{
    struct stk_dataset *data = make_dataset(chain), *graph = graph_of(chain);
    struct stk__cache_places places = places_of(graph);
    struct stk__cache_choice choice;
    *n = places.n;
    plan_unplaced(data, options);
    stk__cache_describe(&places, i, -1, MB, &choice);
    stk__cache_choose(stk__cache_auto(data)->state, &choice);
    stk_dataset_unref(graph);
    return data;
}

/* What was decided about the cache; reads may have been faster to decide something. */
static struct stk_decision decision_of(struct stk_iterator *it)
{
    struct stk_decision d = { .knob = "" };
    for (uint64_t i = 0; strcmp(d.knob, "cache"); i++)
        if (stk_iterator_decision(it, i, &d))
            fail_msg("nothing was decided about the cache");
    return d;
}

static void check_decision(struct stk_iterator *it, int n, int i)
{
    const struct stk_decision d = decision_of(it);
    assert_int_equal(d.from - d.to, i);
    assert_true(d.to >= 1 && d.from >= n);
}

struct placed {
    const char *chain, *field;
};

static const struct placed placed[] = {
    { "range(50).map('y = x * 3').map('y = y + x').cache(auto).shuffle().batch(7)", "y" },
    { "range(50).filter('x % 3 != 0').map('y = x * 3').cast(float32, y).cache(auto).shuffle(9)"
      ".batch(7)",
      "y" },
    { "image_folder('tests/golden/decode/..').filter('label == 2').take(12).decode()"
      ".resize_with_crop_or_pad(30, 31).resize(12, 11, dtype=uint8).cast(float32).cache(auto)"
      ".shuffle(5).flip(probability=0.5).batch(5)",
      "image" },
    { "range(50).shuffle().map('y = x * 3').shuffle().map('y = y + x').cache(auto).batch(7)", "y" },
    { "image_folder('tests/golden/decode/..').shuffle().decode().resize(12, 11, dtype=uint8)"
      ".flip(probability=0.5).cast(float32).cache(auto).batch(5)",
      "image" },
    { "files('tests/golden/decode/q*.jpg').decode().cache(auto).resize(8, 8).shuffle().batch(4)",
      "image" },
    { "range(40).shuffle().take(30).map('y = x * 3').map('y = y // (x % 10 + 1)').cache(auto)"
      ".batch(4)",
      "y" },
};

/* Same batches in each of three epochs, and in a run that goes on from another's place. */
static void test_same_batches_everywhere(void **state)
{
    static const char options[] = "epochs=3 workers=2 seed=5 memory=33554432";
    (void)state;
    for (size_t k = 0; k < sizeof placed / sizeof *placed; k++) {
        uint64_t whole = 0, rest = 0;
        char *place = NULL;
        for (int i = 0, n = 1; i < n; i++) {
            struct stk_dataset *data = make_placed(placed[k].chain, options, i, &n);
            struct stk_iterator *it = start(data, options);
            check_decision(it, n, i);
            uint64_t hash = hash_rest(it, placed[k].field);
            whole = i ? whole : hash;
            assert_true(hash == whole);
            stk_iterator_free(it);
            it = start(data, options);
            struct stk_error err;
            if (!i) {
                stk_batch_unref(next(it));
                stk_batch_unref(next(it));
                assert_int_equal(stk_iterator_state(it, &place, &err), STK_OK);
                rest = hash_rest(it, placed[k].field);
            }
            stk_iterator_free(it);
            struct stk_options *values = make_options(options);
            if (stk_iterator_resume(data, values, place, &it, &err))
                fail_msg("%s", err.text);
            stk_options_free(values);
            assert_true(hash_rest(it, placed[k].field) == rest);
            stk_iterator_free(it);
            stk_dataset_unref(data);
        }
        stk_text_free(place);
    }
}

/* A chain that is measured: floats are four times as large as the bytes that they are made of, so
 * that two or three fit instead of ten; making them would have to take twice as long as all before. */
static void test_measured(void **state)
{
    static const char chain[] = "files('tests/golden/decode/q*.jpg').decode()"
                                ".resize(1500, 1500, dtype=uint8).resize(256, 256, dtype=uint8)"
                                ".cast(float32).cache(auto).batch(1)";
    (void)state;
    struct stk_dataset *data = make_dataset(chain);
    struct stk_options *options = make_options("workers=1 window=2 memory=16777216 io_depth=1");
    struct stk_iterator *it = NULL;
    struct stk_error err;
    if (stk_iterator_new(data, options, &it, &err))
        fail_msg("%s", err.text);
    const struct stk_decision d = decision_of(it);
    if (d.to != d.from - 1 || !strstr(d.reason, "behind resize a byte saves"))
        fail_msg("%d to %d: %s", (int)d.from, (int)d.to, d.reason);
    char *text = stk_dataset_explain(data);
    assert_non_null(strstr(text, "done: cache(auto) comes behind resize(256, 256, dtype=uint8): "));
    stk_text_free(text);
    stk_iterator_free(it);
    stk_options_free(options);
    stk_dataset_unref(data);
}

static void check_stays(const char *chain, const char *options, const char *why)
{
    struct stk_iterator *it = start_chain(chain, options);
    const struct stk_decision d = decision_of(it);
    assert_int_equal(d.from, d.to);
    if (!strstr(d.reason, why))
        fail_msg("%s: %s", chain, d.reason);
    stk_iterator_free(it);
}

static void test_not_measured(void **state)
{
    (void)state;
    check_stays("range(9).map('x + 1').cache(auto)", "", "all 9 elements fit in ");
    check_stays("lines('-').map('y = 1').cache(auto)", "",
                "what comes before it may be readable only once");
    check_stays("files('tests/no such file').read().map('y = 1').cache(auto)", "",
                "could not be measured: no element came");
}

/* Streams of files on storage can be read once more, and are measured. */
static void test_streams_are_measured(void **state)
{
    static const char chain[] = "lines('tests/**/*.c').map('y = len(text); z = y * 2')"
                                ".map('z = z + 1').cache(auto).batch(8)";
    (void)state;
    struct stk_iterator *it = start_chain(chain, "workers=1 window=2 memory=16777216");
    const struct stk_decision d = decision_of(it);
    if (!strstr(d.reason, "a byte saves"))
        fail_msg("%s", d.reason);
    stk_iterator_free(it);
}

/* Datasets that are built on one with a cache agree on the place, before and after it is known. */
static void test_shared(void **state)
{
    int n;
    struct stk_error err;
    struct stk_dataset *both[2];
    (void)state;
    struct stk_dataset *data =
        make_placed("range(30).map('y = x * 3').map('y = y + x').cache(auto)", "", 1, &n);
    assert_int_equal(stk_dataset_then(data, "batch(4)", NULL, &both[0], &err), STK_OK);
    struct stk_iterator *it = start(data, "");
    assert_true(hash_rest(it, "y") != 0);
    stk_iterator_free(it);
    assert_int_equal(stk_dataset_then(data, "batch(6)", NULL, &both[1], &err), STK_OK);
    stk_dataset_unref(data);
    for (int i = 0; i < 2; i++) {
        struct stk_stats stats;
        it = start(both[i], "");
        hash_rest(it, "y");
        stk_iterator_stats(it, &stats);
        assert_int_equal(stats.cache_hits, 30);
        stk_dataset_unref(both[i]);
        stk_iterator_free(it); /* outlives its dataset */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fits),
        cmocka_unit_test(test_some_fits),
        cmocka_unit_test(test_small_gains_change_nothing),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_costs_of_counters),
        cmocka_unit_test(test_same_batches_everywhere),
        cmocka_unit_test(test_measured),
        cmocka_unit_test(test_not_measured),
        cmocka_unit_test(test_streams_are_measured),
        cmocka_unit_test(test_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
