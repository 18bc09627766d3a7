/* SPDX-License-Identifier: Apache-2.0 */
/* choose_from.c: elements of several inputs, in the order that numbers say. */
#include "base/chunk.h"
#include "op/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choose_from {
    struct stk_chains inputs;
    const char *field;
    bool stop_on_empty;
};

static const struct stk_param params[] = {
    STK_CHAINS_ROW(choose_from, inputs, STK_REQUIRED, "chains to choose from, numbered from 0"),
    STK_TEXT_ROW(choose_from, field, NULL, STK_TAKES_NONE,
                 "the whole numbers that choose; none: the only field of such"),
    STK_BOOL_ROW(choose_from, stop_on_empty, true, 0,
                 "end when an input has no element for a choice; false: leave the choice out"),
    STK_ROWS_END,
};

/* What infer finds out. */
struct menu {
    int n;     /* inputs to choose from: 1 to n of the op's */
    int field; /* of input 0, that chooses */
    int dtype;
};

static bool is_number(const struct stk_field *field)
{
    return field->kind == STK_FIXED && field->rank == 0 &&
           (field->dtype == STK_I64 || field->dtype == STK_I32);
}

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    (void)inf, (void)err;
    *out = STK_UNKNOWN_COUNT;
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct choose_from *p = inf->params;
    if (inf->n_inputs < 2 || p->inputs.n == inf->n_inputs)
        return stk_fail(err, STK_VALUE,
                        "needs numbers before it and chains to choose from, as in "
                        "range(2).choose_from([range(3), range(5)])");
    int field = stk_infer_pick(inf, p->field, is_number, "an int64 or int32 number", err);
    int code = field < 0 ? err->code : stk__infer_same(inf, 1, err);
    if (code)
        return code;
    struct menu *menu = stk_arena_alloc(inf->arena, sizeof *menu);
    if (!menu)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *menu = (struct menu){ inf->n_inputs - 1, field, inf->in[0]->field[field].dtype };
    inf->state = menu;
    return count(inf, &inf->count, err);
}

/* ---- choosing ---- */

struct choosing {
    const struct choose_from *params;
    const struct menu *menu;
    int chosen; /* input that has the next element; 0: not known yet */
    int n_left; /* inputs that have not ended */
    uint32_t ended;
    bool is_over;
};

static int begin(const struct stk_serial_begin *b, void **run, struct stk_error *err)
{
    struct choosing *c = calloc(1, sizeof *c);
    if (!c)
        return stk_fail(err, STK_MEMORY, "out of memory");
    c->params = b->params;
    c->menu = b->state;
    *run = c;
    return STK_OK;
}

static void next_epoch(void *run, uint64_t path)
{
    struct choosing *c = run;
    (void)path;
    *c = (struct choosing){ .params = c->params, .menu = c->menu, .n_left = c->menu->n };
}

static int wanted(void *run)
{
    const struct choosing *c = run;
    return c->is_over ? -1 : c->chosen;
}

static int64_t read_number(const struct menu *menu, const struct stk_chunk *in, int row)
{
    const struct stk_column *column = &in->column[menu->field];
    const uint8_t *data = column->data + (size_t)row * column->stride;
    int64_t wide;
    int32_t narrow;
    if (menu->dtype == STK_I64) {
        memcpy(&wide, data, sizeof wide);
        return wide;
    }
    memcpy(&narrow, data, sizeof narrow);
    return narrow;
}

static void refuse(const struct menu *menu, int64_t number, const struct stk_chunk *in, int row,
                   struct stk_chunk *out)
{
    struct stk_fault fault = { .code = STK_DATA, .op = "choose_from" };
    snprintf(fault.text, sizeof fault.text,
             "field '%.60s' is %lld, but the inputs are numbered from 0 to %d",
             in->type->field[menu->field].name, (long long)number, menu->n - 1);
    stk__chunk_pass_bad(out, in, row, &fault);
}

static bool take(void *run, int input, const struct stk_chunk *in, int row, struct stk_chunk *out)
{
    struct choosing *c = run;
    if (input) {
        c->chosen = 0;
        return true;
    }
    if (in->n_bad && in->mask[row] == STK_BAD) {
        stk__chunk_pass_bad(out, in, row, stk__chunk_find_fault(in, row));
        return false;
    }
    int64_t number = read_number(c->menu, in, row);
    if (number < 0 || number >= c->menu->n)
        refuse(c->menu, number, in, row, out);
    else if (!(c->ended & 1u << (number + 1)))
        c->chosen = (int)number + 1;
    return false;
}

static void ended(void *run, int input)
{
    struct choosing *c = run;
    c->ended |= 1u << input;
    c->n_left -= input != 0;
    c->chosen = 0;
    c->is_over = !input || !c->n_left || c->params->stop_on_empty;
}

const struct stk_op stk__op_choose_from = {
    .decl = { "choose_from", 1, "Take elements of inputs in the order that numbers say.",
              "What comes before it gives whole numbers; each takes the next element of the input "
              "with that number, counted from 0, as tf.data's choose_from_datasets. The numbers "
              "themselves are dropped. The inputs must have the same fields.\n"
              "\n"
              "    range(9).map('x % 3').choose_from([range(5), range(10, 15), range(20, 25)])\n"
              "    values({c: [0, 0, 1]}).repeat().choose_from([range(9), range(90, 99)], "
              "field=c)\n"
              "\n"
              "It ends with the numbers, or when an input has no element left for one; with "
              "stop_on_empty=false such a number is left out, until all inputs have ended. A "
              "number that means no input is a bad element in that place, and so is a bad "
              "number.",
              params, sizeof(struct choose_from) },
    .infer = infer,
    .order = { .count = count },
    .choice = { .begin = begin,
                .end = free,
                .next_epoch = next_epoch,
                .wanted = wanted,
                .take = take,
                .ended = ended },
};
