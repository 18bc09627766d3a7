/* SPDX-License-Identifier: Apache-2.0 */
/* text_join.c: the texts of several fields, or of a list, as one. */
#include "base/error.h"
#include "base/rows/blob.h"
#include "op/text/text_op.h"

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
    bool has_list[STK_MAX_FIELDS];
    size_t sep_bytes;
};

static bool is_any(const struct stk_field *field)
{
    return stk__is_text(field) || stk__is_texts(field);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    enum { TYPICAL_TEXT = 128 };
    const struct text_join *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    for (int i = 0; i < p->fields.n; i++) {
        state->from[i] = stk_infer_pick(inf, p->fields.item[i], is_any, "a field of texts", err);
        if (state->from[i] < 0)
            return err->code;
    }
    for (int i = 0; i < p->fields.n; i++)
        state->has_list[i] = stk__is_texts(&inf->in[0]->field[state->from[i]]);
    stk_infer_pass(inf);
    state->n = p->fields.n;
    state->sep_bytes = strlen(p->sep);
    struct stk_field made = { .name = inf->in[0]->field[state->from[0]].name,
                              .kind = STK_BYTES,
                              .dtype = inf->in[0]->field[state->from[0]].dtype,
                              .flags = inf->in[0]->field[state->from[0]].flags & STK_FIELD_TEXT };
    inf->scratch_bytes = TYPICAL_TEXT;
    return stk__result_put(inf, state->from[0], p->into, made, &state->to, err);
}

/* Where a row's text is put together; without a place only its bytes are counted. */
struct joined {
    uint8_t *dst;
    size_t bytes;
    int64_t n; /* texts so far */
};

static void add(const struct stk_rows *rows, const void *text, size_t bytes, struct joined *out)
{
    const struct text_join *p = rows->params;
    const struct state *state = rows->state;
    size_t sep_bytes = out->n++ ? state->sep_bytes : 0;
    if (out->dst && sep_bytes)
        memcpy(out->dst + out->bytes, p->sep, sep_bytes);
    if (out->dst && bytes)
        memcpy(out->dst + out->bytes + sep_bytes, text, bytes);
    out->bytes += sep_bytes + bytes;
}

static size_t join_row(const struct stk_rows *rows, int row, uint8_t *dst)
{
    const struct state *state = rows->state;
    struct joined out = { .dst = dst };
    for (int k = 0; k < state->n; k++) {
        const struct stk_span *texts = &rows->in[state->from[k]].span[row];
        if (!state->has_list[k]) {
            add(rows, texts->data, texts->bytes, &out);
            continue;
        }
        struct stk__blob list = stk__blob_open(texts->data);
        for (int64_t i = 0; i < list.n; i++)
            add(rows, list.data + list.splits[i], (size_t)(list.splits[i + 1] - list.splits[i]),
                &out);
    }
    return out.bytes;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    struct stk_span *out = rows->out[state->to].span;
    size_t total = 1;
    for (int i = 0; i < rows->n; i++)
        total += rows->mask[i] == STK_LIVE ? join_row(rows, i, NULL) : 0;
    uint8_t *dst = stk_rows_alloc(rows, total);
    if (!dst)
        return STK_MEMORY;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        out[i] = (struct stk_span){ .data = dst, .bytes = join_row(rows, i, dst) };
        dst += out[i].bytes;
    }
    return STK_OK;
}

static const char doc[] =
    "The texts follow each other with `sep` between them, as tf.strings.join puts them. Of a list "
    "all its texts do, which undoes text_split and is tf.strings.reduce_join; an empty one adds "
    "nothing. The fields stay, and the new one comes last, unless it has the name of one that is "
    "there.\n"
    "\n"
    "    values({a: ['x', 'y'], b: ['1', '2']}).text_join([a, b], sep='-', into=name)\n"
    "    values({a: ['x', 'y'], b: ['1', '2']}).text_join([a, b])\n"
    "    values({t: ['b a', 'c']}).text_split(' ').text_join([t], sep='+')";

const struct stk__op stk__op_text_join = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_join", 1, "Put the texts of several fields, or of lists, together.", doc,
              params, sizeof(struct text_join) },
    .infer = infer,
    .row = { .run = run },
};
