/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_by_length.c: batches of elements of similar length. The executor carries it out. */
#include "base/error.h"
#include "op/declaration.h"
#include "op/group/padding.h"

#include <math.h>

struct bucket_by_length {
    const char *field;
    struct stk_numbers boundaries, batch_sizes;
    const struct stk_value *padded_shapes, *padding_values;
    bool pad_to_bucket_boundary, no_padding, drop_remainder;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(bucket_by_length, field, NULL, STK_REQUIRED,
                 "whose length counts: its first dimension, its texts, or the bytes of its text"),
    STK_NUMBERS_ROW(bucket_by_length, boundaries, NULL, 1, 4096, STK_REQUIRED,
                    "lengths where the next bucket begins, in ascending order"),
    STK_NUMBERS_ROW(bucket_by_length, batch_sizes, NULL, 2, 4097, STK_REQUIRED,
                    "elements in a batch of each bucket: one more than boundaries"),
    STK__VALUE_ROW(bucket_by_length, padded_shapes, STK_TAKES_NONE, "as for padded_batch"),
    STK__VALUE_ROW(bucket_by_length, padding_values, STK_TAKES_NONE, "as for padded_batch"),
    STK_BOOL_ROW(bucket_by_length, pad_to_bucket_boundary, false, 0,
                 "pad what differs to the longest that belongs into the bucket"),
    STK_BOOL_ROW(bucket_by_length, no_padding, false, 0,
                 "pad nothing: elements of a batch must be equal in shape, or ragged"),
    STK_BOOL_ROW(bucket_by_length, drop_remainder, false, 0,
                 "leave out batches that are not full at the end"),
    STK_ROWS_END,
};

static bool is_whole(double number)
{
    return number >= 1 && number <= INT32_MAX && floor(number) == number;
}

static int check_numbers(const struct bucket_by_length *p, struct stk_error *err)
{
    const double *boundary = p->boundaries.item, *size = p->batch_sizes.item;
    if (p->batch_sizes.n != p->boundaries.n + 1)
        return stk_fail(err, STK_VALUE,
                        "batch_sizes has one number more than boundaries: %d, and there are %d",
                        p->boundaries.n + 1, p->batch_sizes.n);
    for (int i = 0; i < p->boundaries.n; i++)
        if (!is_whole(boundary[i]) || (i && boundary[i] <= boundary[i - 1]))
            return stk_fail(err, STK_VALUE,
                            "boundaries are whole numbers above 0 in ascending order");
    for (int i = 0; i < p->batch_sizes.n; i++)
        if (!is_whole(size[i]))
            return stk_fail(err, STK_VALUE, "batch_sizes are whole numbers above 0");
    if (p->no_padding && p->pad_to_bucket_boundary)
        return stk_fail(err, STK_VALUE, "no_padding and pad_to_bucket_boundary exclude each other");
    return STK_OK;
}

static int set_length_field(const struct stk_infer *inf, const char *name, struct stk__grouping *g,
                            struct stk_error *err)
{
    g->by = STK__BY_LENGTH;
    g->field = stk_type_find(inf->in[0], name);
    if (g->field < 0)
        return stk_fail(err, STK_NAME, "there is no field '%s'", name);
    const struct stk_field *field = &inf->in[0]->field[g->field];
    if (field->kind != STK_BYTES && !field->rank)
        return stk_fail(err, STK_TYPE, "the field '%s' has no length", name);
    return STK_OK;
}

/* Rows of every element, where that is the same for all buckets and never less. */
static int64_t rows_of_all(const struct bucket_by_length *p)
{
    for (int i = 1; i < p->batch_sizes.n; i++)
        if (p->batch_sizes.item[i] != p->batch_sizes.item[0])
            return -1;
    return p->drop_remainder ? (int64_t)p->batch_sizes.item[0] : -1;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct bucket_by_length *p = inf->params;
    struct stk__grouping *g = stk__grouping_new(inf, 1, p->drop_remainder, err);
    int code = g ? check_numbers(p, err) : STK_MEMORY;
    if (!code)
        code = set_length_field(inf, p->field, g, err);
    if (!code && !p->no_padding)
        code = stk__padding_set(inf, p->padded_shapes, p->padding_values, g, err);
    if (code)
        return code;
    g->n_boundaries = p->boundaries.n;
    g->boundary = p->boundaries.item;
    g->bucket_size = p->batch_sizes.item;
    g->pads_to_boundary = p->pad_to_bucket_boundary;
    inf->count = inf->in_count[0] > 0 ? STK_UNKNOWN_COUNT : inf->in_count[0];
    code = stk__grouping_infer(inf, g, rows_of_all(p), err);
    g->is_bounded |= g->pads_to_boundary;
    return code;
}

const struct stk__op stk__op_bucket_by_length = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "bucket_by_length", 1, "Put elements of similar length together, padded.",
              "Elements wait in buckets by their length: bucket i takes lengths below "
              "boundaries[i] "
              "that no bucket before it takes, the last one all longer ones. A bucket with as many "
              "elements as batch_sizes says comes out as one, padded as `padded_batch` does, so "
              "little is wasted on padding. At the end come the buckets that are left, by length.\n"
              "\n"
              "    values({t: [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [21, 22]]})"
              ".bucket_by_length(t, [3, 5], [2, 2, 2])\n"
              "    lines('words.txt').bucket_by_length(text, [4, 8], [64, 32, 16])\n"
              "\n"
              "With pad_to_bucket_boundary every batch of a bucket has the same shape, and an "
              "element that is too long for all boundaries is a bad one. This is tf.data's "
              "bucket_by_sequence_length. The rows that wait count in the memory budget.",
              params, sizeof(struct bucket_by_length) },
    .flags = STK__OP_BATCH | STK__OP_GROUPS,
    .infer = infer,
};
