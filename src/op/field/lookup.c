/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c: texts or integers as their numbers in a vocabulary. */
#include "base/error.h"
#include "base/fingerprint.h"
#include "base/type.h"
#include "kernel/kernel.h"
#include "op/field/vocabulary.h"
#include "op/text/text_op.h"

#include <stdio.h>
#include <string.h>

struct lookup {
    const struct stk_value *vocab;
    const char *field;
    int64_t unknown, oov;
    const char *sep, *into;
};

static const struct stk_param params[] = {
    STK__VALUE_ROW(lookup, vocab, STK_REQUIRED,
                   "the terms: a list, the name of a file with a term per line, or of a .json file "
                   "that stats has written"),
    STK_TEXT_ROW(lookup, field, NULL, STK_TAKES_NONE,
                 "field with the texts or integers; none: the only one there is"),
    /* `default` is no name for a member. */
    { .name = "default",
      .offset = offsetof(struct lookup, unknown),
      .type = STK_ROW_INT,
      .flags = STK_TAKES_NONE,
      .def.i = -1,
      .lo.i = INT64_MIN + 2,
      .hi.i = INT64_MAX,
      .help = "the number of a term that is not in the vocabulary; none: the element is bad" },
    STK_INT_ROW(lookup, oov, 0, 0, INT64_MAX / 2, 0,
                "so many numbers behind those of the vocabulary are for other terms, by their "
                "hash; 0: they get the default"),
    STK_TEXT_ROW(lookup, sep, NULL, STK_TAKES_NONE, STK__TEXT_SEP_HELP),
    STK_TEXT_ROW(lookup, into, NULL, STK_TAKES_NONE,
                 "name of the new field; none: it replaces the terms"),
    STK_ROWS_END,
};

struct state {
    struct stk__text_values texts; /* which has the fields of integers too */
    struct stk__vocabulary vocabulary;
    int64_t unknown, oov;
};

/* ---- numbers of terms ---- */

/* False, with the row marked, if there is none. `text` is the term as it is hashed and shown. */
static bool put_unknown(const struct state *state, struct stk_rows *rows, int row,
                        const struct stk_span *text, int64_t *number)
{
    if (state->oov) {
        uint64_t bucket = stk__fingerprint(text->data, text->bytes) % (uint64_t)state->oov;
        *number = (int64_t)(state->vocabulary.n + bucket);
        return true;
    }
    *number = state->unknown;
    if (state->unknown == STK_NONE)
        stk_rows_fail(rows, row, STK_DATA, "'%.*s%s' is not in the vocabulary",
                      STK__TEXT_SHOW(*text));
    return state->unknown != STK_NONE;
}

static bool put_text(const struct stk__text_values *how, struct stk_rows *rows, int row,
                     const struct stk_span *text, void *dst)
{
    const struct state *state = how->ctx;
    int64_t number = stk__vocabulary_find(&state->vocabulary, text->data, text->bytes);
    bool is_known = number >= 0 || put_unknown(state, rows, row, text, &number);
    memcpy(dst, &number, sizeof number);
    return is_known;
}

static void put_integer(const struct state *state, struct stk_rows *rows, int row, int64_t value,
                        void *dst)
{
    int64_t number = stk__vocabulary_find(&state->vocabulary, &value, sizeof value);
    if (number < 0 && !state->oov && state->unknown != STK_NONE) {
        number = state->unknown;
    } else if (number < 0) {
        char digits[24];
        int n = snprintf(digits, sizeof digits, "%lld", (long long)value);
        const struct stk_span text = { (uint8_t *)digits, (size_t)n, NULL };
        put_unknown(state, rows, row, &text, &number);
    }
    memcpy(dst, &number, sizeof number);
}

/* ---- types ---- */

static bool is_terms(const struct stk_field *field)
{
    char kind = stk__dtype_kind(field->dtype);
    if (field->kind == STK_BYTES)
        return stk__is_text(field) || stk__is_texts(field);
    return stk__is_array(field) && (kind == 'i' || kind == 'u') && field->dtype != STK_U64;
}

