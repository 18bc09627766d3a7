/* SPDX-License-Identifier: Apache-2.0 */
/* text_strip.c: texts without what stands at their ends. */
#include "base/error.h"
#include "op/text/text_op.h"

#include <string.h>

struct text_strip {
    const char *chars, *field, *into;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(text_strip, chars, NULL, STK_TAKES_NONE,
                 "the bytes that are taken away; none: white space"),
    STK_TEXT_ROW(text_strip, field, NULL, STK_TAKES_NONE, STK__TEXT_FIELD_HELP),
    STK_TEXT_ROW(text_strip, into, NULL, STK_TAKES_NONE, STK__TEXT_INTO_HELP),
    STK_ROWS_END,
};

struct state {
    struct stk__text_use use;
    bool is_taken[256];
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct text_strip *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    for (int byte = 0; byte < 256; byte++)
        state->is_taken[byte] =
            p->chars ? byte && strchr(p->chars, byte) : stk__is_blank((uint8_t)byte);
    return stk__text_infer(inf, p->field, p->into, &state->use, err);
}

static int strip(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    const struct stk_span *text = rows->in[state->use.from].span;
    struct stk_span *out = rows->out[state->use.to].span;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        size_t from = 0, end = text[i].bytes;
        while (from < end && state->is_taken[text[i].data[from]])
            from++;
        while (end > from && state->is_taken[text[i].data[end - 1]])
            end--;
        out[i] = stk__text_part(&text[i], from, end - from);
    }
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    return stk__text_run(rows, &((const struct state *)rows->state)->use, strip);
}

static const char doc[] =
    "White space (of ASCII, as tf.strings.strip has it) is taken away at both ends; with `chars` "
    "any of those bytes instead, as Python's strip does. Of lists of texts each is stripped.\n"
    "\n"
    "    values({name: [' anna', 'bo\\n']}).text_strip()\n"
    "    values({name: ['\"anna\"', '(bo)']}).text_strip('\"()', into=plain)";

const struct stk__op stk__op_text_strip = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_strip", 1, "Take white space away at the ends of texts.", doc, params,
              sizeof(struct text_strip) },
    .infer = infer,
    .row = { .run = run },
};
