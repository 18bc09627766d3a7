/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_expr.c: any text as an expression over a type with every kind of field; what compiles is run
 * on a few rows, and everything it wrote must be readable. */
#include "../tests/support/expr_rows.h"

#include <stdlib.h>

enum { N_ROWS = 5 };

static const struct stk_type type = {
    8,
    {
        { .name = "x", .kind = STK_FIXED, .dtype = STK_I64 },
        { .name = "u", .kind = STK_FIXED, .dtype = STK_U8, .rank = 1, .shape = { 3 } },
        { .name = "f", .kind = STK_FIXED, .dtype = STK_F32, .rank = 2, .shape = { 2, 3 } },
        { .name = "h", .kind = STK_FIXED, .dtype = STK_F16 },
        { .name = "b", .kind = STK_FIXED, .dtype = STK_BOOL, .rank = 1, .shape = { 3 } },
        { .name = "s", .kind = STK_SHAPED, .dtype = STK_I16, .rank = 2, .shape = { -1, 3 } },
        { .name = "t", .kind = STK_SHAPED, .dtype = STK_F64, .rank = 2, .shape = { -1, -1 } },
        { .name = "n", .kind = STK_BYTES, .dtype = STK_U8 },
    },
};

static void fill(struct stk_column *column)
{
    static uint8_t bytes[] =
        "abc\0\1\377\200 some bytes for the rows that are not fixed, long enough for "
        "three times three doubles";
    make_columns(&type, N_ROWS, column);
    for (int f = 0; f < type.n_fields; f++) {
        const struct stk_field *field = &type.field[f];
        size_t n = column[f].stride * N_ROWS;
        for (size_t i = 0; field->kind == STK_FIXED && i < n; i++)
            column[f].data[i] = field->dtype == STK_BOOL ? i & 1 : bytes[i % sizeof bytes];
        for (int row = 0; field->kind != STK_FIXED && row < N_ROWS; row++) {
            int32_t *dims = column[f].dims + row * field->rank;
            size_t len = (size_t)row;
            if (field->kind == STK_SHAPED) {
                dims[0] = row % 3;
                dims[1] = field->shape[1] < 0 && row == 4 ? 2 : 3;
                len = (size_t)dims[0] * (size_t)dims[1] * stk_dtype_bytes(field->dtype);
            }
            column[f].span[row] = (struct stk_span){ .data = len ? bytes : NULL, .bytes = len };
        }
    }
}

static volatile uint8_t sink; /* keeps the reading */

static uint8_t touch(const struct stk__expr_output *output, const struct stk_column *column)
{
    uint8_t sum = 0;
    for (int row = 0; row < N_ROWS; row++) {
        bool is_fixed = output->field.kind == STK_FIXED;
        const uint8_t *data =
            is_fixed ? column->data + (size_t)row * column->stride : column->span[row].data;
        size_t bytes = is_fixed ? column->stride : column->span[row].bytes;
        for (size_t i = 0; i < bytes; i++)
            sum ^= data[i];
    }
    return sum;
}

static void check(const char *text, enum stk__expr_mode mode)
{
    struct stk_arena arena = { .block_bytes = 1 << 14 };
    struct stk_error err = { 0 };
    const struct stk__expr_program *program;
    struct stk_column in[STK_MAX_FIELDS], out[STK_MAX_FIELDS];
    uint8_t mask[N_ROWS] = { STK_LIVE, STK_LIVE, STK_DEAD, STK_LIVE, STK_LIVE };
    int rc = stk__expr_compile(text, &type, mode, &arena, &program, &err);
    if (rc && (err.code != rc || !strstr(err.text, "column")))
        abort();
    if (!rc) {
        fill(in);
        for (int i = 0; i < program->n_outputs; i++) {
            struct stk_type one = { 1, { program->output[i].field } };
            make_columns(&one, N_ROWS, &out[program->output[i].to]);
        }
        struct stk_rows rows = { .n = N_ROWS, .in = in, .mask = mask };
        if (stk__expr_run(program, &rows, out) || mask[2] != STK_DEAD)
            abort();
        for (int i = 0; i < program->n_outputs; i++)
            sink ^= touch(&program->output[i], &out[program->output[i].to]);
    }
    stk__arena_free(&arena);
    stk__arena_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    char *text = malloc(n_bytes + 1);
    if (!text)
        return 0;
    memcpy(text, bytes, n_bytes);
    text[n_bytes] = 0;
    check(text, STK__EXPR_MAP);
    check(text, STK__EXPR_FILTER);
    free(text);
    return 0;
}
