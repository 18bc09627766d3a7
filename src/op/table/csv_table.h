/* SPDX-License-Identifier: Apache-2.0 */
/* csv_table.h: what a csv source knows of its files, and the steps of reading them. */
#pragma once
#include "base/memory/arena.h"
#include "codec/text/csv.h"
#include "io/block_reader.h"
#include "io/file_window.h"
#include "io/line_count.h"
#include "lang/lang.h"
#include "op/table/row_groups.h"

enum { STK__CSV_TAIL = STK__WINDOW_TAIL }; /* readable bytes behind data */

/* How files are to be read. */
struct stk__csv_format {
    struct stk__csv_dialect dialect;
    bool has_header;
    int64_t skip_rows;
};

/* The beginning of a file. */
struct stk__csv_head {
    uint8_t *bytes; /* from malloc, STK__CSV_TAIL zeros behind; or NULL */
    size_t n;
    bool is_all;                /* there is no more */
    struct stk__csv_row header; /* has_header: where it is */
    bool has_names;             /* a header was found */
    size_t begin;               /* of what is behind header and skipped lines */
    int group_rows;             /* of this file */
};

struct stk__csv_table {
    struct stk__csv_format format;
    int n_columns;
    struct stk__csv_text *name; /* [n_columns] */
    struct stk__csv_missing missing;
    int n_targets, n_wanted, n_fields;
    struct stk__csv_target *target; /* by column */
    int *wanted;
    struct stk_field field[STK_MAX_FIELDS];
    struct stk__block_files *list;
    struct stk__csv_text header;  /* of the first file */
    struct stk__row_groups found; /* of files that are read at random */
    struct stk__line_counts *lines;
};

/* ---- csv_files.c: finding rows ---- */

/* Finds header and first row in what is there of a file. False: not enough of it is. */
bool stk__csv_head_find(const struct stk__csv_format *format, struct stk__csv_head *head);

/* At least `least` bytes of a file if it has so many, and all of its header. */
int stk__csv_head_read(const struct stk__csv_format *format, struct stk__data_files *files,
                       size_t file, size_t least, struct stk__csv_head *out, struct stk_error *err);
void stk__csv_head_free(struct stk__csv_head *head);

/* Finds where groups of rows begin in all files. */
int stk__csv_files_open(struct stk__csv_table *table, const char *index_home,
                        struct stk_error *err);

/* Once the table has its header: counts rows, and checks that all files have that header. */
int stk__csv_files_count(struct stk__csv_table *table, struct stk_error *err);

/* Compares a file's header, if there is to be one, with the table's. */
int stk__csv_check_header(const struct stk__csv_table *table, size_t file,
                          const struct stk__csv_head *head, struct stk_error *err);

/* ---- csv_names.c ---- */

/* The names of columns, from a list that takes the place of a header, or from the beginning of a
 * file: those of the header, or c0, c1, … Empty names are made up, repeated ones get .1, .2, … From
 * the arena. */
int stk__csv_name_columns(struct stk__csv_table *table, const struct stk_value *given,
                          const struct stk__csv_head *head, struct stk_arena *arena,
                          struct stk_error *err);

/* What the rows at the beginning of a file hold, by column. NULL without memory. */
struct stk__csv_guess *stk__csv_guess_columns(const struct stk__csv_table *table,
                                              const struct stk__csv_head *head,
                                              struct stk_arena *arena);

/* ---- csv_types.c ---- */

/* What can be called in the map of columns. */
extern const struct stk__namespace stk__csv_types;

/* The call that a value stands for; false if it stands for none. A string that cannot be parsed
 * leaves its message in err. */
bool stk__csv_call_of(const struct stk_value *value, struct stk_arena *arena,
                      struct stk__call *call, struct stk_error *err);

int stk__csv_type_read(const struct stk_value *value, struct stk_arena *arena,
                       struct stk__csv_type *type, struct stk_error *err);

/* columns(names, type) */
struct stk__csv_columns {
    const struct stk_value *names, *type;
};
int stk__csv_columns_bind(const struct stk__call *call, struct stk_arena *arena,
                          struct stk__csv_columns *out, struct stk_error *err);

/* ---- csv_spec.c: what is wanted of them ---- */

/* Fields and targets from the map, or (NULL) every column by guessing. */
int stk__csv_spec_read(struct stk__csv_table *table, const struct stk_value *map,
                       const struct stk__csv_head *head, struct stk_arena *arena,
                       struct stk_error *err);

/* A table that makes these fields alone (a bit each), in the arena; it borrows all else. */
int stk__csv_narrow(const void *state, uint32_t fields, struct stk_arena *arena, void **new_state);

/* ---- csv_rows.c: rows to columns ---- */

/* Where a row came from. */
struct stk__csv_origin {
    struct stk_buffer *owner; /* of its bytes, and so of its texts */
    uint64_t offset;          /* of those its start counts from, in the file */
    size_t file;
};

/* A block of rows that are split, then converted; used again from block to block. */
struct stk__csv_work {
    struct stk__csv_scan scan;
    struct stk__csv_split split;
    struct stk__csv_cell *cell;     /* [block * n_wanted] */
    struct stk__csv_result *result; /* [block] */
    struct stk__csv_origin *origin; /* [block] */
    int block, n;                   /* rows there is room for, and rows there are */
    stk__csv_digits_fn read_digits;
};

/* False without memory. `alloc` as in stk__csv_split, for this and for cells; stk__csv_take if `ctx` is
 * an arena. */
bool stk__csv_work_begin(struct stk__csv_work *work, const struct stk__csv_table *table,
                         void *(*alloc)(void *ctx, size_t bytes), void *ctx);

void *stk__csv_take(void *arena, size_t bytes);

/* Splits up to n rows of the scan behind those of the block, as far as there is room; returns how many
 * there were, -1 without memory. */
int stk__csv_work_split(struct stk__csv_work *work, int n, const struct stk__csv_origin *origin);

/* Converts the rows of the block to rows `at` and following of the columns. Texts point to where they
 * were read, with the owner of those bytes, or without one if they are copies or defaults. */
void stk__csv_put_rows(const struct stk__csv_table *table, const struct stk__csv_work *work,
                       struct stk_column *out, int at);

/* Why a row is bad, without file and line. */
void stk__csv_explain(const struct stk__csv_table *table, const struct stk__csv_work *work, int row,
                      char *text, size_t size);

/* Where rows lie, and rows from what was read there: a located source's. */
void stk__csv_locate(const void *state, int n, const uint64_t *index, struct stk__file_place *out);
int stk__csv_rows(struct stk_rows *rows, const uint64_t *index);

/* ---- csv_learn.c ---- */

/* Fills in the categories that were not listed, from all rows. */
int stk__csv_learn(struct stk__csv_table *table, struct stk_arena *arena, struct stk_error *err);
