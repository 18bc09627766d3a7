/* SPDX-License-Identifier: Apache-2.0 */
/* csv_reference.h: for tests and fuzzers: delimited text split byte by byte, as obvious as it gets,
 * and the library's splitting compared with it. */
#pragma once
#include "codec/text/csv.h"
#include "codec/text/decimal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REFERENCE_BYTES = 1 << 16, REFERENCE_CELLS = 4096 };

/* One row: its first byte, and its cells in `text`. */
struct reference {
    const uint8_t *data;
    size_t n, at;
    struct stk__csv_dialect dialect;
    size_t start;
    bool is_open;
    int n_cells, stray; /* stray: the first cell with a quote where none may be, or -1 */
    size_t cell_at[REFERENCE_CELLS], cell_len[REFERENCE_CELLS];
    uint8_t text[REFERENCE_BYTES];
    size_t n_text;
};

static inline bool reference_ends_line(const struct reference *r)
{
    return r->data[r->at] == '\n' || r->data[r->at] == '\r';
}

/* Empty lines and comments. */
static inline void reference_skip(struct reference *r)
{
    while (r->at < r->n) {
        bool is_comment = r->dialect.comment && r->data[r->at] == r->dialect.comment;
        if (!is_comment && !reference_ends_line(r))
            return;
        while (is_comment && r->at < r->n && !reference_ends_line(r))
            r->at++;
        if (r->at < r->n)
            r->at++;
    }
}

static inline void reference_quoted(struct reference *r)
{
    const uint8_t quote = r->dialect.quote;
    for (r->at++; r->at < r->n; r->at++) {
        if (r->data[r->at] == quote && (r->at + 1 == r->n || r->data[r->at + 1] != quote)) {
            r->at++;
            return;
        }
        r->at += r->data[r->at] == quote;
        r->text[r->n_text++] = r->data[r->at];
    }
    r->is_open = true;
}

static inline void reference_cell(struct reference *r)
{
    size_t from = r->n_text;
    bool is_quoted = r->dialect.quote && r->at < r->n && r->data[r->at] == r->dialect.quote;
    if (is_quoted)
        reference_quoted(r);
    while (r->at < r->n && r->data[r->at] != r->dialect.delimiter && !reference_ends_line(r)) {
        bool is_quote = r->dialect.quote && r->data[r->at] == r->dialect.quote;
        if (r->stray < 0 && (is_quoted || is_quote))
            r->stray = r->n_cells;
        r->text[r->n_text++] = r->data[r->at++];
    }
    if (r->n_cells < REFERENCE_CELLS) {
        r->cell_at[r->n_cells] = from;
        r->cell_len[r->n_cells] = r->n_text - from;
    }
    r->n_cells++;
}

/* False if there is no row left. */
static inline bool reference_row(struct reference *r)
{
    reference_skip(r);
    r->start = r->at;
    r->n_cells = 0;
    r->n_text = 0;
    r->is_open = false;
    r->stray = -1;
    if (r->at == r->n)
        return false;
    for (;;) {
        reference_cell(r);
        if (r->at == r->n || reference_ends_line(r))
            break;
        r->at++;
    }
    if (r->at < r->n)
        r->at++;
    return true;
}

static inline void *reference_alloc(void *ctx, size_t bytes)
{
    uint8_t **list = ctx;
    uint8_t *block = malloc(sizeof(uint8_t *) + bytes + 64);
    if (!block)
        abort();
    memcpy(block, list, sizeof *list);
    *list = block;
    memset(block + sizeof(uint8_t *), '7', bytes + 64);
    return block + sizeof(uint8_t *);
}

static inline void reference_free(uint8_t *list)
{
    while (list) {
        uint8_t *next;
        memcpy(&next, list, sizeof next);
        free(list);
        list = next;
    }
}

static inline bool same_row(const struct reference *r, const struct stk__csv_split *split,
                            const struct stk__csv_cell *cell, const struct stk__csv_result *result)
{
    bool is_stray = r->stray >= 0 && !r->dialect.is_lenient;
    int status = r->is_open                       ? STK__CSV_OPEN
                 : is_stray                       ? STK__CSV_STRAY
                 : r->n_cells != split->n_columns ? STK__CSV_RAGGED
                                                  : STK__CSV_OK;
    if (status == STK__CSV_STRAY && result->target != r->stray)
        return false;
    if (result->status != status || result->n_found != r->n_cells || result->start != r->start)
        return false;
    for (int k = 0; k < split->n_wanted && !status; k++) {
        int c = split->wanted[k];
        if (cell[k].len != r->cell_len[c] ||
            memcmp(cell[k].at, r->text + r->cell_at[c], cell[k].len))
            return false;
    }
    return true;
}

