/* SPDX-License-Identifier: Apache-2.0 */
/* broken.c: for test_plugin.py: plug-ins that break the contract, in the way that BREAK says. */
#define STK_PLUGIN
#include <stoker/op.h>

#define NOTHING 0
#define OTHER_VERSION 1
#define OTHER_SIZES 2
#define KNOWN_NAME 3
#define NO_NAME 4
#define NO_RUN 5
#define NO_INFER 6
#define A_SOURCE 7
#define BAD_DEFAULT 8
#define OUTSIDE_PARAMS 9
#define CHAIN_PARAM 10
#define NO_FIELDS 11
#define OTHER_TYPE_UNTOUCHED 12
#define WILD_FROM 13
#define WILD_SHAPE 14
#define OTHER_COUNT 15
#define DROPS 16
#define MARKS_BEHIND 17
#define MARKS_BEFORE 18
#define FAILS_OUTSIDE 19
#define BAD_WITHOUT_WORDS 20
#define ODD_MARK 21
#define REVIVES 22
#define LEAVES_SPAN 23
#define SPAN_WITHOUT_DATA 24
#define WRONG_DIMS 25
#define WRONG_OWNER 26
#define ODD_CODE 27
#define NO_EXAMPLE 28
#define OLDER_VERSION 29

struct broken {
    int64_t n;
};

static const struct stk_param params[] = {
#if BREAK == CHAIN_PARAM
    { .name = "n", .help = "some number", .type = STK_ROW_PAIRS + 2 },
#else
    { .name = "n",
      .help = "some number",
      .type = STK_ROW_INT,
      .offset = BREAK == OUTSIDE_PARAMS ? 1000 : 0,
      .def.i = BREAK == BAD_DEFAULT ? 7 : 1,
      .lo.i = 0,
      .hi.i = 5 },
#endif
    STK_ROWS_END,
};

/* x becomes float32 of [n, 2] with n unknown, and text is appended. */
static int infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    struct stk_field *x = &inf->out->field[0], *text = &inf->out->field[inf->out->n_fields++];
    *x = (struct stk_field){
        .name = "x", .kind = STK_SHAPED, .dtype = STK_F32, .rank = 2, .shape = { -1, 2 }
    };
    *text = (struct stk_field){ .name = "text", .kind = STK_BYTES, .dtype = STK_U8 };
    inf->from[0] = BREAK == OTHER_TYPE_UNTOUCHED ? 0 : BREAK == WILD_FROM ? 9 : -1;
    inf->from[1] = -1;
    if (BREAK == NO_FIELDS)
        inf->out->n_fields = 0;
    if (BREAK == WILD_SHAPE)
        x->shape[1] = -3;
    if (BREAK == OTHER_COUNT)
        inf->count = 99;
    return STK_OK;
}

static int write_row(struct stk_rows *rows, int i)
{
    struct stk_span *x = &rows->out[0].span[i], *text = &rows->out[1].span[i];
    float *values = stk_rows_alloc(rows, 4 * sizeof *values);
    if (!values)
        return STK_MEMORY;
    for (int k = 0; k < 4; k++)
        values[k] = (float)k;
    *x = (struct stk_span){ (uint8_t *)values, 4 * sizeof *values, NULL };
    rows->out[0].dims[2 * i] = BREAK == WRONG_DIMS ? 5 : 2;
    rows->out[0].dims[2 * i + 1] = 2;
    if (BREAK != LEAVES_SPAN)
        *text = (struct stk_span){ (uint8_t *)values, 3, NULL };
    if (BREAK == SPAN_WITHOUT_DATA)
        text->data = NULL;
    if (BREAK == WRONG_OWNER)
        text->owner = (struct stk_buffer *)(void *)values;
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    int rc = STK_OK;
    for (int i = 0; i < rows->n && !rc; i++)
        if (rows->mask[i] == STK_LIVE || BREAK == REVIVES)
            rc = write_row(rows, i);
    if (BREAK == DROPS)
        rows->mask[0] = STK_DEAD;
    if (BREAK == MARKS_BEHIND)
        rows->mask[rows->n] = STK_BAD;
    if (BREAK == MARKS_BEFORE)
        rows->mask[-1] = STK_DEAD;
    if (BREAK == FAILS_OUTSIDE)
        stk_rows_fail(rows, rows->n + 2, STK_DATA, "no row of mine");
    if (BREAK == BAD_WITHOUT_WORDS)
        rows->mask[0] = STK_BAD;
    if (BREAK == ODD_MARK)
        rows->mask[0] = 77;
    for (int i = 0; i < rows->n && BREAK == REVIVES; i++)
        rows->mask[i] = STK_LIVE;
    return BREAK == ODD_CODE ? STK_TYPE : rc;
}

static const struct stk_op broken = {
    .decl = { BREAK == KNOWN_NAME ? "batch"
              : BREAK == NO_NAME  ? "not a name"
                                  : "broken",
              1, "Break something.",
              BREAK == NO_EXAMPLE ? "No example." : "An example:\n\n    range(5).broken(2)\n",
              params, sizeof(struct broken) },
    .flags = BREAK == A_SOURCE ? 1 << 3 : 0,
    .infer = BREAK == NO_INFER ? NULL : infer,
    .row = { .run = BREAK == NO_RUN ? NULL : run },
};

#if BREAK == OTHER_VERSION || BREAK == OLDER_VERSION || BREAK == OTHER_SIZES
const struct stk_host *stk_host;
static const struct stk_op *const ops[] = { &broken };
const struct stk_plugin stk_plugin = {
    BREAK == OTHER_VERSION ? 99 : BREAK == OLDER_VERSION ? 1 : STK_OP_ABI,
    1,
    ops,
    &stk_host,
    8,
    8,
    8
};
#else
STK_PLUGIN_OPS(&broken)
#endif
