/* SPDX-License-Identifier: Apache-2.0 */
/* test_lang.c: grammar and binding, and every fault with its place. */
#include "lang_fixture.h"

struct fault {
    const char *text;
    int code;
    uint32_t at, len;
    const char *message;
};

static void check_fault(const struct fault *want, int code, const struct stk_error *err)
{
    bool is_same = code == want->code && err->code == code && err->at == want->at &&
                   err->len == want->len && strstr(err->text, want->message);
    if (!is_same)
        fail_msg("%s\n wanted %d at %u+%u: %s\n got    %d at %u+%u: %s", want->text, want->code,
                 want->at, want->len, want->message, code, err->at, err->len, err->text);
}

/* ---- grammar ---- */

static void test_numbers(void **state)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        { "0", "0" },
        { "-12", "-12" },
        { "+7", "7" },
        { "0xfF", "255" },
        { "1e-3", "0.001" },
        { "1E2", "100.0" },
        { ".5", "0.5" },
        { "2.", "2.0" },
        { "1/255", "0.00392156862745098" },
        { "4/2", "2.0" },
        { "2+3*4", "14" },
        { "(2+3)*4", "20" },
        { "2-3-4", "-5" },
        { "8/2/2", "2.0" },
        { "--3", "3" },
        { "-(3)", "-3" },
        { "2*-3", "-6" },
        { "1 + 0.5", "1.5" },
        { "-0.0", "-0.0" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "-9223372036854775807 - 1", "-9223372036854775808" },
        { "9007199254740993 + 0", "9007199254740993" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(print(parse_value(cases[i].text), NULL, STK__SHORT), cases[i].printed);
    assert_int_equal(parse_value("6*7")->kind, STK__INT);
    assert_int_equal(parse_value("6/3")->kind, STK__REAL);
    assert_int_equal(parse("v = 1 + 2 # no")->len, 5);
}

static void test_strings(void **state)
{
    (void)state;
    const struct stk_value *v = parse_value("'a\\n\\t\\\\\\'\\\"\\x41\\x00b'");
    assert_int_equal(v->kind, STK__STRING);
    assert_int_equal(v->text_len, 9);
    assert_memory_equal(v->text, "a\n\t\\'\"A\0b", 10);
    assert_string_equal(print(v, NULL, STK__SHORT), "'a\\n\\t\\\\\\'\"A\\x00b'");
    assert_string_equal(parse_value("\"it's\"")->text, "it's");
    assert_string_equal(print(parse_value("'Stra\u00dfe \U0001f600'"), NULL, STK__SHORT),
                        "'Stra\u00dfe \U0001f600'");
    assert_string_equal(print(parse_value("'\xff\\xc3\xc3\xa9\xed\xa0\x80'"), NULL, STK__SHORT),
                        "'\\xff\\xc3\u00e9\\xed\\xa0\\x80'");
    assert_string_equal(parse_value("'two\nlines'")->text, "two\nlines");
}

static void test_values(void **state)
{
    (void)state;
    const struct stk_value *v = parse_value("[1, word, 'text', [], {a: 1, 'b c': {},}, @pixels,]");
    assert_int_equal(v->kind, STK__LIST);
    assert_int_equal(v->n_items, 6);
    assert_int_equal(v->item[1]->kind, STK__WORD);
    assert_int_equal(v->item[4]->key[1]->kind, STK__STRING);
    assert_int_equal(v->item[5]->kind, STK__OBJECT);
    assert_ptr_equal(v->item[5]->object.bound, stk__objects_find(objects, "pixels"));
    assert_string_equal(print(v, NULL, STK__SHORT),
                        "[1, word, 'text', [], {a: 1, 'b c': {}}, @pixels]");
}

static void test_chains(void **state)
{
    (void)state;
    const char *text = "files ( 'x' , root = y, ) # read\n  . decode@1()\n\n  .resize(1)";
    const struct stk_value *chain = parse(text);
    assert_int_equal(chain->kind, STK__CHAIN);
    assert_int_equal(chain->n_calls, 3);
    assert_int_equal(chain->len, strlen(text));
    assert_int_equal(chain->call[1].version, 1);
    assert_int_equal(chain->call[1].len, 6);
    assert_string_equal(chain->call[0].arg[1].name, "root");
    assert_int_equal(chain->call[0].arg[1].at, strstr(text, "root") - text);
    assert_int_equal(chain->call[0].arg[1].len, 4);
    assert_string_equal(print(chain, NULL, STK__SHORT), "files('x', root=y).decode@1().resize(1)");
}

