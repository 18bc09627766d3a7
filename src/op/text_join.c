/* SPDX-License-Identifier: Apache-2.0 */
/* text_join.c: the texts of several fields as one. */
#include "base/error.h"
#include "op/text_op.h"

#include <string.h>

struct text_join {
    struct stk_texts fields;
    const char *sep, *into;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(text_join, fields, 1, STK_MAX_FIELDS, STK_REQUIRED,
                  "names of the fields, in their order"),
    STK_TEXT_ROW(text_join, sep, "", 0, "what stands between them"),
    STK_TEXT_ROW(text_join, into, NULL, STK_TAKES_NONE,
                 "name of the new field; none: it replaces the first"),
    STK_ROWS_END,
};

struct state {
    int n, from[STK_MAX_FIELDS], to;
    size_t sep_bytes;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    enum { TYPICAL_TEXT = 128 };
    const struct text_join *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    for (int i = 0; i < p->fields.n; i++) {
        state->from[i] =
            stk_infer_pick(inf, p->fields.item[i], stk__is_text, "a field of bytes", err);
        if (state->from[i] < 0)
            return err->code;
    }
    stk_infer_pass(inf);
    state->n = p->fields.n;
    state->sep_bytes = strlen(p->sep);
    struct stk_field made = inf->in[0]->field[state->from[0]];
    made.flags &= STK_FIELD_TEXT;
    inf->scratch_bytes = TYPICAL_TEXT;
    return stk__result_put(inf, state->from[0], p->into, made, &state->to, err);
}

static size_t joined_bytes(const struct stk_rows *rows, int row)
{
    const struct state *state = rows->state;
    size_t bytes = (size_t)(state->n - 1) * state->sep_bytes;
    for (int k = 0; k < state->n; k++)
        bytes += rows->in[state->from[k]].span[row].bytes;
    return bytes;
}

static void join_row(const struct stk_rows *rows, int row, uint8_t *dst)
{
    const struct text_join *p = rows->params;
    const struct state *state = rows->state;
    for (int k = 0; k < state->n; k++) {
        const struct stk_span *text = &rows->in[state->from[k]].span[row];
        if (k) {
            memcpy(dst, p->sep, state->sep_bytes);
            dst += state->sep_bytes;
        }
        if (text->bytes)
            memcpy(dst, text->data, text->bytes);
        dst += text->bytes;
    }
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    struct stk_span *out = rows->out[state->to].span;
    size_t total = 1;
    for (int i = 0; i < rows->n; i++)
        total += rows->mask[i] == STK_LIVE ? joined_bytes(rows, i) : 0;
    uint8_t *dst = stk_rows_alloc(rows, total);
    if (!dst)
        return STK_MEMORY;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        out[i] = (struct stk_span){ .data = dst, .bytes = joined_bytes(rows, i) };
        join_row(rows, i, dst);
        dst += out[i].bytes;
    }
    return STK_OK;
}

static const char doc[] =
    "The texts follow each other with `sep` between them, as tf.strings.join puts them. The fields "
    "stay, and the new one comes last, unless it has the name of one that is there.\n"
    "\n"
    "    values({a: ['x', 'y'], b: ['1', '2']}).text_join([a, b], sep='-', into=name)\n"
    "    values({a: ['x', 'y'], b: ['1', '2']}).text_join([a, b])";

const struct stk_op stk__op_text_join = {
    .decl = { "text_join", 1, "Put the texts of several fields together.", doc, params,
              sizeof(struct text_join) },
    .infer = infer,
    .row = { .run = run },
};