/* Splits data (64 readable bytes behind) at once and in blocks of rows, with as little room as
 * possible; false if a row is not that of the reference. */
static inline bool splits_as_reference(const uint8_t *data, size_t n,
                                       const struct stk__csv_dialect *dialect, int n_columns,
                                       int step)
{
    enum { ROWS = 5, MOST_COLUMNS = 40, ROOM = STK__CSV_LEAST_ROOM };
    static struct reference reference;
    static uint32_t mark[ROOM];
    int wanted[MOST_COLUMNS], n_wanted = 0, got;
    struct stk__csv_cell cell[ROWS * MOST_COLUMNS];
    struct stk__csv_result result[ROWS];
    struct stk__csv_scan scan;
    uint8_t *list = NULL;
    bool is_same = true;
    for (int c = 0; c < n_columns; c += step)
        wanted[n_wanted++] = c;
    const struct stk__csv_split split = { n_columns, n_wanted, wanted, reference_alloc, &list };
    reference.data = data;
    reference.n = n;
    reference.at = 0;
    reference.dialect = *dialect;
    stk__csv_scan_begin(&scan, dialect, true, mark, n_columns + 129);
    stk__csv_scan_data(&scan, data, n);
    while ((got = stk__csv_split_rows(&scan, &split, ROWS, cell, result)) > 0)
        for (int i = 0; i < got; i++)
            is_same = is_same && reference_row(&reference) &&
                      same_row(&reference, &split, cell + i * n_wanted, &result[i]);
    is_same = is_same && got == 0 && !reference_row(&reference);
    reference_free(list);
    return is_same;
}

/* The same for rows alone. */
static inline bool rows_as_reference(const uint8_t *data, size_t n,
                                     const struct stk__csv_dialect *dialect)
{
    static struct reference reference;
    static uint32_t mark[64];
    struct stk__csv_scan scan;
    struct stk__csv_row row;
    reference.data = data;
    reference.n = n;
    reference.at = 0;
    reference.dialect = *dialect;
    stk__csv_scan_begin(&scan, dialect, false, mark, 64);
    stk__csv_scan_data(&scan, data, n);
    while (stk__csv_next_row(&scan, &row)) {
        if (!reference_row(&reference) || row.start != reference.start || scan.at != reference.at ||
            row.is_open != reference.is_open || row.is_ended != (row.stop < reference.at))
            return false;
    }
    return !reference_row(&reference);
}

/* ---- numbers ---- */

/* A decimal as decimal.h says, told by its characters. */
static inline bool is_decimal(const char *text)
{
    int n_digits = 0;
    text += *text == '-' || *text == '+';
    for (; *text >= '0' && *text <= '9'; text++)
        n_digits++;
    text += *text == '.';
    for (; *text >= '0' && *text <= '9'; text++)
        n_digits++;
    if (n_digits == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text += 1 + (text[1] == '-' || text[1] == '+');
        if (*text < '0' || *text > '9')
            return false;
        while (*text >= '0' && *text <= '9')
            text++;
    }
    return *text == 0;
}

/* False if a text of at most 200 bytes, followed by anything, is not read as the C library does. */
static inline bool reads_as_library(const uint8_t *at, size_t len)
{
    char copy[256], *end;
    uint8_t behind[256 + 64];
    double real, expected;
    float single, expected_single;
    int64_t whole;
    memcpy(copy, at, len);
    copy[len] = 0;
    memcpy(behind, at, len);
    memset(behind + len, '9', 64); /* no part of the number */
    bool is_number = strlen(copy) == len && is_decimal(copy);
    if (stk__decimal_f64(behind, len, &real) != is_number ||
        stk__decimal_f32(behind, len, &single) != is_number)
        return false;
    expected = strtod(copy, NULL);
    expected_single = strtof(copy, NULL);
    if (is_number &&
        (memcmp(&real, &expected, sizeof real) || memcmp(&single, &expected_single, sizeof single)))
        return false;
    bool is_whole = is_number && !strpbrk(copy, ".eE");
    long long value = strtoll(copy, &end, 10);
    bool is_edge = value == INT64_MAX || value == INT64_MIN;
    bool is_read = stk__decimal_i64(behind, len, &whole);
    if (is_edge) /* whether it fits is for a test of its own */
        return !is_read || (is_whole && whole == value);
    return is_read == is_whole && (!is_read || whole == value);
}
