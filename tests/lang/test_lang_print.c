/* SPDX-License-Identifier: Apache-2.0 */
/* test_lang_print.c: printing, print and parse undo each other, objects, want of memory. */
#include "base/hash.h"
#include "lang_fixture.h"

#include <inttypes.h>

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
          "files('a', 'b', mean=2, names={x: y, 'none': 'a b'})",
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
    struct stk__text out = { .is_tight = true };
    (void)state;
    stk__decl_json(&lang_zip_decl, &out);
    assert_string_equal(
        out.data,
        "{\"name\":\"zip\",\"version\":2,\"summary\":\"Zip.\",\"doc\":\"\",\"params\":["
        "{\"name\":\"count\",\"type\":\"int\",\"help\":\"copies\",\"required\":false,\"default\":1,"
        "\"min\":-5,\"max\":null,\"choices\":null,\"calls\":null,\"takes_none\":false,\"takes_"
        "auto\":false,"
        "\"variadic\":false,\"tunable\":false},"
        "{\"name\":\"inputs\",\"type\":\"chains\",\"help\":\"chains\",\"required\":false,"
        "\"default\":null,\"min\":null,\"max\":null,\"choices\":null,\"calls\":null,\"takes_none\":"
        "true,"
        "\"takes_auto\":false,\"variadic\":true,\"tunable\":false},"
        "{\"name\":\"strict\",\"type\":\"bool\",\"help\":\"same length\",\"required\":false,"
        "\"default\":true,\"min\":null,\"max\":null,\"choices\":null,\"calls\":null,\"takes_none\":"
        "false,"
        "\"takes_auto\":false,\"variadic\":false,\"tunable\":false}]}");
    stk__text_free(&out);
    out.is_tight = true;
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
    return stk__hash_mix(17, random_state) % n;
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
        stk__text_add(out, "%" PRId64, (int64_t)stk__hash_mix(3, random_state++));
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
    const struct stk__chains *c = a, *d = b;
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
    case STK__ROW_CHAINS:
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
    const struct stk__object *kept = stk__objects_find(table, "a");
    stk__object_ref(kept);
    stk_objects_free(table);
    assert_int_equal(released, 1);
    assert_int_equal(kept->array.shape[0], 4);
    stk__object_unref(kept);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        LANG_TEST(test_print_forms),   LANG_TEST(test_print_faults),  LANG_TEST(test_decl_json),
        LANG_TEST(test_random_calls),  LANG_TEST(test_random_values), LANG_TEST(test_objects),
        LANG_TEST(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