static int infer_integers(struct stk_infer *inf, const struct lookup *p, struct state *state,
                          struct stk_error *err)
{
    enum { TYPICAL_LIST = 512 };
    struct stk__text_use *use = &state->texts.use;
    if (p->sep)
        return stk_fail(err, STK_TYPE, "sep is for texts; the field '%s' has integers",
                        inf->in[0]->field[use->from].name);
    stk_infer_pass(inf);
    struct stk_field made = inf->in[0]->field[use->from];
    made.dtype = STK_I64;
    made.flags = 0;
    inf->scratch_bytes = made.kind == STK_FIXED ? 0 : TYPICAL_LIST;
    return stk__result_put(inf, use->from, p->into, made, &use->to, err);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct lookup *p = inf->params;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    inf->state = state;
    int from = stk_infer_pick(inf, p->field, is_terms, "a field of texts or integers", err);
    if (from < 0)
        return err->code;
    const struct stk_field *field = &inf->in[0]->field[from];
    *state = (struct state){ .unknown = p->unknown, .oov = p->oov };
    state->texts = (struct stk__text_values){
        .use.from = from, .sep = p->sep, .make = put_text, .ctx = state, .dtype = STK_I64
    };
    int code = stk__vocabulary_read(p->vocab, field, inf->arena, &state->vocabulary, err);
    if (code)
        return code;
    if (field->kind == STK_BYTES)
        return stk__text_values_infer(inf, field->name, p->into, &state->texts, err);
    return infer_integers(inf, p, state, err);
}

/* ---- rows ---- */

static int run_integers(struct stk_rows *rows, const struct state *state)
{
    const struct stk__text_use *use = &state->texts.use;
    int dtype = rows->in_type->field[use->from].dtype;
    size_t value_bytes = stk_dtype_bytes(dtype);
    stk__elementwise_fn widen =
        dtype == STK_I64 ? NULL : stk__kernels()->elementwise.convert[dtype][STK_I64];
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__array_value in = stk__array_get(rows, use->from, i);
        uint8_t *dst = stk__array_put(rows, use->to, i, in.dim);
        if (!dst)
            return STK_MEMORY;
        size_t n = stk__array_values(&in);
        for (size_t k = 0; k < n && rows->mask[i] == STK_LIVE; k++) {
            int64_t value;
            if (widen)
                widen(&value, in.data + k * value_bytes, NULL, NULL, 1);
            else
                memcpy(&value, in.data + k * value_bytes, sizeof value);
            put_integer(state, rows, i, value, dst + k * sizeof value);
        }
    }
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    if (state->vocabulary.has_integers)
        return run_integers(rows, state);
    return stk__text_values_run(rows, &state->texts);
}

static const char doc[] =
    "Every term becomes its number in the vocabulary, as int64: 0 for the first one, and so on. "
    "What is not in it becomes `default`, as in tf.lookup.StaticHashTable; with `oov` it becomes "
    "one of so many numbers that follow those of the vocabulary, as in "
    "tf.lookup.StaticVocabularyTable and by the same hash (FarmHash's Fingerprint64, of integers "
    "their digits). The StringLookup of Keras has the numbers of unknown terms before the others "
    "and takes another hash.\n"
    "\n"
    "    values({word: ['cat', 'dog', 'cow']}).lookup([dog, cat])\n"
    "    values({word: ['cat', 'dog', 'cow']}).lookup([dog, cat], oov=3, into=id)\n"
    "    values({id: [[700, 3], [3, 9]]}).lookup([3, 700], default=99)\n"
    "    values({t: ['one two', 'six']}).lookup('words.txt', sep='')\n"
    "\n"
    "With `sep` a text is cut into pieces, which are looked up one by one and give a list; an "
    "empty "
    "text gives an empty list. A file may be compressed. In one whose name ends in .json that "
    "`stoker stats --save` has written, the terms are those it has of the field: texts by how "
    "often "
    "they are there, the most frequent first, or classes by their number. A term that is there "
    "twice is an error.";

const struct stk__op stk__op_lookup = {
    .subject = STK__ABOUT_TEXT,
    .decl = { "lookup", 1, "Find the numbers of terms in a vocabulary.", doc, params,
              sizeof(struct lookup) },
    .infer = infer,
    .row = { .run = run },
};
