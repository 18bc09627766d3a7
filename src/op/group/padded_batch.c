/* SPDX-License-Identifier: Apache-2.0 */
/* padded_batch.c: runs of elements that differ in shape as one, padded. */
#include "op/group/batch.h"
#include "op/group/padding.h"

struct padded_batch {
    int64_t batch_size; /* as in stk__batch_words */
    bool drop_remainder;
    const struct stk_value *padded_shapes, *padding_values;
};

static const struct stk_param params[] = {
    STK_INT_ROW(padded_batch, batch_size, 0, 1, INT32_MAX, STK_REQUIRED, "elements in a batch"),
    STK__VALUE_ROW(padded_batch, padded_shapes, STK_TAKES_NONE,
                   "{field: [...]}: entries along each dimension, none for the largest of a batch; "
                   "a list if there is one field"),
    STK__VALUE_ROW(padded_batch, padding_values, STK_TAKES_NONE,
                   "what fills the rest: a number or a string, or {field: number}; none is 0 and "
                   "''"),
    STK_BOOL_ROW(padded_batch, drop_remainder, false, 0, "leave out a last batch that is not full"),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct padded_batch *p = inf->params;
    struct stk__grouping *g = stk__grouping_new(inf, p->batch_size, p->drop_remainder, err);
    if (!g)
        return STK_MEMORY;
    int code = stk__padding_set(inf, p->padded_shapes, p->padding_values, g, err);
    if (!code)
        code = stk__grouping_infer(inf, g, stk__grouping_rows(inf, g), err);
    return code ? code : stk__batch_count(inf, &inf->count, err);
}

const struct stk__op stk__op_padded_batch = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "padded_batch", 1, "Put runs of elements together, padding those that are smaller.",
              "As `batch`, for elements that differ in shape: each dimension becomes as long as "
              "that of the largest element of the batch, or as padded_shapes says, and what is "
              "left of the smaller ones is filled with the padding value. Ragged fields become "
              "arrays this way, and lists of texts arrays of texts, filled up with empty ones. "
              "Texts "
              "themselves are not padded: they are brought together as `batch` does.\n"
              "\n"
              "    values({tokens: [[1, 2, 3], [4], [5, 6]]}).padded_batch(2)\n"
              "    values({t: [[1, 2], [3]], n: [7, 8]}).padded_batch(2, {t: [4]}, {t: -1})\n"
              "    values({t: ['a b c', 'd']}).text_split(' ').padded_batch(2, "
              "padding_values='-')\n"
              "    files('train/*/*.jpg').decode().padded_batch(8, {image: [none, none, 3]})\n"
              "\n"
              "An element that is larger than padded_shapes says is a bad element. With "
              "on_error=skip a batch is filled up with the elements that follow a bad one.",
              params, sizeof(struct padded_batch) },
    .flags = STK__OP_BATCH,
    .infer = infer,
    .order = { .count = stk__batch_count },
};
