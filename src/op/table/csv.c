/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c: the rows of delimited text files. */
#include "base/error.h"
#include "lang/lang.h"
#include "op/table/csv_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    struct stk_texts file;
    const struct stk_value *columns, *header;
    const char *delimiter, *quote;
    struct stk_texts na;
    const char *comment;
    int64_t skip_rows;
    int compression;
    const char *index;
    int quotes;
};

enum { STRICT, LENIENT };
static const char *const quotes_words[] = { "strict", "lenient", NULL };

static const struct stk_param params[] = {
    STK_TEXTS_ROW(csv, file, 1, INT32_MAX, STK_REQUIRED | STK__TAKES_FIELD,
                  "a path or a pattern, or a list of them; '-' is standard input"),
    STK__CALLS_ROW(csv, columns, &stk__csv_types, STK_TAKES_NONE,
                   "a map from columns to types; none: all columns, types by their first values"),
    STK__VALUE_ROW(csv, header, STK_TAKES_NONE,
                   "true or none: the first row has names; false: it does not, and columns are c0, "
                   "c1, …; or a list of names for files without"),
    STK_TEXT_ROW(csv, delimiter, ",", 0, "what separates values: one character"),
    STK_TEXT_ROW(csv, quote, "\"", STK_TAKES_NONE,
                 "what may stand around values, doubled inside; none: nothing"),
    STK_TEXTS_ROW(csv, na, 1, INT32_MAX, STK_TAKES_NONE,
                  "texts for a missing value; none: '', 'NA', 'nan' and 'NULL'"),
    STK_TEXT_ROW(csv, comment, NULL, STK_TAKES_NONE, "lines that begin with this are left out"),
    STK_INT_ROW(csv, skip_rows, 0, 0, INT64_MAX, 0, "lines to leave out before the header"),
    STK_CHOICE_ROW(csv, compression, stk__compression_words, STK__COMPRESSION_AUTO, 0,
                   "of the files; auto: by their first bytes"),
    STK_TEXT_ROW(csv, index, "auto", STK_TUNABLE | STK_TAKES_NONE, STK__INDEX_HELP),
    STK_CHOICE_ROW(
        csv, quotes, quotes_words, STRICT, 0,
        "strict: a row with a quote inside a value without quotes, or with text behind a "
        "closing quote, is bad, as RFC 4180 has it; lenient: such quotes are text"),
    STK_ROWS_END,
};

/* ---- parameters ---- */

/* One character that cannot be part of a number or of a line end. */
static int read_character(const char *name, const char *text, uint8_t *out, struct stk_error *err)
{
    if (!text)
        return STK_OK;
    *out = (uint8_t)text[0];
    if (!text[0] || text[1] || (*out & 0x80) || strchr("\r\n+-.0123456789", text[0]) ||
        (*out | 0x20) == 'e')
        return stk_fail(err, STK_VALUE,
                        "%s is one ASCII character that is no part of a number or line end", name);
    return STK_OK;
}

static int read_dialect(const struct csv *p, struct stk__csv_dialect *d, struct stk_error *err)
{
    int code = read_character("delimiter", p->delimiter, &d->delimiter, err);
    d->is_lenient = p->quotes == LENIENT;
    if (!code)
        code = read_character("quote", p->quote, &d->quote, err);
    if (!code)
        code = read_character("comment", p->comment, &d->comment, err);
    if (!code && (d->delimiter == d->quote || d->delimiter == d->comment ||
                  (d->quote && d->quote == d->comment)))
        return stk_fail(err, STK_VALUE, "delimiter, quote and comment must differ");
    return code;
}

static bool is_word(const struct stk_value *value, const char *word)
{
    return value->kind == STK__WORD && !strcmp(value->text, word);
}

/* *names: a list in place of a header, or NULL. */
static int read_header(const struct csv *p, struct stk__csv_format *format,
                       const struct stk_value **names, struct stk_error *err)
{
    const struct stk_value *value = p->header;
    *names = value && value->kind == STK__LIST && value->n_items ? value : NULL;
    format->has_header = !value || is_word(value, "true");
    if (format->has_header || *names || is_word(value, "false"))
        return STK_OK;
    return stk__fail_at(err, STK_VALUE, value->at, value->len,
                        "header is true, false, or a list of names");
}

static int read_missing(const struct csv *p, struct stk__csv_missing *missing,
                        struct stk_arena *arena, struct stk_error *err)
{
    static const struct stk__csv_text usual[] = {
        { "", 0 }, { "NA", 2 }, { "nan", 3 }, { "NULL", 4 }
    };
    *missing = (struct stk__csv_missing){ .item = usual, .n = 4 };
    if (p->na.n == 0)
        return STK_OK;
    struct stk__csv_text *item = stk_arena_alloc(arena, (size_t)p->na.n * sizeof *item);
    if (!item)
        return stk__out_of_memory(err);
    *missing = (struct stk__csv_missing){ .item = item, .n = p->na.n };
    for (int i = 0; i < p->na.n; i++) {
        const char *text = p->na.item[i];
        item[i] = (struct stk__csv_text){ text, (uint32_t)strlen(text) };
        missing->has_values |= text[0] && strchr("+-.0123456789tTfF", text[0]);
    }
    return STK_OK;
}

