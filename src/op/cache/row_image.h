/* SPDX-License-Identifier: Apache-2.0 */
/* row_image.h: a row as bytes of a record, and back.
 *
 *     key, address, length of the trace | sizes of what is not fixed | fixed fields | the rest | trace
 *
 * Of a bad row only why: key, address, 0 | code, length of the op's name, name | text. Fields are as
 * they lie in memory, so a fixed field is copied from the record to where it is delivered.
 */
#pragma once
#include "base/memory/store.h"
#include "io/row_log.h"

/* Flags of a record. */
enum { STK__IMAGE_BAD = 1, STK__IMAGE_PACKED = 2 };

/* Where a row goes. */
struct stk__row_place {
    const struct stk_column *column;
    int row;
    uint8_t *mask;                /* of the row */
    struct stk__key *key;         /* or NULL */
    struct stk__address *address; /* or NULL */
    struct stk_span *trace;       /* or NULL */
    struct stk__fault **faults;   /* where the fault of a bad row is added */
    /* memory for what is not fixed: without an owner, or with */
    struct stk_arena *scratch;
    struct stk__pool *pool;
};

/* Adds a row to a log; level 0: as it is, else compressed. */
bool stk__row_image_add(struct stk__row_log *log, uint64_t number, const struct stk_type *type,
                        const struct stk__row_ref *row, int level);

/* STK_OK; STK_MEMORY; or STK_DATA if the record is not there or not good. */
int stk__row_image_read(struct stk__row_log *log, uint64_t number, const struct stk_type *type,
                        const struct stk__row_place *to);
