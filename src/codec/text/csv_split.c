/* SPDX-License-Identifier: Apache-2.0 */
/* csv_split.c: data to rows and cells.
 *
 * A row of plain cells has its delimiters and then a line end as its next marks, so it is checked
 * and cut without looking at the text between them. Rows with quotes, comments, wrong numbers of
 * cells, or without a line end are walked mark by mark.
 */
#include "codec/text/csv.h"
#include "kernel/kernel.h"

#include <string.h>

static inline bool is_line_end(uint8_t byte)
{
    return byte == '\n' || byte == '\r';
}

void stk__csv_scan_begin(struct stk__csv_scan *scan, const struct stk__csv_dialect *dialect,
                         bool with_cells, uint32_t *mark, int room)
{
    const uint8_t quote = dialect->quote ? dialect->quote : '\n';
    *scan = (struct stk__csv_scan){
        .dialect = *dialect,
        .marked = { '\n', '\r', quote, with_cells ? dialect->delimiter : '\n' },
        .find = stk__kernels()->csv_marks,
        .mark = mark,
        .room = room,
    };
}

void stk__csv_scan_data(struct stk__csv_scan *scan, const uint8_t *data, size_t bytes)
{
    scan->data = data;
    scan->bytes = (uint32_t)bytes;
    scan->at = scan->scanned = 0;
    scan->next = scan->n_marks = 0;
}

/* Keeps the marks that were not taken yet and finds more; false if there are none. */
static bool find_marks(struct stk__csv_scan *scan)
{
    int n_before = scan->n_marks - scan->next;
    if (scan->scanned == scan->bytes)
        return false;
    memmove(scan->mark, scan->mark + scan->next, (size_t)n_before * sizeof *scan->mark);
    scan->next = 0;
    scan->n_marks = n_before;
    while (scan->n_marks == n_before && scan->scanned < scan->bytes)
        scan->n_marks += scan->find(scan->data, &scan->scanned, scan->bytes, scan->marked,
                                    scan->mark + scan->n_marks, scan->room - scan->n_marks);
    return scan->n_marks > n_before;
}

/* The next mark, or the end of the data. */
static inline uint32_t next_mark(struct stk__csv_scan *scan)
{
    if (scan->next == scan->n_marks && !find_marks(scan))
        return scan->bytes;
    return scan->mark[scan->next++];
}

/* Over one line, whatever is in it; false, and still at its beginning, if it does not end. */
static bool skip_line(struct stk__csv_scan *scan)
{
    uint32_t mark;
    do
        mark = next_mark(scan);
    while (mark < scan->bytes && !is_line_end(scan->data[mark]));
    if (mark < scan->bytes)
        scan->at = mark + 1;
    return mark < scan->bytes;
}

/* To the first byte of a row; false if no row begins in the rest. */
static inline bool find_row(struct stk__csv_scan *scan)
{
    while (scan->at < scan->bytes) {
        uint8_t first = scan->data[scan->at];
        if (is_line_end(first)) {
            next_mark(scan);
            scan->at++;
        } else if (!scan->dialect.comment || first != scan->dialect.comment) {
            return true;
        } else if (!skip_line(scan)) {
            return false;
        }
    }
    return false;
}

/* Behind the opening quote: to the closing one, which is returned; the end of the data if there is
 * none. */
static uint32_t find_closing(struct stk__csv_scan *scan, bool *is_doubled)
{
    const uint8_t quote = scan->dialect.quote;
    for (;;) {
        uint32_t mark = next_mark(scan);
        if (mark == scan->bytes)
            return mark;
        if (scan->data[mark] != quote)
            continue;
        if (mark + 1 == scan->bytes || scan->data[mark + 1] != quote)
            return mark;
        next_mark(scan);
        *is_doubled = true;
    }
}

/* One cell as it stands in the data. */
struct raw_cell {
    uint32_t start, stop;    /* of all of it, */
    uint32_t inner, closing; /* of what is in quotes */
    bool is_quoted, is_doubled, is_open, is_stray;
};

/* The cell at `start`; returns the mark that ends it. */
static uint32_t read_cell(struct stk__csv_scan *scan, uint32_t start, struct raw_cell *cell)
{
    const struct stk__csv_dialect *d = &scan->dialect;
    uint32_t mark = next_mark(scan);
    *cell = (struct raw_cell){ .start = start };
    if (d->quote && mark == start && mark < scan->bytes && scan->data[mark] == d->quote) {
        cell->is_quoted = true;
        cell->inner = start + 1;
        cell->closing = find_closing(scan, &cell->is_doubled);
        cell->is_open = cell->closing == scan->bytes;
        mark = next_mark(scan);
    }
    while (mark < scan->bytes && d->quote && scan->data[mark] == d->quote) {
        mark = next_mark(scan);
        cell->is_stray = true;
    }
    cell->stop = mark;
    cell->is_stray |= cell->is_quoted && !cell->is_open && cell->closing + 1 != mark;
    return mark;
}

/* ---- rows alone ---- */

/* Delimiters are no marks here: a quote opens a cell if what stands before it ends one. */
static bool opens_cell(const struct stk__csv_scan *scan, uint32_t row, uint32_t mark)
{
    return mark == row || scan->data[mark - 1] == scan->dialect.delimiter;
}

