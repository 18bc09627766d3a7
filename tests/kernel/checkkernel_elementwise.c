/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_elementwise.c: every elementwise, convert and reduce kernel of a table against
 * scalar. */
#include "checkkernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 4096, WORD = 8 };

/* Operands and results. */
static uint8_t memory[3][MAX_VALUES * WORD], expected[MAX_VALUES * WORD], result[MAX_VALUES * WORD];

static const char *const op_names[] = {
#define NAME(op) #op,
    STK__ELEMENTWISE_LIST(NAME)
#undef NAME
};
static const char *const reduce_names[] = { "SUM", "MEAN", "AMIN", "AMAX", "ANY", "ALL" };

/* One kernel in two versions. Selects take a condition first. */
struct pair {
    char name[64];
    stk__elementwise_fn run[2];
    stk__reduce_fn reduce[2];
    int dtype, out_dtype;
    bool is_select;
};

struct call {
    const struct pair *pair;
    int version;
    size_t offset, n;
    void *out;
};

static void run_call(void *ctx)
{
    const struct call *call = ctx;
    const struct pair *pair = call->pair;
    const uint8_t *a = memory[0] + call->offset, *b = memory[1] + call->offset;
    if (pair->reduce[0])
        pair->reduce[call->version](call->out, a, call->n);
    else
        pair->run[call->version](call->out, a, b, memory[2] + call->offset, call->n);
}

/* Random bits; for floats mostly moderate values; booleans are 0 or 1. */
static void fill(uint8_t *data, size_t n, int dtype)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t word = random_word();
        float f = (float)(int32_t)word * 0x1p-24f;
        double d = f;
        if (dtype == STK_BOOL)
            data[i] = word & 1;
        else if (dtype == STK_F32 && word >> 61)
            memcpy(data + i * 4, &f, 4);
        else if (dtype == STK_F64 && word >> 61)
            memcpy(data + i * 8, &d, 8);
        else
            memcpy(data + i * stk_dtype_bytes(dtype), &word, stk_dtype_bytes(dtype));
    }
}

static bool is_nan(const uint8_t *value, int dtype)
{
    float f = 0;
    double d = 0;
    if (dtype == STK_F32)
        memcpy(&f, value, sizeof f);
    if (dtype == STK_F64)
        memcpy(&d, value, sizeof d);
    return isnan(f) || isnan(d);
}

static bool same(size_t n, int dtype)
{
    size_t bytes = stk_dtype_bytes(dtype);
    for (size_t i = 0; i < n; i++) {
        uint8_t *a = expected + i * bytes, *b = result + i * bytes;
        if (is_nan(a, dtype) && is_nan(b, dtype))
            memcpy(b, a, bytes);
    }
    return !memcmp(expected, result, sizeof expected);
}

/* Many lengths and alignments, and nothing written behind the last value. */
static int check_pair(const struct pair *pair)
{
    for (size_t n = pair->reduce[0] ? 1 : 0; n < 140; n++) {
        size_t offset = random_word() % 8 * stk_dtype_bytes(pair->dtype);
        for (int i = 0; i < 3; i++)
            fill(memory[i] + offset, n, pair->is_select && i == 0 ? STK_BOOL : pair->dtype);
        struct call scalar = { pair, 0, offset, n, expected },
                    other = { pair, 1, offset, n, result };
        memset(expected, 0xa5, sizeof expected);
        memset(result, 0xa5, sizeof result);
        run_call(&scalar);
        run_call(&other);
        if (!same(pair->reduce[0] ? 1 : n, pair->out_dtype)) {
            printf("FAIL %s, %zu values\n", pair->name, n);
            return 1;
        }
    }
    return 0;
}

static void bench_pair(const struct pair *pair)
{
    struct call scalar = { pair, 0, 0, MAX_VALUES, expected };
    struct call other = { pair, 1, 0, MAX_VALUES, result };
    for (int i = 0; i < 3; i++)
        fill(memory[i], MAX_VALUES, pair->is_select && i == 0 ? STK_BOOL : pair->dtype);
    print_time(pair->name, "value", time_call(run_call, &scalar) / MAX_VALUES,
               time_call(run_call, &other) / MAX_VALUES);
}

static int visit(const struct pair *pair, bool bench, const char *filter)
{
    if (!is_wanted(pair->name, filter))
        return 0;
    if (!bench)
        return check_pair(pair);
    bench_pair(pair);
    return 0;
}

static int visit_op(int level, int op, int dtype, bool bench, const char *filter)
{
    const struct stk__elementwise_kernels *scalar = &stk__kernels_at(0)->elementwise;
    const struct stk__elementwise_kernels *other = &stk__kernels_at(level)->elementwise;
    bool is_test = (op >= STK__EW_EQ && op <= STK__EW_LE) || op == STK__EW_NOT;
    struct pair pair = { .run = { scalar->op[op][dtype], other->op[op][dtype] },
                         .dtype = dtype,
                         .out_dtype = is_test ? STK_BOOL : dtype,
                         .is_select = op == STK__EW_SELECT };
    snprintf(pair.name, sizeof pair.name, "%s %s", op_names[op], stk_dtype_name(dtype));
    return pair.run[0] ? visit(&pair, bench, filter) : 0;
}

static int visit_convert(int level, int from, int to, bool bench, const char *filter)
{
    const struct stk__elementwise_kernels *scalar = &stk__kernels_at(0)->elementwise;
    const struct stk__elementwise_kernels *other = &stk__kernels_at(level)->elementwise;
    struct pair pair = { .run = { scalar->convert[from][to], other->convert[from][to] },
                         .dtype = from,
                         .out_dtype = to };
    snprintf(pair.name, sizeof pair.name, "convert %s to %s", stk_dtype_name(from),
             stk_dtype_name(to));
    return pair.run[0] ? visit(&pair, bench, filter) : 0;
}

static int visit_reduce(int level, int op, int dtype, bool bench, const char *filter)
{
    const struct stk__elementwise_kernels *scalar = &stk__kernels_at(0)->elementwise;
    const struct stk__elementwise_kernels *other = &stk__kernels_at(level)->elementwise;
    int out = op == STK__REDUCE_MEAN && dtype != STK_F64 ? STK_F32 : dtype;
    struct pair pair = { .reduce = { scalar->reduce[op][dtype], other->reduce[op][dtype] },
                         .dtype = dtype,
                         .out_dtype = out };
    snprintf(pair.name, sizeof pair.name, "%s %s", reduce_names[op], stk_dtype_name(dtype));
    return pair.reduce[0] ? visit(&pair, bench, filter) : 0;
}

static int visit_all(int level, bool bench, const char *filter)
{
    int n_bad = 0;
    for (int dtype = 0; dtype < STK_N_DTYPES; dtype++) {
        for (int op = 0; op < STK__EW_N_OPS; op++)
            n_bad += visit_op(level, op, dtype, bench, filter);
        for (int to = 0; to < STK_N_DTYPES; to++)
            n_bad += visit_convert(level, dtype, to, bench, filter);
        for (int op = 0; op < STK__REDUCE_N_OPS; op++)
            n_bad += visit_reduce(level, op, dtype, bench, filter);
    }
    return n_bad;
}

int check_elementwise(int level, const char *filter)
{
    return visit_all(level, false, filter);
}

void bench_elementwise(int level, const char *filter)
{
    visit_all(level, true, filter);
}
