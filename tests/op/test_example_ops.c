/* SPDX-License-Identifier: Apache-2.0 */
/* test_example_ops.c: parse_example, parse_sequence_example and decode_raw in chains; records and
 * results of TensorFlow in golden/example.txt. */
#define _GNU_SOURCE
#include "api_call.h"
#include "base/text.h"
#include "example_record.h"

enum { MAX_RECORDS = 8 };

/* Records as @records. */
struct bound {
    struct stk_objects *objects;
    uint8_t data[MAX_RECORDS * RECORD_ROOM];
    int64_t splits[MAX_RECORDS + 1];
    int n;
};

static void bind_records(struct bound *b, const struct record *r, int n)
{
    struct stk_error err;
    b->n = n;
    b->splits[0] = 0;
    for (int i = 0; i < n; i++) {
        memcpy(b->data + b->splits[i], r[i].data, r[i].bytes);
        b->splits[i + 1] = b->splits[i] + (int64_t)r[i].bytes;
    }
    const struct stk_array array = { .data = b->data,
                                     .dtype = STK_U8,
                                     .rank = 1,
                                     .shape = { n },
                                     .kind = STK_BYTES,
                                     .splits = b->splits };
    b->objects = stk_objects_new();
    assert_non_null(b->objects);
    assert_int_equal(stk_objects_add_array(b->objects, "records", &array, &err), STK_OK);
}

/* ---- golden ---- */

static void add_value(struct stk__text *out, const struct stk_view *view, int64_t i)
{
    uint32_t bits;
    int64_t number;
    if (view->dtype == STK_F32) {
        memcpy(&bits, (const float *)view->data + i, sizeof bits);
        stk__text_add(out, "%08x", bits);
    } else {
        memcpy(&number, (const int64_t *)view->data + i, sizeof number);
        stk__text_add(out, "%lld", (long long)number);
    }
}

/* A text in hex, or [hex][hex] of a list of them; (1,2)(3) of a list of lists. */
static void add_entries(struct stk__text *out, const struct stk_view *view)
{
    const char *begin = view->kind != STK_BYTES ? "(" : view->rank ? "[" : "";
    const char *end = view->kind != STK_BYTES ? ")" : view->rank ? "]" : "";
    for (int64_t entry = 0; entry + 1 < view->n_splits; entry++) {
        stk__text_add(out, "%s", begin);
        for (int64_t i = view->splits[entry]; i < view->splits[entry + 1]; i++) {
            if (view->kind == STK_BYTES) {
                stk__text_add(out, "%02x", ((const uint8_t *)view->data)[i]);
                continue;
            }
            int64_t n = view->rank > 1 ? view->shape[1] : 1;
            for (int64_t k = i * n; k < (i + 1) * n; k++) {
                stk__text_add(out, k > view->splits[entry] * n ? "," : "");
                add_value(out, view, k);
            }
        }
        stk__text_add(out, "%s", end);
    }
}

/* "name=1,2,3" of the fields of a batch that is one element. */
static void add_fields(struct stk__text *out, const struct stk_batch *batch)
{
    for (int f = 0; f < stk_batch_n_fields(batch); f++) {
        struct stk_view view;
        assert_int_equal(stk_batch_view_at(batch, f, &view), STK_OK);
        stk__text_add(out, "%s%s=", f ? " " : "", view.name);
        if (view.kind != STK_FIXED) {
            add_entries(out, &view);
            continue;
        }
        int64_t n = 1;
        for (int d = 0; d < view.rank; d++)
            n *= view.shape[d];
        for (int64_t i = 0; i < n; i++) {
            stk__text_add(out, i ? "," : "");
            add_value(out, &view, i);
        }
    }
}

/* What a call makes of a record: its fields, or "!" and the message. Returns new. */
static char *result_of(const struct record *r, const char *call)
{
    static struct bound bound;
    struct stk__text chain = { 0 }, out = { 0 };
    struct stk_batch *batch;
    struct stk_error err = { 0 };
    bind_records(&bound, r, 1);
    stk__text_add(&chain, "values({record: @records}).%s", call);
    struct stk_dataset *data = make_dataset_with(chain.data, bound.objects);
    struct stk_iterator *it = start(data, "workers=0");
    int rc = stk_iterator_next(it, &batch, &err);
    if (rc) {
        assert_int_equal(rc, STK_DATA);
        stk__text_add(&out, "!%s", err.text);
    } else {
        add_fields(&out, batch);
        stk_batch_unref(batch);
    }
    stk_iterator_free(it);
    stk_dataset_unref(data);
    stk_objects_free(bound.objects);
    stk__text_free(&chain);
    return stk__text_take(&out);
}