bool stk__csv_next_row(struct stk__csv_scan *scan, struct stk__csv_row *row)
{
    bool is_doubled;
    if (!find_row(scan))
        return false;
    *row = (struct stk__csv_row){ .start = scan->at };
    for (;;) {
        uint32_t mark = next_mark(scan);
        row->stop = mark;
        row->is_ended = mark < scan->bytes && is_line_end(scan->data[mark]);
        scan->at = mark + row->is_ended;
        if (row->is_ended || mark == scan->bytes)
            return true;
        if (opens_cell(scan, row->start, mark))
            row->is_open = find_closing(scan, &is_doubled) == scan->bytes;
    }
}

/* ---- cells ---- */

/* A copy with doubled quotes as one, and without those around. */
static bool copy_cell(const struct stk__csv_scan *scan, const struct stk__csv_split *split,
                      const struct raw_cell *raw, struct stk__csv_cell *cell)
{
    uint8_t *to = split->alloc(split->ctx, raw->stop - raw->start);
    if (!to)
        return false;
    *cell = (struct stk__csv_cell){ .at = to, .is_copy = true };
    for (uint32_t i = raw->inner; i < raw->closing; i++) {
        *to++ = scan->data[i];
        i += scan->data[i] == scan->dialect.quote;
    }
    if (raw->closing < raw->stop) {
        memcpy(to, scan->data + raw->closing + 1, raw->stop - raw->closing - 1);
        to += raw->stop - raw->closing - 1;
    }
    cell->len = (uint32_t)(to - cell->at);
    return true;
}

static bool put_cell(const struct stk__csv_scan *scan, const struct stk__csv_split *split,
                     const struct raw_cell *raw, struct stk__csv_cell *cell)
{
    bool is_plain = raw->is_quoted && !raw->is_doubled && raw->closing + 1 == raw->stop;
    if (raw->is_quoted && !is_plain)
        return copy_cell(scan, split, raw, cell);
    uint32_t start = raw->is_quoted ? raw->inner : raw->start;
    uint32_t stop = raw->is_quoted ? raw->closing : raw->stop;
    *cell = (struct stk__csv_cell){ .at = scan->data + start, .len = stop - start };
    return true;
}

/* `stray`: the first column with a stray quote, or -1. */
static void judge_row(const struct stk__csv_scan *scan, const struct stk__csv_split *split,
                      bool is_open, int stray, struct stk__csv_result *result)
{
    bool is_ragged = result->n_found != split->n_columns;
    if (is_open) {
        result->status = STK__CSV_OPEN;
    } else if (stray >= 0 && !scan->dialect.is_lenient) {
        result->status = STK__CSV_STRAY;
        result->target = stray;
    } else {
        result->status = is_ragged ? STK__CSV_RAGGED : STK__CSV_OK;
    }
}

/* Any row, cell by cell; false without memory. */
static bool walk_row(struct stk__csv_scan *scan, const struct stk__csv_split *split,
                     struct stk__csv_cell *cell, struct stk__csv_result *result)
{
    struct raw_cell raw;
    uint32_t start = scan->at, mark;
    int column = 0, k = 0, stray = -1;
    do {
        mark = read_cell(scan, start, &raw);
        stray = raw.is_stray && stray < 0 ? column : stray;
        if (k < split->n_wanted && split->wanted[k] == column &&
            !put_cell(scan, split, &raw, &cell[k++]))
            return false;
        column++;
        start = mark + 1;
    } while (mark < scan->bytes && !is_line_end(scan->data[mark]));
    scan->at = mark < scan->bytes ? mark + 1 : mark;
    result->n_found = column;
    judge_row(scan, split, raw.is_open, stray, result);
    for (k = 0; result->status && k < split->n_wanted; k++)
        cell[k] = (struct stk__csv_cell){ .at = scan->data };
    return true;
}

/* A row of plain cells whose marks are known; false if it is not one. */
static inline bool cut_row(struct stk__csv_scan *scan, const struct stk__csv_split *split,
                           struct stk__csv_cell *cell)
{
    const uint32_t *mark = scan->mark + scan->next;
    const uint8_t *data = scan->data, delimiter = scan->dialect.delimiter;
    int last = split->n_columns - 1;
    bool is_plain = is_line_end(data[mark[last]]);
    for (int c = 0; c < last; c++)
        is_plain &= data[mark[c]] == delimiter;
    if (!is_plain)
        return false;
    for (int k = 0; k < split->n_wanted; k++) {
        int c = split->wanted[k];
        uint32_t start = c ? mark[c - 1] + 1 : scan->at;
        cell[k] = (struct stk__csv_cell){ .at = data + start, .len = mark[c] - start };
    }
    scan->at = mark[last] + 1;
    scan->next += split->n_columns;
    return true;
}

int stk__csv_split_rows(struct stk__csv_scan *scan, const struct stk__csv_split *split, int n,
                        struct stk__csv_cell *cell, struct stk__csv_result *result)
{
    int row = 0;
    for (; row < n && find_row(scan); row++, result++) {
        *result = (struct stk__csv_result){ .start = scan->at, .n_found = split->n_columns };
        while (scan->n_marks - scan->next < split->n_columns && find_marks(scan))
            ;
        bool has_marks = scan->n_marks - scan->next >= split->n_columns;
        /* NULL where no cell is wanted */
        struct stk__csv_cell *at = cell ? cell + (size_t)row * (size_t)split->n_wanted : NULL;
        if (has_marks && cut_row(scan, split, at))
            continue;
        if (!walk_row(scan, split, at, result))
            return -1;
    }
    return row;
}
