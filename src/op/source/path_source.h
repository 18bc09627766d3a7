/* SPDX-License-Identifier: Apache-2.0 */
/* path_source.h: what sources that list files have in common: fields `path` and, if known,
 * `label`. */
#pragma once
#include "io/paths.h"

struct stk__path_source {
    struct stk__paths paths;   /* sorted */
    struct stk__paths classes; /* names of labels, by number; empty when labels have none */
    int64_t *label;            /* [paths.n], or NULL: no field `label` */
    char remark[120];          /* what `plan` says of the listing, or empty */
};

/* Returns new, or NULL. */
struct stk__path_source *stk__path_source_new(void);

/* Makes room for labels, all 0. STK_OK or STK_MEMORY. */
int stk__path_source_label(struct stk__path_source *source);

/* Numbers the classes that were found as this list does; none given: as they are. Fails where a
 * class is not in it. */
int stk__path_source_number(struct stk__path_source *source, const struct stk_texts *classes,
                            struct stk_error *err);

/* The entries of a source's declaration; `state` is the struct above. */
void stk__path_source_free(void *state);
size_t stk__path_source_bytes(const void *state);
int stk__path_source_infer(struct stk_infer *inf, struct stk_error *err);
int64_t stk__path_source_count(const void *state);
int stk__path_source_rows(struct stk_rows *rows, const uint64_t *index);
void stk__path_source_describe(const void *state, uint64_t index, char *text, size_t size);
const char *stk__path_source_remark(const void *state);
const char *stk__path_source_class_name(const void *state, const char *field, int64_t value);
