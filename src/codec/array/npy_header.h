/* SPDX-License-Identifier: Apache-2.0 */
/* npy_header.h: the header of NumPy's array files, versions 1 to 3. */
#pragma once
#include "codec/array/raw_values.h"

enum {
    STK__NPY_PREFIX = 12,          /* bytes that say how long the header is */
    STK__NPY_MAX_HEADER = 1 << 17, /* NumPy itself refuses to read above 10 000 */
    STK__NPY_MAX_RANK = STK_MAX_RANK + 1,
};

struct stk__npy {
    struct stk__raw raw;
    bool is_fortran; /* the first dimension runs fastest, and there are several */
    int rank;
    int64_t shape[STK__NPY_MAX_RANK];
    uint64_t n_values, bytes; /* of all of it */
};

/* How many bytes there are before the values, from the first n >= 10 bytes of a file (12 if there
 * are that many). */
int stk__npy_header_bytes(const uint8_t *prefix, size_t n, size_t *out, struct stk_error *err);

/* Reads the header: all n bytes before the values. */
int stk__npy_parse(const uint8_t *header, size_t n, struct stk__npy *out, struct stk_error *err);
