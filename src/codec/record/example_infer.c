/* SPDX-License-Identifier: Apache-2.0 */
/* example_infer.c: a look into records: which keys they have, and how these can be read. */
#include "base/error.h"
#include "codec/record/wire.h"
#include "lang/lang.h"
#include "lang/lexer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 1024 };

/* What is known of a key: a feature, or one step of a FeatureList. */
struct facts {
    struct stk__piece key;
    unsigned kinds; /* bits of enum stk__feature_kind; EMPTY: some have none */
    size_t least, most, n_records;
    int last_record; /* which had it, so that a key counts once for each */
    bool is_damaged;
};

struct survey {
    struct facts *facts;
    int n, room, record;
    bool is_out_of_memory;
};

static struct facts *find_facts(struct survey *survey, struct stk__piece key)
{
    for (int i = 0; i < survey->n; i++)
        if (survey->facts[i].key.bytes == key.bytes &&
            (!key.bytes || !memcmp(survey->facts[i].key.data, key.data, key.bytes)))
            return &survey->facts[i];
    if (survey->n == survey->room) {
        int room = survey->room ? 2 * survey->room : 32;
        struct facts *more = realloc(survey->facts, sizeof *more * (size_t)room);
        if (!more) {
            survey->is_out_of_memory = true;
            return NULL;
        }
        survey->facts = more;
        survey->room = room;
    }
    struct facts *facts = &survey->facts[survey->n++];
    *facts = (struct facts){ .key = key, .least = SIZE_MAX, .last_record = -1 };
    return facts;
}

static void note_record(struct survey *survey, struct facts *facts)
{
    facts->n_records += facts->last_record != survey->record;
    facts->last_record = survey->record;
}

static void note_feature(struct facts *facts, struct stk__piece feature)
{
    struct stk__value_list list;
    size_t n = 0;
    bool is_good = stk__value_list_open(feature, &list);
    if (is_good && list.kind == STK__FEATURE_BYTES)
        is_good = stk__value_list_bytes(&list, NULL, 0, &n);
    else if (is_good && list.kind == STK__FEATURE_FLOATS)
        is_good = stk__value_list_floats(&list, NULL, 0, &n);
    else if (is_good && list.kind == STK__FEATURE_INTS)
        is_good = stk__value_list_ints(&list, NULL, 0, &n);
    facts->is_damaged |= !is_good;
    facts->kinds |= 1u << list.kind;
    if (!list.kind)
        return;
    facts->least = n < facts->least ? n : facts->least;
    facts->most = n > facts->most ? n : facts->most;
}

/* A key without a kind counts as missing. */
static bool see_feature(void *ctx, struct stk__piece key, struct stk__piece value)
{
    struct survey *survey = ctx;
    struct facts *facts = survey->n < MOST_KEYS ? find_facts(survey, key) : NULL;
    if (facts && value.bytes)
        note_record(survey, facts);
    if (facts)
        note_feature(facts, value);
    return facts != NULL;
}

static bool see_list(void *ctx, struct stk__piece key, struct stk__piece value)
{
    struct survey *survey = ctx;
    struct facts *facts = survey->n < MOST_KEYS ? find_facts(survey, key) : NULL;
    struct stk__piece step;
    if (!facts)
        return false;
    note_record(survey, facts);
    while (value.bytes && !facts->is_damaged) {
        facts->is_damaged = !stk__feature_list_next(&value, &step);
        if (!facts->is_damaged)
            note_feature(facts, step);
    }
    return true;
}

/* ---- words ---- */

static void add_text(struct stk__text *out, struct stk__piece text)
{
    struct stk_value value = { .kind = STK__STRING };
    value.text = (const char *)text.data;
    value.text_len = text.bytes;
    stk__print_value(&value, NULL, STK__SHORT, out, NULL);
}

static void add_key(struct stk__text *out, struct stk__piece key)
{
    if (stk__is_name((const char *)key.data, key.bytes))
        stk__text_add_n(out, (const char *)key.data, key.bytes);
    else
        add_text(out, key);
}

/* Why there can be no field for it, or NULL. */
static const char *find_obstacle(const struct facts *facts, bool is_list)
{
    const unsigned bytes = 1u << STK__FEATURE_BYTES;
    unsigned kinds = facts->kinds & ~(1u << STK__FEATURE_EMPTY);
    bool is_one = facts->least == 1 && facts->most == 1 && facts->kinds == kinds;
    if (facts->is_damaged)
        return "some of its values cannot be read";
    if (!kinds || (is_list && !facts->most))
        return "it has no values";
    if (kinds & (kinds - 1))
        return "its values have different types";
    if (kinds == bytes && is_list && !is_one)
        return "it holds lists of lists of strings";
    if (!facts->key.bytes || memchr(facts->key.data, 0, facts->key.bytes))
        return "its key cannot be the name of a field";
    return NULL;
}