/* ---- opening ---- */

static void close_csv(void *state)
{
    struct stk__csv_table *table = state;
    if (!table)
        return;
    stk__line_counts_free(table->lines);
    stk__row_groups_free(&table->found);
    stk__block_files_free(table->list);
    free(table);
}

static size_t held_bytes(const void *opened)
{
    const struct stk__csv_table *table = opened;
    return stk__block_files_bytes(table->list) + stk__row_groups_bytes(&table->found);
}

enum { GUESS_BYTES = 1 << 20 };

/* The beginning of the first file. A pipe has none that could be read twice: its columns must be
 * known. */
static int read_head(const struct csv *p, struct stk__csv_table *table,
                     const struct stk_value *names, struct stk__csv_head *head,
                     struct stk_error *err)
{
    size_t least = p->columns ? 0 : GUESS_BYTES;
    if (table->found.groups)
        return stk__csv_head_read(&table->format, table->found.groups->files, 0, least, head, err);
    bool has_file = table->list->paths.n > 0;
    if (has_file && stk__is_on_storage(stk__paths_at(&table->list->paths, 0)))
        return stk__csv_stream_head(table, least, head, err);
    *head = (struct stk__csv_head){ .is_all = true };
    if (names && p->columns)
        return STK_OK;
    if (!has_file)
        return stk_fail(err, STK_VALUE,
                        "which files there are shows only as elements come: say "
                        "header=['a', 'b'], and skip_rows=1 if their first lines have names");
    return stk_fail(err, STK_VALUE,
                    "a pipe is read only once, when the run begins: say columns={…} and "
                    "header=['a', 'b'], and skip_rows=1 if its first line has names");
}

static int keep_header(struct stk__csv_table *table, const struct stk__csv_head *head,
                       struct stk_arena *arena, struct stk_error *err)
{
    if (!head->has_names)
        return stk__csv_check_header(table, 0, head, err);
    const char *header = (const char *)head->bytes + head->header.start;
    table->header.len = head->header.stop - head->header.start;
    table->header.text = stk__arena_text_n(arena, header, table->header.len);
    return table->header.text ? STK_OK : stk__out_of_memory(err);
}

static int read_columns(const struct csv *p, struct stk__csv_table *table,
                        const struct stk_value *names, struct stk_arena *arena,
                        struct stk_error *err)
{
    struct stk__csv_head head;
    int code = read_head(p, table, names, &head, err);
    if (code)
        return code;
    code = keep_header(table, &head, arena, err);
    if (!code)
        code = stk__csv_name_columns(table, names, &head, arena, err);
    if (!code)
        code = stk__csv_spec_read(table, p->columns, &head, arena, err);
    stk__csv_head_free(&head);
    return code;
}

static int read_params(const struct csv *p, struct stk__csv_table *table,
                       const struct stk_value **names, struct stk_arena *arena,
                       struct stk_error *err)
{
    table->format.skip_rows = p->skip_rows;
    int code = read_dialect(p, &table->format.dialect, err);
    if (!code)
        code = read_header(p, &table->format, names, err);
    return code ? code : read_missing(p, &table->missing, arena, err);
}

static int open_table(const struct csv *p, struct stk__csv_table *table, struct stk_arena *arena,
                      struct stk_error *err)
{
    const struct stk__block_options options = { .noun = "row",
                                                .compression =
                                                    (enum stk__compression)p->compression,
                                                .most_bytes = STK__CSV_MAX_ROW + 2 };
    const struct stk_value *names;
    bool is_stream = false;
    int code = read_params(p, table, &names, arena, err);
    if (!code)
        code = stk__block_files_open(&p->file, &options, &table->list, err);
    if (!code && p->file.is_word && !p->columns)
        code = stk_fail(err, STK_VALUE,
                        "files are opened as elements come, and what types their columns have "
                        "cannot be guessed from the first: say columns={…}");
    if (!code)
        code = stk__block_files_are_stream(table->list, &is_stream, err);
    is_stream |= p->file.is_word;
    if (!code && !is_stream)
        code = stk__csv_files_open(table, p->index, err);
    if (!code)
        code = read_columns(p, table, names, arena, err);
    if (!code && !is_stream)
        code = stk__csv_files_count(table, err);
    return code ? code : stk__csv_learn(table, arena, err);
}

