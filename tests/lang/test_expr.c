/* SPDX-License-Identifier: Apache-2.0 */
/* test_expr.c: typing, messages, statements, shapes and bytes of expressions, and the ops made of
 * them. */
#include "expr_table.h"
#include "op/declaration.h"

extern const struct stk__op stk__op_map, stk__op_filter, stk__op_cast, stk__op_scale;

/* ---- typing, precedence, messages ---- */

static void numbers_of_all_kinds(struct table *t)
{
    for (int dtype = 0; dtype < STK_N_DTYPES; dtype++) {
        static const char *const names[] = { "b",   "u8",  "i8",  "u16",  "i16", "u32", "i32",
                                             "u64", "i64", "f16", "bf16", "f32", "f64" };
        add_fixed(t, names[dtype], dtype, 0, 0);
    }
    add_fixed(t, "v", STK_F32, 3, 0);
    add_fixed(t, "w", STK_F32, 4, 0);
    add_fixed(t, "m", STK_F32, 5, 3);
    add_field(t, "name", STK_BYTES, STK_U8);
    struct stk_field *image = add_field(t, "image", STK_SHAPED, STK_U8);
    image->rank = 3;
    image->shape[0] = image->shape[1] = -1;
    image->shape[2] = 3;
    struct stk_field *ids = add_field(t, "ids", STK_RAGGED, STK_I32);
    ids->rank = 1;
    ids->shape[0] = -1;
}

static void test_result_types(void **state)
{
    static const struct {
        const char *text, *type;
    } cases[] = {
        { "r = u8 + u16", "uint16[]" },
        { "r = i8 * i64", "int64[]" },
        { "r = f16 + f32", "float32[]" },
        { "r = bf16 + f64", "float64[]" },
        { "r = f16 * 0.1", "float16[]" },
        { "r = u8 / u8", "float32[]" },
        { "r = i64 / u8", "float32[]" },
        { "r = i64 / 3", "float32[]" },
        { "r = 3 / i64", "float32[]" },
        { "r = f64 / 3", "float64[]" },
        { "r = u8 + 255", "uint8[]" },
        { "r = f32 + 1", "float32[]" },
        { "r = f64 + 1.5", "float64[]" },
        { "r = 1", "int64[]" },
        { "r = 1 / 2", "float32[]" },
        { "r = 7 // 2", "int64[]" },
        { "r = true", "bool[]" },
        { "r = where(b, 1, 2.5)", "float32[]" },
        { "r = where(b, u8, u32)", "uint32[]" },
        { "r = where(v > 0, 1, 0)", "int64[3]" },
        { "r = v * f32", "float32[3]" },
        { "r = m * v", "float32[5, 3]" },
        { "r = m[1]", "float32[3]" },
        { "r = m[-1][2]", "float32[]" },
        { "r = sum(u8)", "uint64[]" },
        { "r = sum(i8)", "int64[]" },
        { "r = sum(v)", "float32[]" },
        { "r = mean(u8)", "float32[]" },
        { "r = mean(f16)", "float16[]" },
        { "r = any(v > 1)", "bool[]" },
        { "r = len(name) + len(ids)", "int64[]" },
        { "r = name == 'a'", "bool[]" },
        { "r = image", "uint8[?, ?, 3]" },
        { "r = cast(image, float32) * v", "float32[?, ?, 3]" },
        { "r = mean(image)", "float32[]" },
        { "r = 1 if_ == 2", NULL },
    };
    struct table t = { .n = 0 };
    (void)state;
    numbers_of_all_kinds(&t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct stk__expr_program *program;
        int rc = compile(&t, cases[i].text, &program);
        if (rc && cases[i].type)
            fail_msg("%s: %s", cases[i].text, t.err.text);
        if (!cases[i].type) {
            assert_int_not_equal(rc, STK_OK);
            continue;
        }
        struct stk__text text = { 0 };
        stk__field_text(&program->output[0].field, &text);
        assert_string_equal(text.data, cases[i].type);
        stk__text_free(&text);
    }
}

