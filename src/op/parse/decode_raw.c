/* SPDX-License-Identifier: Apache-2.0 */
/* decode_raw.c: bytes are the memory of an array. */
#include "base/error.h"
#include "base/type.h"
#include "op/declaration.h"

#include <math.h>
#include <string.h>

struct decode_raw {
    int dtype;
    bool little_endian;
    struct stk_numbers shape;
    const char *field;
};

static const struct stk_param params[] = {
    STK_CHOICE_ROW(decode_raw, dtype, stk__dtype_names, 0, STK_REQUIRED, "what the bytes are"),
    STK_BOOL_ROW(decode_raw, little_endian, true, 0, "whether the low byte of a value comes first"),
    STK_NUMBERS_ROW(decode_raw, shape, NULL, 1, STK_MAX_RANK - 1, STK_TAKES_NONE,
                    "dimensions of the array, the first may be -1; none is [-1]"),
    STK_TEXT_ROW(decode_raw, field, NULL, STK_TAKES_NONE,
                 "field with the bytes; none: the only one there is"),
    STK_ROWS_END,
};

struct state {
    int field;
    size_t value_bytes;
    size_t unit_bytes; /* of the array, or of one entry of a list */
    bool is_swapped, is_bool;
};

static bool is_content(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & (STK_FIELD_PACKED | STK_FIELD_PATH));
}

static bool is_bytes(const struct stk_field *field)
{
    return field->kind == STK_BYTES && !(field->flags & STK_FIELD_PACKED);
}

/* Without a name: the only field with content, or where none has any, the only path. */
static int pick_field(const struct stk_infer *inf, const char *name, struct stk_error *err)
{
    if (name && !strcmp(name, "path") && stk_type_find(inf->in[0], name) < 0 &&
        stk_type_find(inf->in[0], "bytes") >= 0)
        name = "bytes"; /* it was read for us */
    bool (*fits)(const struct stk_field *) = is_bytes;
    for (int f = 0; f < inf->in[0]->n_fields && !name; f++)
        if (is_content(&inf->in[0]->field[f]))
            fits = is_content;
    return stk_infer_pick(inf, name, fits, "bytes", err);
}

static int set_shape(const struct decode_raw *p, struct stk_field *field, struct stk_error *err)
{
    const double any = -1, *dim = p->shape.n ? p->shape.item : &any;
    size_t n_values = 1;
    field->rank = (uint8_t)(p->shape.n ? p->shape.n : 1);
    field->kind = dim[0] == -1 ? STK_RAGGED : STK_FIXED;
    for (int d = 0; d < field->rank; d++) {
        field->shape[d] = (int64_t)dim[d];
        if (d == 0 && field->kind == STK_RAGGED)
            continue;
        if (!(dim[d] >= 1 && dim[d] <= INT32_MAX) || dim[d] != floor(dim[d]) ||
            (n_values *= (size_t)dim[d]) > INT32_MAX)
            return stk_fail(err, STK_VALUE,
                            "a shape has whole numbers from 1, and less than 2^31 values; the "
                            "first dimension may be -1");
    }
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct decode_raw *p = inf->params;
    int f = pick_field(inf, p->field, err);
    if (f < 0)
        return err ? err->code : STK_TYPE;
    stk_infer_pass(inf);
    if (inf->in[0]->field[f].flags & STK_FIELD_PATH)
        return stk_infer_read(inf, f, err);
    struct stk_field *field = &inf->out->field[f];
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    int code = set_shape(p, field, err);
    if (code)
        return code;
    field->dtype = (uint8_t)p->dtype;
    field->flags = 0;
    inf->from[f] = -1;
    inf->state = state;
    *state = (struct state){ .field = f,
                             .value_bytes = stk_dtype_bytes(p->dtype),
                             .unit_bytes = stk_dtype_bytes(p->dtype),
                             .is_bool = p->dtype == STK_BOOL };
    for (int d = field->kind == STK_RAGGED; d < field->rank; d++)
        state->unit_bytes *= (size_t)field->shape[d];
    bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    state->is_swapped = state->value_bytes > 1 && p->little_endian != is_little;
    return STK_OK;
}

/* ---- rows ---- */

