/* SPDX-License-Identifier: Apache-2.0 */
/* exec_rows.h: the rows of the model, between exec_rows.c, which makes them, and exec_model.c,
 * which judges and delivers them. */
#pragma once
#include "exec_model.h"

/* A field of a row: numbers, or the number of a file. dims tells vectors of other shapes apart. */
struct cell {
    const int64_t *item;
    int n, dims[2];
};

struct fault {
    int code;
    const char *op, *text;
};

struct row {
    struct cell cell[CHAIN_FIELDS];
    struct stk__key key;
    const struct call *source;
    uint64_t index;                 /* of the source's row */
    const struct call *last_source; /* of the last row, if it is a batch */
    uint64_t last_index;
    uint64_t where;            /* position in the indexed part of the chain */
    const struct fault *fault; /* NULL: a good row */
};

struct rows {
    struct row *row;
    int64_t n, cap;
    bool is_all, has_broken;
    int code; /* why it broke */
    const char *broken;
};

struct block {
    struct block *next;
    max_align_t data[];
};

struct model {
    const struct chain *chain;
    const struct call *batch, *judge; /* the final one; the one that judges before other ops */
    struct expected *out;
    uint64_t epoch, n_batches, n_rows; /* batches and rows of this epoch */
    bool has_ended;
};

/* Memory that lives as long as what is expected. Aborts when there is none. */
void *model_take(struct model *m, size_t bytes);
const char *model_text(struct model *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool same_dims(const struct cell *a, const struct cell *b);

/* The rows of one pass of a call, or at least the first `limit` of them. Bad rows are rows. */
struct rows model_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit);

/* Counts a row; false if it is bad and ends the run. *text: why. */
bool model_judge(struct model *m, struct verdicts *v, const struct row *row, const char **text);
void model_begin_pass(struct verdicts *v);
const char *model_end_pass(struct model *m, const struct verdicts *v);
