/* SPDX-License-Identifier: Apache-2.0 */
/* choose_from.c: elements of several inputs, in the order that numbers say.
 *
 * Where the numbers were looked at beforehand and all inputs are indexed, it is an order op. What it
 * chooses is then a list, followed by a period that comes again and again if the numbers do:
 *
 *     numbers   0 0 1  0 0 1  …                      list        period
 *     inputs    0 for ever, 1 has one element        0 0 1       0 0
 *
 * An entry says which input, and how many elements of it were chosen before in the list or the period.
 */
#include "base/rows/chunk.h"
#include "op/order/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choose_from {
    struct stk__chains inputs;
    const char *field;
    bool stop_on_empty;
};

static const struct stk_param params[] = {
    STK__CHAINS_ROW(choose_from, inputs, STK_REQUIRED, "chains to choose from, numbered from 0"),
    STK_TEXT_ROW(choose_from, field, NULL, STK_TAKES_NONE,
                 "the whole numbers that choose; none: the only field of such"),
    STK_BOOL_ROW(choose_from, stop_on_empty, true, 0,
                 "end when an input has no element for a choice; false: leave the choice out"),
    STK_ROWS_END,
};

/* Choices one after the other. */
struct sequence {
    int64_t n;
    uint8_t *input; /* [n], from 1 */
    uint32_t *rank; /* [n]: which of the elements that the sequence chooses of that input */
    uint64_t n_of[STK_MAX_INPUTS];
};

/* What infer finds out. */
struct menu {
    int n;     /* inputs to choose from: 1 to n of the op's */
    int field; /* of input 0, that chooses */
    int dtype;
    bool is_tabulated; /* then what is chosen is: */
    struct sequence list, period;
};

static bool is_number(const struct stk_field *field)
{
    return field->kind == STK_FIXED && field->rank == 0 &&
           (field->dtype == STK_I64 || field->dtype == STK_I32);
}

/* Where the first choice of an element is that the inputs do not have, or its length. */
static int64_t list_end(const struct sequence *list, const int64_t *in_count)
{
    int64_t i = 0;
    while (i < list->n && (in_count[list->input[i]] == STK_INFINITE_COUNT ||
                           list->rank[i] < in_count[list->input[i]]))
        i++;
    return i;
}

/* Likewise of a period without end; above STK__MAX_COUNT: too far away to be numbered. */
static uint64_t period_end(const struct sequence *period, const int64_t *in_count)
{
    uint64_t end = UINT64_MAX, n = (uint64_t)period->n;
    for (uint64_t i = 0; i < n; i++) {
        int k = period->input[i];
        if (in_count[k] == STK_INFINITE_COUNT)
            continue;
        uint64_t pass = (uint64_t)in_count[k] / period->n_of[k];
        uint64_t at = pass > STK__MAX_COUNT / n ? STK__MAX_COUNT + 1 : pass * n + i;
        if (period->rank[i] == (uint64_t)in_count[k] % period->n_of[k] && at < end)
            end = at;
    }
    return end;
}

