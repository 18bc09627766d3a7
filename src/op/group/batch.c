/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c: runs of elements as one. The executor carries it out. */
#include "op/group/batch.h"

#include "op/group/grouping.h"

const struct stk_param stk__batch_params[] = {
    STK_INT_ROW(stk__batch_words, batch_size, 0, 1, INT32_MAX, STK_REQUIRED, "elements in a batch"),
    STK_BOOL_ROW(stk__batch_words, drop_remainder, false, 0,
                 "leave out a last batch that is not full"),
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

int stk__batch_infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct stk__batch_words *p = inf->params;
    struct stk__grouping *g = stk__grouping_new(inf, p->batch_size, p->drop_remainder, err);
    int code = g ? stk__grouping_infer(inf, g, stk__grouping_rows(inf, g), err) : STK_MEMORY;
    return code ? code : stk__batch_count(inf, &inf->count, err);
}

const struct stk__op stk__op_batch = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "batch", 1, "Put runs of elements together along a new first dimension.",
              "Every field gets a first dimension of `batch_size`; the last batch of an epoch may "
              "be "
              "shorter unless drop_remainder is true. Elements of one batch must have equal "
              "shapes: resize or crop images first, or use `padded_batch`; else the run ends with "
              "an "
              "error. Fields of "
              "bytes and ragged fields become one block of data with offsets.\n"
              "\n"
              "    range(10).batch(4)\n"
              "    image_folder('train').decode().resize(224, 224).batch(32, drop_remainder=true)\n"
              "\n"
              "Batches arrive in order and are the same for any number of workers. With "
              "on_error=skip a batch is filled up with the elements that follow a bad one.",
              stk__batch_params, sizeof(struct stk__batch_words) },
    .flags = STK__OP_BATCH,
    .infer = stk__batch_infer,
    .order = { .count = stk__batch_count },
};