static void test_recipes(void **state)
{
    (void)state;
    const struct stk_value *chain = parse("# two\nsize = 2 * 16\nbase = files('x')\n"
                                          "image = @base.decode().resize(@size, @size/2)\n"
                                          "zip(1, @image, @base, strict=false)");
    assert_string_equal(print(chain, NULL, STK__SHORT),
                        "zip(1, files('x').decode().resize(32, 16.0), files('x'), strict=false)");
    assert_string_equal(print(parse("a = files(x)\n@a"), NULL, STK__SHORT), "files(x)");
}

static void test_last_assignment_is_the_result(void **state)
{
    (void)state;
    assert_int_equal(parse("a = 1\nb = word")->kind, STK__WORD);
    assert_string_equal(print(parse("a = files(x)\nb = @a.decode()"), NULL, STK__SHORT),
                        "files(x).decode()");
    /* an assignment hides an object; a word before '@' is not a version */
    assert_int_equal(parse("pixels = 3\nb = @pixels")->integer, 3);
    assert_int_equal(parse("c = decode()\na = word\n@c.decode()")->n_calls, 2);
}

static void test_syntax_faults(void **state)
{
    static const struct fault faults[] = {
        { "", STK_SYNTAX, 0, 1,
          "expected a chain such as files('*.jpg').decode(), but the text ends" },
        { "  # only this", STK_SYNTAX, 0, 1, "the text ends" },
        { "files", STK_SYNTAX, 0, 5, "put () behind a name" },
        { "3", STK_SYNTAX, 0, 1, "expected a chain" },
        { "files('x'", STK_SYNTAX, 9, 1, "expected ',' or ')', but the text ends" },
        { "files('x'  \n", STK_SYNTAX, 9, 1, "the text ends" },
        { "files('x' 'y')", STK_SYNTAX, 10, 3, "expected ',' or ')', found a string" },
        { "files(,)", STK_SYNTAX, 6, 1, "expected a value, found ','" },
        { "files().", STK_SYNTAX, 8, 1, "the name of a call after '.'" },
        { "files().decode", STK_SYNTAX, 14, 1, "'(' after the name" },
        { "files() decode()", STK_SYNTAX, 8, 6, "'.' or the end of the chain, found 'decode'" },
        { "files(a=)", STK_SYNTAX, 8, 1, "expected a value" },
        { "files([1 2])", STK_SYNTAX, 9, 1, "',' or ']'" },
        { "files({1: 2})", STK_SYNTAX, 7, 1, "expected a key" },
        { "files({a 2})", STK_SYNTAX, 9, 1, "':' after the key" },
        { "files({a: 1, 'a': 2})", STK_NAME, 13, 3, "twice" },
        { "files('x)", STK_SYNTAX, 6, 1, "no closing '" },
        { "files(\"x\\\")", STK_SYNTAX, 6, 1, "no closing \"" },
        { "files('a\\qb')", STK_SYNTAX, 8, 2, "unknown escape" },
        { "files('\\x4')", STK_SYNTAX, 7, 2, "unknown escape" },
        { "files($)", STK_SYNTAX, 6, 1, "'$' has no meaning here" },
        { "files(\u00e9)", STK_SYNTAX, 6, 2, "'\u00e9' has no meaning here" },
        { "files(\x80)", STK_SYNTAX, 6, 1, "the byte 0x80" },
        { "files(\x01)", STK_SYNTAX, 6, 1, "the byte 0x01" },
        { "files(12ab)", STK_SYNTAX, 6, 4, "'12ab' is not a number" },
        { "files(0x)", STK_SYNTAX, 6, 2, "'0x' is not a number" },
        { "files(1.2.3)", STK_SYNTAX, 6, 5, "'1.2.3' is not a number" },
        { "files(9223372036854775808)", STK_VALUE, 6, 19, "does not fit in 64 bits" },
        { "files(18446744073709551616)", STK_VALUE, 6, 20, "too large" },
        { "files(9223372036854775807 + 1)", STK_VALUE, 6, 23, "does not fit in 64 bits" },
        { "files(-(-9223372036854775808))", STK_VALUE, 6, 23, "does not fit in 64 bits" },
        { "files(1e999)", STK_VALUE, 6, 5, "too large" },
        { "files(1e300*1e300)", STK_VALUE, 6, 11, "too large" },
        { "files(1 / (2 - 2))", STK_VALUE, 6, 11, "divides by zero" },
        { "files(1 + word)", STK_SYNTAX, 10, 4, "expected a number" },
        { "files((1)", STK_SYNTAX, 9, 1, "expected ',' or ')'" },
        { "files((1", STK_SYNTAX, 8, 1, "an operator or ')'" },
        { "files(@)", STK_SYNTAX, 6, 1, "expected a name or a version" },
        { "files@0()", STK_SYNTAX, 5, 1, "version number from 1 on" },
        { "files@1", STK_SYNTAX, 7, 1, "'(' after the name" },
        { "files(@pixel)", STK_NAME, 6, 6, "nothing is named @pixel here; did you mean @pixels?" },
        { "base = files(x)\n@bsae", STK_NAME, 16, 5, "did you mean @base?" },
        { "files(@nowhere)", STK_NAME, 6, 8, "nothing is named @nowhere here" },
        { "files(@pixels.decode())", STK_TYPE, 6, 7, "is not a chain" },
        { "@pixels", STK_SYNTAX, 0, 7, "not a chain" },
        { "files(1 + @pixels)", STK_TYPE, 10, 7, "@pixels is not a number" },
        { "a = 1\na = 2", STK_NAME, 6, 1, "a is assigned twice" },
        { "a = 1\n2", STK_SYNTAX, 6, 1, "expected a chain" },
        { "a = decode()\n[1]", STK_SYNTAX, 13, 1, "expected a chain" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct stk_error err = { 0 };
        const struct stk_value *value = (const struct stk_value *)&arena;
        int code = stk__parse(faults[i].text, objects, &arena, &value, &err);
        check_fault(&faults[i], code, &err);
        assert_null(value);
        assert_int_equal(stk__parse(faults[i].text, objects, &arena, &value, NULL), code);
    }
}

static char *repeated(const char *open, const char *middle, const char *close, int n)
{
    struct stk__text text = { 0 };
    for (int i = 0; i < n; i++)
        stk__text_add(&text, "%s", open);
    stk__text_add(&text, "%s", middle);
    for (int i = 0; i < n; i++)
        stk__text_add(&text, "%s", close);
    return stk__text_take(&text);
}

static int parse_code(const char *text)
{
    const struct stk_value *value;
    struct stk_error err = { 0 };
    return stk__parse(text, objects, &arena, &value, &err);
}

static void check_depth(const char *open, const char *middle, const char *close, int deepest)
{
    char *fits = repeated(open, middle, close, deepest);
    char *too_deep = repeated(open, middle, close, deepest + 1);
    char *absurd = repeated(open, middle, close, 100000);
    assert_int_equal(parse_code(fits), STK_OK);
    assert_int_equal(parse_code(too_deep), STK_SYNTAX);
    assert_int_equal(parse_code(absurd), STK_SYNTAX);
    free(fits);
    free(too_deep);
    free(absurd);
}

static void test_limits(void **state)
{
    (void)state;
    check_depth("zip(", "", ")", 64);
    check_depth("zip([", "", "])", 64);
    char *nested = repeated("[", "", "]", 65), *brackets = repeated("(", "1", ")", 65);
    assert_int_equal(parse_code(stk__arena_printf(&arena, "v = %s", nested)), STK_SYNTAX);
    assert_int_equal(parse_code(stk__arena_printf(&arena, "v = %s", brackets)), STK_SYNTAX);
    char *calls = repeated("decode().", "decode()", "", 1023);
    assert_int_equal(parse_code(calls), STK_OK);
    assert_int_equal(parse_code(stk__arena_printf(&arena, "%s.decode()", calls)), STK_SYNTAX);
    char *signs = repeated("-", "1", "", 100000);
    assert_int_equal(parse_code(stk__arena_printf(&arena, "v = %s", signs)), STK_OK);
    char *large = repeated(" ", "decode()", "", 1 << 20);
    assert_int_equal(parse_code(large), STK_SYNTAX);
    assert_int_equal(parse_code(large + 8), STK_OK);
    free(nested);
    free(brackets);
    free(calls);
    free(signs);
    free(large);
}

/* Names that double or nest each other stay within the limits of a text without names. */
static void test_names_cannot_explode(void **state)
{
    struct stk__text doubling = { 0 }, nesting = { 0 };
    struct stk_error err = { 0 };
    const struct stk_value *value;
    (void)state;
    stk__text_add(&doubling, "a0 = [1]\n");
    stk__text_add(&nesting, "a0 = [1]\n");
    for (int i = 1; i < 64; i++) {
        stk__text_add(&doubling, "a%d = [@a%d, @a%d]\n", i, i - 1, i - 1);
        stk__text_add(&nesting, "a%d = [@a%d]\n", i, i - 1);
    }
    assert_int_equal(stk__parse(doubling.data, NULL, &arena, &value, &err), STK_SYNTAX);
    assert_non_null(strstr(err.text, "written out"));
    assert_int_equal(stk__parse(nesting.data, NULL, &arena, &value, &err), STK_OK);
    stk__text_add(&nesting, "b = [@a63]\n");
    assert_int_equal(stk__parse(nesting.data, NULL, &arena, &value, &err), STK_SYNTAX);
    assert_non_null(strstr(err.text, "64 deep"));
    stk__text_free(&doubling);
    stk__text_free(&nesting);
}

/* ---- binding ---- */

static void test_bind_scalars(void **state)
{
    struct lang_resize p;
    (void)state;
    bind_ok("resize(5)", &p);
    assert_int_equal(p.height, 5);
    assert_int_equal(p.width, 64);
    assert_int_equal(p.method, 1);
    assert_false(p.antialias);
    assert_true(p.scale == 1);
    assert_true(isnan(p.gamma));
    assert_true(p.seed == STK_NONE && p.depth == STK_AUTO);
    assert_null(p.field);
    bind_ok("resize@3(1, 65535, area, true, 2, gamma=-1, field=image, depth=auto, seed=-9)", &p);
    assert_int_equal(p.width, 65535);
    assert_int_equal(p.method, 2);
    assert_true(p.antialias);
    assert_true(p.scale == 2 && p.gamma == -1);
    assert_true(p.seed == -9 && p.depth == STK_AUTO);
    assert_string_equal(p.field, "image");
    bind_ok("resize(height=1, method='3x3', gamma=none, seed=none, field='none', depth=3)", &p);
    assert_int_equal(p.method, 3);
    assert_true(isnan(p.gamma) && p.seed == STK_NONE && p.depth == 3);
    assert_string_equal(p.field, "none");
    bind_ok("resize(1, field=none)", &p);
    assert_null(p.field);
}

static void test_bind_lists(void **state)
{
    struct lang_files p;
    (void)state;
    bind_ok("files(x)", &p);
    assert_int_equal(p.pattern.n, 1);
    assert_string_equal(p.pattern.item[0], "x");
    assert_int_equal(p.mean.n, 0);
    assert_int_equal(p.mean.choice, -1);
    assert_null(p.data);
    assert_string_equal(p.root, ".");
    bind_ok("files('a', b, 'c', mean=[1, 2.5, -1/2], names={a: 'b', 'c d': e}, data=none)", &p);
    assert_int_equal(p.pattern.n, 3);
    assert_string_equal(p.pattern.item[2], "c");
    assert_int_equal(p.mean.n, 3);
    assert_true(p.mean.item[0] == 1 && p.mean.item[1] == 2.5 && p.mean.item[2] == -0.5);
    assert_int_equal(p.names.n, 2);
    assert_string_equal(p.names.name[1], "c d");
    assert_string_equal(p.names.value[1], "e");
    assert_null(p.data);
    bind_ok("files(pattern=['a', 'b'], mean=imagenet, data={a: [1]}, sizes=[3, 4])", &p);
    assert_int_equal(p.pattern.n, 2);
    assert_int_equal(p.mean.choice, 0);
    assert_int_equal(p.mean.n, 0);
    assert_int_equal(p.data->kind, STK__MAP);
    assert_int_equal(p.sizes.n, 2);
    bind_ok("files(['a', 'b'], mean=0.5)", &p);
    assert_int_equal(p.pattern.n, 2);
    assert_true(p.mean.n == 1 && p.mean.item[0] == 0.5 && p.mean.choice == -1);
}

static void test_bind_chains(void **state)
{
    struct lang_zip p;
    struct lang_values v;
    (void)state;
    bind_ok("zip()", &p);
    assert_int_equal(p.inputs.n, 0);
    bind_ok("zip(2, decode(), files(x).decode(), strict=false)", &p);
    assert_int_equal(p.inputs.n, 2);
    assert_int_equal(p.inputs.item[1]->n_calls, 2);
    assert_false(p.strict);
    bind_ok("zip(inputs=[decode()])", &p);
    assert_int_equal(p.inputs.n, 1);
    bind_ok("values(@pixels, 1, 2, 3)", &v);
    assert_int_equal(v.data->kind, STK__OBJECT);
    assert_int_equal(v.fractions.n, 3);
    bind_ok("values(none)", &v);
    assert_int_equal(v.data->kind, STK__WORD);
}

static void test_bind_faults(void **state)
{
    static const struct fault faults[] = {
        { "resize(0)", STK_VALUE, 7, 1, "resize: height=0 is outside [1, 65535]" },
        { "resize(1, 70000)", STK_VALUE, 10, 5, "resize: width=70000 is outside [1, 65535]" },
        { "resize(1, scale=-1)", STK_VALUE, 16, 2, "resize: scale=-1 is below 0.0" },
        { "resize(1, gamma=1.5)", STK_VALUE, 16, 3, "resize: gamma=1.5 is outside [-1.0, 1.0]" },
        { "resize(1, seed=-9223372036854775808)", STK_VALUE, 15, 20, "below -9223372036854775806" },
        { "zip(-6)", STK_VALUE, 4, 2, "zip: count=-6 is below -5" },
        { "resize()", STK_VALUE, 0, 6, "resize needs height: output height" },
        { "resize(2.0)", STK_TYPE, 7, 3, "resize: height takes an integer, not 2.0" },
        { "resize('a')", STK_TYPE, 7, 3, "resize: height takes an integer, not 'a'" },
        { "resize(none)", STK_TYPE, 7, 4, "resize: height takes an integer, not none" },
        { "resize(1, seed=auto)", STK_TYPE, 15, 4, "seed takes an integer or none, not auto" },
        { "resize(1, depth=none)", STK_TYPE, 16, 4, "depth takes an integer or auto, not none" },
        { "resize(1, scale=none)", STK_TYPE, 16, 4, "scale takes a number, not none" },
        { "resize(1, antialias=1)", STK_TYPE, 20, 1, "antialias takes true or false, not 1" },
        { "resize(1, field=auto)", STK_TYPE, 16, 4, "field takes a string or none, not auto" },
        { "resize(1, field=3)", STK_TYPE, 16, 1, "field takes a string or none, not 3" },
        { "resize(1, field='a\\x00')", STK_VALUE, 16, 7, "may not contain a NUL byte" },
        { "resize(1, 1, bilinera)", STK_VALUE, 13, 8,
          "method takes nearest, bilinear, area or 3x3, not bilinera; did you mean bilinear?" },
        { "resize(1, method=7)", STK_TYPE, 17, 1, "area or 3x3, not 7" },
        { "resize(1, method='area\\x00')", STK_VALUE, 17, 10, "not 'area\\x00'" },
        { "resize(1, heigth=2)", STK_NAME, 10, 6,
          "resize has no parameter heigth; did you mean height?" },
        { "zip(colour=2)", STK_NAME, 4, 6, "it takes count, inputs, strict" },
        { "decode(a=2)", STK_NAME, 7, 1, "decode has no parameter a; it takes none" },
        { "decode(2)", STK_VALUE, 7, 1, "decode takes 0 arguments, but more are given" },
        { "resize(1, 2, area, true, 1, 1, 1, 1, a, b)", STK_VALUE, 40, 1, "at most 9 arguments" },
        { "resize(height=1, 2)", STK_SYNTAX, 17, 1, "resize: an argument without a name follows" },
        { "resize(1, height=2)", STK_VALUE, 10, 6, "resize: height is given twice" },
        { "resize(height=1, height=2)", STK_VALUE, 17, 6, "resize: height is given twice" },
        { "files('a', pattern='b')", STK_VALUE, 11, 7, "files: pattern is given twice" },
        { "files()", STK_VALUE, 0, 5, "files needs pattern: patterns" },
        { "files([])", STK_VALUE, 6, 2, "files: pattern takes at least 1 items, but 0 are given" },
        { "files(a, b, c, d, e)", STK_VALUE, 6, 13, "takes at most 4 items, but 5 are given" },
        { "files(a, 3)", STK_TYPE, 9, 1, "pattern takes strings, not 3" },
        { "files(a, [b])", STK_TYPE, 9, 3, "pattern takes strings, not [b]" },
        { "files(['a\\x00'])", STK_VALUE, 7, 7, "NUL" },
        { "files(a, mean=imagnet)", STK_TYPE, 14, 7, "did you mean imagenet?" },
        { "files(a, mean=['x'])", STK_TYPE, 15, 3,
          "mean takes numbers, imagenet, none_at_all or none, not 'x'" },
        { "files(a, sizes=1)", STK_VALUE, 15, 1, "sizes takes 2 items, but 1 are given" },
        { "files(a, names=[b])", STK_TYPE, 15, 3, "names takes a map from names to names" },
        { "files(a, names={b: 1})", STK_TYPE, 19, 1, "names takes a map" },
        { "zip(1, 2)", STK_TYPE, 7, 1, "inputs takes chains or none, not 2" },
        { "zip(1, decode(), [decode()])", STK_TYPE, 17, 10, "not [decode()]" },
        { "resize@2(1)", STK_VALUE, 0, 6, "resize@2 is not available; this build has resize@3" },
        { "files(x).resiez(1)", STK_NAME, 9, 6,
          "there is no pipeline call named resiez; did you mean resize?" },
        { "transmogrify()", STK_NAME, 0, 12, "there is no pipeline call named transmogrify" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        unsigned char params[512];
        struct stk_error err = { 0 };
        check_fault(&faults[i], bind(faults[i].text, params, &err), &err);
        assert_int_equal(bind(faults[i].text, params, NULL), faults[i].code);
    }
}

static void test_long_values_are_cut_in_messages(void **state)
{
    struct lang_resize p;
    struct stk_error err = { 0 };
    char *text = repeated("\u00e9", "')", "", 1000);
    (void)state;
    assert_int_equal(bind(stk__arena_printf(&arena, "resize('%s", text), &p, &err), STK_TYPE);
    assert_true(strlen(err.text) < 120);
    assert_non_null(strstr(err.text, "\u00e9\u2026"));
    free(text);
}

static void test_nearest(void **state)
{
    static const char *const names[] = { "batch", "shuffle", "take", "normalize", NULL };
    (void)state;
    assert_string_equal(stk__nearest_name("btach", names), "batch");
    assert_string_equal(stk__nearest_name("SHUFFLE", names), "shuffle");
    assert_string_equal(stk__nearest_name("normalise", names), "normalize");
    assert_string_equal(stk__nearest_name("tak", names), "take");
    assert_null(stk__nearest_name("x", names));
    assert_null(stk__nearest_name("", names));
    assert_null(stk__nearest_name("prefetch", names));
    char *long_name = repeated("batch", "", "", 1000);
    assert_null(stk__nearest_name(long_name, names));
    free(long_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LANG_TEST(test_numbers),
        LANG_TEST(test_strings),
        LANG_TEST(test_values),
        LANG_TEST(test_chains),
        LANG_TEST(test_recipes),
        LANG_TEST(test_last_assignment_is_the_result),
        LANG_TEST(test_syntax_faults),
        LANG_TEST(test_limits),
        LANG_TEST(test_names_cannot_explode),
        LANG_TEST(test_bind_scalars),
        LANG_TEST(test_bind_lists),
        LANG_TEST(test_bind_chains),
        LANG_TEST(test_bind_faults),
        LANG_TEST(test_long_values_are_cut_in_messages),
        LANG_TEST(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
