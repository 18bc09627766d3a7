/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack.c: stk_pack from C: progress, stopping and going on, and many threads at it. */
#define _GNU_SOURCE
#include "file_tree.h"

#include <stoker/stoker.h>

#include "codec/record/record_out.h"
#include "graph/graph.h"

enum { MAX_BYTES = 1 << 22 };

static const char *const chains[] = {
    "range(30000).shuffle(seed=1)",
    "range(30000).filter('x % 3 != 0')",
    "range(30000).batch(7).map('y = x * 2')",
};

static int pack(const char *chain, const char *workers, const struct stk_pack_options *how,
                struct stk_pack_result *result, struct stk_error *err)
{
    struct stk_options *options = stk_options_new();
    struct stk_dataset *data = NULL;
    assert_int_equal(stk_options_set(options, "workers", workers, err), STK_OK);
    assert_int_equal(stk_dataset_new(chain, NULL, &data, err), STK_OK);
    int rc = stk_pack(data, options, how, result, err);
    stk_text_free(result->manifest);
    stk_dataset_unref(data);
    stk_options_free(options);
    return rc;
}

static size_t read_shard(const char *form, int shard, char *out)
{
    char path[64];
    snprintf(path, sizeof path, form, shard);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(out, 1, MAX_BYTES, file);
    fclose(file);
    assert_true(n > 0 && n < MAX_BYTES);
    return n;
}

static void assert_same_shards(const char *one, const char *other, int n)
{
    static char a[MAX_BYTES], b[MAX_BYTES];
    for (int s = 0; s < n; s++) {
        size_t bytes = read_shard(one, s, a);
        assert_int_equal(read_shard(other, s, b), bytes);
        assert_memory_equal(a, b, bytes);
    }
}

static void test_threads_do_not_show(void **state)
{
    static const char *const forms[] = { "none", "gzip" };
    struct stk_pack_result result;
    struct stk_error err;
    (void)state;
    for (size_t i = 0; i < 3 * 2; i++) {
        const char *chain = chains[i % 3];
        struct stk_pack_options how = { .out = "alone-{shard}", .shards = 3, .force = true };
        how.compression = forms[i / 3];
        assert_int_equal(pack(chain, "0", &how, &result, &err), STK_OK);
        how.out = "many-{shard}";
        assert_int_equal(pack(chain, "4", &how, &result, &err), STK_OK);
        assert_int_equal(result.elements, i % 3 == 1 ? 20000 : 30000);
        assert_int_equal(result.written, 3);
        assert_same_shards("alone-%d", "many-%d", 3);
    }
}

/* ---- progress ---- */

struct watch {
    int n_calls;
    bool is_over; /* stop when a shard is done */
    struct stk_pack_progress last;
};

static bool look(void *context, const struct stk_pack_progress *progress)
{
    struct watch *watch = context;
    assert_true(progress->elements >= watch->last.elements);
    assert_true(progress->bytes >= watch->last.bytes);
    watch->n_calls++;
    watch->last = *progress;
    return watch->is_over && progress->shards_done > 0;
}

static void test_stopped_and_gone_on(void **state)
{
    struct watch watch = { .is_over = true };
    struct stk_pack_result result;
    struct stk_error err;
    struct stk_pack_options how = {
        .out = "x-{shard}", .shards = 20, .progress = look, .context = &watch
    };
    (void)state;
    int rc = pack("range(600000)", "2", &how, &result, &err);
    assert_int_equal(rc, STK_CANCELLED);
    assert_null(result.manifest);
    assert_int_equal(watch.last.total, 600000);
    assert_int_equal(watch.last.shards, 20);
    assert_int_equal(access("x.manifest.json", F_OK), -1);
    assert_int_equal(access("x.manifest.json.partial", F_OK), 0);
    watch = (struct watch){ 0 };
    assert_int_equal(pack("range(600000)", "2", &how, &result, &err), STK_OK);
    assert_true(result.kept > 0 && result.kept + result.written == 20);
    assert_int_equal(result.elements, 600000);
    assert_true(watch.n_calls > 0 && watch.last.total < 600000);
    assert_int_equal(access("x.manifest.json.partial", F_OK), -1);
}

static void test_wrong_wishes(void **state)
{
    static const struct stk_pack_options cases[] = {
        { .out = NULL, .shards = 1 },
        { .out = "x", .shards = 0 },
        { .out = "x", .shards = -1 },
        { .out = "x", .shards = 2 },
        { .out = "x", .shards = 1, .format = "zip" },
        { .out = "x", .shards = 1, .variants = -1 },
        { .out = "x", .shards = 1, .keep_original = true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk_pack_result result;
        struct stk_error err = { 0 };
        assert_int_equal(pack("range(5)", "0", &cases[i], &result, &err), STK_VALUE);
        assert_true(err.text[0] && err.code == STK_VALUE);
        assert_int_equal(access("x", F_OK), -1);
    }
}

/* ---- reading it again ---- */

/* The calls that read what is stored of a chain, or "". Returns new. */
static char *reader_of(const char *chain)
{
    struct stk_dataset *data;
    struct stk_error err;
    struct stk__text calls = { 0 };
    if (stk_dataset_new(chain, NULL, &data, &err))
        fail_msg("%s: %s", chain, err.text);
    bool can = stk__example_reader(&data->root->type, &calls);
    stk_dataset_unref(data);
    return can ? stk__text_take(&calls) : strdup("");
}

static void test_read_as_it_was(void **state)
{
    static const char chain[] =
        "values({a: [[1.5, 2.5], [3.5, 4.5]], b: [[1, 2], [3, 4]], c: ['x', 'y'], d: [1, 2], "
        "e: [[7, 8], [9, 1]], 'f g': [0.5, 2.0], g: [3, 4], h: [[0.1, 0.2], [0.3, 0.4]]})"
        ".cast(float32, a).cast(uint8, b).cast(uint16, d).cast(int32, e).cast(float16, 'f g')"
        ".cast(float64, h)";
    struct stk_pack_result result;
    struct stk_error err;
    char *calls = reader_of(chain), again[600];
    (void)state;
    assert_string_equal(
        calls, "parse_example({a: fixed([2], float32), b: bytes, c: bytes, d: int64, "
               "e: fixed([2], int64), 'f g': float32, g: int64, h: bytes})"
               ".decode_raw(uint8, shape=[2], field=b).cast(uint16, field=d).cast(int32, field=e)"
               ".cast(float16, field='f g').decode_raw(float64, shape=[2], field=h)");
    struct stk_pack_options how = { .out = "once-{shard}", .shards = 1, .force = true };
    assert_int_equal(pack(chain, "0", &how, &result, &err), STK_OK);
    snprintf(again, sizeof again, "tfrecord('once-0').%s", calls);
    free(calls);
    how.out = "twice-{shard}";
    if (pack(again, "0", &how, &result, &err))
        fail_msg("%s", err.text);
    assert_same_shards("once-%d", "twice-%d", 1);
    static const char *const unknown[] = { "values({a: [[1, 2], [3]]})",
                                           "values({a: [1.5]}).cast(float64, a)" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        calls = reader_of(unknown[i]);
        assert_string_equal(calls, "");
        free(calls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_do_not_show),
        cmocka_unit_test(test_stopped_and_gone_on),
        cmocka_unit_test(test_wrong_wishes),
        cmocka_unit_test(test_read_as_it_was),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