static int count(const struct stk_infer *inf, int64_t *out, struct stk_error *err)
{
    const struct choose_from *p = inf->params;
    const struct menu *menu = inf->state;
    *out = STK_UNKNOWN_COUNT;
    if (!menu->is_tabulated)
        return STK_OK;
    if (!menu->period.n) {
        *out = p->stop_on_empty ? list_end(&menu->list, inf->in_count) : menu->list.n;
        return STK_OK;
    }
    uint64_t end = p->stop_on_empty ? period_end(&menu->period, inf->in_count) : UINT64_MAX;
    *out = end == UINT64_MAX ? STK_INFINITE_COUNT : (int64_t)end;
    return end == UINT64_MAX ? STK_OK : stk__check_count(end, err);
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
    *menu = (struct menu){ .n = inf->n_inputs - 1,
                           .field = field,
                           .dtype = inf->in[0]->field[field].dtype };
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

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
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

static int64_t read_number(const struct menu *menu, const struct stk__chunk *in, int row)
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

static void refuse(const struct menu *menu, int64_t number, const struct stk__chunk *in, int row,
                   struct stk__chunk *out)
{
    char text[STK_ERROR_TEXT];
    const struct stk__fault fault = { .code = STK_DATA, .op = "choose_from", .text = text };
    snprintf(text, sizeof text, "field '%.60s' is %lld, but the inputs are numbered from 0 to %d",
             in->type->field[menu->field].name, (long long)number, menu->n - 1);
    stk__chunk_hand_on_bad(out, in, row, &fault);
}

static bool take(void *run, int input, const struct stk__chunk *in, int row, struct stk__chunk *out)
{
    struct choosing *c = run;
    if (input) {
        c->chosen = 0;
        return true;
    }
    if (in->n_bad && in->mask[row] == STK_BAD) {
        stk__chunk_hand_on_bad(out, in, row, stk__chunk_find_fault(in, row));
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

/* ---- choices that are known ---- */

enum { MOST_CHOICES = 1 << 26 };

static int number_field(const void *state)
{
    return ((const struct menu *)state)->field;
}

/* Every number takes an element, and one that finds none is the last. */
static int64_t n_needed(const void *given, int n_inputs, const int64_t *in_count)
{
    int64_t sum = 1;
    bool is_bounded = ((const struct choose_from *)given)->stop_on_empty;
    for (int i = 1; i < n_inputs && is_bounded; i++) {
        is_bounded = in_count[i] >= 0 && sum < STK__MAX_COUNT;
        sum += in_count[i];
    }
    return is_bounded ? sum : -1;
}

/* One round of all numbers, without those that find nothing; entries are counted, and written where
 * there is room. */
static void add_round(struct sequence *s, const struct stk__known_choices *choices, bool is_checked)
{
    for (int64_t i = 0; i < choices->n; i++) {
        int k = choices->number[i] + 1;
        if (is_checked && choices->in_count[k] != STK_INFINITE_COUNT &&
            s->n_of[k] == (uint64_t)choices->in_count[k])
            continue;
        if (s->input) {
            s->input[s->n] = (uint8_t)k;
            s->rank[s->n] = (uint32_t)s->n_of[k];
        }
        s->n_of[k]++;
        s->n++;
    }
}

/* Those of inputs without end. */
static void add_endless(struct sequence *s, const struct stk__known_choices *choices)
{
    int64_t left[STK_MAX_INPUTS];
    for (int k = 0; k < choices->n_inputs; k++)
        left[k] = choices->in_count[k] == STK_INFINITE_COUNT ? STK_INFINITE_COUNT : 0;
    struct stk__known_choices endless = *choices;
    endless.in_count = left;
    add_round(s, &endless, true);
}

/* Rounds until the inputs that end have ended. */
static int64_t count_rounds(const struct stk__known_choices *choices)
{
    struct sequence once = { 0 };
    int64_t n_rounds = 0;
    add_round(&once, choices, false);
    for (int k = 1; k < choices->n_inputs; k++) {
        int64_t n_of = (int64_t)once.n_of[k], n = choices->in_count[k];
        int64_t rounds = n_of && n > 0 ? (n - 1) / n_of + 1 : 0;
        n_rounds = rounds > n_rounds ? rounds : n_rounds;
    }
    return n_rounds;
}

/* How the choices are laid out. */
struct layout {
    int64_t n_rounds; /* that are listed */
    bool is_checked;  /* what finds nothing is left out; else it is the end */
};

static void fill(struct menu *menu, const struct stk__known_choices *choices, struct layout layout)
{
    menu->list.n = menu->period.n = 0;
    memset(menu->list.n_of, 0, sizeof menu->list.n_of);
    memset(menu->period.n_of, 0, sizeof menu->period.n_of);
    for (int64_t i = 0; i < layout.n_rounds; i++)
        add_round(&menu->list, choices, layout.is_checked);
    if (choices->is_endless && layout.is_checked)
        add_endless(&menu->period, choices);
    else if (choices->is_endless)
        add_round(&menu->period, choices, false);
}

static bool sequence_alloc(struct sequence *s, struct stk_arena *arena)
{
    s->input = stk_arena_alloc(arena, sizeof *s->input * ((size_t)s->n + 1));
    s->rank = stk_arena_alloc(arena, sizeof *s->rank * ((size_t)s->n + 1));
    return s->input && s->rank;
}

static int tabulate(const void *given, const struct stk__known_choices *choices,
                    struct stk_arena *arena, void **state, struct stk_error *err)
{
    struct layout layout = { .n_rounds = 1,
                             .is_checked = !((const struct choose_from *)given)->stop_on_empty };
    if (choices->is_endless)
        layout.n_rounds = layout.is_checked ? count_rounds(choices) : 0;
    bool is_large = choices->n && layout.n_rounds > MOST_CHOICES / choices->n;
    struct menu *menu = stk_arena_alloc(arena, sizeof *menu);
    if (!menu)
        return stk_fail(err, STK_MEMORY, "out of memory");
    *menu = *(const struct menu *)*state;
    *state = NULL;
    if (is_large || (layout.is_checked && choices->counts_differ))
        return STK_OK;
    fill(menu, choices, layout);
    if (!sequence_alloc(&menu->list, arena) || !sequence_alloc(&menu->period, arena))
        return stk_fail(err, STK_MEMORY, "out of memory");
    fill(menu, choices, layout);
    menu->is_tabulated = true;
    *state = menu;
    return STK_OK;
}

static void at(const struct stk__order_run *run, int n, uint64_t *position, uint64_t *path,
               uint8_t *input)
{
    const struct menu *menu = run->state;
    const struct sequence *list = &menu->list, *period = &menu->period;
    (void)path;
    for (int i = 0; i < n; i++) {
        uint64_t place = position[i];
        if (place < (uint64_t)list->n) {
            input[i] = list->input[place];
            position[i] = list->rank[place];
            continue;
        }
        place -= (uint64_t)list->n;
        uint64_t pass = place / (uint64_t)period->n;
        place %= (uint64_t)period->n;
        int k = input[i] = period->input[place];
        position[i] = list->n_of[k] + pass * period->n_of[k] + period->rank[place];
    }
}

const struct stk__op stk__op_choose_from = {
    .subject = STK__ABOUT_SEVERAL_INPUTS,
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
              "number.\n"
              "\n"
              "Where all inputs can be read at random, the numbers are looked at when the dataset "
              "is made: then its length is known, any element can be reached by its position, and "
              "elements are made on all workers. That is done for up to 16 million numbers that "
              "are "
              "the same in every epoch and are made without reading files or calling functions; "
              "others, and numbers among which one means no input, are read as they come. `plan` "
              "says which it is, and why.",
              params, sizeof(struct choose_from) },
    .infer = infer,
    .order = { .count = count, .at = at },
    .choice = { .begin = begin,
                .end = free,
                .next_epoch = next_epoch,
                .wanted = wanted,
                .take = take,
                .ended = ended,
                .number_field = number_field,
                .n_needed = n_needed,
                .tabulate = tabulate },
};
