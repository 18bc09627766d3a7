/* SPDX-License-Identifier: Apache-2.0 */
/* inspect_csv.c: delimited text, told by the same number of cells in every row; rows are those that
 * csv finds. */
#include "codec/text/csv.h"
#include "lang/quote.h"
#include "look/inspect.h"

#include <string.h>

enum { LOOKED_AT = 20, SAMPLE = 1 << 20 };

static const char delimiters[] = ",\t;|";

static void begin_rows(const struct stk__inspection *in, char delimiter, bool with_cells,
                       uint32_t *mark, struct stk__csv_scan *scan)
{
    const struct stk__csv_dialect dialect = { .delimiter = (uint8_t)delimiter, .quote = '"' };
    size_t bom = in->n_head >= 3 && !memcmp(in->head, "\xef\xbb\xbf", 3) ? 3 : 0;
    stk__csv_scan_begin(scan, &dialect, with_cells, mark, STK__CSV_LEAST_ROOM);
    stk__csv_scan_data(scan, in->head + bom, in->n_head - bom);
}

/* True if the first rows, at least two, all have as many cells with this delimiter. */
static bool fits(const struct stk__inspection *in, char delimiter)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    const struct stk__csv_split split = { .n_columns = 1 };
    struct stk__csv_scan scan;
    struct stk__csv_result row;
    int n_rows = 0, n_cells = 0;
    begin_rows(in, delimiter, true, mark, &scan);
    for (; n_rows < LOOKED_AT; n_rows++) {
        if (stk__csv_split_rows(&scan, &split, 1, NULL, &row) <= 0 || row.status == STK__CSV_OPEN ||
            (scan.at == scan.bytes && !in->is_whole))
            break;
        n_cells = n_rows ? n_cells : row.n_found;
        if (row.n_found < 2 || row.n_found != n_cells)
            return false;
    }
    return n_rows > 1;
}

/* Some row has quotes where none may be. */
static bool has_stray_quotes(const struct stk__inspection *in, char delimiter)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    const struct stk__csv_split split = { .n_columns = 1 };
    struct stk__csv_scan scan;
    struct stk__csv_result row = { 0 };
    begin_rows(in, delimiter, true, mark, &scan);
    while (row.status != STK__CSV_STRAY && stk__csv_split_rows(&scan, &split, 1, NULL, &row) > 0)
        ;
    return row.status == STK__CSV_STRAY;
}

static char find_delimiter(const struct stk__inspection *in)
{
    const char *d = delimiters;
    while (*d && !fits(in, *d))
        d++;
    return *d;
}

static bool recognises(const struct stk__inspection *in)
{
    return stk__inspect_text.recognises(in) && find_delimiter(in);
}

/* Sizes of the rows behind the header; where the last that is whole ends is returned. */
static size_t measure_rows(struct stk__inspection *in, char delimiter, struct stk__sizes *sizes)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    struct stk__csv_scan scan;
    struct stk__csv_row row;
    size_t at = 0;
    begin_rows(in, delimiter, false, mark, &scan);
    size_t bom = in->n_head - scan.bytes;
    for (bool is_header = true; stk__csv_next_row(&scan, &row); is_header = false) {
        if (!row.is_ended && !in->is_whole)
            break;
        if (!is_header)
            stk__sizes_add(sizes, row.stop - row.start);
        at = bom + scan.at;
        if (at <= SAMPLE || !in->sample_bytes)
            in->sample_bytes = at;
    }
    return at;
}

static int describe(struct stk__inspection *in, struct stk_error *err)
{
    struct stk__sizes sizes = { 0 };
    char delimiter[2] = { find_delimiter(in), 0 };
    (void)err;
    size_t at = measure_rows(in, *delimiter, &sizes);
    in->format = "CSV";
    in->source = "csv";
    stk__inspect_sizes(in, "rows", &sizes, at);
    stk__inspect_note(
        in, "the first row is taken for names and not counted; header=false if it has values");
    if (*delimiter != ',') {
        stk__text_add(&in->rest, ", delimiter=");
        stk__quote(&in->rest, delimiter);
    }
    if (has_stray_quotes(in, *delimiter)) {
        stk__inspect_note(in, "there are quotes inside values or before text: quotes=lenient takes "
                              "them for text");
        stk__text_add(&in->rest, ", quotes=lenient");
    }
    stk__text_add(&in->rest, ")");
    return STK_OK;
}

const struct stk__inspector stk__inspect_csv = { recognises, describe };
