/* SPDX-License-Identifier: Apache-2.0 */
/* ragged_batch.c: runs of elements that differ in length as one, one behind the other. */
#include "op/group/batch.h"
#include "op/group/grouping.h"

/* A field whose first dimension alone differs becomes ragged. */
static int set_ragged(struct stk__gather *g, struct stk_error *err)
{
    const struct stk_field *field = &g->field;
    if (field->kind != STK_SHAPED)
        return STK_OK;
    for (int d = 1; d < field->rank; d++)
        if (field->shape[d] <= 0)
            return stk_fail(err, STK_TYPE,
                            "elements of field '%s' differ along dimension %d, and in a ragged "
                            "batch only the first may; use padded_batch",
                            field->name, d);
    g->kind = STK__PACK;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct stk__batch_words *p = inf->params;
    struct stk__grouping *g = stk__grouping_new(inf, p->batch_size, p->drop_remainder, err);
    int code = g ? STK_OK : STK_MEMORY;
    for (int f = 0; f < inf->in[0]->n_fields && !code; f++)
        code = set_ragged(&g->gather[f], err);
    if (!code)
        code = stk__grouping_infer(inf, g, stk__grouping_rows(inf, g), err);
    return code ? code : stk__batch_count(inf, &inf->count, err);
}

const struct stk__op stk__op_ragged_batch = {
    .subject = STK__ABOUT_BATCHES,
    .decl = { "ragged_batch", 1, "Put runs of elements of different lengths together, unpadded.",
              "As `batch`, and fields whose first dimension differs between elements become "
              "ragged: "
              "their entries lie one behind the other, and offsets say where each element's begin. "
              "Fields of one shape become arrays. A second dimension that differs is an error: "
              "that needs `padded_batch`.\n"
              "\n"
              "    range(10).batch(4).ragged_batch(2)\n"
              "    values({tokens: [[1, 2, 3], [4], [5, 6]]}).ragged_batch(2)",
              stk__batch_params, sizeof(struct stk__batch_words) },
    .flags = STK__OP_BATCH,
    .infer = infer,
    .order = { .count = stk__batch_count },
};
