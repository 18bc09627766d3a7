/* SPDX-License-Identifier: Apache-2.0 */
/* row_groups.h: rows of text files that are read at random: what csv and lines have in common.
 *
 * Rows of a file are indexed in groups of a few: the place of a row is its group's, and rows before
 * it in the group are passed over. That takes half a byte of memory for a row, and neighbouring
 * rows are one read and one run of the parser. Files of large rows have a group for each.
 */
#pragma once
#include "io/record_files.h"
#include "op/declaration.h"

enum {
    STK__GROUP_ROWS = 8,
    STK__LARGE_ROW = 1024, /* a group of its own; told by the first row of a file */
};

struct stk__row_groups {
    struct stk__record_files *groups; /* NULL: the files are streams */
    uint64_t *first_row;              /* [files + 1] */
    int *group_rows;                  /* [files] */
};

/* Finds where groups begin in all files. `rows` is zero before; what it made is to be freed also after a
 * failure. */
int stk__row_groups_open(struct stk__row_groups *rows, const struct stk__paths *paths,
                         const struct stk__record_scan *scan, struct stk_error *err);
void stk__row_groups_free(struct stk__row_groups *rows);
size_t stk__row_groups_bytes(const struct stk__row_groups *rows);

/* Rows in a piece of memory, behind which STK__WINDOW_TAIL zeros can be read. */
typedef uint64_t (*stk__count_rows_fn)(const void *context, const uint8_t *data, size_t bytes);

/* Counts the rows of a file, whose groups have so many each but for the last. For one file after the
 * other. */
int stk__row_groups_count(struct stk__row_groups *rows, size_t file, int group_rows,
                          stk__count_rows_fn count, const void *context, struct stk_error *err);

/* Rows of all files; STK_UNKNOWN_COUNT of streams. */
int64_t stk__row_groups_total(const struct stk__row_groups *rows);

void stk__row_groups_locate(const struct stk__row_groups *rows, int n, const uint64_t *index,
                            struct stk__file_place *out);

/* Rows that follow each other in one piece of memory. */
struct stk__row_run {
    int from, n;
    const uint8_t *data;
    size_t bytes;
    uint64_t first; /* rows before them in the piece */
    size_t file;
    uint64_t offset; /* of the piece in the file */
};

/* The run that begins with row `from` of what was fetched. */
struct stk__row_run stk__row_groups_run(const struct stk__row_groups *rows,
                                        const struct stk_rows *fetched, const uint64_t *index,
                                        int from);
