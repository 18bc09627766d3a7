/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_filters.h: the filters of HDF5 chunks that are undone here, by any number of threads: the
 * library itself runs one thread at a time. */
#pragma once
#include "codec/array/inflate.h"

#include <stdbool.h>

enum stk__hdf5_filter_kind {
    STK__HDF5_DEFLATE,
    STK__HDF5_SHUFFLE,    /* all first bytes of the values, then all second bytes, … */
    STK__HDF5_FLETCHER32, /* a checksum at the end */
    STK__HDF5_LZF,
};

enum { STK__HDF5_MAX_FILTERS = 8 };

struct stk__hdf5_filters {
    int n;
    struct {
        uint8_t kind;
        uint32_t item_bytes;       /* shuffle */
    } item[STK__HDF5_MAX_FILTERS]; /* as they were applied in writing */
};

/* A chunk as it is stored, and what it is to become. */
struct stk__hdf5_stored {
    const uint8_t *src;
    size_t n;
    uint32_t left_out; /* bit i: filter i was not applied to this chunk */
    size_t bytes;      /* of the chunk without filters */
};

/* Bytes of memory for stk__hdf5_unfilter, for chunks of this size; 0 where none is needed. */
size_t stk__hdf5_spare_bytes(const struct stk__hdf5_filters *filters, size_t chunk_bytes);

/* Undoes the filters. The chunk is then at *out: in `dst`, which has room for it, or still in
 * chunk->src if nothing had to be done but to check it. NULL, or what is wrong. */
const char *stk__hdf5_unfilter(const struct stk__hdf5_filters *filters,
                               const struct stk__hdf5_stored *chunk, uint8_t *dst, uint8_t *spare,
                               const uint8_t **out);
