/* SPDX-License-Identifier: Apache-2.0 */
/* test_expr_values.c: every operator and function of expressions on every dtype, against a naive
 * evaluator, and the same bits at every cpu level. */
#include "expr_table.h"

/* ---- the naive evaluator ---- */

static wide floor_div(wide x, wide y)
{
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static struct number of_bool(bool value)
{
    return (struct number){ value, value };
}

static bool compare(char op, bool is_float, struct number x, struct number y)
{
    switch (op) {
    case '<':
        return is_float ? x.d < y.d : x.i < y.i;
    case 'l':
        return is_float ? x.d <= y.d : x.i <= y.i;
    case '>':
        return is_float ? x.d > y.d : x.i > y.i;
    case 'g':
        return is_float ? x.d >= y.d : x.i >= y.i;
    case '=':
        return is_float ? x.d == y.d : x.i == y.i;
    default:
        return is_float ? x.d != y.d : x.i != y.i;
    }
}

static struct number naive_int(char op, int dtype, struct number x, struct number y)
{
    struct number r = { 0, 0 };
    unsigned shift = (unsigned)y.i & (unsigned)(8 * stk_dtype_bytes(dtype) - 1);
    switch (op) {
    case '+':
        r.i = x.i + y.i;
        break;
    case '-':
        r.i = x.i - y.i;
        break;
    case '*':
        r.i = (wide)((uint64_t)x.i * (uint64_t)y.i);
        break;
    case '/':
        r.d = (double)((float)x.i / (float)y.i);
        break;
    case 'd':
        r.i = y.i ? floor_div(x.i, y.i) : 0;
        break;
    case '%':
        r.i = y.i ? x.i - floor_div(x.i, y.i) * y.i : 0;
        break;
    case '&':
        r.i = x.i & y.i;
        break;
    case '|':
        r.i = x.i | y.i;
        break;
    case '^':
        r.i = x.i ^ y.i;
        break;
    case 'L':
        r.i = (wide)((uint64_t)x.i << shift);
        break;
    case 'R':
        r.i = x.i >> shift;
        break;
    case 'm':
        return x.i < y.i ? x : y;
    default:
        return x.i > y.i ? x : y;
    }
    return r;
}

static double naive_mod(double x, double y, bool is_single)
{
    double rest = fmod(x, y), moved = rest + y;
    return rest != 0 && (rest < 0) != (y < 0) ? (is_single ? (double)(float)moved : moved) : rest;
}

/* Single precision: double arithmetic rounded once more is exact for + - * /. */
static struct number naive_float(char op, bool is_single, struct number x, struct number y)
{
    struct number r = { 0, 0 };
    switch (op) {
    case '+':
        r.d = x.d + y.d;
        break;
    case '-':
        r.d = x.d - y.d;
        break;
    case '*':
        r.d = x.d * y.d;
        break;
    case '/':
        r.d = x.d / y.d;
        break;
    case 'd':
        r.d = floor(is_single ? (double)(float)(x.d / y.d) : x.d / y.d);
        break;
    case '%':
        r.d = naive_mod(x.d, y.d, is_single);
        break;
    case 'p':
        r.d = is_single ? (double)powf((float)x.d, (float)y.d) : pow(x.d, y.d);
        break;
    case 'm':
        return isnan(x.d) || isnan(y.d) ? (struct number){ 0, NAN } : x.d < y.d ? x : y;
    default:
        return isnan(x.d) || isnan(y.d) ? (struct number){ 0, NAN } : x.d > y.d ? x : y;
    }
    return r;
}

/* ---- operators and functions on all dtypes ---- */

/* What one case is: its expression, its letter for the evaluator, the kinds of dtype it takes. */
struct rule {
    const char *text;
    char op;
    const char *kinds;
};

static const struct rule binary_rules[] = {
    { "r = x + y", '+', "uif" },   { "r = x - y", '-', "uif" },     { "r = x * y", '*', "uif" },
    { "r = x / y", '/', "uif" },   { "r = x // y", 'd', "uif" },    { "r = x % y", '%', "uif" },
    { "r = x ** y", 'p', "f" },    { "r = min(x, y)", 'm', "uif" }, { "r = max(x, y)", 'M', "uif" },
    { "r = x & y", '&', "ui" },    { "r = x | y", '|', "ui" },      { "r = x ^ y", '^', "ui" },
    { "r = x << y", 'L', "ui" },   { "r = x >> y", 'R', "ui" },     { "r = x < y", '<', "uif" },
    { "r = x <= y", 'l', "uif" },  { "r = x > y", '>', "uif" },     { "r = x >= y", 'g', "uif" },
    { "r = x == y", '=', "buif" }, { "r = x != y", '!', "buif" },   { "r = x and y", 'a', "b" },
    { "r = x or y", 'o', "b" },
};

static struct number expect_binary(char op, int dtype, struct number x, struct number y)
{
    bool is_float = stk__dtype_kind(dtype) == 'f';
    if (op == 'a' || op == 'o')
        return of_bool(op == 'a' ? x.i && y.i : x.i || y.i);
    if (strchr("<l>g=!", op))
        return of_bool(compare(op, is_float, x, y));
    return is_float ? naive_float(op, dtype != STK_F64, x, y) : naive_int(op, dtype, x, y);
}

static int expected_dtype(char op, int dtype)
{
    if (strchr("ao<l>g=!", op))
        return STK_BOOL;
    return op == '/' && stk__dtype_kind(dtype) != 'f' ? STK_F32 : dtype;
}

static void check_binary(const struct rule *rule, int dtype, struct table *t)
{
    int out = expected_dtype(rule->op, dtype);
    size_t bytes = stk_dtype_bytes(dtype), out_bytes = stk_dtype_bytes(out);
    size_t width = t->in[0].stride / bytes;
    uint8_t want[8], before[MAX_ROWS];
    memcpy(before, t->mask, sizeof before);
    run(t, rule->text);
    assert_int_equal(t->output[0].field.dtype, out);
    for (int row = 0; row < t->n; row++) {
        bool is_bad = false;
        for (size_t i = (size_t)row * width; i < (size_t)(row + 1) * width; i++) {
            struct number x = load(dtype, t->in[0].data + i * bytes);
            struct number y = load(dtype, t->in[1].data + i * bytes);
            store(out, expect_binary(rule->op, dtype, x, y), want);
            if (before[row] == STK_DEAD)
                memset(want, 0, sizeof want);
            is_bad |= stk__dtype_kind(dtype) != 'f' && strchr("d%", rule->op) && !y.i;
            if (!same_value(out, t->out[0].data + i * out_bytes, want))
                fail_msg("%s on %s: %g and %g give %g", rule->text, stk_dtype_name(dtype), x.d, y.d,
                         load(out, t->out[0].data + i * out_bytes).d);
        }
        assert_int_equal(t->mask[row], before[row] == STK_DEAD ? STK_DEAD
                                       : is_bad                ? STK_BAD
                                                               : STK_LIVE);
    }
}

static void test_binary_operators(void **state)
{
    static const int shapes[][3] = { { 700, 0, 0 }, { 100, 3, 0 }, { 3, 37, 41 } };
    (void)state;
    for (size_t k = 0; k < sizeof binary_rules / sizeof *binary_rules; k++) {
        for (int dtype = 0; dtype < STK_N_DTYPES; dtype++) {
            if (!strchr(binary_rules[k].kinds, stk__dtype_kind(dtype)))
                continue;
            for (int s = 0; s < 3; s++) {
                struct table t = { .n = shapes[s][0] };
                add_fixed(&t, "x", dtype, shapes[s][1], shapes[s][2]);
                add_fixed(&t, "y", dtype, shapes[s][1], shapes[s][2]);
                fill_columns(&t);
                check_binary(&binary_rules[k], dtype, &t);
            }
        }
        clear(NULL);
    }
}

static const struct rule unary_rules[] = {
    { "r = -x", '-', "uif" },
    { "r = abs(x)", 'a', "uif" },
    { "r = ~x", '~', "ui" },
    { "r = not x", '!', "b" },
    { "r = sqrt(x)", 's', "f" },
    { "r = exp(x)", 'e', "f" },
    { "r = log(x)", 'l', "f" },
    { "r = sin(x)", 'S', "f" },
    { "r = cos(x)", 'C', "f" },
    { "r = tanh(x)", 't', "f" },
    { "r = floor(x)", 'F', "f" },
    { "r = ceil(x)", 'c', "f" },
    { "r = round(x)", 'r', "f" },
    { "r = clip(x, 1, 3)", 'k', "uif" },
    { "r = x ** 3", '3', "uif" },
    { "r = x ** 0", '0', "uif" },
    { "r = x // 4", 'D', "ui" },
    { "r = x % 8", '8', "ui" },
    { "r = x // 7", '7', "ui" },
    { "r = 2 - x", '2', "uif" },
    { "r = where(x > 1, x, 5)", 'w', "uif" },
};

static double naive_function(char op, bool is_single, double x)
{
    float f = (float)x;
    switch (op) {
    case '-':
        return -x;
    case 'a':
        return fabs(x);
    case 's':
        return is_single ? (double)sqrtf(f) : sqrt(x);
    case 'e':
        return is_single ? (double)expf(f) : exp(x);
    case 'l':
        return is_single ? (double)logf(f) : log(x);
    case 'S':
        return is_single ? (double)sinf(f) : sin(x);
    case 'C':
        return is_single ? (double)cosf(f) : cos(x);
    case 't':
        return is_single ? (double)tanhf(f) : tanh(x);
    case 'F':
        return floor(x);
    case 'c':
        return ceil(x);
    case 'r':
        return nearbyint(x);
    case 'k':
        return isnan(x) ? x : x < 1 ? 1 : x > 3 ? 3 : x;
    case '3':
        return is_single ? (double)((float)(f * f) * f) : x * x * x;
    case '0':
        return 1;
    case '2':
        return 2 - x;
    default:
        return x > 1 ? x : 5;
    }
}

static wide naive_integer(char op, wide x)
{
    switch (op) {
    case '-':
        return -x;
    case 'a':
        return x < 0 ? -x : x;
    case '~':
        return ~x;
    case '!':
        return !x;
    case 'k':
        return x < 1 ? 1 : x > 3 ? 3 : x;
    case '3':
        return (wide)((uint64_t)x * (uint64_t)x * (uint64_t)x);
    case '0':
        return 1;
    case 'D':
        return floor_div(x, 4);
    case '8':
        return x - floor_div(x, 8) * 8;
    case '7':
        return floor_div(x, 7);
    case '2':
        return 2 - x;
    default:
        return x > 1 ? x : 5;
    }
}

static void test_functions(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof unary_rules / sizeof *unary_rules; k++) {
        for (int dtype = 0; dtype < STK_N_DTYPES; dtype++) {
            const struct rule *rule = &unary_rules[k];
            struct table t = { .n = 90 };
            uint8_t want[8];
            size_t bytes = stk_dtype_bytes(dtype);
            if (!strchr(rule->kinds, stk__dtype_kind(dtype)))
                continue;
            add_fixed(&t, "x", dtype, 33, 0);
            fill_columns(&t);
            run(&t, rule->text);
            assert_int_equal(t.output[0].field.dtype, dtype);
            assert_int_equal(t.output[0].field.rank, 1);
            for (size_t i = 0; i < 90 * 33; i++) {
                struct number x = load(dtype, t.in[0].data + i * bytes);
                if (stk__dtype_kind(dtype) == 'f')
                    x.d = naive_function(rule->op, dtype != STK_F64, x.d);
                else
                    x.i = naive_integer(rule->op, x.i);
                store(dtype, x, want);
                if (t.mask[i / 33] == STK_LIVE &&
                    !same_value(dtype, t.out[0].data + i * bytes, want))
                    fail_msg("%s on %s: value %zu", rule->text, stk_dtype_name(dtype), i);
            }
        }
        clear(NULL);
    }
}

