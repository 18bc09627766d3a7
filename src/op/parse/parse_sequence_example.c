/* SPDX-License-Identifier: Apache-2.0 */
/* parse_sequence_example.c: fields from serialized tf.train.SequenceExamples. */
#include "base/error.h"
#include "op/declaration.h"
#include "op/parse/features.h"

struct parse_sequence_example {
    const struct stk_value *context, *sequence;
    const char *field;
};

static const struct stk_param params[] = {
    STK__CALLS_ROW(parse_sequence_example, context, &stk__feature_calls,
                   STK_TAKES_NONE | STK__MAKES,
                   "a map from fields to features of the context, as parse_example takes"),
    STK__CALLS_ROW(parse_sequence_example, sequence, &stk__feature_calls,
                   STK_TAKES_NONE | STK__MAKES,
                   "a map from fields to features that have one entry per step: "
                   "fixed_sequence(shape, dtype, allow_missing=false), or a list of numbers per "
                   "step: varlen(dtype)"),
    STK_TEXT_ROW(parse_sequence_example, field, NULL, STK_TAKES_NONE,
                 "the field with the records; none: the only one with bytes"),
    STK_ROWS_END,
};

struct state {
    int field; /* with the records */
    struct stk__feature_specs context, sequence;
};

static int read_specs(const struct parse_sequence_example *p, struct stk_arena *arena,
                      struct state *state, struct stk_error *err)
{
    int code = STK_OK;
    if (!p->context && !p->sequence)
        return stk_fail(err, STK_VALUE, "wants context or sequence, or both");
    if (p->context)
        code = stk__feature_specs_read(p->context, STK__IN_EXAMPLE, arena, &state->context, err);
    if (!code && p->sequence)
        code = stk__feature_specs_read(p->sequence, STK__IN_SEQUENCE, arena, &state->sequence, err);
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct parse_sequence_example *p = inf->params;
    int f = stk__features_pick(inf, p->field, err);
    if (f < 0)
        return err ? err->code : STK_TYPE;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    state->field = f;
    inf->state = state;
    int code = read_specs(p, inf->arena, state, err);
    return code ? code : stk__features_infer(inf, f, &state->context, &state->sequence, err);
}

/* One record: where everything lies, then the context, then the steps. */
static int put_record(const struct stk__feature_row *at, const struct state *state,
                      const struct stk__feature_scan *context,
                      const struct stk__feature_scan *lists)
{
    const struct stk__piece record = { at->record->data, at->record->bytes };
    struct stk_error err;
    if (stk__sequence_scan(context, lists, record, &err)) {
        stk_rows_fail(at->rows, at->row, STK_DATA, "%s", err.text);
        return STK_OK;
    }
    int code = stk__features_put(at, &state->context, context->found);
    return code ? code : stk__feature_lists_put(at, &state->sequence, lists->found);
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    struct stk__piece found[STK_MAX_FIELDS], found_lists[STK_MAX_FIELDS];
    struct stk__key_order order, list_order;
    const struct stk__feature_scan context = { .keys = &state->context.keys,
                                               .order = &order,
                                               .found = found };
    const struct stk__feature_scan lists = { .keys = &state->sequence.keys,
                                             .order = &list_order,
                                             .found = found_lists };
    int code = STK_OK;
    order.n = list_order.n = 0;
    for (int i = 0; i < rows->n && !code; i++) {
        const struct stk__feature_row at = { rows, i, &rows->in[state->field].span[i] };
        if (rows->mask[i] == STK_LIVE)
            code = put_record(&at, state, &context, &lists);
    }
    return code;
}

static const char doc[] =
    "The field with the records is replaced by the fields of both maps: those of the context as "
    "parse_example reads them, those of the sequence as ragged fields with one entry per step. "
    "Other fields stay.\n"
    "\n"
    "    tfrecord('clips-*.tfrecord').parse_sequence_example(context={label: int64}, "
    "sequence={words: fixed_sequence([], bytes), spans: varlen(int64)})\n"
    "\n"
    "A step with another kind or number of values makes the element bad, and so does a missing "
    "sequence unless allow_missing is set. A sequence of strings is a list of texts. Steps that "
    "differ in length, `varlen(dtype)` or `ragged(dtype)`, make a list of lists of numbers; lists "
    "of lists of strings are not possible. A context key "
    "without a kind counts as missing, as in parse_example; TensorFlow refuses such records even "
    "where there is a default_value.";

const struct stk__op stk__op_parse_sequence_example = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "parse_sequence_example", 1,
              "Read the features of serialized tf.train.SequenceExamples.", doc, params,
              sizeof(struct parse_sequence_example) },
    .infer = infer,
    .row = { .run = run },
};
