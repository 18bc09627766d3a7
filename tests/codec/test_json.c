/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c: what is JSON and what is not, paths, strings and numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/text/json.h"

enum { MOST = 8 };

struct reading {
    struct stk_arena arena;
    struct stk__json_tree tree;
    struct stk__json_piece found[MOST];
    struct stk__json_fault fault;
    bool is_good;
    uint8_t *text; /* ends where its memory does, so that reading on is noticed */
};

static void begin(struct reading *r, int n, const char *const *paths)
{
    struct stk_error err;
    *r = (struct reading){ .tree.root.want = -1 };
    stk__arena_init(&r->arena, 1 << 12);
    for (int i = 0; i < n; i++)
        assert_int_equal(stk__json_tree_add(&r->tree, paths[i], &r->arena, &err), i);
}

static void scan(struct reading *r, const char *text, size_t bytes)
{
    free(r->text);
    r->text = malloc(bytes ? bytes : 1);
    assert_non_null(r->text);
    memcpy(r->text, text, bytes);
    r->is_good =
        stk__json_scan(&r->tree, (struct stk__json_piece){ r->text, bytes }, r->found, &r->fault);
}

static void end(struct reading *r)
{
    free(r->text);
    stk__arena_free(&r->arena);
}

static void assert_piece(struct stk__json_piece piece, const char *expected)
{
    if (!expected) {
        assert_null(piece.data);
        return;
    }
    assert_non_null(piece.data);
    assert_int_equal(piece.bytes, strlen(expected));
    assert_memory_equal(piece.data, expected, piece.bytes);
}

/* ---- texts ---- */

static void good_texts(void **state)
{
    static const char *const texts[] = {
        "1",
        "-0",
        "0.5",
        "-1.25e+10",
        "1E-3",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        " [ ] ",
        "\t{\r}\n",
        "NaN",
        "-Infinity",
        "Infinity",
        "[1,[2,[3]]]",
        "[{},[],\"\"]",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"a/b\\/\"",
        "\"\x7f\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"",
        "{\"a\":1,\"a\":2}",
        "[1 , 2]",
        "{\"\":{\"\":[]}}",
        "0e0",
        "123456789012345678901234567890",
    };
    struct reading r;
    (void)state;
    for (int wanted = 0; wanted < 2; wanted++) {
        begin(&r, wanted, (const char *const[]){ "$" });
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            scan(&r, texts[i], strlen(texts[i]));
            if (!r.is_good)
                fail_msg("'%s' is JSON, but at %zu: %s", texts[i], r.fault.at, r.fault.what);
        }
        end(&r);
    }
}

