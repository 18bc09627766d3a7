/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h: delimited text: rows, cells, and cells to values.
 *
 * A row ends at \n, \r\n or a lone \r that is not inside quotes, or at the end of the data. A cell
 * that begins with the quote ends at the next one that is not doubled; inside, delimiters and line
 * ends are text and a doubled quote is one. RFC 4180 has nothing between a closing quote and the
 * next delimiter, and no quote anywhere else: a row with such a stray quote is bad, or they are
 * text where the dialect is lenient; rows are the same in both. Empty lines are no rows, and
 * neither are lines that begin with the comment character, up to their line end, whatever quotes
 * they have.
 *
 *     data ─ marks ─▶ positions of , " \r \n ─ split ─▶ cells of some rows ─ convert ─▶ columns
 *
 * Positions are 32 bits wide: data comes in pieces below 2 GiB, with 64 readable bytes behind.
 */
#pragma once
#include "codec/text/timestamp.h"
#include "kernel/csv_kernel.h"

#include <stoker/op.h>

enum {
    STK__CSV_MAX_ROW = 16 << 20, /* bytes */
    STK__CSV_MAX_COLUMNS = 16384,
    STK__CSV_LEAST_ROOM = 1024, /* marks that a scan has room for, at least */
};

struct stk__csv_dialect {
    uint8_t delimiter, quote, comment; /* 0: there is no quote, no comment */
    bool is_lenient;                   /* stray quotes are text */
};

/* A walk over data, row by row. */
struct stk__csv_scan {
    const uint8_t *data;
    uint32_t bytes, at; /* at: where the next row begins */
    struct stk__csv_dialect dialect;
    uint8_t marked[4];
    stk__csv_marks_fn find; /* of the kernels in force */
    uint32_t scanned;       /* marks before this are known */
    uint32_t *mark;         /* [room] */
    int next, n_marks, room;
};

/* `with_cells` false: rows alone, which is faster. `mark` has room for `room` numbers; for cells it
 * must be more than the columns and 128. */
void stk__csv_scan_begin(struct stk__csv_scan *scan, const struct stk__csv_dialect *dialect,
                         bool with_cells, uint32_t *mark, int room);
void stk__csv_scan_data(struct stk__csv_scan *scan, const uint8_t *data, size_t bytes);

struct stk__csv_row {
    uint32_t start, stop; /* stop: the line end not counted */
    bool is_ended;        /* by a line end; false: by the end of the data */
    bool is_open;         /* a quote is still open there */
};

/* The next row; false if there is none, and scan->at is then where a comment without a line end
 * begins, or the end. Else scan->at is behind the row's line end, but a \n behind a \r is left for
 * the next call. For a scan without cells. */
bool stk__csv_next_row(struct stk__csv_scan *scan, struct stk__csv_row *row);

/* Cells are without quotes; see kernel/csv_kernel.h. */

/* What to split, and into what. */
struct stk__csv_split {
    int n_columns; /* that a row should have */
    int n_wanted;
    const int *wanted;                       /* [n_wanted] columns, ascending */
    void *(*alloc)(void *ctx, size_t bytes); /* 64 readable bytes behind */
    void *ctx;
};

enum stk__csv_status {
    STK__CSV_OK,
    STK__CSV_RAGGED,  /* n_found says how many cells there are */
    STK__CSV_OPEN,    /* a quote that does not end */
    STK__CSV_STRAY,   /* a quote where none may be, and the dialect is not lenient */
    STK__CSV_MISSING, /* no value, and no default for it */
    STK__CSV_BAD,     /* no value of its type */
    STK__CSV_GONE,    /* there is no such row; set by callers */
    STK__CSV_LEFT,    /* nobody wants the row; set by callers */
};

struct stk__csv_result {
    uint32_t start; /* of the row */
    int n_found;    /* cells */
    uint8_t status; /* stk__csv_status */
    int target;     /* MISSING, BAD: which; STRAY: the column */
};

/* Splits up to n rows into cell[row * n_wanted + k]; returns how many rows there were, -1 without
 * memory. Cells of a row whose status is not OK are empty texts. For a scan with cells. */
int stk__csv_split_rows(struct stk__csv_scan *scan, const struct stk__csv_split *split, int n,
                        struct stk__csv_cell *cell, struct stk__csv_result *result);

/* ---- values ---- */

enum stk__csv_kind { STK__CSV_NUMBER, STK__CSV_TEXT, STK__CSV_CATEGORY, STK__CSV_TIMESTAMP };

struct stk__csv_text {
    const char *text;
    uint32_t len;
};

/* Texts with their numbers, found by hashing. */
struct stk__csv_names {
    const struct stk__csv_text *item;
    int n;
    int32_t *slot; /* [mask + 1]: item, or -1 */
    uint32_t mask;
};

struct stk__csv_type {
    uint8_t kind, dtype;
    enum stk__time_unit unit;
    bool has_default;
    _Alignas(8) uint8_t fill[8];        /* the default, of the dtype */
    struct stk__csv_text fill_text;     /* of a text */
    const struct stk__csv_names *names; /* of a category */
};

/* Where values of one column go. */
struct stk__csv_target {
    struct stk__csv_type type;
    int column, wanted; /* in the file; among those wanted */
    int field;          /* of the element, */
    uint32_t offset;    /* and bytes into its row */
};

/* Texts that stand for a missing value. */
struct stk__csv_missing {
    const struct stk__csv_text *item;
    int n;
    bool has_values; /* one of them could be a number, a time or a truth value */
};

enum { STK__CSV_BLOCK_ROWS = 64 };

/* Converts the cells of one target (cell[row * n_wanted]) in n rows, at most 64. Rows whose status
 * is not OK are left alone; those that go wrong get one, and `target`. Rows of `out` are `stride`
 * bytes apart. */
struct stk__csv_convert {
    const struct stk__csv_target *target;
    const struct stk__csv_missing *missing;
    const struct stk__csv_cell *cell;
    int n_wanted, n, number; /* number: of the target */
    stk__csv_digits_fn read_digits;
};
void stk__csv_convert_fixed(const struct stk__csv_convert *convert, uint8_t *out, size_t stride,
                            struct stk__csv_result *result);

/* A value of `type` from one cell. */
enum stk__csv_status stk__csv_value(const struct stk__csv_type *type,
                                    const struct stk__csv_missing *missing,
                                    const struct stk__csv_cell *cell, void *out);

bool stk__csv_is_missing(const struct stk__csv_missing *missing, const uint8_t *at, size_t len);

/* Makes item findable; from the arena. Texts must differ. STK_OK or STK_MEMORY. */
int stk__csv_names_make(struct stk__csv_names *names, struct stk_arena *arena);

/* Makes one more findable; there must be a free slot. */
void stk__csv_names_add(struct stk__csv_names *names, int item);

/* The number of a text, or -1. */
int stk__csv_names_find(const struct stk__csv_names *names, const uint8_t *at, size_t len);

/* ---- guessing ---- */

/* What the values of a column seen so far can all be. */
struct stk__csv_guess {
    bool can_int, can_real, can_bool, can_time, has_missing, has_value;
};

void stk__csv_guess_begin(struct stk__csv_guess *guess);
void stk__csv_guess_see(struct stk__csv_guess *guess, const struct stk__csv_missing *missing,
                        const struct stk__csv_cell *cell);

/* int64, float64 (also where int64 values are missing, or all are), bool, timestamp, or text. */
struct stk__csv_type stk__csv_guess_type(const struct stk__csv_guess *guess);
