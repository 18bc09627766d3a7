/* SPDX-License-Identifier: Apache-2.0 */
/* record_index_data.h: what an index is made of; for those who keep it in files. */
#pragma once
#include "io/record_index.h"

enum { STK__INDEX_BLOCK = 64 };

/* Either `wide`, or `base` and `step`. */
struct stk__record_index {
    uint64_t n, cap, end;
    uint64_t *wide;
    uint64_t *base; /* of each block of 64 */
    uint32_t *step; /* behind it */
    bool is_private;
};

static inline uint64_t stk__index_blocks(uint64_t n)
{
    return (n + STK__INDEX_BLOCK - 1) / STK__INDEX_BLOCK;
}
