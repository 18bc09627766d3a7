/* SPDX-License-Identifier: Apache-2.0 */
/* test_expr.c: the expression compiler and its ops, against a naive evaluator with one value at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "base/type.h"
#include "expr_rows.h"
#include "kernel/kernel.h"

extern const struct stk_op stk__op_map, stk__op_filter, stk__op_cast, stk__op_scale;

__extension__ typedef __int128 wide;

enum { MAX_ROWS = 700 };

/* ---- running ---- */

struct table {
    struct stk_type type;
    struct stk_column in[STK_MAX_FIELDS], out[STK_MAX_FIELDS];
    uint8_t mask[MAX_ROWS];
    int n, n_out;
    struct stk__expr_output output[STK_MAX_FIELDS];
    struct stk_error err;
};

static struct stk_arena arena = { .block_bytes = 1 << 16 };

static int clear(void **state)
{
    (void)state;
    stk__arena_free(&arena);
    stk__arena_free(&scratch);
    allocations_left = -1;
    stk_cpu_limit("auto", NULL);
    return 0;
}

static struct stk_field *add_field(struct table *t, const char *name, int kind, int dtype)
{
    struct stk_field *field = &t->type.field[t->type.n_fields++];
    *field = (struct stk_field){ .name = name, .kind = (uint8_t)kind, .dtype = (uint8_t)dtype };
    return field;
}

static void add_fixed(struct table *t, const char *name, int dtype, int64_t a, int64_t b)
{
    struct stk_field *field = add_field(t, name, STK_FIXED, dtype);
    field->shape[0] = a;
    field->shape[1] = b;
    field->rank = (uint8_t)((a > 0) + (b > 0));
}

static int compile(struct table *t, const char *text, const struct stk__expr_program **program)
{
    return stk__expr_compile(text, &t->type, STK__EXPR_MAP, &arena, program, &t->err);
}

/* Compiles and runs; the outputs' columns are out[i] with output[i]. */
static int run_rc(struct table *t, const char *text)
{
    const struct stk__expr_program *program;
    struct stk_rows rows = { .n = t->n, .in = t->in, .mask = t->mask };
    struct stk_column out[STK_MAX_FIELDS];
    int rc = compile(t, text, &program);
    if (rc)
        return rc;
    t->n_out = program->n_outputs;
    for (int i = 0; i < program->n_outputs; i++) {
        struct stk_type one = { 1, { program->output[i].field } };
        t->output[i] = program->output[i];
        make_columns(&one, t->n, &out[program->output[i].to]);
    }
    rc = stk__expr_run(program, &rows, out);
    for (int i = 0; i < program->n_outputs; i++)
        t->out[i] = out[program->output[i].to];
    return rc;
}

static void run(struct table *t, const char *text)
{
    if (run_rc(t, text))
        fail_msg("%s: %s", text, t->err.text);
}

/* ---- the naive evaluator ---- */

struct number {
    wide i;
    double d;
};

static double half_value(uint16_t half, bool is_brain)
{
    if (is_brain) {
        uint32_t bits = (uint32_t)half << 16;
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -value : value;
}

/* The nearest of all 16-bit floats, the even one of two; by bisection over the positive ones. */
static uint16_t nearest_half(double value, bool is_brain)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0, low = 0, high = is_brain ? 0x7f80 : 0x7c00;
    double x = fabs(value), overflow = is_brain ? 0x1.ffp127 : 65520;
    if (isnan(value))
        return sign | high | (is_brain ? 0x40 : 0x200);
    if (x >= overflow)
        return sign | high;
    high--;
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        *(half_value(middle, is_brain) <= x ? &low : &high) = middle;
    }
    double below = x - half_value(low, is_brain), above = half_value(high, is_brain) - x;
    bool goes_up = above < below || (above == below && (low & 1));
    return sign | (goes_up ? high : low);
}

static struct number load(int dtype, const uint8_t *at)
{
    struct number x = { 0, 0 };
    uint64_t bits = 0;
    float f;
    int width = 8 * (int)stk_dtype_bytes(dtype);
    memcpy(&bits, at, stk_dtype_bytes(dtype));
    x.i = bits;
    if (stk__dtype_kind(dtype) == 'i' && bits >> (width - 1))
        x.i -= (wide)1 << width;
    x.d = (double)x.i;
    memcpy(&f, at, dtype == STK_F32 ? 4 : 0);
    if (dtype == STK_F32)
        x.d = f;
    if (dtype == STK_F64)
        memcpy(&x.d, at, 8);
    if (dtype == STK_F16 || dtype == STK_BF16)
        x.d = half_value((uint16_t)bits, dtype == STK_BF16);
    return x;
}

