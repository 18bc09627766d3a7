/* SPDX-License-Identifier: Apache-2.0 */
/* text_case.c: text_lower and text_upper. */
#include "base/error.h"
#include "op/text/text_op.h"
#include "op/text/unicode_case.h"

#include <string.h>

struct change_case {
    const char *field, *encoding, *into;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(change_case, field, NULL, STK_TAKES_NONE, STK__TEXT_FIELD_HELP),
    STK_TEXT_ROW(change_case, encoding, "", 0,
                 "'': only the letters of ASCII change; 'utf-8': all letters of Unicode"),
    STK_TEXT_ROW(change_case, into, NULL, STK_TAKES_NONE, STK__TEXT_INTO_HELP),
    STK_ROWS_END,
};

struct state {
    struct stk__text_use use;
    bool is_utf8;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct change_case *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    state->is_utf8 = !strcmp(p->encoding, "utf-8");
    if (*p->encoding && !state->is_utf8)
        return stk_fail(err, STK_VALUE, "the encoding is '' or 'utf-8', not '%s'", p->encoding);
    return stk__text_infer(inf, p->field, p->into, &state->use, err);
}

/* ---- eight bytes at once ---- */

#define EACH(byte) (0x0101010101010101u * (byte))

/* The top bit of every byte that is a letter from `first` on. */
static uint64_t letters(uint64_t word, uint8_t first)
{
    uint64_t low = word & EACH(0x7f);
    uint64_t from_first = low + EACH((uint64_t)(0x80 - first));
    uint64_t behind_last = low + EACH((uint64_t)(0x80 - first - 26));
    return (from_first ^ behind_last) & ~word & EACH(0x80);
}

static void change_ascii(const uint8_t *src, size_t bytes, bool to_upper, uint8_t *dst)
{
    uint8_t first = to_upper ? 'a' : 'A';
    uint64_t word;
    size_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, src + at, sizeof word);
        word ^= letters(word, first) >> 2;
        memcpy(dst + at, &word, sizeof word);
    }
    word = 0;
    if (at < bytes)
        memcpy(&word, src + at, bytes - at);
    word ^= letters(word, first) >> 2;
    if (at < bytes)
        memcpy(dst + at, &word, bytes - at);
}

/* ---- rows ---- */

static size_t room_for(const struct stk_rows *rows, const struct stk_span *text)
{
    size_t bytes = 1;
    for (int i = 0; i < rows->n; i++)
        bytes += rows->mask[i] == STK_LIVE ? text[i].bytes : 0;
    return bytes;
}

static int change_rows(struct stk_rows *rows, bool to_upper)
{
    const struct state *state = rows->state;
    const struct stk_span *text = rows->in[state->use.from].span;
    struct stk_span *out = rows->out[state->use.to].span;
    size_t growth = state->is_utf8 ? STK__CASE_GROWTH : 1;
    uint8_t *dst = stk_rows_alloc(rows, growth * room_for(rows, text));
    if (!dst)
        return STK_MEMORY;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        size_t bytes = text[i].bytes;
        if (state->is_utf8)
            bytes = stk__utf8_change_case(text[i].data, bytes, to_upper, dst);
        else
            change_ascii(text[i].data, bytes, to_upper, dst);
        out[i] = (struct stk_span){ .data = dst, .bytes = bytes };
        dst += bytes;
    }
    return STK_OK;
}

static int lower(struct stk_rows *rows)
{
    return change_rows(rows, false);
}

static int upper(struct stk_rows *rows)
{
    return change_rows(rows, true);
}

static int run_lower(struct stk_rows *rows)
{
    return stk__text_run(rows, &((const struct state *)rows->state)->use, lower);
}

static int run_upper(struct stk_rows *rows)
{
    return stk__text_run(rows, &((const struct state *)rows->state)->use, upper);
}

#define DOC(name, like)                                                                             \
    "As " like " does: without an encoding only the letters of ASCII change, so texts of any "      \
    "kind stay what they are. With encoding='utf-8' every letter of Unicode 14 changes, some to "   \
    "several (ß to SS in upper case); bytes that are no UTF-8 stay, and Σ becomes σ at the end " \
    "of a word too. Of lists of texts each is changed.\n"                                           \
    "\n"                                                                                            \
    "    values({name: ['Anna', 'BO']})." name "()\n"                                               \
    "    values({name: ['Ångström', 'CAFÉ']})." name "(encoding='utf-8', into=plain)"

const struct stk__op stk__op_text_lower = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_lower", 1, "Write texts in lower case.", DOC("text_lower", "tf.strings.lower"),
              params, sizeof(struct change_case) },
    .infer = infer,
    .row = { .run = run_lower },
};

const struct stk__op stk__op_text_upper = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_upper", 1, "Write texts in upper case.", DOC("text_upper", "tf.strings.upper"),
              params, sizeof(struct change_case) },
    .infer = infer,
    .row = { .run = run_upper },
};