static void bad_texts(void **state)
{
    static const struct {
        const char *text;
        size_t at;
        const char *what;
    } cases[] = {
        { "", 0, "ends too early" },
        { "   ", 3, "ends too early" },
        { "tru", 0, "a value" },
        { "True", 0, "a value" },
        { "nul", 0, "a value" },
        { "01", 1, "follows the value" },
        { "-", 1, "ends too early" },
        { "+1", 0, "a value" },
        { ".5", 0, "a value" },
        { "1.", 2, "ends too early" },
        { "1.e5", 2, "a digit" },
        { "1e", 2, "ends too early" },
        { "1ex", 2, "a digit" },
        { "-Inf", 1, "a value" },
        { "nan", 0, "a value" },
        { "'a'", 0, "a value" },
        { "[1", 2, "ends too early" },
        { "[1,]", 3, "a value" },
        { "[1 2]", 3, "',' or ']'" },
        { "[,1]", 1, "a value" },
        { "{\"a\":1,}", 7, "a string" },
        { "{\"a\" 1}", 5, "':'" },
        { "{\"a\":}", 5, "a value" },
        { "{a:1}", 1, "a string" },
        { "{\"a\":1]", 6, "',' or '}'" },
        { "[}", 1, "a value" },
        { "1 2", 2, "follows the value" },
        { "{}}", 2, "follows the value" },
        { "\"abc", 4, "ends within a string" },
        { "\"a\nb\"", 2, "control character" },
        { "\"\\x\"", 1, "no escape" },
        { "\"\\u12g4\"", 1, "no escape" },
        { "\"\\u12@4\"", 1, "no escape" },
        { "\"\\u123", 1, "no escape" },
        { "\"abcdefgh\\", 9, "no escape" },
        { "\"\x80\"", 1, "UTF-8" },
        { "\"\xc3\"", 1, "UTF-8" },
        { "\"\xc0\x80\"", 1, "UTF-8" },
        { "\"\xe0\x80\x80\"", 1, "UTF-8" },
        { "\"\xed\xa0\x80\"", 1, "UTF-8" },
        { "\"\xf4\x90\x80\x80\"", 1, "UTF-8" },
        { "\"abcdefg\xff\"", 8, "UTF-8" },
        { "[1]\xef\xbb\xbf", 3, "follows" },
    };
    struct reading r;
    (void)state;
    for (int wanted = 0; wanted < 3; wanted++) {
        begin(&r, wanted, (const char *const[]){ "[9].a", "b[0]" });
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            scan(&r, cases[i].text, strlen(cases[i].text));
            if (r.is_good || r.fault.at != cases[i].at || !strstr(r.fault.what, cases[i].what))
                fail_msg("'%s': at %zu, %s", cases[i].text, r.fault.at,
                         r.is_good ? "it was taken" : r.fault.what);
        }
        end(&r);
    }
}

static const char document[] = "{\"user\": {\"name\": \"A\\u00e9\", \"id\": 7, \"x\": [1, {\"y\": "
                               "-2.5e3}]}, \"tags\": [\"p\", \"q\"], \"k.ey\": true, \"n\": null}";

/* Every text that is cut is bad, whatever is wanted of it. */
static void truncated_texts(void **state)
{
    static const char *const paths[] = { "user.x[1].y", "tags", "$['k.ey']", "n", "user" };
    struct reading r;
    (void)state;
    for (int n = 0; n <= 5; n++) {
        begin(&r, n, paths);
        for (size_t cut = 0; cut < sizeof document - 1; cut++) {
            scan(&r, document, cut);
            assert_false(r.is_good);
            assert_true(r.fault.at <= cut);
        }
        scan(&r, document, sizeof document - 1);
        assert_true(r.is_good);
        end(&r);
    }
}

static void deep_texts(void **state)
{
    static char text[4 * STK__JSON_MAX_DEPTH];
    static const char *const paths[] = { "[0][0][0]" };
    struct reading r;
    (void)state;
    for (int n = 0; n < 2; n++) {
        begin(&r, n, paths);
        for (int depth = STK__JSON_MAX_DEPTH - 1; depth <= STK__JSON_MAX_DEPTH + 1; depth++) {
            memset(text, '[', (size_t)depth);
            memset(text + depth, ']', (size_t)depth);
            scan(&r, text, 2 * (size_t)depth);
            assert_int_equal(r.is_good, depth <= STK__JSON_MAX_DEPTH);
            if (!r.is_good)
                assert_non_null(strstr(r.fault.what, "too deeply"));
        }
        end(&r);
    }
}

/* ---- paths ---- */

static void values_by_path(void **state)
{
    static const char *const paths[] = { "user.name", "user.x[1].y",  "tags[1]", "$['k.ey']",
                                         "n",         "user.x[0].no", "tags",    "nothing" };
    struct reading r;
    (void)state;
    begin(&r, 8, paths);
    scan(&r, document, sizeof document - 1);
    assert_true(r.is_good);
    assert_piece(r.found[0], "\"A\\u00e9\"");
    assert_piece(r.found[1], "-2.5e3");
    assert_piece(r.found[2], "\"q\"");
    assert_piece(r.found[3], "true");
    assert_piece(r.found[4], "null");
    assert_piece(r.found[5], NULL);
    assert_piece(r.found[6], "[\"p\", \"q\"]");
    assert_piece(r.found[7], NULL);
    end(&r);
}