/* Values of 2, 4 or 8 bytes. */
static void swap_values(uint8_t *dst, const uint8_t *src, size_t bytes, size_t value_bytes)
{
    for (size_t i = 0; value_bytes == sizeof(uint16_t) && i < bytes; i += sizeof(uint16_t)) {
        uint16_t v;
        memcpy(&v, src + i, sizeof v);
        v = __builtin_bswap16(v);
        memcpy(dst + i, &v, sizeof v);
    }
    for (size_t i = 0; value_bytes == sizeof(uint32_t) && i < bytes; i += sizeof(uint32_t)) {
        uint32_t v;
        memcpy(&v, src + i, sizeof v);
        v = __builtin_bswap32(v);
        memcpy(dst + i, &v, sizeof v);
    }
    for (size_t i = 0; value_bytes == sizeof(uint64_t) && i < bytes; i += sizeof(uint64_t)) {
        uint64_t v;
        memcpy(&v, src + i, sizeof v);
        v = __builtin_bswap64(v);
        memcpy(dst + i, &v, sizeof v);
    }
}

static void copy_values(const struct state *state, uint8_t *dst, const struct stk_span *src)
{
    if (state->is_swapped)
        swap_values(dst, src->data, src->bytes, state->value_bytes);
    else if (state->is_bool)
        for (size_t i = 0; i < src->bytes; i++)
            dst[i] = src->data[i] != 0;
    else if (src->bytes)
        memcpy(dst, src->data, src->bytes);
}

/* Marks the row bad if its bytes are no such array. */
static bool check_bytes(struct stk_rows *rows, int row, size_t bytes)
{
    const struct state *state = rows->state;
    const struct stk_field *field = &rows->out_type->field[state->field];
    const char *dtype = stk_dtype_name(field->dtype);
    if (bytes % state->value_bytes)
        stk_rows_fail(rows, row, STK_DATA,
                      "the length %zu is not a multiple of %zu, the size of %s", bytes,
                      state->value_bytes, dtype);
    else if (field->kind == STK_FIXED && bytes != state->unit_bytes)
        stk_rows_fail(rows, row, STK_DATA, "there are %zu values of %s, but the shape has %zu",
                      bytes / state->value_bytes, dtype, state->unit_bytes / state->value_bytes);
    else if (bytes % state->unit_bytes)
        stk_rows_fail(rows, row, STK_DATA,
                      "there are %zu values of %s, which is not a multiple of the %zu of an entry",
                      bytes / state->value_bytes, dtype, state->unit_bytes / state->value_bytes);
    else
        return true;
    return false;
}

/* Bytes that can be used as they are stay where they are. */
static int put_list(struct stk_rows *rows, const struct stk_span *src, struct stk_span *out)
{
    const struct state *state = rows->state;
    bool is_aligned = (uintptr_t)src->data % state->value_bytes == 0;
    *out = *src;
    if (is_aligned && !state->is_swapped && !state->is_bool)
        return STK_OK;
    uint8_t *data = stk_rows_alloc(rows, src->bytes);
    if (!data)
        return STK_MEMORY;
    copy_values(state, data, src);
    *out = (struct stk_span){ .data = data, .bytes = src->bytes };
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    const struct stk_column *in = &rows->in[state->field];
    struct stk_column *out = &rows->out[state->field];
    bool is_fixed = rows->out_type->field[state->field].kind == STK_FIXED;
    int code = STK_OK;
    for (int i = 0; i < rows->n && !code; i++) {
        if (rows->mask[i] != STK_LIVE || !check_bytes(rows, i, in->span[i].bytes))
            continue;
        if (is_fixed)
            copy_values(state, out->data + (size_t)i * out->stride, &in->span[i]);
        else
            code = put_list(rows, &in->span[i], &out->span[i]);
    }
    return code;
}

static const char doc[] =
    "The bytes become values of the dtype, as tf.io.decode_raw gives them. With a shape the field "
    "is an array of that shape, and an element with another number of values is bad; without one, "
    "or if its first dimension is -1, it is a ragged field. If the field holds paths, the files "
    "are read first.\n"
    "\n"
    "    files('raw/*.bin').decode_raw(uint8, shape=[28, 28, 1])\n"
    "    values({sound: ['\\x00\\x01\\x02\\x03', '']}).decode_raw(int16)\n"
    "    files('points/*.bin').decode_raw(float32, little_endian=false, shape=[-1, 3])\n"
    "\n"
    "Every byte but 0 is true for bool. Lists are not copied where their bytes lie at an address "
    "that is a multiple of the dtype's size, in the order of this machine.";

const struct stk__op stk__op_decode_raw = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "decode_raw", 1, "Take bytes as the memory of an array.", doc, params,
              sizeof(struct decode_raw) },
    .infer = infer,
    .row = { .run = run },
};