static void read_hex(const char *text, struct record *r)
{
    unsigned byte;
    if (*text == '=')
        return;
    for (r->bytes = 0; sscanf(text + 2 * r->bytes, "%2x", &byte) == 1; r->bytes++)
        r->data[r->bytes] = (uint8_t)byte;
}

/* A line is a record, a call and a result, with tabs between them. */
static void check_line(char *line, struct record *r)
{
    char *call = strchr(line, '\t'), *expected = strchr(call + 1, '\t');
    assert_true(call && expected);
    *call++ = *expected++ = 0;
    expected[strcspn(expected, "\n")] = 0;
    read_hex(line, r);
    char *found = result_of(r, call);
    bool is_same = *expected == '!' ? *found == '!' && strstr(found + 1, expected + 1)
                                    : !strcmp(found, expected);
    if (!is_same)
        fail_msg("%s\ngives   %s\ninstead %s", call, found, expected);
    stk_text_free(found);
}

static void test_golden(void **state)
{
    FILE *file = fopen("tests/golden/example.txt", "r");
    static struct record r;
    char *line = NULL;
    size_t room = 0;
    int n = 0;
    (void)state;
    assert_non_null(file);
    for (; getline(&line, &room, file) > 0; n++)
        check_line(line, &r);
    free(line);
    fclose(file);
    assert_true(n > 150);
}

/* ---- parse_example ---- */

static struct record sample(int64_t label, const char *name)
{
    const float x[] = { (float)label, 2, 3 };
    return piece(1, joined(joined(entry("label", one_int(label)), entry("x", packed_floats(x, 3))),
                           entry("name", one_string(name))));
}

static void test_batches_and_bad_rows(void **state)
{
    static struct bound bound;
    struct record r[] = { sample(1, "one"), sample(2, "two"), RAW("\x0a\x05z"), sample(4, "four") };
    (void)state;
    bind_records(&bound, r, 4);
    struct stk_dataset *data = make_dataset_with(
        "zip(range(4).rename({x: number}), values({record: @records})).parse_example({label: "
        "int64, "
        "v: fixed([3], float32, key=x), list: varlen(float32, key=x), name: bytes}).batch(4)",
        bound.objects);
    struct stk_iterator *it = start(data, "workers=2 on_error=skip");
    struct stk_batch *batch = next(it);
    assert_int_equal(stk_batch_n_rows(batch), 3);
    CHECK_NUMBERS(view_of(batch, "number").data, 0, 1, 3);
    CHECK_NUMBERS(view_of(batch, "label").data, 1, 2, 4);
    CHECK_NUMBERS(view_of(batch, "v").shape, 3, 3);
    assert_true(((const float *)view_of(batch, "v").data)[6] == 4);
    CHECK_NUMBERS(view_of(batch, "list").splits, 0, 3, 6, 9);
    CHECK_NUMBERS(view_of(batch, "name").splits, 0, 3, 6, 10);
    assert_memory_equal(view_of(batch, "name").data, "onetwofour", 10);
    stk_batch_unref(batch);
    stk_iterator_free(it);
    stk_dataset_unref(data);
    stk_objects_free(bound.objects);
}

static void test_a_message_says_which_element(void **state)
{
    static struct bound bound;
    struct record r[] = { sample(1, "one"), RAW("\x0a\x05z") };
    struct stk_batch *batch;
    struct stk_error err;
    (void)state;
    bind_records(&bound, r, 2);
    struct stk_dataset *data = make_dataset_with(
        "values({record: @records}).parse_example({label: int64})", bound.objects);
    struct stk_iterator *it = start(data, "workers=0");
    stk_batch_unref(next(it));
    assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
    assert_string_equal(err.text,
                        "parse_example: values, element 1 (element 1 of epoch 0): Could "
                        "not parse example input: at byte 1 of 3, a length reaches beyond "
                        "the end");
    stk_iterator_free(it);
    stk_dataset_unref(data);
    stk_objects_free(bound.objects);
}

struct refusal {
    const char *call, *words;
    int code;
};

static void check_refusals(const char *before, const struct refusal *refusal, int n)
{
    for (int i = 0; i < n; i++) {
        struct stk_dataset *data = NULL;
        struct stk_error err;
        char chain[512];
        snprintf(chain, sizeof chain, "%s%s", before, refusal[i].call);
        int rc = stk_dataset_new(chain, NULL, &data, &err);
        if (rc != refusal[i].code || !strstr(err.text, refusal[i].words))
            fail_msg("%s\ngives %d: %s", chain, rc, rc ? err.text : "");
    }
}