static void test_messages(void **state)
{
    static const char *const cases[][2] = {
        { "r = u8 + i32", "at column 5: uint8 and int32 do not mix; write cast(u8, int32)" },
        { "r = i8 + u16", "at column 10: int8 and uint16 do not mix; write cast(u16, int32)" },
        { "r = u64 + i8", "write cast(u64, int64)" },
        { "r = u8 * 0.5", "write cast(u8, float32)" },
        { "r = 0.5 * u8",
          "at column 11: uint8 and a real number do not mix; write cast(u8, float32)" },
        { "r = f32 + i64", "at column 11: float32 and int64 do not mix; write cast(i64, float32)" },
        { "r = (u8 + u8) + f64", "write cast((u8 + u8), float64)" },
        { "r = f16 + bf16", "write cast(f16, float32)" },
        { "r = b + 1", "write cast(b, int32)" },
        { "r = b < b", "write cast(b, int32)" },
        { "r = u8 + 256", "256 does not fit uint8; write cast(u8, uint16)" },
        { "r = u8 + -1", "-1 does not fit uint8; write cast(u8, int16)" },
        { "r = i8 < 128", "write cast(i8, int16)" },
        { "r = sqrt(i32)", "at column 10: this function takes floats; write cast(i32, float32)" },
        { "r = sum(b)", "write cast(b, int32)" },
        { "r = i32 ** i32", "write cast(i32, float32)" },
        { "r = i32 ** 17", "constant powers from 0 to 16" },
        { "r = i32 and b", "at column 5: and, or and not take bools" },
        { "r = not i32", "take bools" },
        { "r = b & b", "in place of bit operators" },
        { "r = f32 | 1", "at column 5: bit operators take integers" },
        { "r = ~f32", "bit operators take integers" },
        { "r = i32 // 0", "at column 12: division by zero" },
        { "r = 1 // 0", "division by zero" },
        { "r = v + w", "at column 5: the shapes [3] and [4] do not go together" },
        { "r = v[3]", "at column 6: the index 3 is outside the 3 of v" },
        { "r = f32[0]", "no fixed first dimension" },
        { "r = image[0]", "no fixed first dimension" },
        { "r = v[u8]", "an index is a constant integer" },
        { "r = name + 1", "only len(), == and != take that" },
        { "r = name < 'a'", "bytes fields only take len()" },
        { "r = name == 1", "bytes fields only take len()" },
        { "r = name", "not assigned" },
        { "r = len(v)", "len() takes a bytes or ragged field" },
        { "r = foo + 1", "at column 5: unknown name 'foo'; the fields are b, u8, i8" },
        { "r = foo(1)", "at column 5: unknown function 'foo'; there are cast, where" },
        { "r = cast(u8, int)", "at column 14: expected a dtype such as float32, not 'int'" },
        { "r = min(u8)", "min takes 2 arguments" },
        { "r = abs(u8, u8)", "expected ')' after one argument" },
        { "r = (u8 + 1", "expected ')', but the expression ends" },
        { "r = u8 +", "at column 9: expected a value, but the expression ends" },
        { "r = 1 < 2 < 3", "at column 11: comparisons do not chain" },
        { "r = u8 u8", "at column 8: expected an operator or ';', not 'u8'" },
        { "r = 99999999999999999999", "does not fit 64 bits" },
        { "r = 9223372036854775807 + 1", "does not fit 64 bits" },
        { "r = 'abc", "the string is not closed" },
        { "r = u8 $ 1", "unexpected character '$'" },
        { "r = 1x", "a number runs into a name" },
        { "u8 + 1", "expected 'name = …'" },
        { "and = 1", "expected a field name" },
        { "", "at column 1: expected an expression" },
        { " ; \n", "expected an expression" },
    };
    struct table t = { .n = 0 };
    (void)state;
    numbers_of_all_kinds(&t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct stk__expr_program *program;
        if (!compile(&t, cases[i][0], &program))
            fail_msg("%s was accepted", cases[i][0]);
        if (!strstr(t.err.text, cases[i][1]))
            fail_msg("%s: \"%s\", without \"%s\"", cases[i][0], t.err.text, cases[i][1]);
    }
}

static void test_long_and_deep(void **state)
{
    char text[8192] = "";
    struct table t = { .n = 0 };
    const struct stk__expr_program *program;
    (void)state;
    add_fixed(&t, "x", STK_I64, 0, 0);
    for (int i = 0; i < 400; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "x * x + %d + ", i);
    strcat(text, "x");
    assert_int_equal(compile(&t, text, &program), STK_VALUE);
    assert_non_null(strstr(t.err.text, "too long"));
    memset(text, '(', 4000);
    text[4000] = 0;
    assert_int_equal(compile(&t, text, &program), STK_SYNTAX);
    assert_non_null(strstr(t.err.text, "nested too deeply"));
    memset(text, '-', 4000);
    assert_int_equal(compile(&t, text, &program), STK_SYNTAX);
}