static void store(int dtype, struct number x, uint8_t *at)
{
    uint64_t bits = (uint64_t)x.i;
    float f = (float)x.d;
    if (dtype == STK_F32)
        memcpy(&bits, &f, sizeof f);
    else if (dtype == STK_F64)
        memcpy(&bits, &x.d, sizeof x.d);
    else if (stk__dtype_kind(dtype) == 'f')
        bits = nearest_half((double)f, dtype == STK_BF16);
    memcpy(at, &bits, stk_dtype_bytes(dtype));
}

static wide floor_div(wide x, wide y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }

static struct number of_bool(bool value) { return (struct number){ value, value }; }

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

/* ---- data ---- */

static uint64_t random_state = 1;

static uint64_t random_word(void) { return stk__mix(0x65787072, random_state++); }

static void random_value(int dtype, uint8_t *at)
{
    static const double reals[] = { 0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-7, 65504, 65520, 3e9, -3e9,
                                    1e19, -1e19, 1e30, 1e39, 127.9, 128, 255.5, -0.9, 1e-40 };
    uint64_t word = random_word(), bits = random_word();
    struct number x = { 0, 0 };
    if (stk__dtype_kind(dtype) == 'f' && word % 4) {
        x.d = word % 4 == 1 ? reals[bits % (sizeof reals / sizeof *reals)]
                            : (double)(int64_t)bits * (word % 4 == 2 ? 0x1p-60 : 0x1p-50);
        x.d = (double)(float)x.d;
        store(dtype, x, at);
        return;
    }
    if (word % 4 == 1)
        bits %= 3;
    if (word % 4 == 2)
        bits = -(bits % 3);
    if (word % 32 == 3)
        bits = (uint64_t)1 << (8 * stk_dtype_bytes(dtype) - 1);
    if (dtype == STK_BOOL)
        bits &= 1;
    memcpy(at, &bits, stk_dtype_bytes(dtype));
    if (stk__dtype_kind(dtype) == 'f' && isnan(load(dtype, at).d))
        store(dtype, (struct number){ 0, NAN }, at); /* pow tells signalling ones apart */
}

static void fill_columns(struct table *t)
{
    make_columns(&t->type, t->n, t->in);
    for (int f = 0; f < t->type.n_fields; f++) {
        size_t bytes = stk_dtype_bytes(t->type.field[f].dtype);
        size_t n = t->in[f].stride / bytes * (size_t)t->n;
        for (size_t i = 0; i < n; i++)
            random_value(t->type.field[f].dtype, t->in[f].data + i * bytes);
    }
    for (int i = 0; i < t->n; i++)
        t->mask[i] = random_word() % 7 ? STK_LIVE : STK_DEAD;
}

static bool same_value(int dtype, const uint8_t *a, const uint8_t *b)
{
    if (stk__dtype_kind(dtype) == 'f' && isnan(load(dtype, a).d) && isnan(load(dtype, b).d))
        return true;
    return !memcmp(a, b, stk_dtype_bytes(dtype));
}

/* ---- operators and functions on all dtypes ---- */

/* What one case is: its expression, its letter for the evaluator, the kinds of dtype it takes. */
struct rule {
    const char *text;
    char op;
    const char *kinds;
};