static void test_specs_that_are_refused(void **state)
{
    static const struct refusal refusals[] = {
        { "parse_example({})", "wants a map from fields to features", STK_VALUE },
        { "parse_example([int64])", "wants a map from fields to features", STK_VALUE },
        { "parse_example({a: int32})", "not 'int32'", STK_VALUE },
        { "parse_example({a: 5})", "a feature is written as", STK_VALUE },
        { "parse_example({a: fixd([], int64)})", "did you mean fixed?", STK_NAME },
        { "parse_example({a: varlen(int64).varlen(int64)})", "a feature is written as", STK_VALUE },
        { "parse_example({a: fixed([2], int64, shap=3)})", "did you mean shape?", STK_NAME },
        { "parse_example({a: fixed([0], int64)})", "whole numbers from 1", STK_VALUE },
        { "parse_example({a: fixed([1.5], int64)})", "whole numbers from 1", STK_VALUE },
        { "parse_example({a: fixed([-1], int64)})", "whole numbers from 1", STK_VALUE },
        { "parse_example({a: fixed([65536, 65536], int64)})", "more than 2^28 values", STK_VALUE },
        { "parse_example({a: fixed([2, 3], bytes, [['a', 'b'], ['c']])})",
          "has 3 strings, the shape 6", STK_VALUE },
        { "parse_example({a: ragged(int64, row_splits=s, row_starts=t)})", "has one partition",
          STK_VALUE },
        { "parse_example({a: ragged(bytes, row_splits=s)})", "lists of lists of strings",
          STK_VALUE },
        { "parse_example({a: sparse(i, v, int64, [3, 4])})", "a size for each index key",
          STK_VALUE },
        { "parse_example({a: sparse(i, v, int64, 0)})", "whole numbers from 1", STK_VALUE },
        { "parse_example({a: sparse(i, v, int64, 1.5, part=values)})", "whole numbers from 1",
          STK_VALUE },
        { "parse_example({a: sparse([i, j], v, int64, [1e15, 1e15], part=values)})",
          "more than 2^63 values", STK_VALUE },
        { "parse_example({a: sparse(i, v, int64, 1e9)})", "more than 2^28 values", STK_VALUE },
        { "parse_sequence_example(sequence={a: sparse(i, v, int64, 5, part=values)})",
          "in a sequence every step", STK_VALUE },
        { "parse_sequence_example(sequence={a: ragged(int64, row_splits=s)})",
          "in a sequence every step", STK_VALUE },
        { "parse_example({a: fixed([1, 2], bytes, [['a', 3]])})", "a list of strings", STK_VALUE },
        { "parse_example({a: fixed([2], bytes, 'x')})", "has 1 string, the shape 2", STK_VALUE },
        { "parse_example({a: fixed([1], bytes, 3)})", "wants a list of strings", STK_VALUE },
        { "parse_example({a: fixed([2], bytes, ['x', 1])})", "a list of strings", STK_VALUE },
        { "parse_example({a: fixed([2], bytes, ['x'])})", "has 1 string, the shape 2", STK_VALUE },
        { "parse_example({a: fixed_sequence([2], bytes)})", "the shape []", STK_VALUE },
        { "parse_example({a: ragged(bytes, uniform_row_length=2)})", "the shape []", STK_VALUE },
        { "parse_example({a: fixed([2], int64, 5)})", "has 1 values, the shape 2", STK_VALUE },
        { "parse_example({a: fixed([], int64, [[]])})", "has 0 values, the shape 1", STK_VALUE },
        { "parse_example({a: fixed([], int64, 1.5)})", "has whole numbers", STK_VALUE },
        { "parse_example({a: fixed([], float32, 'x')})", "has numbers", STK_VALUE },
        { "parse_example({a: fixed([], bytes, 1)})", "is a string", STK_VALUE },
        { "parse_example({x: int64})", "two fields 'x'", STK_NAME },
        { "parse_example({a: int64}, field=x)", "x", STK_TYPE },
        { "parse_example({a: int64}, field=nothing)", "nothing", STK_NAME },
        { "parse_sequence_example()", "wants context or sequence", STK_VALUE },
        { "parse_sequence_example(sequence={a: varlen(bytes)})", "lists of lists of strings",
          STK_VALUE },
        { "parse_sequence_example(sequence={a: ragged(int64, uniform_row_length=2)})",
          "a list of single values", STK_VALUE },
        { "parse_sequence_example(sequence={a: int64})", "every step has an entry", STK_VALUE },
        { "parse_sequence_example({a: int64}, {a: fixed_sequence([], int64)})", "two fields 'a'",
          STK_NAME },
        { "decode_raw(int8, shape=[2, -1])", "the first dimension may be -1", STK_VALUE },
        { "decode_raw(int8, shape=[65536, 65536])", "less than 2^31", STK_VALUE },
        { "decode_raw(int9)", "int8", STK_VALUE },
    };
    (void)state;
    check_refusals("values({record: ['a'], x: [1]}).", refusals,
                   sizeof refusals / sizeof *refusals);
}