static void test_precedence(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        { "x + y * 2", 13 },
        { "(x + y) * 2", 20 },
        { "x - y - 1", 3 },
        { "-x ** 2", -49 },
        { "2 ** 3 ** 2", 512 },
        { "-x // 2", -4 },
        { "-x % 4", 1 },
        { "x // y * y + x % y", 7 },
        { "x | y & 1 ^ 2", 7 },
        { "1 << 2 + 1", 8 },
        { "x >> 1 & 1", 1 },
        { "~x + 1", -7 },
        { "where(not x == y and x > y or false, 1, 0)", 1 },
        { "where(x & 1 == 1, 1, 0)", 1 },
        { "x-1", 6 },
        { "- - x", 7 },
        { "0x10 + x", 23 },
        { "max(x, y) - min(x, y)", 4 },
        { "x ** 3 % 100", 43 },
        { "(x +\n y)", 10 },
        { "+x", 7 },
        { "where(1 < 2, x, y)", 7 },
        { "clip(x, 0, 5)", 5 },
    };
    struct table t = { .n = 1 };
    int64_t values[] = { 7, 3 };
    (void)state;
    add_fixed(&t, "x", STK_I64, 0, 0);
    add_fixed(&t, "y", STK_I64, 0, 0);
    fill_columns(&t);
    t.mask[0] = STK_LIVE;
    memcpy(t.in[0].data, &values[0], 8);
    memcpy(t.in[1].data, &values[1], 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        snprintf(text, sizeof text, "r = %s", cases[i].text);
        run(&t, text);
        if ((int64_t)load(STK_I64, t.out[0].data).i != cases[i].value)
            fail_msg("%s is %lld", text, (long long)load(STK_I64, t.out[0].data).i);
    }
}

static void test_statements(void **state)
{
    struct table t = { .n = 50 };
    (void)state;
    add_fixed(&t, "x", STK_I64, 0, 0);
    add_fixed(&t, "label", STK_U8, 0, 0);
    fill_columns(&t);
    run(&t, "y = x + 1; x = y * 2\n z = x - 1; c = z; d = label; e = d");
    static const char *const names[] = { "x", "y", "z", "c", "d", "e" };
    static const int to[] = { 0, 2, 3, 4, 5, 6 };
    assert_int_equal(t.n_out, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(t.output[i].field.name, names[i]);
        assert_int_equal(t.output[i].to, to[i]);
    }
    for (size_t row = 0; row < 50; row++) {
        uint64_t x = (uint64_t)load(STK_I64, t.in[0].data + row * 8).i;
        uint64_t want[] = { (x + 1) * 2, x + 1, (x + 1) * 2 - 1, (x + 1) * 2 - 1 };
        for (int i = 0; i < 4 && t.mask[row] == STK_LIVE; i++)
            assert_int_equal((uint64_t)load(STK_I64, t.out[i].data + row * 8).i, want[i]);
        if (t.mask[row] == STK_LIVE)
            assert_true(t.out[4].data[row] == t.in[1].data[row] &&
                        t.out[5].data[row] == t.in[1].data[row]);
    }
}

/* ---- broadcasting, shaped, bytes ---- */

static void test_broadcast(void **state)
{
    struct table t = { .n = 9 };
    (void)state;
    add_fixed(&t, "m", STK_I32, 700, 3);
    add_fixed(&t, "v", STK_I32, 3, 0);
    add_fixed(&t, "s", STK_I32, 0, 0);
    fill_columns(&t);
    run(&t, "r = (m + v) * s; q = m[699][1] + v[0]; p = (v - s) * cast(sum(m), int32)");
    for (size_t row = 0; row < 9; row++) {
        const int32_t *m = (int32_t *)(void *)t.in[0].data + row * 2100;
        const int32_t *v = (int32_t *)(void *)t.in[1].data + row * 3;
        uint32_t s = ((uint32_t *)(void *)t.in[2].data)[row], sum = 0;
        if (t.mask[row] != STK_LIVE)
            continue;
        for (size_t i = 0; i < 2100; i++) {
            sum += (uint32_t)m[i];
            assert_int_equal(((uint32_t *)(void *)t.out[0].data)[row * 2100 + i],
                             ((uint32_t)m[i] + (uint32_t)v[i % 3]) * s);
        }
        assert_int_equal(((uint32_t *)(void *)t.out[1].data)[row],
                         (uint32_t)m[2098] + (uint32_t)v[0]);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(((uint32_t *)(void *)t.out[2].data)[row * 3 + i],
                             ((uint32_t)v[i] - s) * sum);
    }
}

