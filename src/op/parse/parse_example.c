/* SPDX-License-Identifier: Apache-2.0 */
/* parse_example.c: fields from serialized tf.train.Examples. */
#include "base/error.h"
#include "op/declaration.h"
#include "op/parse/features.h"

struct parse_example {
    const struct stk_value *features;
    const char *field;
};

static const struct stk_param params[] = {
    STK__CALLS_ROW(parse_example, features, &stk__feature_calls, STK_REQUIRED | STK__MAKES,
                   "a map from fields to features: bytes, float32, int64, or a call such as "
                   "fixed([10], float32)"),
    STK_TEXT_ROW(parse_example, field, NULL, STK_TAKES_NONE,
                 "the field with the records; none: the only one with bytes"),
    STK_ROWS_END,
};

struct state {
    int field; /* with the records */
    struct stk__feature_specs specs;
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct parse_example *p = inf->params;
    int f = stk__features_pick(inf, p->field, err);
    if (f < 0)
        return err ? err->code : STK_TYPE;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk__out_of_memory(err);
    state->field = f;
    inf->state = state;
    int code =
        stk__feature_specs_read(p->features, STK__IN_EXAMPLE, inf->arena, &state->specs, err);
    return code ? code : stk__features_infer(inf, f, &state->specs, NULL, err);
}

static int run(struct stk_rows *rows)
{
    const struct state *state = rows->state;
    struct stk__piece found[STK_MAX_FIELDS];
    struct stk__key_order order;
    const struct stk__feature_scan scan = { .keys = &state->specs.keys,
                                            .order = &order,
                                            .found = found };
    int code = STK_OK;
    order.n = 0;
    for (int i = 0; i < rows->n && !code; i++) {
        const struct stk_span *record = &rows->in[state->field].span[i];
        const struct stk__feature_row at = { rows, i, record };
        struct stk_error err;
        if (rows->mask[i] != STK_LIVE)
            continue;
        if (stk__example_scan(&scan, (struct stk__piece){ record->data, record->bytes }, &err))
            stk_rows_fail(rows, i, STK_DATA, "%s", err.text);
        else
            code = stk__features_put(&at, &state->specs, found);
    }
    return code;
}

static const char doc[] =
    "The field with the records is replaced by the fields of the map, which are named as its keys. "
    "Other fields stay.\n"
    "\n"
    "    tfrecord('train-*.tfrecord').parse_example({label: int64, x: fixed([10], float32)})\n"
    "    tfrecord('train-*.tfrecord').parse_example({image: fixed([], bytes, "
    "key='image/encoded')})\n"
    "    tfrecord('train-*.tfrecord').parse_example({words: varlen(int64), tags: varlen(bytes)})\n"
    "\n"
    "A feature is written as one of these, or as bytes, float32 or int64 alone, which is a single "
    "value: `fixed(shape, dtype, default_value=none)` has as many values in every record; "
    "`varlen(dtype)` any number, as a ragged field; `fixed_sequence(shape, dtype, "
    "allow_missing=false)` any number of entries of one shape; `ragged(dtype, value_key=none, "
    "uniform_row_length=none, row_splits=none, …)` as tf.io.RaggedFeature, also with a partition; "
    "`sparse(index_key, value_key, dtype, size, already_sorted=false, part=dense)` as "
    "tf.io.SparseFeature. `key=` says what the records call it if the "
    "field is named otherwise. A single string of bytes is not copied; `varlen(bytes)` and the "
    "others make lists of texts, which batches hold as they hold lists of numbers, and `fixed([2, "
    "3], "
    "bytes)` makes arrays of that shape.\n"
    "\n"
    "The rules are TensorFlow's. A key without a kind counts as missing; a kind with an empty list "
    "does not. Of several features of a key the last counts, also in Examples that were joined. "
    "Values may be packed or not. A wrong kind or number of values makes the element bad, even if "
    "there is a default_value. Keys that are not asked for are not looked into. Stricter than "
    "TensorFlow: a length that reaches beyond what it is part of, a feature with two lists, and "
    "half a float are errors. A list written in several packed parts is read whole, where "
    "TensorFlow keeps the first part.";

const struct stk__op stk__op_parse_example = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "parse_example", 1, "Read the features of serialized tf.train.Examples.", doc, params,
              sizeof(struct parse_example) },
    .infer = infer,
    .row = { .run = run },
};
