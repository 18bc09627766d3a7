/* SPDX-License-Identifier: Apache-2.0 */
/* test_example.c: the parser of Examples: which features are found, which values they have, and
 * what damage does. */
#include "codec/record/example.h"
#include "example_record.h"

#include <stdio.h>
#include <stdlib.h>

static struct stk__piece piece_of(const struct record *r)
{
    return (struct stk__piece){ r->data, r->bytes };
}

/* Keys a, b and c. */
static struct stk__feature_keys make_keys(void)
{
    struct stk__feature_keys keys = { 0 };
    for (int i = 0; i < 3; i++) {
        const struct stk__piece key = { (const uint8_t *)"abc" + i, 1 };
        assert_true(stk__feature_keys_add(&keys, key));
        assert_false(stk__feature_keys_add(&keys, key));
        assert_int_equal(stk__feature_keys_find(&keys, key), i);
    }
    return keys;
}

struct scanned {
    struct stk__piece found[3], lists[3];
    struct stk_error err;
    int code;
};

static struct scanned scan_with(struct stk__key_order *order, const struct record *r)
{
    const struct stk__feature_keys keys = make_keys();
    struct scanned s;
    const struct stk__feature_scan scan = { .keys = &keys, .order = order, .found = s.found };
    s.code = stk__example_scan(&scan, piece_of(r), &s.err);
    return s;
}

static struct scanned scan(const struct record *r)
{
    struct stk__key_order order = { 0 };
    return scan_with(&order, r);
}

static struct scanned scan_sequence(const struct record *r)
{
    const struct stk__feature_keys keys = make_keys();
    struct stk__key_order order[2] = { 0 };
    struct scanned s;
    const struct stk__feature_scan context = { .keys = &keys,
                                               .order = &order[0],
                                               .found = s.found };
    const struct stk__feature_scan lists = { .keys = &keys, .order = &order[1], .found = s.lists };
    s.code = stk__sequence_scan(&context, &lists, piece_of(r), &s.err);
    return s;
}

/* The only int of a feature; -1: there is none. */
static int64_t int_of(struct stk__piece feature)
{
    struct stk__value_list list;
    int64_t value;
    size_t n;
    if (!feature.data)
        return -1;
    assert_true(stk__value_list_open(feature, &list));
    assert_int_equal(list.kind, STK__FEATURE_INTS);
    assert_true(stk__value_list_ints(&list, &value, 1, &n));
    assert_int_equal(n, 1);
    return value;
}

/* ---- keys ---- */

static void test_wanted_keys_are_found_in_any_order(void **state)
{
    (void)state;
    struct record a = entry("a", one_int(1)), c = entry("c", one_int(3)),
                  other = entry("other", one_int(9));
    struct record r = piece(1, joined(joined(c, other), a));
    struct scanned s = scan(&r);
    assert_int_equal(s.code, STK_OK);
    assert_int_equal(int_of(s.found[0]), 1);
    assert_null(s.found[1].data);
    assert_int_equal(int_of(s.found[2]), 3);
}

static void test_many_keys_are_told_apart(void **state)
{
    (void)state;
    static char names[STK_MAX_FIELDS][8];
    struct stk__feature_keys keys = { 0 };
    for (int i = 0; i < STK_MAX_FIELDS; i++) {
        snprintf(names[i], sizeof names[i], "key%d", i);
        assert_true(stk__feature_keys_add(
            &keys, (struct stk__piece){ (const uint8_t *)names[i], strlen(names[i]) }));
    }
    for (int i = 0; i < STK_MAX_FIELDS; i++) {
        const struct stk__piece whole = { (const uint8_t *)names[i], strlen(names[i]) };
        assert_int_equal(stk__feature_keys_find(&keys, whole), i);
    }
    const struct stk__piece prefix = { (const uint8_t *)"key", 3 }, empty = { 0 };
    assert_int_equal(stk__feature_keys_find(&keys, prefix), -1);
    assert_int_equal(stk__feature_keys_find(&keys, empty), -1);
}

