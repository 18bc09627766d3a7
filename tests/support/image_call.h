/* SPDX-License-Identifier: Apache-2.0 */
/* image_call.h: for tests: one op over a few images, without a graph. */
#pragma once
#include "op_call.h"

/* ---- the executor's part, in small ---- */

static struct stk_arena scratch;
static char failure[STK_ERROR_TEXT];

void *stk_rows_alloc(struct stk_rows *rows, size_t bytes)
{
    (void)rows;
    return stk__arena_take(&scratch, bytes);
}

void stk_rows_fail(struct stk_rows *rows, int row, int code, const char *format, ...)
{
    (void)code;
    va_list args;
    va_start(args, format);
    vsnprintf(failure, sizeof failure, format, args);
    va_end(args);
    rows->mask[row] = STK_BAD;
}

void stk_rows_random(const struct stk_rows *rows, int row, uint64_t user_seed, uint32_t index,
                     uint32_t words[4])
{
    struct stk__key key = rows->inside->key[row];
    uint64_t k = stk__hash_mix(rows->inside->seed, user_seed);
    const uint32_t counter[4] = { (uint32_t)key.lo, (uint32_t)(key.lo >> 32), (uint32_t)key.hi,
                                  index };
    const uint32_t both[2] = { (uint32_t)k, (uint32_t)(k >> 32) };
    stk__philox(counter, both, words);
}

/* ---- images ---- */

enum { N_ROWS = 4 };

static inline struct stk_type image_type(int kind, int dtype, const int64_t shape[3])
{
    struct stk_type type = {
        2,
        { { .name = "label", .kind = STK_FIXED, .dtype = STK_I64 },
          { .name = "image", .kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .rank = 3 } }
    };
    memcpy(type.field[1].shape, shape, 3 * sizeof *shape);
    return type;
}

static inline struct stk_type shaped(int dtype, int64_t channels)
{
    return image_type(STK_SHAPED, dtype, (const int64_t[3]){ -1, -1, channels });
}

/* What all images are, if not counted up. */
static const void *image_to_use;

/* A chunk's worth of images, all [height, width, channels], bytes counting up with a step of 7. */
struct batch {
    struct stk_column in[2], out[2];
    struct stk_span in_span[N_ROWS], out_span[N_ROWS];
    int32_t in_dims[N_ROWS * 3], out_dims[N_ROWS * 3];
    struct stk__key key[N_ROWS];
    uint8_t mask[N_ROWS];
    uint8_t *data, *result;
    size_t image_bytes;
};

static inline void fill_images(struct batch *b, const struct stk_field *field,
                               const int32_t dims[3])
{
    size_t n = (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
    b->image_bytes = n * stk_dtype_bytes(field->dtype);
    b->data = malloc(b->image_bytes * N_ROWS + 1);
    assert_non_null(b->data);
    for (size_t i = 0; i < n * N_ROWS; i++) {
        float value = (float)(uint8_t)(i * 7);
        if (field->dtype == STK_F32)
            memcpy(b->data + i * 4, &value, 4);
        else
            memset(b->data + i * stk_dtype_bytes(field->dtype), (uint8_t)(i * 7),
                   stk_dtype_bytes(field->dtype));
    }
    for (size_t i = 0; i < N_ROWS && image_to_use; i++)
        memcpy(b->data + i * b->image_bytes, image_to_use, b->image_bytes);
    b->in[1] = (struct stk_column){ .rank = 3, .span = b->in_span, .dims = b->in_dims };
    if (field->kind == STK_FIXED)
        b->in[1] = (struct stk_column){ .rank = 3, .data = b->data, .stride = b->image_bytes };
    for (int i = 0; i < N_ROWS; i++) {
        b->in_span[i] =
            (struct stk_span){ b->data + (size_t)i * b->image_bytes, b->image_bytes, NULL };
        memcpy(b->in_dims + 3 * i, dims, 3 * sizeof *dims);
        b->key[i] = stk__key_make(0, 0, (uint64_t)i);
    }
}

/* Runs a call over such images. Row 2 is dead and must stay untouched. */
static inline void run_call(struct batch *b, struct op_call *c, const struct stk_type *type,
                            const int32_t dims[3])
{
    *b = (struct batch){ .mask = { [2] = STK_DEAD } };
    const struct stk_field *out = &c->out.field[1];
    fill_images(b, &type->field[1], dims);
    b->out[1] = (struct stk_column){ .rank = 3, .span = b->out_span, .dims = b->out_dims };
    if (out->kind == STK_FIXED) {
        size_t bytes = stk_field_bytes(out);
        b->result = malloc(bytes * N_ROWS);
        assert_non_null(b->result);
        memset(b->result, 0x5a, bytes * N_ROWS);
        b->out[1] = (struct stk_column){ .rank = 3, .data = b->result, .stride = bytes };
    }
    void *thread = NULL;
    if (c->op->row.thread_open)
        assert_int_equal(c->op->row.thread_open(c->params, c->state, &thread, &c->err), STK_OK);
    struct stk__rows_inside inside = { .key = b->key, .seed = 5 };
    struct stk_rows rows = { .params = c->params,
                             .state = c->state,
                             .thread = thread,
                             .in_type = type,
                             .out_type = &c->out,
                             .n = N_ROWS,
                             .in = b->in,
                             .out = b->out,
                             .mask = b->mask,
                             .inside = &inside };
    *failure = 0;
    assert_int_equal(c->op->row.run(&rows), STK_OK);
    if (c->op->row.thread_close)
        c->op->row.thread_close(thread);
}

static inline const void *row_data(const struct batch *b, int row)
{
    return b->result ? b->result + (size_t)row * b->out[1].stride : b->out_span[row].data;
}

static inline void free_batch(struct batch *b)
{
    free(b->data);
    free(b->result);
    stk__arena_free(&scratch);
    stk__arena_init(&scratch, 1 << 12);
}

static inline void assert_refused(const char *text, const struct stk_type *type,
                                  const char *message)
{
    struct op_call c;
    int64_t count = N_ROWS;
    int code = op_call_open(&c, text, NULL);
    if (!code)
        code = op_call_infer(&c, 1, &type, &count);
    assert_int_not_equal(code, STK_OK);
    assert_int_equal(code, c.err.code);
    assert_message(&c, message);
    op_call_close(&c);
}