static const struct rule binary_rules[] = {
    { "r = x + y", '+', "uif" },        { "r = x - y", '-', "uif" },
    { "r = x * y", '*', "uif" },        { "r = x / y", '/', "uif" },
    { "r = x // y", 'd', "uif" },       { "r = x % y", '%', "uif" },
    { "r = x ** y", 'p', "f" },         { "r = min(x, y)", 'm', "uif" },
    { "r = max(x, y)", 'M', "uif" },    { "r = x & y", '&', "ui" },
    { "r = x | y", '|', "ui" },         { "r = x ^ y", '^', "ui" },
    { "r = x << y", 'L', "ui" },        { "r = x >> y", 'R', "ui" },
    { "r = x < y", '<', "uif" },        { "r = x <= y", 'l', "uif" },
    { "r = x > y", '>', "uif" },        { "r = x >= y", 'g', "uif" },
    { "r = x == y", '=', "buif" },      { "r = x != y", '!', "buif" },
    { "r = x and y", 'a', "b" },        { "r = x or y", 'o', "b" },
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
        assert_int_equal(t->mask[row], before[row] == STK_DEAD ? STK_DEAD : is_bad ? STK_BAD : STK_LIVE);
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
    { "r = -x", '-', "uif" },       { "r = abs(x)", 'a', "uif" },     { "r = ~x", '~', "ui" },
    { "r = not x", '!', "b" },      { "r = sqrt(x)", 's', "f" },      { "r = exp(x)", 'e', "f" },
    { "r = log(x)", 'l', "f" },     { "r = sin(x)", 'S', "f" },       { "r = cos(x)", 'C', "f" },
    { "r = tanh(x)", 't', "f" },    { "r = floor(x)", 'F', "f" },     { "r = ceil(x)", 'c', "f" },
    { "r = round(x)", 'r', "f" },   { "r = clip(x, 1, 3)", 'k', "uif" },
    { "r = x ** 3", '3', "uif" },   { "r = x ** 0", '0', "uif" },     { "r = x // 4", 'D', "ui" },
    { "r = x % 8", '8', "ui" },     { "r = x // 7", '7', "ui" },      { "r = 2 - x", '2', "uif" },
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
                if (t.mask[i / 33] == STK_LIVE && !same_value(dtype, t.out[0].data + i * bytes, want))
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
        store(dtype, (struct number){ 0, (double)(int)(random_word() % 64) - 20 }, t.in[0].data + i * bytes);
    snprintf(text, sizeof text, "r = %s(x)", name);
    run(&t, text);
    int out = t.output[0].field.dtype;
    assert_int_equal(t.output[0].field.rank, 0);
    for (int row = 0; row < t.n; row++) {
        struct number total = { 0, 0 }, low = { 0, 0 }, high = low, got, want;
        for (int64_t i = 0; i < width; i++) {
            struct number x = load(dtype, t.in[0].data + ((size_t)row * (size_t)width + (size_t)i) * bytes);
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
        if (t.mask[row] == STK_LIVE && memcmp(bits, t.out[0].data + (size_t)row * stk_dtype_bytes(out),
                                              stk_dtype_bytes(out)))
            fail_msg("%s of %d %s: %g, not %g", name, (int)width, stk_dtype_name(dtype), got.d, want.d);
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

/* ---- typing, precedence, messages ---- */

static void numbers_of_all_kinds(struct table *t)
{
    for (int dtype = 0; dtype < STK_N_DTYPES; dtype++) {
        static const char *const names[] = { "b", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64",
                                             "f16", "bf16", "f32", "f64" };
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
        { "r = 0.5 * u8", "at column 11: uint8 and a real number do not mix; write cast(u8, float32)" },
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
        { "x + y * 2", 13 },          { "(x + y) * 2", 20 },      { "x - y - 1", 3 },
        { "-x ** 2", -49 },           { "2 ** 3 ** 2", 512 },     { "-x // 2", -4 },
        { "-x % 4", 1 },              { "x // y * y + x % y", 7 }, { "x | y & 1 ^ 2", 7 },
        { "1 << 2 + 1", 8 },          { "x >> 1 & 1", 1 },        { "~x + 1", -7 },
        { "where(not x == y and x > y or false, 1, 0)", 1 },      { "where(x & 1 == 1, 1, 0)", 1 },
        { "x-1", 6 },                 { "- - x", 7 },             { "0x10 + x", 23 },
        { "max(x, y) - min(x, y)", 4 }, { "x ** 3 % 100", 43 },   { "(x +\n y)", 10 },
        { "+x", 7 },                  { "where(1 < 2, x, y)", 7 }, { "clip(x, 0, 5)", 5 },
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
            assert_true(t.out[4].data[row] == t.in[1].data[row] && t.out[5].data[row] == t.in[1].data[row]);
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
        assert_int_equal(((uint32_t *)(void *)t.out[1].data)[row], (uint32_t)m[2098] + (uint32_t)v[0]);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(((uint32_t *)(void *)t.out[2].data)[row * 3 + i], ((uint32_t)v[i] - s) * sum);
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
            assert_int_equal(load(STK_U16, t.out[0].span[row].data + i * 2).i, (uint16_t)((a + b) * s));
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
    run(&t, "a = len(name); b = name == 'cat'; c = \"cat\" != name; d = name == other; e = len(ids) % 3");
    for (int row = 0; row < 5; row++) {
        bool is_cat = !strcmp(texts[row], "cat");
        assert_int_equal(load(STK_I64, t.out[0].data + row * 8).i, strlen(texts[row]));
        assert_int_equal(t.out[1].data[row], is_cat);
        assert_int_equal(t.out[2].data[row], !is_cat);
        assert_int_equal(t.out[3].data[row], !strcmp(texts[row], others[row]));
        assert_int_equal(load(STK_I64, t.out[4].data + row * 8).i, row % 3);
    }
}

/* ---- the same bits everywhere ---- */

static void test_levels_agree(void **state)
{
    static const char *const texts[] = {
        "r = sqrt(abs(f)) * 3 + exp(f / 9) - h; s = sum(f); t = mean(h)",
        "r = cast(u, float32) / 255; s = amin(f); t = round(f) // 3 + f % 0.7",
        "r = where(f > 0.5, f, 0) ** 2.5; s = sin(f) * cos(f) + tanh(f) * log(f); t = cast(f, float16)",
        "r = (i * 31 + 7) % 11 ^ (i >> 3); s = amax(i) // 3; t = cast(cast(f, int32), bfloat16) * 1.1",
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
                    if (!same_value(dtype, t[0].out[o].data + i * bytes, t[1].out[o].data + i * bytes))
                        fail_msg("%s at %s: output %d differs", texts[k], stk__cpu_level_names[level], o);
            }
        }
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
    struct stk_error err;
};

static int infer_op(struct op_rows *o, const struct stk_op *op, const void *params)
{
    o->inf = (struct stk_infer){ .params = params, .n_inputs = 1, .in = { &o->in }, .out = &o->out,
                                 .in_count = { 100 }, .count = 100, .read_field = -1, .arena = &arena };
    return op->infer(&o->inf, &o->err);
}

static void run_op(struct op_rows *o, const struct stk_op *op, struct table *t, struct stk_column *out)
{
    make_columns(&o->out, t->n, out);
    struct stk_rows rows = { .params = o->inf.params, .state = o->inf.state, .in_type = &o->in,
                             .out_type = &o->out, .n = t->n, .in = t->in, .out = out, .mask = t->mask };
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
    memcpy(before, t.mask, sizeof before);
    run_op(&o, &stk__op_filter, &t, out);
    for (int i = 0; i < t.n; i++) {
        wide x = load(STK_I64, t.in[0].data + i * 8).i;
        bool is_kept = x % 3 != 0 && t.in[1].data[i] < 100;
        assert_int_equal(t.mask[i], before[i] == STK_LIVE && is_kept ? STK_LIVE : STK_DEAD);
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
        cmocka_unit_test_teardown(test_binary_operators, clear),
        cmocka_unit_test_teardown(test_functions, clear),
        cmocka_unit_test_teardown(test_casts, clear),
        cmocka_unit_test_teardown(test_reductions, clear),
        cmocka_unit_test_teardown(test_result_types, clear),
        cmocka_unit_test_teardown(test_messages, clear),
        cmocka_unit_test_teardown(test_long_and_deep, clear),
        cmocka_unit_test_teardown(test_precedence, clear),
        cmocka_unit_test_teardown(test_statements, clear),
        cmocka_unit_test_teardown(test_broadcast, clear),
        cmocka_unit_test_teardown(test_shaped, clear),
        cmocka_unit_test_teardown(test_shaped_empty_and_zero, clear),
        cmocka_unit_test_teardown(test_bytes, clear),
        cmocka_unit_test_teardown(test_levels_agree, clear),
        cmocka_unit_test_teardown(test_strides, clear),
        cmocka_unit_test_teardown(test_no_memory, clear),
        cmocka_unit_test_teardown(test_map_and_filter, clear),
        cmocka_unit_test_teardown(test_cast_and_scale, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
