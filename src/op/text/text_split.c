/* SPDX-License-Identifier: Apache-2.0 */
/* text_split.c: the pieces of a text, as fields or as a list. */
#include "base/error.h"
#include "base/rows/blob.h"
#include "op/text/text_op.h"

#include <string.h>

struct text_split {
    const char *sep;
    struct stk_texts into;
    int64_t maxsplit;
    const char *missing, *field;
};

static const struct stk_param params[] = {
    STK_TEXT_ROW(text_split, sep, NULL, STK_REQUIRED,
                 "the text is cut where this is; '': at white space"),
    STK_TEXTS_ROW(
        text_split, into, 1, STK_MAX_FIELDS, STK_TAKES_NONE,
        "names of the fields for the pieces, in their order; none: a list of them replaces "
        "the text"),
    STK_INT_ROW(text_split, maxsplit, -1, -1, INT32_MAX, 0,
                "the text is cut at most so often, the last piece has the rest; -1: everywhere"),
    STK_TEXT_ROW(text_split, missing, NULL, STK_TAKES_NONE,
                 "what stands for pieces that are not there; none: the element is bad"),
    STK_TEXT_ROW(text_split, field, NULL, STK_TAKES_NONE, STK__TEXT_FIELD_HELP),
    STK_ROWS_END,
};

struct state {
    int from;
    int n, to[STK_MAX_FIELDS];
};

/* The new fields come last, or replace those of their names. */
static int add_fields(struct stk_infer *inf, const struct text_split *p, struct state *state,
                      struct stk_error *err)
{
    struct stk_field made = inf->in[0]->field[state->from];
    made.flags &= STK_FIELD_TEXT;
    int code = STK_OK;
    for (int i = 0; i < p->into.n && !code; i++) {
        for (int k = 0; k < i; k++)
            if (!strcmp(p->into.item[i], p->into.item[k]))
                return stk_fail(err, STK_NAME, "the field '%s' is listed twice", p->into.item[i]);
        code = stk__result_put(inf, state->from, p->into.item[i], made, &state->to[i], err);
    }
    state->n = p->into.n;
    return code;
}

/* A list is what a batch of texts is: many in one row. */
static int set_list(struct stk_infer *inf, const struct text_split *p, struct state *state,
                    struct stk_error *err)
{
    enum { TYPICAL_LIST = 512 };
    struct stk_field made = inf->in[0]->field[state->from];
    if (p->missing)
        return stk_fail(err, STK_VALUE, "missing is for pieces that have names: into is none");
    made.flags = (made.flags & STK_FIELD_TEXT) | STK_FIELD_PACKED;
    inf->scratch_bytes = TYPICAL_LIST;
    return stk__result_put(inf, state->from, NULL, made, &state->to[0], err);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct text_split *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    state->from = stk_infer_pick(inf, p->field, stk__is_text, "a field of bytes", err);
    if (state->from < 0)
        return err->code;
    stk_infer_pass(inf);
    return p->into.n ? add_fields(inf, p, state, err) : set_list(inf, p, state, err);
}

/* The piece that is left when the text was cut often enough. */
static bool take_rest(struct stk__text_pieces *pieces, struct stk_span *piece)
{
    bool is_over = pieces->is_over;
    *piece = pieces->rest;
    pieces->is_over = true;
    if (pieces->sep_bytes)
        return !is_over;
    size_t from = 0;
    while (from < piece->bytes && stk__is_blank(piece->data[from]))
        from++;
    *piece = stk__text_part(piece, from, piece->bytes - from);
    pieces->rest.bytes = 0;
    return piece->bytes > 0;
}

static bool next_piece(const struct text_split *p, struct stk__text_pieces *pieces, int64_t n,
                       struct stk_span *piece)
{
    return n == p->maxsplit ? take_rest(pieces, piece) : stk__pieces_next(pieces, piece);
}

static void split_row(struct stk_rows *rows, int row)
{
    const struct text_split *p = rows->params;
    const struct state *state = rows->state;
    const struct stk_span *text = &rows->in[state->from].span[row];
    struct stk__text_pieces pieces = stk__pieces_of(text, p->sep);
    struct stk_span piece;
    int n = 0, n_found = 0;
    while (next_piece(p, &pieces, n_found, &piece)) {
        if (n < state->n)
            rows->out[state->to[n++]].span[row] = piece;
        n_found++;
    }
    if (n_found > state->n || (n < state->n && !p->missing)) {
        stk_rows_fail(rows, row, STK_DATA, "'%.*s%s' has %d piece%s, but there are %d fields",
                      STK__TEXT_SHOW(*text), n_found, n_found == 1 ? "" : "s", state->n);
        return;
    }
    for (; n < state->n; n++)
        rows->out[state->to[n]].span[row] =
            (struct stk_span){ .data = (uint8_t *)(uintptr_t)p->missing,
                               .bytes = strlen(p->missing) };
}

static int list_row(struct stk_rows *rows, int row)
{
    const struct text_split *p = rows->params;
    const struct state *state = rows->state;
    const struct stk_span *text = &rows->in[state->from].span[row];
    struct stk__text_pieces pieces = stk__pieces_of(text, p->sep);
    struct stk_span piece;
    int64_t n = 0, used = 0;
    while (next_piece(p, &pieces, n, &piece))
        n++;
    size_t bytes = stk__blob_room(n, text->bytes);
    uint8_t *memory = stk_rows_alloc(rows, bytes);
    if (!memory)
        return STK_MEMORY;
    struct stk__blob list = stk__blob_begin(memory, n);
    pieces = stk__pieces_of(text, p->sep);
    for (int64_t i = 0; i < n && next_piece(p, &pieces, i, &piece); i++) {
        list.splits[i] = used;
        if (piece.bytes)
            memcpy(list.data + used, piece.data, piece.bytes);
        used += (int64_t)piece.bytes;
    }
    list.splits[n] = used;
    rows->out[state->to[0]].span[row] =
        (struct stk_span){ .data = memory, .bytes = bytes - text->bytes + (size_t)used };
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct text_split *p = rows->params;
    int code = STK_OK;
    for (int i = 0; i < rows->n && !code; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        if (p->into.n)
            split_row(rows, i);
        else
            code = list_row(rows, i);
    }
    return code;
}

static const char doc[] =
    "A text is cut at every `sep`, and its pieces become fields, one for each name of `into`; the "
    "text stays. The rules are those of Python's and tf.strings.split: two separators in a row "
    "have an empty piece between them, but with sep='' the text is cut at runs of white space, and "
    "no piece is empty. An element with more pieces than names is bad, and so is one with less, "
    "unless `missing` says what to put. With maxsplit=n the text is cut n times at most.\n"
    "\n"
    "    values({name: ['anna,31', 'bo,44']}).text_split(',', into=[first, age])\n"
    "    files('train/*/*.jpg').text_split('/', [set, class, file])\n"
    "    values({t: ['a b c', 'd']}).text_split('', [head, rest], maxsplit=1, missing='')\n"
    "    values({t: ['a b c', 'd']}).text_split(' ')\n"
    "\n"
    "Without names a list of the pieces replaces the text. Lists of texts can be batched, padded "
    "and stored; `text_to_number`, `text_to_hash_bucket` and `lookup` make lists of numbers of "
    "them, or of texts at once with their parameter `sep`.";

const struct stk__op stk__op_text_split = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "text_split", 1, "Cut texts into pieces.", doc, params, sizeof(struct text_split) },
    .infer = infer,
    .row = { .run = run },
};
