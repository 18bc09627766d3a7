/* SPDX-License-Identifier: Apache-2.0 */
/* parse_json.c: chosen values of JSON texts. */
#include "base/error.h"
#include "op/declaration.h"
#include "op/parse/json_fields.h"

struct parse_json {
    const struct stk_value *fields;
    const char *field;
};

static const struct stk_param params[] = {
    STK__CALLS_ROW(parse_json, fields, &stk__json_calls, STK_REQUIRED | STK__MAKES,
                   STK__JSON_FIELDS_HELP),
    STK_TEXT_ROW(parse_json, field, NULL, STK_TAKES_NONE,
                 "field with the texts; none: the only one there can be"),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct parse_json *p = inf->params;
    struct stk__json_fields *fields = stk_arena_alloc(inf->arena, sizeof *fields);
    if (!fields)
        return stk__out_of_memory(err);
    inf->state = fields;
    int code = stk__json_fields_read(p->fields, inf->arena, fields, err);
    return code ? code : stk__json_fields_infer(inf, p->field, fields, err);
}

static int run(struct stk_rows *rows)
{
    return stk__json_fields_run(rows, rows->state, false);
}

const struct stk__op stk__op_parse_json = {
    .subject = STK__ABOUT_DECODING,
    .decl = { "parse_json", 1, "Take values out of JSON texts.",
              "As `jsonl`, which see for what can be written for a field, but the texts come from "
              "any field: of a file, a record, an array of the calling program. The fields take "
              "the place of the one with the texts; other fields stay.\n"
              "\n"
              "    lines('a.jsonl').parse_json({label: int64, name: 'user.name'})\n"
              "    values({t: ['[1, 2]', '[3]']}).parse_json({x: list('$', float32)})\n"
              "\n"
              "A text that is not JSON, or lacks a field without default_value, makes the element "
              "bad.",
              params, sizeof(struct parse_json) },
    .infer = infer,
    .row = { .run = run },
};
