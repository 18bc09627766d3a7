/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_array.h: a dataset of an HDF5 file as an array of a source. */
#pragma once
#include "op/array/array_source.h"

/* Which one, and how much of it may be kept in memory. */
struct stk__hdf5_part {
    size_t file;
    stk__hdf5_id library_file;
    const char *name;
    uint64_t hold_bytes;
};

/* Fills in an array: finds out how it is stored and which way it is read. The message has neither
 * file nor name. */
int stk__hdf5_array(const struct stk__array_source *source, const struct stk__hdf5_part *part,
                    struct stk__array *out, struct stk_error *err);