static void set_shaped(struct table *t, int field, int row, int32_t h, int32_t w)
{
    size_t bytes = stk_dtype_bytes(t->type.field[field].dtype), n = (size_t)h * (size_t)w;
    uint8_t *data = stk_arena_alloc(&scratch, n * bytes + 8);
    data += bytes > 1 && row % 2; /* also where the dtype would not be aligned */
    for (size_t i = 0; i < n; i++)
        random_value(t->type.field[field].dtype, data + i * bytes);
    t->in[field].span[row] = (struct stk_span){ .data = n ? data : NULL, .bytes = n * bytes };
    t->in[field].dims[row * 2] = h;
    t->in[field].dims[row * 2 + 1] = w;
}

static void add_shaped(struct table *t, const char *name, int dtype)
{
    struct stk_field *field = add_field(t, name, STK_SHAPED, dtype);
    field->rank = 2;
    field->shape[0] = field->shape[1] = -1;
}

static void test_shaped(void **state)
{
    struct table t = { .n = 12 };
    (void)state;
    add_shaped(&t, "a", STK_U16);
    add_shaped(&t, "b", STK_U16);
    add_fixed(&t, "s", STK_U16, 0, 0);
    make_columns(&t.type, t.n, t.in);
    for (int row = 0; row < t.n; row++) {
        set_shaped(&t, 0, row, row, 300);
        set_shaped(&t, 1, row, row, row == 7 ? 299 : 300);
        random_value(STK_U16, t.in[2].data + 2 * row);
    }
    t.mask[3] = STK_DEAD;
    t.in[0].span[3].data = NULL;
    run(&t, "r = (a + b) * s; n = sum(a) + sum(a * s); q = s + 1");
    assert_int_equal(t.output[0].field.kind, STK_SHAPED);
    assert_string_equal(last_fault, "shapes differ: a is [7, 300], b is [7, 299]");
    for (int row = 0; row < t.n; row++) {
        assert_int_equal(t.mask[row], row == 7 ? STK_BAD : row == 3 ? STK_DEAD : STK_LIVE);
        if (t.mask[row] != STK_LIVE)
            continue;
        uint16_t s = ((uint16_t *)(void *)t.in[2].data)[row];
        uint64_t n = 0;
        assert_int_equal(t.out[0].span[row].bytes, row * 600);
        assert_int_equal(t.out[0].dims[row * 2], row);
        assert_int_equal(t.out[0].dims[row * 2 + 1], 300);
        for (size_t i = 0; i < (size_t)row * 300; i++) {
            uint64_t a = (uint64_t)load(STK_U16, t.in[0].span[row].data + i * 2).i;
            uint64_t b = (uint64_t)load(STK_U16, t.in[1].span[row].data + i * 2).i;
            n += a + (uint16_t)(a * s);
            assert_int_equal(load(STK_U16, t.out[0].span[row].data + i * 2).i,
                             (uint16_t)((a + b) * s));
        }
        assert_int_equal((uint64_t)load(STK_U64, t.out[1].data + row * 8).i, n);
        assert_int_equal((uint64_t)load(STK_U16, t.out[2].data + row * 2).i, (uint16_t)(s + 1));
    }
}

static void test_shaped_empty_and_zero(void **state)
{
    struct table t = { .n = 3 };
    (void)state;
    add_shaped(&t, "a", STK_I32);
    make_columns(&t.type, t.n, t.in);
    for (int row = 0; row < 3; row++)
        set_shaped(&t, 0, row, row, 2);
    memset(t.in[0].span[1].data, 1, 8);
    memset(t.in[0].span[2].data, 0, 16);
    run(&t, "r = amax(a)");
    assert_int_equal(t.mask[0], STK_BAD);
    assert_string_equal(last_fault, "an element without values has no least or greatest");
    t.mask[0] = STK_LIVE;
    run(&t, "r = 7 // a; s = sum(a); e = mean(a)");
    assert_int_equal(t.mask[0], STK_LIVE);
    assert_int_equal(t.mask[1], STK_LIVE);
    assert_int_equal(t.mask[2], STK_BAD);
    assert_string_equal(last_fault, "division by zero");
}

