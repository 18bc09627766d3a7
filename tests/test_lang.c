/* SPDX-License-Identifier: Apache-2.0 */
/* test_lang.c: grammar, binding, printing, and that print and parse undo each other. */
#include "base/hash.h"
#include "lang/lexer.h"
#include "lang/objects.h"
#include "lang_decls.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- allocations that fail: the linker sends the library's calls here ---- */

static int64_t allowed_allocations = INT64_MAX;

static bool may_allocate(void)
{
    return allowed_allocations-- > 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return may_allocate() ? __real_malloc(bytes) : NULL;
}
void *__wrap_calloc(size_t n, size_t bytes)
{
    return may_allocate() ? __real_calloc(n, bytes) : NULL;
}
void *__wrap_realloc(void *old, size_t bytes)
{
    return may_allocate() ? __real_realloc(old, bytes) : NULL;
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return may_allocate() ? __real_aligned_alloc(alignment, bytes) : NULL;
}

/* ---- helpers ---- */

static struct stk_arena arena;
static struct stk_objects *objects;

static int set_up(void **state)
{
    static const float data[6];
    const struct stk_array array = { .data = data, .dtype = STK_F32, .rank = 2, .shape = { 2, 3 } };
    (void)state;
    stk__arena_init(&arena, 4096);
    objects = stk_objects_new();
    return stk_objects_add_array(objects, "pixels", &array, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    stk_objects_free(objects);
    stk__arena_free(&arena);
    return 0;
}

static const struct stk_value *parse(const char *text)
{
    const struct stk_value *value = NULL;
    struct stk_error err = { 0 };
    if (stk__parse(text, objects, &arena, &value, &err))
        fail_msg("%s: %s", text, err.text);
    return value;
}

/* A value that may be anything, through an assignment. */
static const struct stk_value *parse_value(const char *text)
{
    return parse(stk__arena_printf(&arena, "v = %s", text));
}

static const char *print(const struct stk_value *value, const struct stk__namespace *ns,
                         enum stk__print_form form)
{
    struct stk__text out = { 0 };
    struct stk_error err = { 0 };
    if (stk__print_value(value, ns, form, &out, &err))
        fail_msg("%s", err.text);
    char *copy = stk_arena_text(&arena, out.data ? out.data : "");
    stk__text_free(&out);
    return copy;
}

/* Binds the last call of a chain. */
static int bind(const char *text, void *params, struct stk_error *err)
{
    const struct stk_value *chain = parse(text);
    const struct stk__call *call = &chain->call[chain->n_calls - 1];
    const struct stk_decl *decl = stk__namespace_find(&lang_namespace, call->name);
    return decl ? stk__bind(call, decl, &arena, params, err)
                : stk__unknown_call(&lang_namespace, call, err);
}

static void bind_ok(const char *text, void *params)
{
    struct stk_error err = { 0 };
    if (bind(text, params, &err))
        fail_msg("%s: %s", text, err.text);
}

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
        { "1E2", "1e+02" },
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
    assert_ptr_equal(v->item[5]->object.array, stk__objects_find(objects, "pixels"));
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
    assert_string_equal(stk__nearest("btach", names), "batch");
    assert_string_equal(stk__nearest("SHUFFLE", names), "shuffle");
    assert_string_equal(stk__nearest("normalise", names), "normalize");
    assert_string_equal(stk__nearest("tak", names), "take");
    assert_null(stk__nearest("x", names));
    assert_null(stk__nearest("", names));
    assert_null(stk__nearest("prefetch", names));
    char *long_name = repeated("batch", "", "", 1000);
    assert_null(stk__nearest(long_name, names));
    free(long_name);
}

/* ---- printing ---- */

