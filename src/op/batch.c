/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c: runs of elements as one. The executor carries it out. */
#include "op/batch.h"

#include <string.h>

const struct stk_param stk__batch_params[] = {
    STK_INT_ROW(stk__batch_words, batch_size, 0, 1, INT32_MAX, STK_REQUIRED, "elements in a batch"),
    STK_BOOL_ROW(stk__batch_words, drop_remainder, false, 0, "leave out a last batch that is not full"),
    STK_ROWS_END,
};

int stk__batch_count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct stk__batch_words *p = inf->params;
    int64_t in = inf->in_count[0];
    (void)err;
    if (in < 0)
        *out = in;
    else
        *out = in / p->batch_size + (!p->drop_remainder && in % p->batch_size != 0);
    return STK_OK;
}

/* The first dimension of every batch, or -1 when the last one may be shorter, if only because
 * bad elements were left out. */
static int64_t rows_of(const struct stk_infer *inf)
{
    const struct stk__batch_words *p = inf->params;
    bool is_full = p->drop_remainder || inf->in_count[0] == STK_INFINITE_COUNT;
    return is_full ? p->batch_size : -1;
}

/* Bytes and ragged fields stay what they are, with one row's values for each row of the batch. */
static int stack(struct stk_field *field, int64_t n_rows, struct stk_error *err)
{
    if (field->flags & STK_FIELD_PACKED)
        return stk_fail(
            err, STK_TYPE,
            "rows of the field '%s' differ in length, so it can be batched once; leave it "
            "out with select",
            field->name);
    if (field->kind == STK_BYTES || field->kind == STK_RAGGED) {
        field->flags |= STK_FIELD_PACKED;
        return STK_OK;
    }
    if (field->rank == STK_MAX_RANK)
        return stk_fail(err, STK_TYPE,
                        "the field '%s' has %d dimensions already, the most there are", field->name,
                        STK_MAX_RANK);
    memmove(field->shape + 1, field->shape, field->rank * sizeof *field->shape);
    field->shape[0] = n_rows;
    field->rank++;
    if (n_rows < 0)
        field->kind = STK_SHAPED;
    return STK_OK;
}

int stk__batch_infer(struct stk_infer *inf, struct stk_error *err)
{
    int code = STK_OK;
    stk_infer_pass(inf);
    for (int f = 0; f < inf->out->n_fields && !code; f++) {
        code = stack(&inf->out->field[f], rows_of(inf), err);
        inf->from[f] = -1;
    }
    return code ? code : stk__batch_count(inf, &inf->count, err);
}

const struct stk_op stk__op_batch = {
    .decl = { "batch", 1, "Put runs of elements together along a new first dimension.",
              "Every field gets a first dimension of `batch_size`; the last batch of an epoch may "
              "be "
              "shorter unless drop_remainder is true. Elements of one batch must have equal "
              "shapes: resize or crop images first, or the run ends with an error. Fields of "
              "bytes and ragged fields become one block of data with offsets.\n"
              "\n"
              "    range(10).batch(4)\n"
              "    image_folder('train').decode().resize(224, 224).batch(32, drop_remainder=true)\n"
              "\n"
              "Batches arrive in order and are the same for any number of workers. With "
              "on_error=skip a batch is filled up with the elements that follow a bad one.",
              stk__batch_params, sizeof(struct stk__batch_words) },
    .flags = STK_OP_BATCH,
    .infer = stk__batch_infer,
    .order = { .count = stk__batch_count },
};