static void test_bytes(void **state)
{
    static const char *const texts[] = { "cat", "dog", "", "cats", "cat" };
    static const char *const others[] = { "cat", "cat", "", "dogs", "ca" };
    struct table t = { .n = 5 };
    (void)state;
    add_field(&t, "name", STK_BYTES, STK_U8);
    add_field(&t, "other", STK_BYTES, STK_U8);
    struct stk_field *ids = add_field(&t, "ids", STK_RAGGED, STK_I32);
    ids->rank = 2;
    ids->shape[0] = -1;
    ids->shape[1] = 2;
    make_columns(&t.type, t.n, t.in);
    for (int row = 0; row < 5; row++) {
        t.in[0].span[row] = (struct stk_span){ (uint8_t *)texts[row], strlen(texts[row]), NULL };
        t.in[1].span[row] = (struct stk_span){ (uint8_t *)others[row], strlen(others[row]), NULL };
        t.in[2].span[row].bytes = (size_t)row * 8;
    }
    run(&t, "a = len(name); b = name == 'cat'; c = \"cat\" != name; d = name == other; e = "
            "len(ids) % 3");
    for (int row = 0; row < 5; row++) {
        bool is_cat = !strcmp(texts[row], "cat");
        assert_int_equal(load(STK_I64, t.out[0].data + row * 8).i, strlen(texts[row]));
        assert_int_equal(t.out[1].data[row], is_cat);
        assert_int_equal(t.out[2].data[row], !is_cat);
        assert_int_equal(t.out[3].data[row], !strcmp(texts[row], others[row]));
        assert_int_equal(load(STK_I64, t.out[4].data + row * 8).i, row % 3);
    }
}

/* Rows with gaps between them, which no loop may run across. */
static void test_strides(void **state)
{
    struct table t = { .n = 30 };
    (void)state;
    add_fixed(&t, "x", STK_I64, 2, 0);
    t.in[0].stride = 48;
    t.in[0].data = stk_arena_alloc(&scratch, 48 * 30);
    for (size_t i = 0; i < 48 * 30; i++)
        t.in[0].data[i] = (uint8_t)random_word();
    run(&t, "x + 1");
    for (size_t i = 0; i < 60; i++) {
        uint64_t x = (uint64_t)load(STK_I64, t.in[0].data + i / 2 * 48 + i % 2 * 8).i;
        assert_int_equal((uint64_t)load(STK_I64, t.out[0].data + i * 8).i, x + 1);
    }
}

static void test_no_memory(void **state)
{
    struct table t = { .n = 2 };
    int n = 0, rc;
    (void)state;
    add_shaped(&t, "a", STK_U16);
    make_columns(&t.type, t.n, t.in);
    set_shaped(&t, 0, 0, 3, 3);
    set_shaped(&t, 0, 1, 40, 40);
    do {
        allocations_left = n++;
        rc = run_rc(&t, "r = (a + 1) * cast(sum(a * 2), uint16)");
        assert_true(rc == STK_OK || rc == STK_MEMORY);
    } while (rc);
    assert_in_range(n, 6, 12);
}

/* ---- the ops ---- */

struct op_rows {
    struct stk_type in, out;
    struct stk_infer inf;
    struct stk__infer_inside inside;
    struct stk_error err;
};

static int infer_op(struct op_rows *o, const struct stk__op *op, const void *params)
{
    o->inf = (struct stk_infer){ .params = params,
                                 .n_inputs = 1,
                                 .in = { &o->in },
                                 .out = &o->out,
                                 .in_count = { 100 },
                                 .count = 100,
                                 .arena = &arena,
                                 .inside = &o->inside };
    return op->infer(&o->inf, &o->err);
}

static void run_op(struct op_rows *o, const struct stk__op *op, struct table *t,
                   struct stk_column *out)
{
    make_columns(&o->out, t->n, out);
    struct stk__rows_inside inside = { 0 };
    struct stk_rows rows = { .params = o->inf.params,
                             .state = o->inf.state,
                             .in_type = &o->in,
                             .out_type = &o->out,
                             .n = t->n,
                             .in = t->in,
                             .out = out,
                             .mask = t->mask,
                             .inside = &inside };
    assert_int_equal(op->row.run(&rows), STK_OK);
}