static void test_print_forms(void **state)
{
    static const struct {
        const char *text, *brief, *full;
    } cases[] = {
        { "resize(height=1, width=64)", "resize(1)",
          "resize@3(height=1, width=64, method=bilinear, antialias=false, scale=1.0, gamma=none, "
          "seed=none, depth=auto, field=none)" },
        { "resize(1, 2, antialias=true, scale=1/2)", "resize(1, 2, antialias=true, scale=0.5)",
          "resize@3(height=1, width=2, method=bilinear, antialias=true, scale=0.5, gamma=none, "
          "seed=none, depth=auto, field=none)" },
        { "resize(1, 2, '3x3', field=it)", "resize(1, 2, '3x3', field='it')",
          "resize@3(height=1, width=2, method='3x3', antialias=false, scale=1.0, gamma=none, "
          "seed=none, depth=auto, field='it')" },
        { "files(['a', b], mean=2, names={x: y, 'none': 'a b'})",
          "files('a', 'b', mean=2.0, names={x: y, 'none': 'a b'})",
          "files@1(pattern=['a', 'b'], mean=[2.0], sizes=none, names={x: y, 'none': 'a b'}, "
          "data=none, root='.')" },
        { "zip(1, decode(), decode())", "zip(inputs=[decode(), decode()])",
          "zip@2(count=1, inputs=[decode@1(), decode@1()], strict=true)" },
        { "zip(2, decode(), decode(), strict=false)", "zip(2, decode(), decode(), strict=false)",
          "zip@2(count=2, inputs=[decode@1(), decode@1()], strict=false)" },
        { "values([resize(width=3, height=2)]).decode()", "values([resize(2, 3)]).decode()",
          "values@1(data=[resize@3(height=2, width=3, method=bilinear, antialias=false, scale=1.0, "
          "gamma=none, seed=none, depth=auto, field=none)], fractions=none).decode@1()" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct stk_value *value = parse(cases[i].text);
        assert_string_equal(print(value, &lang_namespace, STK__SHORT), cases[i].brief);
        assert_string_equal(print(value, &lang_namespace, STK__CANONICAL), cases[i].full);
    }
}

static void test_print_faults(void **state)
{
    struct stk__text out = { 0 };
    struct stk_error err = { 0 };
    (void)state;
    int code =
        stk__print_value(parse("values([nothing()])"), &lang_namespace, STK__SHORT, &out, &err);
    assert_int_equal(code, STK_NAME);
    assert_int_equal(err.at, 8);
    stk__text_free(&out);
    code =
        stk__print_value(parse("zip(1, resize(0))"), &lang_namespace, STK__CANONICAL, &out, &err);
    assert_int_equal(code, STK_VALUE);
    assert_int_equal(err.at, 14);
    stk__text_free(&out);
}

static void test_decl_json(void **state)
{
    struct stk__text out = { 0 };
    (void)state;
    stk__decl_json(&lang_zip_decl, &out);
    assert_string_equal(
        out.data,
        "{\"name\":\"zip\",\"version\":2,\"summary\":\"Zip.\",\"doc\":\"\",\"params\":["
        "{\"name\":\"count\",\"type\":\"int\",\"help\":\"copies\",\"required\":false,\"default\":1,"
        "\"min\":-5,\"max\":null,\"choices\":null,\"takes_none\":false,\"takes_auto\":false,"
        "\"variadic\":false,\"tunable\":false},"
        "{\"name\":\"inputs\",\"type\":\"chains\",\"help\":\"chains\",\"required\":false,"
        "\"default\":null,\"min\":null,\"max\":null,\"choices\":null,\"takes_none\":true,"
        "\"takes_auto\":false,\"variadic\":true,\"tunable\":false},"
        "{\"name\":\"strict\",\"type\":\"bool\",\"help\":\"same length\",\"required\":false,"
        "\"default\":true,\"min\":null,\"max\":null,\"choices\":null,\"takes_none\":false,"
        "\"takes_auto\":false,\"variadic\":false,\"tunable\":false}]}");
    stk__text_free(&out);
    stk__decl_json(&lang_resize_decl, &out);
    assert_non_null(strstr(out.data, "\"doc\":\"Prose.\\n\\n    resize(1, 2)\""));
    assert_non_null(strstr(out.data, "\"choices\":[\"nearest\",\"bilinear\",\"area\",\"3x3\"]"));
    assert_non_null(strstr(out.data, "\"default\":\"bilinear\""));
    assert_non_null(strstr(out.data, "\"default\":\"auto\",\"min\":1,\"max\":64"));
    assert_non_null(strstr(out.data, "\"default\":null,\"min\":-1.0,\"max\":1.0"));
    assert_non_null(strstr(out.data, "\"default\":1.0,\"min\":0.0,\"max\":null"));
    assert_non_null(strstr(out.data, "\"help\":\"which \\\"field\\\"\""));
    stk__text_free(&out);
}

/* ---- print and parse undo each other ---- */

static uint64_t random_state;

static uint64_t draw(uint64_t n)
{
    random_state++;
    return stk__mix(17, random_state) % n;
}

static void random_string(struct stk__text *out)
{
    static const char *const pieces[] = { "a",     "B c",    "\\n",  "\\'", "\"", "\\\\", "\\x00",
                                          "\\xff", "\u00e9", "none", "\\t", "#",  "@x",   "\\x7f" };
    stk__text_add(out, "'");
    for (uint64_t n = draw(5); n > 0; n--)
        stk__text_add(out, "%s", pieces[draw(sizeof pieces / sizeof *pieces)]);
    stk__text_add(out, "'");
}

static void random_number(struct stk__text *out)
{
    switch (draw(5)) {
    case 0:
        stk__text_add(out, "%" PRId64, (int64_t)stk__mix(3, random_state++));
        return;
    case 1:
        stk__text_add(out, "%d", (int)draw(20) - 5);
        return;
    case 2:
        stk__text_add(out, "%de%d", (int)draw(2000) - 1000, (int)draw(600) - 300);
        return;
    case 3:
        stk__text_add(out, "(%d - %d) / %d", (int)draw(99), (int)draw(99), (int)draw(99) + 1);
        return;
    default:
        stk__text_add_real(out, ldexp((double)draw((uint64_t)1 << 53), (int)draw(400) - 200));
    }
}

static void random_call(struct stk__text *out, int depth);

static void random_value(struct stk__text *out, int depth)
{
    static const char *const words[] = { "none", "auto", "true", "x_1", "imagenet" };
    uint64_t kind = draw(depth > 0 ? 7 : 4), n = draw(4);
    if (kind == 0) {
        random_string(out);
    } else if (kind == 1) {
        stk__text_add(out, "%s", words[draw(5)]);
    } else if (kind < 4) {
        random_number(out);
    } else if (kind == 4) {
        stk__text_add(out, "[");
        for (uint64_t i = 0; i < n; i++) {
            stk__text_add(out, i ? ", " : "");
            random_value(out, depth - 1);
        }
        stk__text_add(out, draw(2) && n ? ",]" : "]");
    } else if (kind == 5) {
        stk__text_add(out, "{");
        for (uint64_t i = 0; i < n; i++) {
            stk__text_add(out, i % 2 ? "k%d: " : "'%d': ", (int)i);
            random_value(out, depth - 1);
            stk__text_add(out, i + 1 < n ? ", " : "");
        }
        stk__text_add(out, "}");
    } else {
        random_call(out, depth - 1);
    }
}

static void random_texts(struct stk__text *out)
{
    stk__text_add(out, "[");
    for (uint64_t i = 0, n = 1 + draw(3); i < n; i++)
        stk__text_add(out, "%s'%d\\n'", i ? ", " : "", (int)draw(9));
    stk__text_add(out, "]");
}

/* One of the calls of the namespace with arguments that bind, by position or by name. */
static void random_call(struct stk__text *out, int depth)
{
    static const char *const methods[] = { "nearest", "'bilinear'", "area", "'3x3'" };
    uint64_t kind = draw(4);
    if (kind == 0) {
        stk__text_add(out, "resize(%d", 1 + (int)draw(99));
        if (draw(2))
            stk__text_add(out, ", %d", 63 + (int)draw(3));
        if (draw(2))
            stk__text_add(out, ", method=%s", methods[draw(4)]);
        if (draw(2))
            stk__text_add(out, ", antialias=%s", draw(2) ? "true" : "false");
        if (draw(2))
            stk__text_add(out, ", scale=%d/%d", (int)draw(9), 1 + (int)draw(9));
        if (draw(2))
            stk__text_add(out, ", gamma=%s", draw(2) ? "none" : "-0.0");
        if (draw(2))
            stk__text_add(out, draw(2) ? ", seed=none" : ", seed=%d", (int)draw(9));
        if (draw(2))
            stk__text_add(out, draw(2) ? ", depth=auto" : ", depth=%d", 1 + (int)draw(9));
        if (draw(2))
            stk__text_add(out, draw(2) ? ", field=none" : ", field='f%d\\''", (int)draw(9));
    } else if (kind == 1) {
        stk__text_add(out, "files(");
        if (draw(2))
            random_texts(out);
        else
            stk__text_add(out, draw(2) ? "'a'" : "a, 'b', c");
        if (draw(2))
            stk__text_add(out, draw(2) ? ", mean=imagenet" : ", mean=[1, %d/7]", (int)draw(9));
        if (draw(2))
            stk__text_add(out, draw(2) ? ", sizes=none" : ", sizes=[2, %d]", (int)draw(9));
        if (draw(2))
            stk__text_add(out, draw(2) ? ", names={}" : ", names={'auto': b%d, 'x y': z}",
                          (int)draw(9));
        if (draw(2)) {
            stk__text_add(out, ", data=");
            random_value(out, depth);
        }
    } else if (kind == 2 && depth > 0) {
        stk__text_add(out, draw(2) ? "zip(%d" : "zip(count=%d, inputs=[decode()]", (int)draw(3));
        for (uint64_t n = out->data[out->len - 1] == ']' ? 0 : draw(3); n > 0; n--) {
            stk__text_add(out, ", ");
            random_call(out, depth - 1);
            stk__text_add(out, draw(2) ? ".decode()" : "");
        }
        stk__text_add(out, draw(2) ? ", strict=false" : "");
    } else {
        stk__text_add(out, "values(");
        random_value(out, depth);
        for (uint64_t n = draw(4); n > 0; n--) {
            stk__text_add(out, ", ");
            random_number(out);
        }
    }
    stk__text_add(out, ")");
}

static bool is_same_value(const struct stk_value *a, const struct stk_value *b)
{
    return strcmp(print(a, &lang_namespace, STK__CANONICAL),
                  print(b, &lang_namespace, STK__CANONICAL)) == 0;
}

static bool is_same_field(const struct stk_param *row, const void *a, const void *b)
{
    const struct stk_numbers *x = a, *y = b;
    const struct stk_texts *s = a, *t = b;
    const struct stk_pairs *p = a, *q = b;
    const struct stk_chains *c = a, *d = b;
    const char *const *text_a = a, *const *text_b = b;
    const struct stk_value *const *value_a = a, *const *value_b = b;
    bool is_same = true;
    switch (row->type) {
    case STK_ROW_INT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case STK_ROW_REAL:
        return !memcmp(a, b, sizeof(double));
    case STK_ROW_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case STK_ROW_CHOICE:
        return *(const int *)a == *(const int *)b;
    case STK_ROW_TEXT:
        return *text_a && *text_b ? !strcmp(*text_a, *text_b) : *text_a == *text_b;
    case STK_ROW_NUMBERS:
        return x->n == y->n && x->choice == y->choice &&
               (!x->n || !memcmp(x->item, y->item, sizeof(double) * (size_t)x->n));
    case STK_ROW_TEXTS:
        for (int i = 0; s->n == t->n && i < s->n; i++)
            is_same &= !strcmp(s->item[i], t->item[i]);
        return is_same && s->n == t->n;
    case STK_ROW_PAIRS:
        for (int i = 0; p->n == q->n && i < p->n; i++)
            is_same &= !strcmp(p->name[i], q->name[i]) && !strcmp(p->value[i], q->value[i]);
        return is_same && p->n == q->n;
    case STK_ROW_CHAINS:
        for (int i = 0; c->n == d->n && i < c->n; i++)
            is_same &= is_same_value(c->item[i], d->item[i]);
        return is_same && c->n == d->n;
    default:
        return *value_a && *value_b ? is_same_value(*value_a, *value_b) : *value_a == *value_b;
    }
}

/* Binds, prints, parses, binds: the same parameters and the same text. */
static void check_call(const char *text, enum stk__print_form form)
{
    struct stk__text out = { 0 };
    struct stk_error err = { 0 };
    const struct stk__call *call = parse(text)->call;
    const struct stk_decl *decl = stk__namespace_find(&lang_namespace, call->name);
    unsigned char *first = stk_arena_alloc(&arena, decl->params_size);
    unsigned char *second = stk_arena_alloc(&arena, decl->params_size);
    bind_ok(text, first);
    assert_int_equal(stk__print_call(decl, first, &lang_namespace, form, &out, &err), STK_OK);
    bind_ok(out.data, second);
    for (const struct stk_param *row = decl->params; row->name; row++)
        if (!is_same_field(row, first + row->offset, second + row->offset))
            fail_msg("%s differs:\n%s\n%s", row->name, text, out.data);
    assert_string_equal(print(parse(out.data), &lang_namespace, form), out.data);
    stk__text_free(&out);
}

static void test_random_calls(void **state)
{
    (void)state;
    random_state = 0;
    for (int i = 0; i < 500; i++) {
        struct stk__text text = { 0 };
        random_call(&text, 3);
        check_call(text.data, STK__SHORT);
        check_call(text.data, STK__CANONICAL);
        stk__text_free(&text);
        stk__arena_rewind(&arena, (struct stk__arena_mark){ 0 });
    }
}

static bool is_equal(const struct stk_value *a, const struct stk_value *b)
{
    bool is_same = a->kind == b->kind;
    if (!is_same || a->kind == STK__OBJECT || a->kind == STK__CHAIN)
        return is_same;
    if (a->kind == STK__INT)
        return a->integer == b->integer;
    if (a->kind == STK__REAL)
        return !memcmp(&a->real, &b->real, sizeof a->real);
    if (a->kind == STK__STRING || a->kind == STK__WORD)
        return a->text_len == b->text_len && !memcmp(a->text, b->text, a->text_len);
    if (a->n_items != b->n_items)
        return false;
    for (int i = 0; i < a->n_items; i++)
        is_same &= is_equal(a->item[i], b->item[i]) &&
                   (a->kind == STK__LIST || is_equal(a->key[i], b->key[i]));
    return is_same;
}

static void test_random_values(void **state)
{
    (void)state;
    random_state = 1 << 20;
    for (int i = 0; i < 500; i++) {
        struct stk__text text = { 0 };
        random_value(&text, 4);
        const struct stk_value *value = parse_value(text.data);
        const char *printed = print(value, NULL, STK__SHORT);
        const struct stk_value *again = parse_value(printed);
        if (!is_equal(value, again))
            fail_msg("%s\n%s", text.data, printed);
        assert_string_equal(print(again, NULL, STK__SHORT), printed);
        stk__text_free(&text);
        stk__arena_rewind(&arena, (struct stk__arena_mark){ 0 });
    }
}

/* ---- objects and memory ---- */

static void count_release(void *context)
{
    ++*(int *)context;
}

static void test_objects(void **state)
{
    int released = 0;
    struct stk_error err = { 0 };
    struct stk_array array = { .data = &released,
                               .dtype = STK_U8,
                               .rank = 1,
                               .shape = { 4 },
                               .release = count_release,
                               .context = &released };
    struct stk_objects *table = stk_objects_new();
    (void)state;
    assert_null(stk__objects_find(NULL, "a"));
    assert_int_equal(stk_objects_add_array(table, "a", &array, &err), STK_OK);
    assert_int_equal(stk_objects_add_array(table, "b", &array, &err), STK_OK);
    assert_int_equal(stk_objects_add_array(table, "a", &array, &err), STK_NAME);
    assert_int_equal(stk_objects_add_array(table, "a b", &array, &err), STK_NAME);
    assert_int_equal(stk_objects_add_array(table, "", &array, &err), STK_NAME);
    array.rank = 0;
    assert_int_equal(stk_objects_add_array(table, "c", &array, &err), STK_VALUE);
    array.rank = 2;
    array.shape[1] = -1;
    assert_int_equal(stk_objects_add_array(table, "c", &array, &err), STK_VALUE);
    array.shape[1] = INT64_MAX;
    assert_int_equal(stk_objects_add_array(table, "c", &array, &err), STK_VALUE);
    array.shape[1] = 1;
    array.data = NULL;
    assert_int_equal(stk_objects_add_array(table, "c", &array, &err), STK_VALUE);
    array.dtype = STK_N_DTYPES;
    assert_int_equal(stk_objects_add_array(table, "c", &array, &err), STK_TYPE);
    assert_int_equal(released, 0);
    const struct stk_array *kept = stk__objects_find(table, "a");
    stk__array_ref(kept);
    stk_objects_free(table);
    assert_int_equal(released, 1);
    assert_int_equal(kept->shape[0], 4);
    stk__array_unref(kept);
    assert_int_equal(released, 2);
    stk_objects_free(NULL);
}

/* Everything in one go; the code of the first fault. */
static int do_everything(const char *text, struct stk_error *err)
{
    static const uint8_t data[4];
    const struct stk_array array = { .data = data, .dtype = STK_U8, .rank = 1, .shape = { 4 } };
    struct stk_arena memory;
    struct stk__text out = { 0 };
    const struct stk_value *value;
    stk__arena_init(&memory, 64);
    struct stk_objects *table = stk_objects_new();
    int status = table ? stk_objects_add_array(table, "a", &array, err) : STK_MEMORY;
    if (!status)
        status = stk__parse(text, table, &memory, &value, err);
    if (!status)
        status = stk__print_value(value, &lang_namespace, STK__CANONICAL, &out, err);
    stk__text_free(&out);
    stk__arena_free(&memory);
    stk_objects_free(table);
    return status;
}

static void check_allocations(const char *text, int code)
{
    int64_t n = 0;
    for (;; n++) {
        struct stk_error err = { 0 };
        allowed_allocations = n;
        int got = do_everything(text, &err);
        bool is_enough = allowed_allocations >= 0;
        allowed_allocations = INT64_MAX;
        if (is_enough) {
            assert_int_equal(got, code);
            break;
        }
        assert_true(got == STK_MEMORY || got == code);
        assert_true(got != STK_OK);
    }
    assert_true(n > 5);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    check_allocations("b = files('x', y, mean=[1, 2], names={a: b})\n"
                      "@b.resize(1, 1+2*(3-1)).zip(1, decode(), values(@a, 1, 2, 3, 4, 5))",
                      STK_OK);
    check_allocations("resize('no')", STK_TYPE);
    check_allocations("resize(0)", STK_VALUE);
    check_allocations("resize(heigth=1)", STK_NAME);
    check_allocations("c = decode()\nvalues(@b)", STK_NAME);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_numbers),
        TEST(test_strings),
        TEST(test_values),
        TEST(test_chains),
        TEST(test_recipes),
        TEST(test_last_assignment_is_the_result),
        TEST(test_syntax_faults),
        TEST(test_limits),
        TEST(test_names_cannot_explode),
        TEST(test_bind_scalars),
        TEST(test_bind_lists),
        TEST(test_bind_chains),
        TEST(test_bind_faults),
        TEST(test_long_values_are_cut_in_messages),
        TEST(test_nearest),
        TEST(test_print_forms),
        TEST(test_print_faults),
        TEST(test_decl_json),
        TEST(test_random_calls),
        TEST(test_random_values),
        TEST(test_objects),
        TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