/* What the record before had is only a guess. */
static void test_another_order_than_before(void **state)
{
    (void)state;
    struct record a = entry("a", one_int(1)), b = entry("b", one_int(2)),
                  x = entry("x", one_int(7));
    struct record r[] = { piece(1, joined(joined(a, b), x)), piece(1, joined(joined(b, x), a)),
                          piece(1, a), piece(1, joined(a, b)), piece(1, joined(x, b)) };
    const int64_t expected[][2] = { { 1, 2 }, { 1, 2 }, { 1, -1 }, { 1, 2 }, { -1, 2 } };
    struct stk__key_order order = { 0 };
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5; i++) {
            struct scanned s = scan_with(&order, &r[i]);
            assert_int_equal(s.code, STK_OK);
            assert_int_equal(int_of(s.found[0]), expected[i][0]);
            assert_int_equal(int_of(s.found[1]), expected[i][1]);
        }
}

/* More keys than are remembered. */
static void test_records_with_many_keys(void **state)
{
    (void)state;
    enum { N = STK__KEYS_REMEMBERED + 40 };
    struct record map = { 0 };
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "k%d", i);
        map = joined(map, entry(name, one_int(i)));
    }
    struct record r = piece(1, joined(map, entry("b", one_int(5))));
    struct stk__key_order order = { 0 };
    for (int round = 0; round < 2; round++) {
        struct scanned s = scan_with(&order, &r);
        assert_int_equal(s.code, STK_OK);
        assert_int_equal(int_of(s.found[1]), 5);
    }
    assert_int_equal(order.n, STK__KEYS_REMEMBERED);
}

static void test_the_last_feature_with_a_kind_counts(void **state)
{
    (void)state;
    struct record five = entry("a", one_int(5)), six = entry("a", one_int(6)),
                  none = entry("a", RAW("")), damaged = entry("a", RAW("\x1a\x7f"));
    struct record r = piece(1, joined(joined(five, six), none));
    assert_int_equal(int_of(scan(&r).found[0]), 6);
    r = joined(piece(1, five), piece(1, six));
    assert_int_equal(int_of(scan(&r).found[0]), 6);
    r = piece(1, joined(damaged, six)); /* nobody looks into what does not count */
    assert_int_equal(int_of(scan(&r).found[0]), 6);
    r = piece(1, none);
    assert_null(scan(&r).found[0].data);
}

/* ---- messages ---- */

static void check_refused(struct record r, const char *cause)
{
    struct scanned s = scan(&r);
    assert_int_equal(s.code, STK_DATA);
    if (!strstr(s.err.text, cause))
        fail_msg("the message is \"%s\", without \"%s\"", s.err.text, cause);
}

static void test_unknown_fields(void **state)
{
    (void)state;
    struct record map = piece(1, entry("a", one_int(1)));
    struct record skipped[] = { piece(3, RAW("zz")), RAW("\x18\x85\x01"),
                                RAW("\x19"
                                    "12345678"),
                                RAW("\x1d"
                                    "1234"),
                                RAW("\xfa\xff\x03\x01z") };
    for (int i = 0; i < 5; i++) {
        struct record r = joined(joined(skipped[i], map), skipped[i]);
        assert_int_equal(int_of(scan(&r).found[0]), 1);
    }
    check_refused(joined(RAW("\x1b\x1c"), map), "at byte 0 of 16, there is no field");
    check_refused(joined(RAW("\x00\x00"), map), "there is no field");
    check_refused(joined(map, RAW("\x1d"
                                  "123")),
                  "at byte 14 of 18, there is no field");
    check_refused(piece(1, joined(entry("a", one_int(1)), RAW("\x1a\x00"))),
                  "where an entry begins");
}

static void test_damaged_entries(void **state)
{
    (void)state;
    check_refused(RAW("\x0a\x05\x0a"), "at byte 1 of 3, a length reaches beyond the end");
    check_refused(RAW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "reaches beyond the end");
    check_refused(RAW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                  "reaches beyond the end");
    check_refused(RAW("\x0a\x03\x0a\x02\x0a"), "the length of an entry reaches beyond its end");
    check_refused(piece(1, piece(1, RAW("\x0a\x01z"))), "not a key and a value");
    check_refused(piece(1, piece(1, RAW("\x0a\x02z"))), "a length reaches beyond its entry");
    check_refused(piece(1, piece(1, RAW("\x0a\x01z\x12\x00\x1a\x00"))),
                  "more than a key and a value");
    check_refused(piece(1, entry("a", RAW("\x22\x00"))), "Unsupported datatype.");
}

/* ---- values ---- */

