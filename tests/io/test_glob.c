/* SPDX-License-Identifier: Apache-2.0 */
/* test_glob.c: the grammar of patterns, on names and on a tree of files. */
#define _GNU_SOURCE
#include "file_tree.h"

#include "io/directory.h"
#include "io/glob.h"

static void match_names(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool is_match;
    } cases[] = {
        { "", "", true },
        { "", "a", false },
        { "*", "", true },
        { "*", "abc", true },
        { "*", ".abc", false },
        { ".*", ".abc", true },
        { "?", ".", false },
        { "[.]a", ".a", false },
        { "a*", "a", true },
        { "a*c", "abcbc", true },
        { "a*c", "abcb", false },
        { "*a*b*", "xxaxxbxx", true },
        { "*a*b*", "xxbxxaxx", false },
        { "?", "a", true },
        { "?", "", false },
        { "?", "\xc3\xa4", true },
        { "?", "ab", false },
        { "??", "\xc3\xa4", false },
        { "?", "\xff", true },
        { "[a-c]", "b", true },
        { "[a-c]", "d", false },
        { "[!a-c]", "d", true },
        { "[^a-c]", "b", false },
        { "[]a]", "]", true },
        { "[!]a]", "]", false },
        { "[a-]", "-", true },
        { "[", "[", true },
        { "[a", "[a", true },
        { "[\xc3\xa0-\xc3\xbf]", "\xc3\xa4", true },
        { "[\xc3\xa4]", "\xc3\xa5", false },
        { "\\.*", ".a", true },
        { "\\*", "*", true },
        { "\\*", "a", false },
        { "[\\]]", "]", true },
        { "*.jpg", "a.jpg", true },
        { "*.jpg", "a.jpgx", false },
        { "a\\", "a\\", true },
        { "**", "abc", true },
        { "[b-a]", "a", false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (stk__glob_match(cases[i].pattern, cases[i].name) != cases[i].is_match)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

/* The paths as one text, separated by spaces. */
static const char *joined(const struct stk__paths *paths)
{
    static char text[2000];
    size_t len = 0;
    *text = 0;
    for (size_t i = 0; i < paths->n; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i ? " " : "",
                                stk__paths_at(paths, i));
    return text;
}

static void readings_of_braces(void **state)
{
    static const char *const cases[][2] = {
        { "a", "a" },
        { "{a,b}", "a b" },
        { "x{a,b}y{1,2}", "xay1 xay2 xby1 xby2" },
        { "{a,{b,c}d}", "a bd cd" },
        { "p{,q}", "p pq" },
        { "{a}", "a" },
        { "a\\{b,c}", "a\\{b,c}" },
        { "{a/b,c}/*", "a/b/* c/*" },
    };
    struct stk_error err;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stk__paths out = { 0 };
        assert_int_equal(stk__glob_braces(cases[i][0], &out, &err), STK_OK);
        assert_int_equal(stk__paths_sort(&out), STK_OK);
        assert_string_equal(joined(&out), cases[i][1]);
        stk__paths_free(&out);
    }
}

static void braces_that_go_wrong(void **state)
{
    struct stk__paths out = { 0 };
    struct stk_error err;
    char many[200] = "", *end = many;
    (void)state;
    assert_int_equal(stk__glob_braces("a{b,c", &out, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "without its }"));
    for (int i = 0; i < 15; i++)
        end = stpcpy(end, "{a,b,c}");
    assert_int_equal(stk__glob_braces(many, &out, &err), STK_VALUE);
    assert_non_null(strstr(err.text, "more than"));
    stk__paths_free(&out);
}

static void expect_glob(const char *pattern, const char *expected)
{
    struct stk__paths out = { 0 };
    struct stk_error err = { 0 };
    if (stk__glob(pattern, &out, &err))
        fail_msg("%s: %s", pattern, err.text);
    assert_int_equal(stk__paths_sort(&out), STK_OK);
    assert_string_equal(joined(&out), expected);
    stk__paths_free(&out);
}

static void walk_patterns(void **state)
{
    char text[STK__PATH_BYTES + 40], expected[STK__PATH_BYTES + 40];
    (void)state;
    expect_glob("tree/*.jpg", "tree/7.jpg tree/\xc3\xa4.jpg");
    expect_glob("tree/?.jpg", "tree/7.jpg tree/\xc3\xa4.jpg");
    expect_glob("tree/a/*", "tree/a/1.jpg tree/a/10.jpeg tree/a/2.JPG tree/a/note.txt");
    expect_glob("tree/*/*.{png,txt}",
                "tree/a/note.txt tree/b/4.png tree/b/[x].png tree/b/a,b.png tree/link/note.txt");
    expect_glob("tree/[bc]*/[0-9].*", "tree/b/4.png tree/c d/6.jpg");
    expect_glob("tree/b/.*", "tree/b/.hidden.png");
    expect_glob("tree/b/[[]x].png", "tree/b/[x].png");
    expect_glob("tree/b/[x].png", "tree/b/[x].png");
    expect_glob("tree/b/\\[*", "tree/b/[x].png");
    expect_glob("tree/b/*.jpg", "tree/b/broken.jpg");
    expect_glob("tree/.*/*", "tree/.dot/5.jpg");
    expect_glob("{flat,tree}/{x.txt,7.jpg}", "flat/x.txt tree/7.jpg");
    expect_glob("f*t//x.txt", "flat/x.txt");
    expect_glob("./flat/x*", "./flat/x.txt");
    expect_glob("flat/../flat/[x]*", "flat/../flat/x.txt");
    snprintf(text, sizeof text, "%s/flat/*", place);
    snprintf(expected, sizeof expected, "%s/flat/x.txt %s/flat/y.txt", place, place);
    expect_glob(text, expected);
}

static void walk_deep_patterns(void **state)
{
    (void)state;
    expect_glob("flat/**", "flat/x.txt flat/y.txt");
    expect_glob("**/flat/**/x.txt", "flat/x.txt");
    expect_glob("tree/b/**/**/4.png", "tree/b/4.png");
    expect_glob("tree/a/**/*.png", "tree/a/deep/er/3.png tree/a/up/b/4.png tree/a/up/b/[x].png "
                                   "tree/a/up/b/a,b.png");
    expect_glob("tree/**/6.jpg", "tree/c d/6.jpg");
}

static void expect_no_glob(const char *pattern, int code, const char *part, const char *other)
{
    struct stk__paths out = { 0 };
    struct stk_error err = { 0 };
    assert_int_equal(stk__glob(pattern, &out, &err), code);
    if (!strstr(err.text, part) || !strstr(err.text, other))
        fail_msg("%s: %s", pattern, err.text);
    stk__paths_free(&out);
}

static void patterns_that_fail(void **state)
{
    (void)state;
    expect_no_glob("tree/nosuch/*.jpg", STK_IO, "'tree/nosuch/*.jpg'", "directory is 'tree'");
    expect_no_glob("nosuch*", STK_IO, "'nosuch*'", "directory is '.'");
    expect_no_glob("/nosuch*/x", STK_IO, "'/nosuch*/x'", "directory is '/'");
    expect_no_glob("tree/empty/**", STK_IO, "no file matches", "'tree/empty', which is empty");
    expect_no_glob("flat/*.nosuch", STK_IO, "'flat', which holds 2 files", "such as 'x.txt'");
    expect_no_glob("tree/a/deep/*", STK_IO, "holds only directories", "such as 'er/'");
    expect_no_glob("flat/x.txt/*", STK_IO, "no file matches", "'flat'");
    expect_no_glob("tree/*/", STK_VALUE, "names directories", "'tree/*/*'");
    expect_no_glob("tree", STK_VALUE, "'tree' is a directory", "'tree/**'");
    expect_no_glob("", STK_VALUE, "empty", "");
}

static void directory_that_cannot_be_read(void **state)
{
    bool is_root = geteuid() == 0;
    (void)state;
    touch("locked/in/x.jpg");
    chmod("locked/in", 0);
    chmod(place, 0755);
    assert_true(!is_root || seteuid(65534) == 0);
    expect_no_glob("locked/*/*.jpg", STK_IO, "'locked/in/'", "Permission denied");
    expect_no_glob("locked/**", STK_IO, "'locked/in/'", "Permission denied");
    expect_no_glob("locked/*/x.jpg", STK_IO, "'locked/in/x.jpg'", "Permission denied");
    assert_true(!is_root || seteuid(0) == 0);
    chmod("locked/in", 0755);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(match_names),
        cmocka_unit_test(readings_of_braces),
        cmocka_unit_test(braces_that_go_wrong),
        cmocka_unit_test(walk_patterns),
        cmocka_unit_test(walk_deep_patterns),
        cmocka_unit_test(patterns_that_fail),
        cmocka_unit_test(directory_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
