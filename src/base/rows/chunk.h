/* SPDX-License-Identifier: Apache-2.0 */
/* chunk.h: runs of rows by column, and the faults of their rows. */
#pragma once
#include "base/hash.h"
#include "base/memory/buffer.h"

/* where: the origin (source or indexed subtree of the plan) in the top 8 bits, position there
 * below. path: hash of the repetition counters the row was made under. */
struct stk__address {
    uint64_t where, path;
};

/* A run of rows by column. */
struct stk__chunk {
    const struct stk_type *type;
    int cap, n;
    int n_bad;                    /* rows whose mask is STK_BAD */
    struct stk__address *address; /* [cap] */
    struct stk__key *key;         /* [cap], or NULL where nothing downstream draws random numbers */
    uint8_t *mask;                /* [cap] */
    struct stk_span *trace; /* [cap], or NULL where no row is a batch: the addresses of its rows */
    struct stk_column *column; /* [type->n_fields] */
    struct stk__fault *faults; /* of bad rows */
};

/* The two parts of an address's `where`. */
static inline uint64_t stk__where(int origin, uint64_t position)
{
    return (uint64_t)origin << 56 | position;
}
static inline int stk__where_origin(uint64_t where)
{
    return (int)(where >> 56);
}
static inline uint64_t stk__where_position(uint64_t where)
{
    return where & (((uint64_t)1 << 56) - 1);
}

/* Why a row is bad. In a chunk's list, in no order. */
struct stk__fault {
    struct stk__fault *next;
    int row, code;
    const char *op;   /* static: the op that found it, or NULL */
    const char *text; /* lies behind it */
};

/* What a fault with this text takes. */
size_t stk__fault_bytes(const char *text);

/* What a chunk has beside its columns, or has not: addresses. */
enum stk__chunk_parts { STK__KEYS = 1, STK__TRACE = 2, STK__NO_ADDRESSES = 4 };

/* The bytes stk__chunk_new takes, for the budget; rows' own bytes (spans) not counted. */
size_t stk__chunk_bytes(const struct stk_type *type, int cap, int parts);

/* Returns new, empty; NULL when out of memory. Borrows type. */
struct stk__chunk *stk__chunk_new(const struct stk_type *type, int cap, int parts);
void stk__chunk_free(struct stk__chunk *chunk);

/* The same in memory of the caller's, 64-byte aligned, of stk__chunk_bytes: it is cleared, and not freed, before
 * that goes. */
struct stk__chunk *stk__chunk_place(const struct stk_type *type, int cap, int parts, void *memory);

/* Drops rows, faults and counts, keeps the memory. */
void stk__chunk_clear(struct stk__chunk *chunk);

/* Drops the rows from number n on. */
void stk__chunk_cut(struct stk__chunk *chunk, int n);

/* Lists of faults. Without memory for one it is left out: a bad row without a fault is "out of
 * memory". */
void stk__fault_add(struct stk__fault **list, int row, int code, const char *op, const char *text);
const struct stk__fault *stk__fault_find(const struct stk__fault *list, int row);
void stk__fault_forget(struct stk__fault **list, int row);
void stk__faults_free(struct stk__fault *faults);

/* True if a row is bad for good: for its data, not because it could not be read, memory or the budget was short, or
 * the run is over. */
bool stk__fault_is_lasting(const struct stk__fault *fault);

/* Marks a row bad with a message. */
void stk__chunk_fault(struct stk__chunk *chunk, int row, int code, const char *op,
                      const char *text);

/* Appends a bad row for one of a chunk of any type: it keeps its place and has no data. `fault` is
 * why, of which the row number does not matter; NULL: no memory. */
void stk__chunk_hand_on_bad(struct stk__chunk *out, const struct stk__chunk *in, int row,
                            const struct stk__fault *fault);

/* The fault of a bad row, or NULL. */
const struct stk__fault *stk__chunk_find_fault(const struct stk__chunk *chunk, int row);

/* Copies n rows, with keys, addresses, masks and faults, taking new references where spans have
 * owners. Between two chunks of one type; does not change n of either. */
void stk__chunk_copy(struct stk__chunk *dst, int at, const struct stk__chunk *src, int from, int n);

/* Drops the references of n rows, which are then unset. */
void stk__chunk_drop(struct stk__chunk *chunk, int from, int n);

/* As stk__chunk_copy without masks and faults; inside one chunk rows are moved (at <= from). */
void stk__chunk_copy_rows(struct stk__chunk *dst, int at, const struct stk__chunk *src, int from,
                          int n);

/* Moves row place[i] of `held` to the end of `out`, and row from + i of `in` to where it was, for
 * each of n in turn. All have the same columns; whether that can be done: no row is bad, and they
 * carry along the same. */
bool stk__chunk_can_exchange(const struct stk__chunk *held, const struct stk__chunk *in,
                             const struct stk__chunk *out);
void stk__chunk_exchange(struct stk__chunk *held, const int *place, const struct stk__chunk *in,
                         int from, int n, struct stk__chunk *out);

/* Moves those of the first n rows that are not dead to the front; returns how many are left. */
int stk__chunk_compact(struct stk__chunk *chunk, int n);

/* Gives every span in rows [at, at + n) that has no owner one from the pool; false when out of memory. `scratch`, where
 * they lie, is about to be reset: it may lose blocks to them. NULL: all are copied. */
bool stk__chunk_own(struct stk__chunk *chunk, int at, int n, struct stk_arena *scratch,
                    struct stk__pool *pool);

/* Copies n rows of `src` as the fields of `dst` from `field` on: zip. The rows of field 0 set
 * address, key and mask, further ones are joined to them. */
void stk__chunk_join(struct stk__chunk *dst, int at, int field, const struct stk__chunk *src,
                     int from, int n);

/* A column from row `from` on. */
static inline struct stk_column stk__column_slice(const struct stk_column *column, int from)
{
    struct stk_column slice = *column;
    size_t rows = (size_t)from;
    if (column->data)
        slice.data = column->data + rows * column->stride;
    if (column->span)
        slice.span = column->span + rows;
    if (column->dims)
        slice.dims = column->dims + rows * (size_t)column->rank;
    return slice;
}

/* An address of no element at all. */
#define STK__NO_WHERE UINT64_MAX

/* Copies n spans, taking references; what was there is dropped. */
/* Bytes of n of them; none where there are no spans. */
uint64_t stk__span_bytes(const struct stk_span *span, int n);
void stk__spans_copy(struct stk_span *dst, const struct stk_span *src, int n);
void stk__spans_drop(struct stk_span *span, int n);
