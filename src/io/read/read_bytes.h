/* SPDX-License-Identifier: Apache-2.0 */
/* read_bytes.h: bytes of files into buffers, here and now, on whatever thread. */
#pragma once
#include "io/read/fetched.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

struct stk__pool;
struct stk__data_files;
struct stk__read_set;

/* What whoever reads lends: where buffers come from, what is too large for them, and when to stop. */
struct stk__read_host {
    struct stk__pool *pool;
    int64_t budget_bytes;         /* larger files and places are refused */
    const atomic_bool *cancelled; /* looked at within large files */
};

/* One read: a whole file, or n places in the files of a source. What it is made of is borrowed until it is answered. */
struct stk__read_request {
    struct stk__read_set *set;   /* that it is one of; see lane.h */
    struct stk__fetched *result; /* [n] */
    const char *path;            /* of a whole file; NULL: places */
    /* Whether a file may be wanted that begins so; NULL: every one is. */
    bool (*may_begin)(const void *params, const uint8_t *head, size_t n);
    const void *params;
    struct stk__data_files *files;
    const struct stk__file_place *place; /* [n] */
    int n;
    int step; /* places from one to the next, and results; those between belong to others */
    uint64_t run_bytes; /* its places follow each other and have so many; 0: they do not */
};

/* A file from this size on is looked at before it is read: */
enum { STK__LARGE_FILE = 4 << 20, STK__HEAD_BYTES = 4 << 10 };

/* Reads a whole file into a buffer of the pool. Of a large one that is not wanted as it begins, only the first bytes;
 * one that is larger than the budget is refused. */
void stk__read_file(const struct stk__read_host *host, const struct stk__read_request *request);

/* The whole of a file was read into a buffer, which the result takes. */
void stk__file_end(struct stk__fetched *out, struct stk_buffer *buffer, size_t bytes);

/* Reads n places, of which neighbours in one go; `is_quick`: they are likely in the page cache. One that is larger
 * than the budget is refused. */
void stk__read_places(const struct stk__read_host *host, const struct stk__read_request *request,
                      bool is_quick);

enum { STK__MOST_NEIGHBOURS = 64 };

/* Where requests are read to that lie side by side: a buffer each. */
struct stk__pieces {
    struct stk_buffer *buffer[STK__MOST_NEIGHBOURS];
    struct iovec piece[STK__MOST_NEIGHBOURS];
    int n;
};

/* Reads n requests of which each begins where the one before it ends, in one go. */
void stk__read_neighbours(const struct stk__read_host *host,
                          const struct stk__read_request *request, int n);

/* The two halves of it: false when out of memory or beyond the budget; what was not read all is read one by one. */
bool stk__pieces_new(const struct stk__read_host *host, const struct stk__read_request *request,
                     int n, struct stk__pieces *pieces);
void stk__pieces_end(const struct stk__read_host *host, const struct stk__read_request *request,
                     int n, struct stk__pieces *pieces, bool is_read);
