/* SPDX-License-Identifier: Apache-2.0 */
/* exec_model.h: what a run of a chain must deliver, computed in arrays and loops. */
#pragma once
#include "exec_chain.h"

struct event {
    bool is_batch;                       /* else the end: of the data, or an error */
    int n;                               /* rows */
    uint64_t epoch, batch, rows, errors; /* position */
    uint64_t hash;                       /* of names, numbers and bytes */
    uint64_t first, last;                /* hashes of the origins of its first and last row */
    int code;                            /* of the end */
    const char *text;
};

/* Rows judged in one place, and the messages of the bad ones. */
struct verdicts {
    uint64_t n_rows, n_bad; /* of the pass */
    uint64_t n_errors;
    const char **error;
};

struct expected {
    struct event *event;
    int n_events, cap;
    bool is_open;   /* an endless chain: there would be more */
    bool ends_late; /* by what the consumer finds, when rows behind it may have been judged */
    struct verdicts inner, last; /* of a batch before other ops, and of the batcher */
    struct block *blocks;        /* where all that lives */
};

/* Hashes of one field of a batch: of numbers, and of one row's bytes after another. */
uint64_t hash_numbers(uint64_t h, const int64_t *number, int64_t n);
uint64_t hash_text(uint64_t h, const char *text, size_t len);

void model_run(const struct chain *chain, struct expected *out);
void model_free(struct expected *out);
