/* SPDX-License-Identifier: Apache-2.0 */
/* npy_array.h: an array in NumPy's format, in a file, in part of one, or in memory. */
#pragma once
#include "op/array/array_source.h"

/* Where it is. */
struct stk__npy_part {
    size_t file;
    uint64_t offset, bytes;
    uint8_t *memory; /* all of it; NULL: it is in the file. Taken on success */
};

/* Fills in an array. The message has the file's name. */
int stk__npy_array(const struct stk__array_source *source, const struct stk__npy_part *part,
                   struct stk__array *out, struct stk_error *err);