/* Values as another dtype: the rules of cast's documentation. */
static struct number expect_cast(int from, int to, struct number x)
{
    bool from_float = stk__dtype_kind(from) == 'f', to_float = stk__dtype_kind(to) == 'f';
    bool is_half = to == STK_F16 || to == STK_BF16;
    if (to == STK_BOOL)
        return of_bool(from_float ? x.d != 0 : x.i != 0);
    if (to_float && !from_float)
        x.d = is_half || to == STK_F32 ? (double)(float)x.i : (double)x.i;
    if (to_float || !from_float)
        return x;
    int bits = 8 * (int)stk_dtype_bytes(to);
    bool is_unsigned = stk__dtype_kind(to) == 'u';
    wide top = ((wide)1 << (is_unsigned ? bits : bits - 1)) - 1, low = is_unsigned ? 0 : -top - 1;
    double cut = trunc(x.d);
    x.i = isnan(x.d) ? 0 : cut >= (double)top ? top : cut <= (double)low ? low : (wide)cut;
    return x;
}

static void test_casts(void **state)
{
    (void)state;
    for (int from = 0; from < STK_N_DTYPES; from++) {
        for (int to = 0; to < STK_N_DTYPES; to++) {
            struct table t = { .n = MAX_ROWS };
            char text[2][64];
            uint8_t want[8];
            add_fixed(&t, "x", from, 0, 0);
            fill_columns(&t);
            snprintf(text[0], sizeof text[0], "cast(x, %s)", stk_dtype_name(to));
            snprintf(text[1], sizeof text[1], "%s(x)", stk_dtype_name(to));
            run(&t, text[from % 2]);
            assert_int_equal(t.output[0].field.dtype, to);
            for (int i = 0; i < t.n; i++) {
                struct number x = load(from, t.in[0].data + (size_t)i * stk_dtype_bytes(from));
                store(to, expect_cast(from, to, x), want);
                if (t.mask[i] == STK_LIVE &&
                    !same_value(to, t.out[0].data + (size_t)i * stk_dtype_bytes(to), want))
                    fail_msg("%s to %s: %g", stk_dtype_name(from), stk_dtype_name(to), x.d);
            }
        }
        clear(NULL);
    }
}

