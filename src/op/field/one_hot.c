/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot.c: numbers of classes as vectors with one entry for each class. */
#include "base/error.h"
#include "base/type.h"
#include "op/dtype_value.h"
#include "op/field/array_field.h"

#include <float.h>
#include <string.h>

struct one_hot {
    int64_t depth;
    const char *field;
    double on, off;
    int dtype;
    const char *into;
};

static const struct stk_param params[] = {
    STK_INT_ROW(one_hot, depth, 0, 1, INT32_MAX, STK_REQUIRED, "number of classes"),
    STK_TEXT_ROW(one_hot, field, NULL, STK_TAKES_NONE,
                 "field with the numbers; none: the only one with integers"),
    STK_REAL_ROW(one_hot, on, 1, -DBL_MAX, DBL_MAX, 0, "the entry of the class"),
    STK_REAL_ROW(one_hot, off, 0, -DBL_MAX, DBL_MAX, 0, "all other entries"),
    STK_CHOICE_ROW(one_hot, dtype, stk__dtype_names, STK_F32, 0, "dtype of the entries"),
    STK_TEXT_ROW(one_hot, into, NULL, STK_TAKES_NONE,
                 "name of the new field; none: it replaces the numbers"),
    STK_ROWS_END,
};

struct state {
    int from, to;
    size_t entry_bytes;
    uint64_t on, off; /* the first entry_bytes of each */
};

static bool is_integers(const struct stk_field *field)
{
    char kind = stk__dtype_kind(field->dtype);
    return stk__is_array(field) && (kind == 'i' || kind == 'u');
}

static int check_values(const struct one_hot *p, struct stk_error *err)
{
    const double value[] = { p->on, p->off };
    for (int i = 0; i < 2; i++)
        if (!stk__dtype_has(p->dtype, value[i]))
            return stk_fail(err, STK_VALUE, "%s cannot be %.17g", stk__dtype_names[p->dtype],
                            value[i]);
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    enum { TYPICAL_LIST = 16 };
    const struct one_hot *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    state->from = stk_infer_pick(inf, p->field, is_integers, "a field of integers", err);
    if (state->from < 0)
        return err->code;
    stk_infer_pass(inf);
    struct stk_field made = inf->in[0]->field[state->from];
    if (made.rank == STK_MAX_RANK)
        return stk_fail(err, STK_TYPE,
                        "the field '%s' has %d dimensions already, the most there are", made.name,
                        STK_MAX_RANK);
    made.shape[made.rank++] = p->depth;
    made.dtype = (uint8_t)p->dtype;
    made.flags = 0;
    state->entry_bytes = stk_dtype_bytes(p->dtype);
    stk__dtype_put(p->dtype, p->on, &state->on);
    stk__dtype_put(p->dtype, p->off, &state->off);
    if (made.kind != STK_FIXED)
        inf->scratch_bytes = TYPICAL_LIST * (size_t)p->depth * state->entry_bytes;
    int code = check_values(p, err);
    if (!code)
        code = stk__array_check_size(&made, err);
    return code ? code : stk__result_put(inf, state->from, p->into, made, &state->to, err);
}

/* Negative numbers become large ones, so one comparison tells what is out of range. */
static uint64_t load_class(int dtype, const uint8_t *src)
{
    int64_t wide;
    int32_t word;
    int16_t half;
    switch (dtype) {
    case STK_U8:
        return *src;
    case STK_I8:
        return (uint64_t)(int64_t)(int8_t)*src;
    case STK_U16:
    case STK_I16:
        memcpy(&half, src, sizeof half);
        return dtype == STK_U16 ? (uint16_t)half : (uint64_t)half;
    case STK_U32:
    case STK_I32:
        memcpy(&word, src, sizeof word);
        return dtype == STK_U32 ? (uint32_t)word : (uint64_t)word;
    default:
        memcpy(&wide, src, sizeof wide);
        return (uint64_t)wide;
    }
}

static void set_entries(const struct state *state, uint64_t depth, int dtype,
                        const uint8_t *classes, size_t n, uint8_t *dst)
{
    size_t class_bytes = stk_dtype_bytes(dtype), bytes = state->entry_bytes;
    stk__fill_values(dst, &state->off, bytes, n * depth);
    for (size_t i = 0; i < n; i++) {
        uint64_t k = load_class(dtype, classes + i * class_bytes);
        if (k < depth)
            memcpy(dst + (i * depth + k) * bytes, &state->on, bytes);
    }
}

static int run(struct stk_rows *rows)
{
    const struct one_hot *p = rows->params;
    const struct state *state = rows->state;
    int dtype = rows->in_type->field[state->from].dtype;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__array_value in = stk__array_get(rows, state->from, i);
        size_t n = stk__array_values(&in);
        if (n > INT32_MAX / (size_t)p->depth) {
            stk_rows_fail(rows, i, STK_DATA, "%zu numbers would make 2^31 values or more", n);
            continue;
        }
        in.dim[in.rank] = p->depth;
        uint8_t *dst = stk__array_put(rows, state->to, i, in.dim);
        if (!dst)
            return STK_MEMORY;
        set_entries(state, (uint64_t)p->depth, dtype, in.data, n, dst);
    }
    return STK_OK;
}

static const char doc[] =
    "Every number becomes a vector along a new last dimension, with `on` at the place of the "
    "number and `off` everywhere else, as tf.one_hot gives it. A number below 0, or of `depth` "
    "and above, has `off` everywhere. Arrays and lists of numbers, and batches, get the dimension "
    "behind those they have.\n"
    "\n"
    "    values({label: [0, 2, -1]}).one_hot(3)\n"
    "    values({words: [[1, 0], [2]]}).one_hot(3, on=5, off=-1, dtype=int8)\n"
    "    range(4).batch(2).one_hot(4, into=target)";

const struct stk__op stk__op_one_hot = {
    .subject = STK__ABOUT_FIELDS,
    .decl = { "one_hot", 1, "Turn numbers of classes into vectors.", doc, params,
              sizeof(struct one_hot) },
    .flags = STK__OP_KEEPS_CLASSES,
    .infer = infer,
    .row = { .run = run },
};
