/* SPDX-License-Identifier: Apache-2.0 */
/* test_statistics.c: histograms, counts of strings, counts of bytes, and statistics of datasets. */
#define _GNU_SOURCE
#include "api_call.h"

#include "base/counts.h"
#include "base/hash.h"
#include "base/histogram.h"
#include "kernel/moments.h"

#include <float.h>
#include <math.h>

static uint64_t seed = 1;

static uint64_t random_word(void)
{
    return stk__hash_mix(7, seed++);
}

/* ---- histograms ---- */

/* Every value lies in the bin that counts it, whatever came before. */
static void check_histogram(const double *value, int n, bool is_whole)
{
    struct stk__histogram h = { .is_whole = is_whole }, back = { .is_whole = is_whole };
    uint64_t expected[STK__BINS] = { 0 };
    for (int i = 0; i < n; i++) {
        stk__histogram_add(&h, value[i], 1);
        stk__histogram_add(&back, value[n - 1 - i], 1);
    }
    assert_in_range(h.n_bins, 1, STK__BINS);
    assert_int_equal(h.scale, back.scale);
    assert_int_equal(h.n_bins, back.n_bins);
    assert_true(h.first == back.first);
    assert_memory_equal(h.count, back.count, sizeof h.count);
    for (int i = 0; i < n; i++) {
        int bin = 0;
        while (bin < h.n_bins && value[i] >= stk__histogram_edge(&h, bin + 1))
            bin++;
        assert_true(bin < h.n_bins && value[i] >= stk__histogram_edge(&h, bin));
        expected[bin]++;
    }
    assert_memory_equal(h.count, expected, sizeof expected);
    assert_true(h.count[0] && h.count[h.n_bins - 1]);
    assert_int_equal(h.n, n);
}

static void test_histogram(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        double value[200];
        int n = 1 + (int)(random_word() % 200), spread = (int)(random_word() % 60) - 30;
        for (int i = 0; i < n; i++) {
            value[i] = ((double)(random_word() % 20001) - 10000) * ldexp(1, spread);
            value[i] = round % 3 == 2 ? floor(value[i]) : value[i];
        }
        check_histogram(value, n, round % 3 == 2);
    }
    static const double extreme[] = { DBL_MAX, -DBL_MAX, 0, DBL_MIN, -DBL_MIN, 1, 4.9e-324 };
    static const double tiny[] = { 1e-300, 2e-300, 1.5e-300 }, same[] = { 0.1, 0.1, 0.1 };
    static const double near[] = { 1, 1 + DBL_EPSILON }, none[] = { 0, -0.0 };
    check_histogram(extreme, 7, false);
    check_histogram(tiny, 3, false);
    check_histogram(same, 3, false);
    check_histogram(near, 2, false);
    check_histogram(none, 2, false);
}

static void test_whole_numbers_have_whole_bins(void **state)
{
    struct stk__histogram h = { .is_whole = true };
    (void)state;
    for (int i = 3; i < 8; i++)
        stk__histogram_add(&h, i, 2);
    assert_int_equal(h.n_bins, 5);
    assert_true(stk__histogram_edge(&h, 0) == 3 && stk__histogram_edge(&h, 1) == 4);
}

/* ---- strings ---- */

static void test_counts(void **state)
{
    struct stk__counts counts;
    (void)state;
    stk__counts_begin(&counts, 1000, 1 << 20);
    for (int i = 0; i < 5000; i++) {
        char text[16];
        int len = snprintf(text, sizeof text, "%d", (int)((unsigned)i * i % 700));
        assert_int_equal(stk__counts_add(&counts, text, (size_t)len), STK_OK);
    }
    assert_int_equal(stk__counts_add(&counts, NULL, 0), STK_OK);
    struct stk__count *sorted = stk__counts_sorted(&counts);
    uint64_t sum = 0;
    assert_non_null(sorted);
    for (size_t i = 0; i < counts.n; i++) {
        uint64_t n = 0;
        for (int k = 0; k < 5000; k++) {
            char text[16];
            int len = snprintf(text, sizeof text, "%d", (int)((unsigned)k * k % 700));
            n += (size_t)len == sorted[i].bytes && !memcmp(text, sorted[i].data, (size_t)len);
        }
        assert_int_equal(sorted[i].n, sorted[i].bytes ? n : 1);
        assert_true(!i || sorted[i - 1].n >= sorted[i].n);
        sum += sorted[i].n;
    }
    assert_int_equal(sum, 5001);
    free(sorted);
    stk__counts_free(&counts);
}

