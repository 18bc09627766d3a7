/* SPDX-License-Identifier: Apache-2.0 */
/* take_while.c: elements up to the first for which a condition is false. */
#include "base/memory/arena.h"
#include "base/rows/chunk.h"
#include "op/field/expr_run.h"
#include "op/order/order.h"

#include <stdlib.h>
#include <string.h>

struct take_while {
    const char *expression;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(take_while, expression, NULL, STK_REQUIRED, "a condition such as 'x < 5'"),
    STK_ROWS_END,
};

static enum stk__op_mode mode(const void *given)
{
    (void)given;
    return STK__MODE_SERIAL;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct take_while *p = inf->params;
    const struct stk__expr_program *program;
    int rc =
        stk__expr_compile(p->expression, inf->in[0], STK__EXPR_FILTER, inf->arena, &program, err);
    if (rc)
        return rc;
    stk_infer_pass(inf);
    inf->count = STK_UNKNOWN_COUNT;
    inf->state = (void *)program; /* handed back as const */
    return STK_OK;
}

struct taking {
    const struct stk__expr_program *program;
    struct stk_arena scratch;
    bool is_over; /* in this epoch */
};

static int begin(const struct stk__serial_start *b, void **run, struct stk_error *err)
{
    struct taking *t = calloc(1, sizeof *t);
    if (!t)
        return stk_fail(err, STK_MEMORY, "out of memory");
    t->program = b->state;
    stk__arena_init(&t->scratch, 1 << 14);
    *run = t;
    return STK_OK;
}

static void end(void *run)
{
    struct taking *t = run;
    stk__arena_free(&t->scratch);
    free(t);
}

static void next_epoch(void *run, uint64_t path)
{
    (void)path;
    ((struct taking *)run)->is_over = false;
}

static bool is_closed(const void *run)
{
    return ((const struct taking *)run)->is_over;
}

/* What the condition says of n rows. */
struct answers {
    uint8_t *keep, *mask; /* mask: bad where there is no answer */
    struct stk__fault *faults;
};

static int ask(struct taking *t, const struct stk__chunk *in, int from, int n,
               struct answers *answers)
{
    struct stk_column column[STK_MAX_FIELDS];
    *answers = (struct answers){ stk__arena_take(&t->scratch, (size_t)n + 1),
                                 stk__arena_take(&t->scratch, (size_t)n + 1), NULL };
    if (!answers->keep || !answers->mask)
        return STK_MEMORY;
    memcpy(answers->mask, in->mask + from, (size_t)n);
    for (int f = 0; f < in->type->n_fields; f++)
        column[f] = stk__column_slice(&in->column[f], from);
    struct stk__rows_inside inside = { .name = "take_while",
                                       .scratch = &t->scratch,
                                       .faults = &answers->faults };
    struct stk_rows rows = {
        .in = column, .in_type = in->type, .n = n, .mask = answers->mask, .inside = &inside
    };
    struct stk_column keep = { .data = answers->keep, .stride = 1 };
    return stk__expr_run(t->program, &rows, &keep);
}

static int step(void *run, struct stk__chunk *in, int from, int n, struct stk__chunk *out)
{
    struct taking *t = run;
    struct answers answers;
    if (t->is_over)
        return n;
    int m = (int)stk__min_count(n, out->cap - out->n);
    int rc = ask(t, in, from, m, &answers);
    for (int i = 0; i < m && !t->is_over; i++) {
        int row = from + i;
        bool was_bad = in->n_bad && in->mask[row] == STK_BAD;
        if (was_bad)
            stk__chunk_append(out, in, row, 1);
        else if (rc || answers.mask[i] == STK_BAD)
            stk__chunk_hand_on_bad(out, in, row, rc ? NULL : stk__fault_find(answers.faults, i));
        else if (answers.keep[i])
            stk__chunk_append(out, in, row, 1);
        else
            t->is_over = true;
    }
    stk__faults_free(answers.faults);
    stk__arena_reset(&t->scratch);
    return t->is_over ? n : m;
}

const struct stk__op stk__op_take_while = {
    .subject = STK__ABOUT_ORDER,
    .decl = { "take_while", 1, "Keep elements up to the first for which a condition is false.",
              "The condition is one bool per element, in the language of map. The epoch ends "
              "before the first element for which it is false. From then on no more is asked for; "
              "what "
              "was read ahead by then is dropped. An "
              "element that is bad, or for which there is no answer, passes as a bad one.\n"
              "\n"
              "    range(10).take_while('x < 5')\n"
              "    lines('words.txt').take_while('len(text) > 0')",
              params, sizeof(struct take_while) },
    .mode = mode,
    .infer = infer,
    .serial = { .begin = begin,
                .end = end,
                .next_epoch = next_epoch,
                .step = step,
                .is_closed = is_closed },
};
