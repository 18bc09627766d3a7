/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_index.h: where the chunks of an HDF5 dataset are, read from the file by ourselves.
 *
 * libhdf5 1.10 walks its whole index for every chunk it is asked about; ten thousand chunks take it
 * a second. This reads the index that files have unless they were asked for a newer format: a version
 * 1 B-tree, found through the layout message of the dataset's object header.
 */
#pragma once
#include "codec/array/grid.h"

struct stk__hdf5_chunk {
    uint64_t offset;          /* STK__HDF5_ABSENT: never written */
    uint32_t bytes, left_out; /* left_out: filters that were not applied, by bit */
};
#define STK__HDF5_ABSENT UINT64_MAX

/* The bytes of a file. `read` returns other than 0 when it cannot. */
struct stk__hdf5_bytes {
    int (*read)(void *ctx, uint64_t offset, size_t bytes, uint8_t *dst);
    void *ctx;
    uint64_t base; /* what offsets in the file count from */
};

/* Fills in a table of all chunks of the grid, in row-major order; `header` is where the object
 * header is. False if the index is of another kind, damaged, or there is no memory: then the
 * library must be asked. */
bool stk__hdf5_index(const struct stk__hdf5_bytes *file, uint64_t header,
                     const struct stk__grid *grid, struct stk__hdf5_chunk *table);