static void check_reduction(const char *name, int dtype, int64_t width)
{
    struct table t = { .n = 20 };
    char text[32];
    size_t bytes = stk_dtype_bytes(dtype);
    bool is_float = stk__dtype_kind(dtype) == 'f';
    add_fixed(&t, "x", dtype, width, 0);
    fill_columns(&t);
    for (size_t i = 0; is_float && i < 20 * (size_t)width; i++)
        store(dtype, (struct number){ 0, (double)(int)(random_word() % 64) - 20 },
              t.in[0].data + i * bytes);
    snprintf(text, sizeof text, "r = %s(x)", name);
    run(&t, text);
    int out = t.output[0].field.dtype;
    assert_int_equal(t.output[0].field.rank, 0);
    for (int row = 0; row < t.n; row++) {
        struct number total = { 0, 0 }, low = { 0, 0 }, high = low, got, want;
        for (int64_t i = 0; i < width; i++) {
            struct number x =
                load(dtype, t.in[0].data + ((size_t)row * (size_t)width + (size_t)i) * bytes);
            total.i = is_float ? 0 : (wide)((uint64_t)total.i + (uint64_t)x.i);
            total.d += x.d;
            low = !i || compare('<', is_float, x, low) ? x : low;
            high = !i || compare('>', is_float, x, high) ? x : high;
        }
        if (!is_float && stk__dtype_kind(dtype) == 'i')
            total.i = (int64_t)total.i;
        want = !strcmp(name, "amin") ? low : !strcmp(name, "amax") ? high : total;
        if (!strcmp(name, "mean"))
            want.d = (is_float ? total.d : (double)total.i) / (double)width;
        uint8_t bits[8];
        store(out, want, bits);
        got = load(out, t.out[0].data + (size_t)row * stk_dtype_bytes(out));
        if (t.mask[row] == STK_LIVE &&
            memcmp(bits, t.out[0].data + (size_t)row * stk_dtype_bytes(out), stk_dtype_bytes(out)))
            fail_msg("%s of %d %s: %g, not %g", name, (int)width, stk_dtype_name(dtype), got.d,
                     want.d);
    }
}