static void test_counts_are_bounded(void **state)
{
    struct stk__counts counts;
    (void)state;
    stk__counts_begin(&counts, 3, 8);
    static const char *const texts[] = { "aaa", "bbb", "cccc", "a", "aaa", "b", "c" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(stk__counts_add(&counts, texts[i], strlen(texts[i])), STK_OK);
    assert_int_equal(counts.n, 3); /* aaa, bbb, a: cccc is too long, b and c are too many */
    assert_int_equal(counts.n_left_out, 3);
    stk__counts_free(&counts);
}

/* ---- bytes ---- */

static void test_count_bytes(void **state)
{
    uint8_t bytes[6000];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(random_word() % 7 ? random_word() : 200);
    for (int channels = 1; channels <= 6; channels++) {
        size_t n = (sizeof bytes - random_word() % 1000) / (size_t)channels * (size_t)channels;
        uint64_t counts[6 * 256] = { 0 }, expected[6 * 256] = { 0 };
        stk__count_bytes(bytes, n, channels, counts);
        for (size_t i = 0; i < n; i++)
            expected[i % (size_t)channels * 256 + bytes[i]]++;
        assert_memory_equal(counts, expected, sizeof counts);
    }
}

/* ---- datasets ---- */

static char *statistics_of(const char *chain, const char *text, bool json)
{
    struct stk_dataset *data = make_dataset(chain);
    struct stk_options *options = make_options(text);
    struct stk_statistics found;
    struct stk_error err;
    if (stk_dataset_statistics(data, options, NULL, &found, &err))
        fail_msg("%s\n%s", chain, err.text);
    stk_text_free(json ? found.text : found.json);
    stk_options_free(options);
    stk_dataset_unref(data);
    return json ? found.json : found.text;
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in\n%s", part, text);
}

static void test_numbers(void **state)
{
    char *text = statistics_of("range(1, 6).map('y = cast(x, float32) / 4').batch(2)", "", true);
    (void)state;
    expect(text, "\"elements\": 5, \"batches\": 3");
    expect(text, "\"min\": 1.0, \"max\": 5.0, \"mean\": 3.0, \"std\": 1.4142135623730951");
    expect(text, "\"min\": 0.25, \"max\": 1.25, \"mean\": 0.75");
    expect(text, "{\"value\": 5, \"count\": 1, \"weight\": 1.0}");
    stk_text_free(text);
}

static void test_workers_do_not_show(void **state)
{
    static const char chain[] =
        "range(5000).map('y = sin(cast(x, float32)) * 1000000').shuffle().batch(37)";
    char *first = statistics_of(chain, "workers=0", true);
    (void)state;
    for (int i = 0; i < 4; i++) {
        static const char *const options[] = { "workers=1", "workers=2", "workers=3", "workers=8" };
        char *other = statistics_of(chain, options[i], true);
        assert_string_equal(first, other);
        stk_text_free(other);
    }
    stk_text_free(first);
}

static void test_nothing_at_all(void **state)
{
    char *text = statistics_of("range(10).filter('x > 20').batch(4)", "", false);
    (void)state;
    expect(text, "0 elements");
    expect(text, "no values");
    stk_text_free(text);
    text = statistics_of("range(10).filter('x > 20').batch(4)", "", true);
    expect(text, "\"mean\": null");
    stk_text_free(text);
}

static bool stop(void *context, uint64_t elements, uint64_t batches)
{
    *(uint64_t *)context = elements;
    return batches > 0;
}

static void test_limits_and_stopping(void **state)
{
    struct stk_dataset *data = make_dataset("range(100000000).batch(10)");
    struct stk_statistics_options wanted = { .batches = 3 };
    struct stk_statistics found;
    struct stk_error err;
    uint64_t elements = 0;
    (void)state;
    assert_int_equal(stk_dataset_statistics(data, NULL, &wanted, &found, &err), STK_OK);
    assert_true(found.elements == 30 && found.batches == 3 && found.errors == 0);
    expect(found.text, "30 elements in 3 batches");
    stk_text_free(found.text);
    stk_text_free(found.json);
    wanted = (struct stk_statistics_options){ .progress = stop, .context = &elements };
    assert_int_equal(stk_dataset_statistics(data, NULL, &wanted, &found, &err), STK_CANCELLED);
    assert_true(found.elements == elements && elements > 0 && !found.text && !found.json);
    stk_dataset_unref(data);
}

static void test_errors_arrive(void **state)
{
    struct stk_dataset *data = make_dataset("values({a: ['/nonexistent/x']}).read(field='a')");
    struct stk_statistics found;
    struct stk_error err;
    (void)state;
    assert_int_equal(stk_dataset_statistics(data, NULL, NULL, &found, &err), STK_IO);
    assert_null(found.text);
    stk_dataset_unref(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_whole_numbers_have_whole_bins),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_counts_are_bounded),
        cmocka_unit_test(test_count_bytes),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_workers_do_not_show),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_limits_and_stopping),
        cmocka_unit_test(test_errors_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