static void test_map_and_filter(void **state)
{
    struct table t = { .n = 100 };
    struct stk_column out[STK_MAX_FIELDS];
    const char *text = "x = x + 1; twice = x * 2", *condition = "x % 3 != 0 and label < 100";
    (void)state;
    add_fixed(&t, "x", STK_I64, 0, 0);
    add_fixed(&t, "label", STK_U8, 0, 0);
    fill_columns(&t);
    struct op_rows o = { .in = t.type };
    assert_int_equal(infer_op(&o, &stk__op_map, &text), STK_OK);
    assert_int_equal(o.out.n_fields, 3);
    assert_int_equal(o.inf.from[0], -1);
    assert_int_equal(o.inf.from[1], 1);
    assert_int_equal(o.inf.from[2], -1);
    assert_int_equal(o.inf.count, 100);
    run_op(&o, &stk__op_map, &t, out);
    assert_int_equal(infer_op(&o, &stk__op_filter, &condition), STK_OK);
    assert_int_equal(o.inf.count, STK_UNKNOWN_COUNT);
    assert_int_equal(o.inf.from[0], 0);
    assert_true(stk__op_filter.flags & STK_OP_FILTER);
    uint8_t before[MAX_ROWS];
    for (int i = 0; i < t.n; i += 9)
        t.mask[i] = STK_BAD;
    memcpy(before, t.mask, sizeof before);
    run_op(&o, &stk__op_filter, &t, out);
    for (int i = 0; i < t.n; i++) {
        wide x = load(STK_I64, t.in[0].data + i * 8).i;
        bool is_kept = x % 3 != 0 && t.in[1].data[i] < 100;
        uint8_t want = before[i] != STK_LIVE ? before[i] : is_kept ? STK_LIVE : STK_DEAD;
        assert_int_equal(t.mask[i], want);
    }
    const char *const wrong[] = { "x", "x = 1", "any(x > 1)  x", "label > 256" };
    for (int i = 0; i < 4; i++)
        assert_int_not_equal(infer_op(&o, &stk__op_filter, &wrong[i]), STK_OK);
}

static void test_cast_and_scale(void **state)
{
    struct table t = { .n = 200 };
    struct stk_column out[STK_MAX_FIELDS];
    struct {
        int dtype;
        const char *field;
    } cast = { STK_U8, NULL };
    struct {
        double factor, offset;
        const char *field;
        int dtype;
    } scale = { 1.0 / 255, 0.1, "x", STK_F32 };
    (void)state;
    add_fixed(&t, "x", STK_F32, 5, 0);
    fill_columns(&t);
    struct op_rows o = { .in = t.type };
    assert_int_equal(infer_op(&o, &stk__op_cast, &cast), STK_OK);
    assert_int_equal(o.out.field[0].dtype, STK_U8);
    run_op(&o, &stk__op_cast, &t, out);
    for (size_t i = 0; i < 1000; i++) {
        float x = ((float *)(void *)t.in[0].data)[i];
        int want = isnan(x) || x <= 0 ? 0 : x >= 255 ? 255 : (int)x;
        if (t.mask[i / 5] == STK_LIVE)
            assert_int_equal(out[0].data[i], want);
    }
    assert_int_equal(infer_op(&o, &stk__op_scale, &scale), STK_OK);
    run_op(&o, &stk__op_scale, &t, out);
    for (size_t i = 0; i < 1000; i++) {
        volatile float x = ((float *)(void *)t.in[0].data)[i] * (float)scale.factor;
        float want = x + (float)scale.offset;
        if (t.mask[i / 5] == STK_LIVE)
            assert_true(same_value(STK_F32, out[0].data + i * 4, (uint8_t *)&want));
    }
    cast.field = "y";
    assert_int_equal(infer_op(&o, &stk__op_cast, &cast), STK_NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_result_types, clear),
        cmocka_unit_test_teardown(test_messages, clear),
        cmocka_unit_test_teardown(test_long_and_deep, clear),
        cmocka_unit_test_teardown(test_precedence, clear),
        cmocka_unit_test_teardown(test_statements, clear),
        cmocka_unit_test_teardown(test_broadcast, clear),
        cmocka_unit_test_teardown(test_shaped, clear),
        cmocka_unit_test_teardown(test_shaped_empty_and_zero, clear),
        cmocka_unit_test_teardown(test_bytes, clear),
        cmocka_unit_test_teardown(test_strides, clear),
        cmocka_unit_test_teardown(test_no_memory, clear),
        cmocka_unit_test_teardown(test_map_and_filter, clear),
        cmocka_unit_test_teardown(test_cast_and_scale, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