static void test_reductions(void **state)
{
    static const char *const names[] = { "sum", "mean", "amin", "amax" };
    static const int64_t widths[] = { 1, 5, 8, 100, 3000 };
    (void)state;
    for (int dtype = STK_U8; dtype < STK_N_DTYPES; dtype++)
        for (int k = 0; k < 4; k++)
            for (int w = 0; w < 5; w++) {
                check_reduction(names[k], dtype, widths[w]);
                clear(NULL);
            }
}

/* ---- the same bits everywhere ---- */

static void test_levels_agree(void **state)
{
    static const char *const texts[] = {
        "r = sqrt(abs(f)) * 3 + exp(f / 9) - h; s = sum(f); t = mean(h)",
        "r = cast(u, float32) / 255; s = amin(f); t = round(f) // 3 + f % 0.7",
        "r = where(f > 0.5, f, 0) ** 2.5; s = sin(f) * cos(f) + tanh(f) * log(f); t = cast(f, "
        "float16)",
        "r = (i * 31 + 7) % 11 ^ (i >> 3); s = amax(i) // 3; t = cast(cast(f, int32), bfloat16) * "
        "1.1",
    };
    (void)state;
    for (int level = STK__CPU_AVX2; level < STK__N_CPU_LEVELS; level++) {
        if (level > (int)stk__cpu_best()) {
            print_message("skipped %s: this machine has none\n", stk__cpu_level_names[level]);
            continue;
        }
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            struct table t[2] = { { .n = 40 } };
            add_fixed(&t[0], "f", STK_F32, 77, 0);
            add_fixed(&t[0], "h", STK_F16, 77, 0);
            add_fixed(&t[0], "u", STK_U8, 77, 0);
            add_fixed(&t[0], "i", STK_I32, 77, 0);
            fill_columns(&t[0]);
            memset(t[0].mask, STK_LIVE, sizeof t[0].mask);
            t[1] = t[0];
            stk_cpu_limit("scalar", NULL);
            run(&t[0], texts[k]);
            assert_int_equal(stk_cpu_limit(stk__cpu_level_names[level], NULL), STK_OK);
            run(&t[1], texts[k]);
            for (int o = 0; o < t[0].n_out; o++) {
                int dtype = t[0].output[o].field.dtype;
                size_t bytes = stk_dtype_bytes(dtype);
                for (size_t i = 0; i < t[0].out[o].stride / bytes * 40; i++)
                    if (!same_value(dtype, t[0].out[o].data + i * bytes,
                                    t[1].out[o].data + i * bytes))
                        fail_msg("%s at %s: output %d differs", texts[k],
                                 stk__cpu_level_names[level], o);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_binary_operators, clear),
        cmocka_unit_test_teardown(test_functions, clear),
        cmocka_unit_test_teardown(test_casts, clear),
        cmocka_unit_test_teardown(test_reductions, clear),
        cmocka_unit_test_teardown(test_levels_agree, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