static void add_feature(struct stk__text *out, const struct facts *facts, bool is_list, int n)
{
    const unsigned bytes = 1u << STK__FEATURE_BYTES, floats = 1u << STK__FEATURE_FLOATS;
    bool is_everywhere = facts->n_records == (size_t)n;
    bool is_even = facts->least == facts->most && facts->least;
    bool has_all = !(facts->kinds & 1u << STK__FEATURE_EMPTY);
    const char *dtype = facts->kinds & bytes    ? "bytes"
                        : facts->kinds & floats ? "float32"
                                                : "int64";
    char shape[32] = "[]";
    if (facts->least > 1)
        snprintf(shape, sizeof shape, "[%zu]", facts->least);
    if (is_list && is_even && has_all)
        stk__text_add(out, "fixed_sequence(%s, %s%s)", shape, dtype,
                      is_everywhere ? "" : ", allow_missing=true");
    else if (!is_list && facts->kinds & bytes && is_even && facts->least == 1)
        stk__text_add(out, is_everywhere ? "bytes" : "fixed([], bytes, default_value='')");
    else if (is_list || !is_even || !is_everywhere)
        stk__text_add(out, "varlen(%s)", dtype);
    else if (facts->least == 1)
        stk__text_add(out, "%s", dtype);
    else
        stk__text_add(out, "fixed(%s, %s)", shape, dtype);
}

static int compare_keys(const void *a, const void *b)
{
    const struct stk__piece *x = &((const struct facts *)a)->key,
                            *y = &((const struct facts *)b)->key;
    size_t shorter = x->bytes < y->bytes ? x->bytes : y->bytes;
    int order = shorter ? memcmp(x->data, y->data, shorter) : 0;
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* "{a: int64, b: varlen(float32)}"; nothing if there is nothing. Counts fields in *n_fields. */
static void add_map(struct stk__text *out, struct stk__text *notes, struct survey *survey,
                    bool is_list, int *n_fields)
{
    int before = *n_fields;
    if (survey->n)
        qsort(survey->facts, (size_t)survey->n, sizeof *survey->facts, compare_keys);
    for (int i = 0; i < survey->n; i++) {
        const struct facts *facts = &survey->facts[i];
        const char *obstacle = find_obstacle(facts, is_list);
        if (!obstacle && *n_fields == STK_MAX_FIELDS)
            obstacle = "there are too many";
        if (obstacle) {
            add_key(notes, facts->key);
            stk__text_add(notes, ": %s\n", obstacle);
            continue;
        }
        stk__text_add(out, *n_fields == before ? "{" : ", ");
        add_key(out, facts->key);
        stk__text_add(out, ": ");
        add_feature(out, facts, is_list, survey->record);
        ++*n_fields;
    }
    stk__text_add(out, *n_fields > before ? "}" : "");
}

/* ---- records ---- */

/* Only SequenceExamples have a field 2. */
static bool has_lists(const struct stk__piece *record, int n)
{
    for (int i = 0; i < n; i++) {
        struct stk__wire wire = stk__wire_of(record[i]);
        while (wire.at < wire.end) {
            if (*wire.at == STK__TAG_PIECE(2))
                return true;
            if (!stk__wire_skip(&wire))
                break;
        }
    }
    return false;
}

static int survey_records(const struct stk__piece *record, int n, bool is_sequence,
                          struct survey survey[2], struct stk_error *err)
{
    const struct stk__feature_scan features = { .each = see_feature, .ctx = &survey[0] };
    const struct stk__feature_scan lists = { .each = see_list, .ctx = &survey[1] };
    int code = STK_OK;
    for (int i = 0; i < n && !code; i++) {
        survey[0].record = survey[1].record = i;
        code = is_sequence ? stk__sequence_scan(&features, &lists, record[i], err)
                           : stk__example_scan(&features, record[i], err);
    }
    survey[0].record = survey[1].record = n;
    if (survey[0].is_out_of_memory || survey[1].is_out_of_memory)
        return stk__out_of_memory(err);
    return code;
}

static void add_call(struct stk__text *call, struct stk__text *notes, struct survey survey[2],
                     bool is_sequence, int *n_fields)
{
    struct stk__text context = { 0 }, lists = { 0 };
    add_map(&context, notes, &survey[0], false, n_fields);
    add_map(&lists, notes, &survey[1], true, n_fields);
    call->failed |= context.failed || lists.failed;
    if (!is_sequence)
        stk__text_add(call, "parse_example(%s)", context.len ? context.data : "{}");
    else
        stk__text_add(call, "parse_sequence_example(%s%s%s%s%s)", context.len ? "context=" : "",
                      context.len ? context.data : "", context.len && lists.len ? ", " : "",
                      lists.len ? "sequence=" : "", lists.len ? lists.data : "");
    stk__text_free(&context);
    stk__text_free(&lists);
}

int stk__example_infer(const struct stk__piece *record, int n, struct stk__text *call,
                       struct stk__text *notes, struct stk_error *err)
{
    struct survey survey[2] = { 0 };
    bool is_sequence = has_lists(record, n);
    int n_fields = 0, code = survey_records(record, n, is_sequence, survey, err);
    struct stk__text text = { 0 };
    if (!code)
        add_call(&text, notes, survey, is_sequence, &n_fields);
    if (!code && (text.failed || notes->failed))
        code = stk__out_of_memory(err);
    if (!code && !n_fields)
        code = stk_fail(err, STK_DATA, "no feature was found that can be a field");
    if (!code)
        stk__text_add_n(call, text.data, text.len);
    if (!code && call->failed)
        code = stk__out_of_memory(err);
    stk__text_free(&text);
    free(survey[0].facts);
    free(survey[1].facts);
    return code;
}
