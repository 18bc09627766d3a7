/* SPDX-License-Identifier: Apache-2.0 */
/* expr_table.h: for the tests of expressions: columns of random values, a program run over them,
 * and values read and written one at a time. */
#pragma once
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

static inline int clear(void **state)
{
    (void)state;
    stk__arena_free(&arena);
    stk__arena_free(&scratch);
    allocations_left = -1;
    stk_cpu_limit("auto", NULL);
    return 0;
}

static inline struct stk_field *add_field(struct table *t, const char *name, int kind, int dtype)
{
    struct stk_field *field = &t->type.field[t->type.n_fields++];
    *field = (struct stk_field){ .name = name, .kind = (uint8_t)kind, .dtype = (uint8_t)dtype };
    return field;
}

static inline void add_fixed(struct table *t, const char *name, int dtype, int64_t a, int64_t b)
{
    struct stk_field *field = add_field(t, name, STK_FIXED, dtype);
    field->shape[0] = a;
    field->shape[1] = b;
    field->rank = (uint8_t)((a > 0) + (b > 0));
}

static inline int compile(struct table *t, const char *text,
                          const struct stk__expr_program **program)
{
    return stk__expr_compile(text, &t->type, STK__EXPR_MAP, &arena, program, &t->err);
}

/* Compiles and runs; the outputs' columns are out[i] with output[i]. */
static inline int run_rc(struct table *t, const char *text)
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

static inline void run(struct table *t, const char *text)
{
    if (run_rc(t, text))
        fail_msg("%s: %s", text, t->err.text);
}

/* ---- values, one at a time ---- */

struct number {
    wide i;
    double d;
};

static inline double half_value(uint16_t half, bool is_brain)
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
static inline uint16_t nearest_half(double value, bool is_brain)
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

static inline struct number load(int dtype, const uint8_t *at)
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

static inline void store(int dtype, struct number x, uint8_t *at)
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

/* ---- data ---- */

static uint64_t random_state = 1;

static inline uint64_t random_word(void)
{
    return stk__hash_mix(0x65787072, random_state++);
}

static inline void random_value(int dtype, uint8_t *at)
{
    static const double reals[] = { 0,    -0.0,  1,     -1,    0.5,  1.5,  2.5,   -2.5,
                                    1e-7, 65504, 65520, 3e9,   -3e9, 1e19, -1e19, 1e30,
                                    1e39, 127.9, 128,   255.5, -0.9, 1e-40 };
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

static inline void fill_columns(struct table *t)
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

static inline bool same_value(int dtype, const uint8_t *a, const uint8_t *b)
{
    if (stk__dtype_kind(dtype) == 'f' && isnan(load(dtype, a).d) && isnan(load(dtype, b).d))
        return true;
    return !memcmp(a, b, stk_dtype_bytes(dtype));
}
