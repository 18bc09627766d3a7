/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_library.h: what is asked of libhdf5.
 *
 * The library has global state and admits one thread at a time, so every function here takes the
 * one lock of the process for as long as it runs. They describe what is in a file; the values are then
 * read from the file by ourselves (hdf5_index.h, hdf5_filters.h) wherever that is possible.
 */
#pragma once
#include "codec/array/grid.h"
#include "codec/array/hdf5_filters.h"
#include "codec/array/raw_values.h"

/* Something open in the library; 0: nothing. A dataset keeps its file open. */
typedef int64_t stk__hdf5_id;

enum stk__hdf5_layout {
    STK__HDF5_CONTIGUOUS, /* in one piece, at `offset` */
    STK__HDF5_CHUNKED,    /* in chunks whose filters can all be undone by us */
    STK__HDF5_OPAQUE,     /* only the library can read it */
};

struct stk__hdf5_info {
    enum stk__hdf5_layout layout;
    struct stk__raw raw;
    bool is_text_list; /* texts that each have their own length */
    bool is_converted; /* the library turns the values into ours: an unusual type */
    bool is_empty;     /* it has no values, not even one */
    bool is_chunked;   /* in chunks of grid.chunk, whoever reads them */
    int n_sources;     /* of a virtual one: the datasets that it shows; else 0 */
    struct stk__grid grid;
    struct stk__hdf5_filters filters;
    uint64_t offset;       /* contiguous; of its first value */
    uint64_t header, base; /* of its description; what all offsets in the file count from */
};

/* Opens for reading. The messages of this and the next have no path. */
int stk__hdf5_open(const char *path, stk__hdf5_id *file, struct stk_error *err);

/* Calls `found` with the path of each dataset, sorted by name, until one says other than STK_OK. */
int stk__hdf5_list(stk__hdf5_id file, int (*found)(void *ctx, const char *name), void *ctx,
                   struct stk_error *err);

/* `cache_bytes`: of chunks that the library keeps for the next read, of each dataset that the
 * values come from; nobody can tell how much of it is used, or have it emptied. */
int stk__hdf5_open_dataset(stk__hdf5_id file, const char *name, size_t cache_bytes,
                           stk__hdf5_id *dataset, struct stk_error *err);
int stk__hdf5_describe(stk__hdf5_id dataset, struct stk__hdf5_info *out, struct stk_error *err);
void stk__hdf5_close(stk__hdf5_id id); /* 0 is fine */

/* The value of chunks that were never written: raw.item_bytes of it. */
int stk__hdf5_fill(stk__hdf5_id dataset, const struct stk__hdf5_info *info, uint8_t *fill,
                   struct stk_error *err);

/* Reads a box of values, as `info->raw` describes them. `room`: the box lies at the front of an
 * array of that shape; NULL: of its own. */
int stk__hdf5_read(stk__hdf5_id dataset, const struct stk__hdf5_info *info,
                   const struct stk__chunk_box *box, const int64_t *room, uint8_t *dst,
                   struct stk_error *err);

/* Reads texts of a list and hands each to `add` (STK_OK, or what ends it). */
int stk__hdf5_read_texts(stk__hdf5_id dataset, int64_t start, int64_t n,
                         int (*add)(void *ctx, const char *text, size_t len), void *ctx,
                         struct stk_error *err);

/* A chunk as it is stored. The caller gives memory and how much. bytes 0: it was never written. */
struct stk__hdf5_raw {
    uint8_t *data;
    size_t room, bytes;
    uint32_t left_out; /* filters that were not applied, by bit */
};
int stk__hdf5_read_chunk(stk__hdf5_id dataset, const struct stk__grid *grid, const int64_t *chunk,
                         struct stk__hdf5_raw *raw, struct stk_error *err);