static struct stk__value_list list_of(const struct record *feature)
{
    struct stk__value_list list;
    assert_true(stk__value_list_open(piece_of(feature), &list));
    return list;
}

static void test_floats(void **state)
{
    (void)state;
    const float value[] = { 1.5f, -2, 3 };
    float got[8];
    size_t n;
    struct record single = joined(RAW("\x0d"), record_of(&value[0], 4));
    struct record all = piece(1, record_of(value, sizeof value));
    struct record forms[] = { piece(2, all), piece(2, joined(single, all)),
                              piece(2, joined(all, single)), piece(2, joined(all, all)) };
    const size_t expected[] = { 3, 4, 4, 6 };
    for (int i = 0; i < 4; i++) {
        struct stk__value_list list = list_of(&forms[i]);
        assert_int_equal(list.kind, STK__FEATURE_FLOATS);
        assert_true(stk__value_list_most(&list) >= expected[i]);
        assert_true(stk__value_list_floats(&list, got, 8, &n));
        assert_int_equal(n, expected[i]);
        assert_true(got[0] == 1.5f && got[n - 2] == (i == 2 ? 3 : -2));
        got[1] = 99;
        assert_true(stk__value_list_floats(&list, got, 1, &n));
        assert_int_equal(n, expected[i]);
        assert_true(got[1] == 99);
    }
}

/* Every length of a varint, at the end of memory and before it. */
static void test_ints(void **state)
{
    (void)state;
    enum { N = 130 };
    int64_t value[N], got[N];
    size_t n;
    for (int i = 0; i < 64; i++) {
        value[2 * i] = (int64_t)(UINT64_C(1) << i);
        value[2 * i + 1] = -(int64_t)(UINT64_C(1) << (i % 63));
    }
    value[128] = INT64_MAX;
    value[129] = 0;
    for (size_t count = 0; count <= N; count++) {
        struct record r = packed_ints(value, count);
        struct stk__value_list list = list_of(&r);
        assert_int_equal(list.kind, STK__FEATURE_INTS);
        assert_true(stk__value_list_ints(&list, got, N, &n));
        assert_int_equal(n, count);
        assert_true(stk__value_list_most(&list) >= count);
        assert_memory_equal(got, value, count * sizeof *got);
    }
    struct record unpacked = piece(3, RAW("\x08\x05\x08\xac\x02\x0a\x02\x07\x08"));
    struct stk__value_list list = list_of(&unpacked);
    assert_true(stk__value_list_ints(&list, got, 3, &n));
    assert_int_equal(n, 4);
    assert_int_equal(got[1], 300);
    assert_int_equal(got[2], 7);
}

