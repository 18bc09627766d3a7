/* SPDX-License-Identifier: Apache-2.0 */
/* jsonl.c: files with a JSON value on every line. */
#include "base/error.h"
#include "io/decompress.h"
#include "io/record_files.h"
#include "op/parse/json_fields.h"
#include "op/table/lines.h"

struct jsonl {
    struct stk_texts file;
    const struct stk_value *fields;
    int compression;
    const char *index;
};

static const struct stk_param params[] = {
    STK_TEXTS_ROW(jsonl, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK__CALLS_ROW(jsonl, fields, &stk__json_calls, STK_REQUIRED | STK__MAKES,
                   STK__JSON_FIELDS_HELP),
    STK_CHOICE_ROW(jsonl, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "how the files are compressed; auto: as their first bytes say"),
    STK_TEXT_ROW(jsonl, index, "auto", STK_TUNABLE | STK_TAKES_NONE, STK__INDEX_HELP),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct jsonl *p = inf->params;
    struct stk__json_fields *fields = stk_arena_alloc(inf->arena, sizeof *fields);
    if (!fields)
        return stk__out_of_memory(err);
    inf->state = fields;
    inf->inside->keeps_all = inf->inside->in_class != STK__STREAM;
    if (!inf->inside->keeps_all)
        inf->count = STK_UNKNOWN_COUNT;
    int code = stk__json_fields_read(p->fields, inf->arena, fields, err);
    return code ? code : stk__json_fields_infer(inf, NULL, fields, err);
}

static int run(struct stk_rows *rows)
{
    return stk__json_fields_run(rows, rows->state, true);
}

const struct stk__op stk__op_jsonl = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "jsonl", 1, "Values out of files with a JSON text on every line.",
              "Files are read as `lines` reads them: one after the other, compressed or not, from "
              "standard input or a named pipe. Any element can be reached, so len, shuffle() and "
              "shard work on the whole, but in compressed files and pipes, which are streams. "
              "Workers take the lines apart. Lines without anything are no elements.\n"
              "\n"
              "    jsonl('a.jsonl', {label: int64, name: 'user.name'})\n"
              "    jsonl('a.jsonl', {y: value('score', float32, 0), ids: list('ids', int64)})\n"
              "\n"
              "For each field there is a type (`text`, `bool`, `int64`, `float32`, `float64`), "
              "whose value has the name of the field; a path in quotes, for text; or a call: "
              "`value` with a path and a type, `list` for a ragged field and `array` for one of a "
              "fixed shape. A path is made of names with dots between, `[3]` for an item of a list "
              "and `['any name']` for names with other characters; `$` is the whole text.\n"
              "\n"
              "A value that is missing or `null` is replaced by `default_value`; without one the "
              "element is bad. So is one whose line is not JSON (RFC 8259, UTF-8; `NaN` and "
              "`Infinity` are taken as Python writes them), nests deeper than 1024 brackets, or "
              "has a value of another type: a whole number is no text, `1.0` no int64. The "
              "message has file, line and column. If a name occurs twice in an object, the last "
              "one counts.",
              params, sizeof(struct jsonl) },
    .flags = STK__OP_ROOT | STK_OP_FILTER,
    .implies = { .op = &stk__filled_lines, .shares_params = true },
    .infer = infer,
    .row = { .run = run },
};