static int open_csv(const void *given, struct stk_arena *arena, void **state, struct stk_error *err)
{
    struct stk__csv_table *table = calloc(1, sizeof *table);
    if (!table)
        return stk__out_of_memory(err);
    int code = open_table(given, table, arena, err);
    if (code)
        close_csv(table);
    else
        *state = table;
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct stk__csv_table *table = inf->state;
    (void)err;
    inf->out->n_fields = table->n_fields;
    for (int f = 0; f < table->n_fields; f++) {
        inf->out->field[f] = table->field[f];
        inf->from[f] = -1;
    }
    return STK_OK;
}

/* ---- the source ---- */

static int64_t count(const void *state)
{
    return stk__row_groups_total(&((const struct stk__csv_table *)state)->found);
}

static bool is_stream(const void *state)
{
    return !((const struct stk__csv_table *)state)->found.groups;
}

static bool is_lasting(const void *state)
{
    return stk__block_files_are_lasting(((const struct stk__csv_table *)state)->list);
}

static int n_places(const void *state)
{
    (void)state;
    return 1;
}

static struct stk__data_files *files(const void *state)
{
    return ((const struct stk__csv_table *)state)->found.groups->files;
}

static const uint64_t *first_rows(const void *state, size_t *n_files)
{
    const struct stk__csv_table *table = state;
    *n_files = table->found.groups->files->n;
    return table->found.first_row;
}

static void describe(const void *state, uint64_t index, char *text, size_t size)
{
    const struct stk__csv_table *table = state;
    if (!table->found.groups) {
        stk__block_files_describe(table->list, index, text, size);
        return;
    }
    size_t file = stk__file_of(table->found.first_row, table->found.groups->files->n, index, 0);
    snprintf(text, size, "%s, row %llu", table->found.groups->files->item[file].path,
             (unsigned long long)(index - table->found.first_row[file]));
}

static const char *class_name(const void *state, const char *field, int64_t value)
{
    const struct stk__csv_table *table = state;
    for (int t = 0; t < table->n_targets; t++) {
        const struct stk__csv_target *target = &table->target[t];
        const struct stk__csv_names *names = target->type.names;
        if (names && !strcmp(table->field[target->field].name, field) &&
            table->field[target->field].rank == 0 && value >= 0 && value < names->n)
            return names->item[value].text;
    }
    return NULL;
}

const struct stk__op stk__op_csv = {
    .subject = STK__ABOUT_SOURCES,
    .decl = { "csv", 1, "The rows of CSV files and other delimited text.",
              "A field for every column, named by the header. Any row can be reached, so len, "
              "shuffle() and shard work on the whole: when the dataset is made, files are read "
              "once "
              "to find where rows begin, and for large files that is remembered (index).\n"
              "\n"
              "    csv('people.csv').batch(32)\n"
              "    csv('people.csv', {age: float32, city: category(['Bern', 'Oslo'])}).shuffle()\n"
              "    csv('people.csv', {x: columns(['age', 'height'], float32), name: text})\n"
              "\n"
              "Without `columns` types are guessed from the first MiB: int64, float64, bool, "
              "timestamp or text. With it only the columns that it names are read. Types are bool, "
              "the integers and floats, `text`, `timestamp` (ISO 8601, as int64 since 1970 in UTC; "
              "`timestamp('ms')`: in s, ms, us or ns) and `category(['a', 'b'])` (int64: the "
              "number "
              "in the list; without a list the sorted texts of all rows). `columns(['a', 'b'], "
              "float32)` makes one field of several columns, and `columns(rest, float32)` of all "
              "that nothing else names.\n"
              "\n"
              "A missing value is NaN in floats and text in texts; elsewhere it makes the row bad, "
              "unless the type says what to put there, as in `int64(default=-1)`. A default of a "
              "category is also for texts that are not listed. Numbers may have spaces around "
              "them; floats are rounded correctly.\n"
              "\n"
              "Values in quotes may hold delimiters and line ends; a doubled quote is one. Quotes "
              "elsewhere make the row bad, unless `quotes=lenient` takes them for text. Lines "
              "end with \\n, \\r\\n or \\r, and empty ones are no rows. A row with more or fewer "
              "values than the header, or with a value that is not of its type, is a bad element "
              "with file, line and column. Compressed files, pipes and '-' are streams; for a pipe "
              "`header` must list the names and `columns` the types. tf.data's CsvDataset differs: "
              "an empty line is a row, "
              "and there is no header by default.",
              params, sizeof(struct csv) },
    .flags = STK__OP_ROOT,
    .open = open_csv,
    .close = close_csv,
    .held_bytes = held_bytes,
    .infer = infer,
    .narrow = stk__csv_narrow,
    .source = { .count = count,
                .is_stream = is_stream,
                .is_lasting = is_lasting,
                .n_places = n_places,
                .locate = stk__csv_locate,
                .files = files,
                .first_rows = first_rows,
                .rows = stk__csv_rows,
                STK__CSV_STREAM,
                .describe = describe,
                .class_name = class_name },
};