static void test_strings(void **state)
{
    (void)state;
    struct record r =
        piece(1, joined(joined(piece(1, RAW("one")), piece(1, RAW(""))), piece(1, RAW("three"))));
    struct stk__value_list list = list_of(&r);
    struct stk_span got[2];
    size_t n;
    assert_int_equal(list.kind, STK__FEATURE_BYTES);
    assert_true(stk__value_list_bytes(&list, got, 2, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(got[0].data, "one", 3);
    assert_int_equal(got[1].bytes, 0);
}

static bool reads(const struct record *feature)
{
    struct stk__value_list list;
    struct stk_span string;
    int64_t number;
    float real;
    size_t n;
    if (!stk__value_list_open(piece_of(feature), &list))
        return false;
    if (list.kind == STK__FEATURE_BYTES)
        return stk__value_list_bytes(&list, &string, 1, &n);
    return list.kind == STK__FEATURE_INTS ? stk__value_list_ints(&list, &number, 1, &n)
                                          : stk__value_list_floats(&list, &real, 1, &n);
}

static void test_damaged_lists(void **state)
{
    (void)state;
    struct record good[] = { one_int(5), one_string("abc"), piece(3, RAW("")), piece(2, RAW("")),
                             piece(1, RAW("")) };
    struct record bad[] = {
        joined(one_int(5), one_int(6)),                /* two lists */
        joined(one_int(5), RAW("\x18")),               /* more behind */
        RAW("\x1a\x05\x0a\x01\x05"),                   /* longer than its feature */
        piece(3, RAW("\x0a\x05\x01")),                 /* a packed part longer than its list */
        piece(3, RAW("\x0a\x01\x85")),                 /* half a varint */
        piece(3, RAW("\x08")),                         /* a tag and nothing else */
        piece(3, RAW("\x0d\x01\x02\x03\x04")),         /* a float among integers */
        piece(3, RAW("\x10\x05")),                     /* another number */
        piece(2, RAW("\x0a\x05\x01\x02\x03\x04\x05")), /* a float and a quarter */
        piece(2, RAW("\x0d\x01\x02\x03")),             /* less than a float */
        piece(2, RAW("\x08\x05")),                     /* an integer among floats */
        piece(1, RAW("\x0a\x05z")),                    /* a string longer than its list */
        piece(1, RAW("\x12\x01z")),
        RAW("\x22\x00"),
        RAW("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x0a"),
        piece(3, piece(1, RAW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))),
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!reads(&good[i]))
            fail_msg("good list %zu is refused", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (reads(&bad[i]))
            fail_msg("damaged list %zu is read", i);
}

/* ---- sequences ---- */

static void test_sequences(void **state)
{
    (void)state;
    struct record steps = joined(piece(1, one_int(1)), piece(1, one_int(2)));
    struct record lists = joined(entry("b", steps), entry("c", RAW("")));
    struct record r = joined(piece(1, entry("a", one_int(7))), piece(2, lists));
    struct scanned s = scan_sequence(&r);
    assert_int_equal(s.code, STK_OK);
    assert_int_equal(int_of(s.found[0]), 7);
    assert_null(s.found[1].data);
    assert_null(s.lists[0].data);
    assert_true(s.lists[2].data && !s.lists[2].bytes);
    struct stk__piece step;
    for (int i = 1; i <= 2; i++) {
        assert_true(stk__feature_list_next(&s.lists[1], &step));
        assert_int_equal(int_of(step), i);
    }
    assert_int_equal(s.lists[1].bytes, 0);
    r = joined(r, piece(2, entry("b", piece(1, one_int(9)))));
    s = scan_sequence(&r);
    assert_true(stk__feature_list_next(&s.lists[1], &step));
    assert_int_equal(int_of(step), 9);
    assert_int_equal(s.lists[1].bytes, 0);
}

/* A record cut anywhere is refused, unless what is left is a whole one. Copies on the heap, so that
 * sanitizers see every byte that is read too far. */
static void test_truncation_at_every_byte(void **state)
{
    (void)state;
    const float value[] = { 1, 2, 3 };
    struct record map = joined(joined(entry("a", one_int(-5)), entry("b", packed_floats(value, 3))),
                               entry("c", one_string("some text")));
    struct record r = piece(1, map);
    for (size_t cut = 0; cut <= r.bytes; cut++) {
        uint8_t *copy = malloc(cut ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, r.data, cut);
        const struct stk__feature_keys keys = make_keys();
        struct stk__key_order order = { 0 };
        struct stk__piece found[3];
        struct stk_error err;
        const struct stk__feature_scan scanning = { .keys = &keys,
                                                    .order = &order,
                                                    .found = found };
        int code = stk__example_scan(&scanning, (struct stk__piece){ copy, cut }, &err);
        assert_int_equal(code, cut == 0 || cut == r.bytes ? STK_OK : STK_DATA);
        free(copy);
    }
}

/* ---- what is inside ---- */

static void check_inferred(const struct record *r, int n, const char *call, const char *notes)
{
    struct stk__piece pieces[4];
    struct stk__text found = { 0 }, left_out = { 0 };
    struct stk_error err = { 0 };
    for (int i = 0; i < n; i++)
        pieces[i] = piece_of(&r[i]);
    if (stk__example_infer(pieces, n, &found, &left_out, &err))
        fail_msg("%s", err.text);
    assert_string_equal(found.data, call);
    assert_string_equal(left_out.data ? left_out.data : "", notes);
    stk__text_free(&found);
    stk__text_free(&left_out);
}

static void test_inferred_features(void **state)
{
    (void)state;
    const float value[] = { 1, 2, 3 };
    const int64_t number[] = { 1, 2, 3 };
    struct record common =
        joined(joined(entry("label", one_int(1)), entry("name", one_string("n"))),
               entry("image/x", packed_floats(value, 3)));
    struct record r[] = {
        piece(1, joined(joined(common, entry("list", packed_ints(number, 2))),
                        entry("some", one_string("a")))),
        piece(1, joined(joined(common, entry("list", packed_ints(number, 0))),
                        entry("maybe", one_int(4)))),
    };
    check_inferred(
        r, 2,
        "parse_example({'image/x': fixed([3], float32), label: int64, list: varlen(int64), "
        "maybe: varlen(int64), name: bytes, some: fixed([], bytes, default_value='')})",
        "");
}

static void test_what_cannot_be_inferred(void **state)
{
    (void)state;
    struct record two = piece(1, joined(piece(1, RAW("a")), piece(1, RAW("b"))));
    struct record r[] = {
        piece(1, joined(joined(entry("a", one_int(1)), entry("b", one_int(1))),
                        joined(entry("c", two), entry("d", RAW(""))))),
        piece(1, joined(joined(entry("a", one_int(1)), entry("b", one_string("x"))),
                        joined(entry("e", RAW("\x1a\x7f")), entry("", one_int(1))))),
    };
    check_inferred(r, 2, "parse_example({a: int64, c: varlen(bytes)})",
                   "'': its key cannot be the name of a field\n"
                   "b: its values have different types\n"
                   "d: it has no values\n"
                   "e: some of its values cannot be read\n");
    struct stk__text call = { 0 }, notes = { 0 };
    struct stk_error err;
    struct record empty = RAW(""), damaged = RAW("\x0a\x05z");
    struct stk__piece pieces[] = { piece_of(&empty), piece_of(&damaged) };
    assert_int_equal(stk__example_infer(pieces, 1, &call, &notes, &err), STK_DATA);
    assert_non_null(strstr(err.text, "no feature was found"));
    assert_int_equal(stk__example_infer(pieces, 2, &call, &notes, &err), STK_DATA);
    assert_non_null(strstr(err.text, "Could not parse example input"));
    assert_null(call.data);
}

static void test_inferred_lists_of_strings(void **state)
{
    (void)state;
    struct record two = piece(1, joined(piece(1, RAW("a")), piece(1, RAW("b"))));
    struct record none = piece(1, RAW(""));
    struct record r[] = {
        piece(1, joined(joined(entry("a", two), entry("b", two)), entry("c", none))),
        piece(1, joined(joined(entry("a", two), entry("b", one_string("x"))), entry("c", none))),
    };
    check_inferred(r, 2,
                   "parse_example({a: fixed([2], bytes), b: varlen(bytes), c: varlen(bytes)})", "");
}

static void test_inferred_sequences(void **state)
{
    (void)state;
    const float value[] = { 1, 2 };
    struct record words = joined(piece(1, one_int(1)), piece(1, one_int(2)));
    struct record vectors = piece(1, packed_floats(value, 2));
    struct record pair = piece(1, joined(piece(1, RAW("a")), piece(1, RAW("b"))));
    struct record uneven = joined(piece(1, one_int(1)), piece(1, RAW("")));
    struct record lists =
        joined(joined(joined(entry("words", words), entry("v", vectors)), entry("u", uneven)),
               joined(entry("texts", piece(1, one_string("t"))), entry("pairs", piece(1, pair))));
    struct record r[] = {
        joined(piece(1, entry("label", one_int(1))), piece(2, lists)),
        joined(piece(1, entry("label", one_int(1))), piece(2, entry("words", RAW("")))),
    };
    check_inferred(
        r, 2,
        "parse_sequence_example(context={label: int64}, sequence={texts: fixed_sequence([], bytes, "
        "allow_missing=true), u: varlen(int64), v: fixed_sequence([2], float32, "
        "allow_missing=true), words: fixed_sequence([], int64)})",
        "pairs: it holds lists of lists of strings\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted_keys_are_found_in_any_order),
        cmocka_unit_test(test_many_keys_are_told_apart),
        cmocka_unit_test(test_another_order_than_before),
        cmocka_unit_test(test_records_with_many_keys),
        cmocka_unit_test(test_the_last_feature_with_a_kind_counts),
        cmocka_unit_test(test_unknown_fields),
        cmocka_unit_test(test_damaged_entries),
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_ints),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_damaged_lists),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_truncation_at_every_byte),
        cmocka_unit_test(test_inferred_features),
        cmocka_unit_test(test_what_cannot_be_inferred),
        cmocka_unit_test(test_inferred_lists_of_strings),
        cmocka_unit_test(test_inferred_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
