/* SPDX-License-Identifier: Apache-2.0 */
/* threshold.c: a plug-in with one op: numbers become 1 where they are above a level, else 0.
 *
 *     cc -shared -fPIC $(pkg-config --cflags stoker) -o threshold.so threshold.c
 *     stoker run --plugin ./threshold.so "range(10).threshold(4)"
 */
#define STK_PLUGIN
#include <stoker/op.h>

#include <float.h>
#include <math.h>

/* ---- parameters: a struct, and a row for each member ---- */

struct threshold {
    double level;
    bool invert;
    const char *field;
};

static const struct stk_param params[] = {
    STK_REAL_ROW(threshold, level, 0, -DBL_MAX, DBL_MAX, STK_REQUIRED, "values above it become 1"),
    STK_BOOL_ROW(threshold, invert, false, 0, "swaps 0 and 1"),
    STK_TEXT_ROW(threshold, field, NULL, STK_TAKES_NONE, "field to work on, if there are several"),
    STK_ROWS_END,
};

/* ---- types: what comes in, what goes out ---- */

static bool is_number(const struct stk_field *field)
{
    return field->kind == STK_FIXED && (field->dtype == STK_I64 || field->dtype == STK_F32);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct threshold *p = inf->params;
    int field = stk_infer_pick(inf, p->field, is_number, "a field of int64 or float32", err);
    if (field < 0)
        return STK_TYPE;
    int *which = stk_arena_alloc(inf->arena, sizeof *which);
    if (!which)
        return STK_MEMORY;
    *which = field;
    inf->state = which; /* for run; it lives as long as the chain */
    stk_infer_pass(inf);
    inf->out->field[field].dtype = STK_U8;
    inf->from[field] = -1; /* this one is written by run, the others stay untouched */
    return STK_OK;
}

/* ---- the work: n rows, on any thread ---- */

static double value_at(const struct stk_field *field, const uint8_t *row, size_t i)
{
    return field->dtype == STK_I64 ? (double)((const int64_t *)(const void *)row)[i]
                                   : (double)((const float *)(const void *)row)[i];
}

static int run(struct stk_rows *rows)
{
    const struct threshold *p = rows->params;
    int field = *(const int *)rows->state;
    const struct stk_column *in = &rows->in[field], *out = &rows->out[field];
    const struct stk_field *type = &rows->in_type->field[field];
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        for (size_t k = 0; k < out->stride; k++) {
            double value = value_at(type, in->data + (size_t)i * in->stride, k);
            if (isnan(value)) {
                stk_rows_fail(rows, i, STK_DATA, "value %zu is no number", k);
                break;
            }
            out->data[(size_t)i * out->stride + k] = (value > p->level) != p->invert;
        }
    }
    return STK_OK;
}

/* ---- the declaration: name, texts and functions ---- */

static const char doc[] = "Values are compared one by one; the field becomes uint8.\n"
                          "\n"
                          "    range(10).threshold(4)\n"
                          "    values({x: [[0.5, 1.5], [2.5, -1.0]]}).threshold(1.0, invert=true)\n"
                          "\n"
                          "An element with a value that is no number is a bad element.";

static const struct stk_op threshold = {
    .decl = { "threshold", 1, "Mark the values above a level.", doc, params,
              sizeof(struct threshold) },
    .infer = infer,
    .row = { .run = run },
};

STK_PLUGIN_OPS(&threshold)
