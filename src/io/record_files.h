/* SPDX-License-Identifier: Apache-2.0 */
/* record_files.h: the records of several files, counted through; what located sources of records
 * have in common. */
#pragma once
#include "io/paths.h"
#include "io/record_index.h"

struct stk__record_files {
    struct stk__data_files *files;
    struct stk__record_index **index; /* [files->n] */
    uint64_t *first;                  /* [files->n + 1]: of each file; then the count of all */
};

/* Finds the records of one file, whose bytes are read with stk__data_file_read. Messages name the
 * file. Called by several threads, for different files. */
typedef int (*stk__scan_fn)(const void *context, struct stk__data_files *files, size_t file,
                            struct stk__record_index *out, struct stk_error *err);

struct stk__record_scan {
    stk__scan_fn scan;
    const void *context;
    const char *format; /* of sidecars, at most 15 letters */
    uint64_t parameters;
    /* "auto": sidecars beside large files; NULL or "none": none; or a directory for all of them */
    const char *home;
};

/* What a row for `home` says. */
#define STK__INDEX_HELP                                                                            \
    "where an index is kept for the next time: auto (beside a large file, as NAME.stkidx), none, " \
    "or a directory"

/* Opens and scans files, several at a time. Takes nothing; returns new. */
int stk__record_files_open(const struct stk__paths *paths, const struct stk__record_scan *scan,
                           struct stk__record_files **out, struct stk_error *err);
void stk__record_files_free(struct stk__record_files *records); /* NULL is fine */

/* Bytes that all of it takes. */
size_t stk__record_files_bytes(const struct stk__record_files *records);

uint64_t stk__record_files_count(const struct stk__record_files *records);

void stk__record_files_locate(const struct stk__record_files *records, int n,
                              const uint64_t *record, struct stk__file_place *out);

/* "train.tfrecord, record 12 at byte 3456"; noun is "record". */
void stk__record_files_describe(const struct stk__record_files *records, uint64_t record,
                                const char *noun, char *text, size_t size);