/* The error points at the feature, not at the whole call. */
static void test_the_place_of_an_error(void **state)
{
    static const char chain[] = "values({r: ['']}).parse_example({a: int64, b: fixed([0], int64)})";
    struct stk_dataset *data = NULL;
    struct stk_error err;
    (void)state;
    assert_int_equal(stk_dataset_new(chain, NULL, &data, &err), STK_VALUE);
    assert_int_equal(err.at, strstr(chain, "fixed") - chain);
    assert_int_equal(err.len, strlen("fixed([0], int64)"));
}

/* Steps that are short but many ask for no more memory than the record has. */
static void test_a_lying_sequence_is_refused(void **state)
{
    struct record steps = { 0 };
    (void)state;
    for (int i = 0; i < 500; i++)
        steps = joined(steps, piece(1, RAW("")));
    struct record r = piece(2, entry("a", steps));
    char *found = result_of(
        &r, "parse_sequence_example(sequence={a: fixed_sequence([16384, 16384], float32)})");
    assert_non_null(strstr(found, "Feature list: a, Index: 0.  Number of values != expected"));
    stk_text_free(found);
    struct record values = joined(piece(1, one_int(1)), piece(1, RAW("\x12\x00")));
    r = piece(2, entry("a", values));
    found = result_of(&r, "parse_sequence_example(sequence={a: fixed_sequence([], int64)})");
    assert_non_null(strstr(found, "Feature list: a, Index: 1.  Data types don't match. Data type: "
                                  "float but expected type: int64"));
    stk_text_free(found);
}

/* ---- decode_raw ---- */

static void check_raw(const char *text, const char *call, const void *expected, size_t bytes)
{
    char chain[256];
    size_t n;
    snprintf(chain, sizeof chain, "values({x: ['%s']}).decode_raw(%s)", text, call);
    uint8_t *found = bytes_of_first(chain, "x", &n);
    assert_int_equal(n, bytes);
    assert_memory_equal(found, expected, bytes);
    free(found);
}

static void test_decode_raw(void **state)
{
    (void)state;
    check_raw("\\x01\\x02\\x03\\x04", "int16", (const uint16_t[]){ 0x0201, 0x0403 }, 4);
    check_raw("\\x01\\x02\\x03\\x04", "int16, little_endian=false",
              (const uint16_t[]){ 0x0102, 0x0304 }, 4);
    check_raw("\\x01\\x02\\x03\\x04", "uint32, false, 1", (const uint32_t[]){ 0x01020304 }, 4);
    check_raw("\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08", "int64, false",
              (const uint64_t[]){ 0x0102030405060708 }, 8);
    check_raw("\\x00\\x01\\x02\\xff", "bool, shape=[2, 2]", "\0\1\1\1", 4);
    check_raw("abcdef", "uint8, false, [-1, 3]", "abcdef", 6);
    check_raw("", "float64", "", 0);
}

/* Elements that are no such arrays are bad, the others are not. */
static void test_decode_raw_of_wrong_lengths(void **state)
{
    static const struct {
        const char *call, *words;
    } cases[] = {
        { "int16", "the length 5 is not a multiple of 2, the size of int16" },
        { "uint8, shape=[2, 2]", "there are 5 values of uint8, but the shape has 4" },
        { "uint8, shape=[-1, 4]", "there are 5 values of uint8, which is not a multiple of the 4" },
    };
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct stk_error err;
        struct stk_batch *batch;
        char chain[128];
        snprintf(chain, sizeof chain, "values({x: ['abcd', 'abcde']}).decode_raw(%s)",
                 cases[i].call);
        struct stk_iterator *it = start_chain(chain, "workers=0");
        stk_batch_unref(next(it));
        assert_int_equal(stk_iterator_next(it, &batch, &err), STK_DATA);
        assert_non_null(strstr(err.text, cases[i].words));
        stk_iterator_free(it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_batches_and_bad_rows),
        cmocka_unit_test(test_a_message_says_which_element),
        cmocka_unit_test(test_specs_that_are_refused),
        cmocka_unit_test(test_the_place_of_an_error),
        cmocka_unit_test(test_a_lying_sequence_is_refused),
        cmocka_unit_test(test_decode_raw),
        cmocka_unit_test(test_decode_raw_of_wrong_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