/* A member that comes again replaces the first one with all that was in it. */
static void last_key_wins(void **state)
{
    static const char *const paths[] = { "a", "a.b", "a.c[0]" };
    static const char text[] = "{\"a\": {\"b\": 1, \"c\": [2]}, \"\\u0061\": {\"c\": [3], \"c\": "
                               "[4, 5]}}";
    struct reading r;
    (void)state;
    begin(&r, 3, paths);
    scan(&r, text, sizeof text - 1);
    assert_true(r.is_good);
    assert_piece(r.found[0], "{\"c\": [3], \"c\": [4, 5]}");
    assert_piece(r.found[1], NULL);
    assert_piece(r.found[2], "4");
    scan(&r, "{\"a\": {\"b\": 1}, \"a\": 2}", 23);
    assert_piece(r.found[0], "2");
    assert_piece(r.found[1], NULL);
    end(&r);
}

static void keys_with_escapes(void **state)
{
    static const char *const paths[] = { "\xc3\xa4", "['a\\b']", "\xf0\x9f\x98\x80", "[\"it's\"]" };
    static const char text[] =
        "{\"\\u00e4\": 1, \"a\\\\b\": 2, \"\\ud83d\\ude00\": 3, \"it's\": 4, "
        "\"\\ud83d\": 5}";
    struct reading r;
    (void)state;
    begin(&r, 4, paths);
    scan(&r, text, sizeof text - 1);
    assert_true(r.is_good);
    for (int i = 0; i < 4; i++)
        assert_piece(r.found[i], (const char *const[]){ "1", "2", "3", "4" }[i]);
    end(&r);
}

static void bad_paths(void **state)
{
    static const char *const paths[] = { "",     "a.",    ".a",  "a..b",  "a[",
                                         "a[x]", "a[-1]", "a[1", "['a'",  "['a]",
                                         "a]",   "$.",    "a[]", "$[0]x", "a[99999999999999]",
                                         "it's" };
    struct stk_arena arena;
    (void)state;
    stk__arena_init(&arena, 1 << 12);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct stk__json_tree tree = { .root.want = -1 };
        struct stk_error err = { 0 };
        if (stk__json_tree_add(&tree, paths[i], &arena, &err) >= 0)
            fail_msg("the path '%s' was taken", paths[i]);
        assert_int_equal(err.code, STK_VALUE);
        assert_non_null(strstr(err.text, "is not understood at character"));
    }
    char deep[2 * STK__JSON_MAX_PARTS + 2];
    struct stk__json_tree tree = { .root.want = -1 };
    struct stk_error err = { 0 };
    for (int i = 0; i <= STK__JSON_MAX_PARTS; i++)
        memcpy(deep + 2 * i, "a.", 2);
    deep[2 * STK__JSON_MAX_PARTS + 1] = 0;
    assert_int_equal(stk__json_tree_add(&tree, deep, &arena, &err), -1);
    deep[2 * STK__JSON_MAX_PARTS - 1] = 0;
    assert_int_equal(stk__json_tree_add(&tree, deep, &arena, &err), 0);
    assert_int_equal(stk__json_tree_add(&tree, deep, &arena, &err), 0);
    stk__arena_free(&arena);
}

/* ---- values ---- */

static void strings(void **state)
{
    static const struct {
        const char *text;
        const char *content;
        size_t bytes;
    } cases[] = {
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
        { "\"a\\u0000b\"", "a\0b", 3 },
        { "\"\\u0041\\u00E9\\u20ac\\uD83D\\uDE00z\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z",
          11 },
        { "\"\\uffff\"", "\xef\xbf\xbf", 3 },
        { "\"\\\\u0041\"", "\\u0041", 6 },
    };
    static const struct {
        const char *text;
        size_t at;
    } halves[] = { { "\"\\ud800\"", 1 },
                   { "\"a\\udc00\"", 2 },
                   { "\"\\ud800\\u0041\"", 1 },
                   { "\"\\ud800\\ud800\"", 1 },
                   { "\"\\ud800x\\udc00\"", 1 } };
    uint8_t out[64];
    size_t bytes;
    struct stk__json_fault fault;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__json_piece string = { (const uint8_t *)cases[i].text, strlen(cases[i].text) };
        assert_null(stk__json_plain(string).data);
        assert_true(stk__json_unescape(string, out, &bytes, &fault));
        assert_int_equal(bytes, cases[i].bytes);
        assert_memory_equal(out, cases[i].content, bytes);
    }
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        struct stk__json_piece string = { (const uint8_t *)halves[i].text, strlen(halves[i].text) };
        assert_false(stk__json_unescape(string, out, &bytes, &fault));
        assert_int_equal(fault.at, halves[i].at);
    }
}

static struct stk__json_piece piece_of(const char *text)
{
    return (struct stk__json_piece){ (const uint8_t *)text, strlen(text) };
}

static void numbers(void **state)
{
    static const char *const no_ints[] = { "1.0", "1e3", "9223372036854775808",
                                           "-9223372036854775809", "NaN" };
    int64_t whole;
    double real;
    float single;
    (void)state;
#define END(text) ((const uint8_t *)(text) + strlen(text))
    assert_true(
        stk__json_i64(piece_of("-9223372036854775808"), END("-9223372036854775808"), &whole));
    assert_true(whole == INT64_MIN);
    for (size_t i = 0; i < sizeof no_ints / sizeof *no_ints; i++)
        assert_false(stk__json_i64(piece_of(no_ints[i]), END(no_ints[i]), &whole));
    assert_true(stk__json_f64(piece_of("1e999"), END("1e999"), &real));
    assert_true(real > 1e308);
    assert_true(stk__json_f64(piece_of("-Infinity"), END("-Infinity"), &real));
    assert_true(real < -1e308);
    assert_true(stk__json_f64(piece_of("NaN"), END("NaN"), &real));
    assert_true(real != real);
    assert_true(stk__json_f32(piece_of("0.1"), END("0.1"), &single));
    assert_true(single == 0.1f);
}

static void items_of_lists(void **state)
{
    static const char *const items[] = { "1", "[2, 3]", "{\"a\": []}", "\"]\"" };
    struct stk__json_piece rest = piece_of("[ 1 , [2, 3],{\"a\": []} ,\"]\" ]"), item;
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(stk__json_next(&rest, &item));
        assert_piece(item, items[i]);
    }
    assert_false(stk__json_next(&rest, &item));
    rest = piece_of("[ ]");
    assert_false(stk__json_next(&rest, &item));
}

static void members_of_objects(void **state)
{
    static const char *const keys[] = { "\"a\"", "\"}\\\"\"", "\"\"" };
    static const char *const values[] = { "{\"b\": [1, {}]}", "2", "\"}\"" };
    struct stk__json_piece rest =
        piece_of("{ \"a\" : {\"b\": [1, {}]} ,\"}\\\"\":2, \"\":\t\"}\" }");
    struct stk__json_piece key, value;
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(stk__json_member(&rest, &key, &value));
        assert_piece(key, keys[i]);
        assert_piece(value, values[i]);
    }
    assert_false(stk__json_member(&rest, &key, &value));
    rest = piece_of("{ }");
    assert_false(stk__json_member(&rest, &key, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts),        cmocka_unit_test(bad_texts),
        cmocka_unit_test(truncated_texts),   cmocka_unit_test(deep_texts),
        cmocka_unit_test(values_by_path),    cmocka_unit_test(last_key_wins),
        cmocka_unit_test(keys_with_escapes), cmocka_unit_test(bad_paths),
        cmocka_unit_test(strings),           cmocka_unit_test(numbers),
        cmocka_unit_test(items_of_lists),    cmocka_unit_test(members_of_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
