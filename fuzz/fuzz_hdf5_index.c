/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hdf5_index.c: any bytes as an object header and a chunk B-tree. libhdf5's own parser is not
 * fuzzed here. */
#include "codec/array/hdf5_index.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static int read_input(void *ctx, uint64_t offset, size_t bytes, uint8_t *dst)
{
    const struct input *in = ctx;
    if (offset > in->size || bytes > in->size - offset)
        return -1;
    memcpy(dst, in->data + offset, bytes);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, size };
    const struct stk__hdf5_bytes file = { read_input, &in, 0 };
    const struct stk__grid grid = { .rank = 1, .item_bytes = 1, .dims = { 40 }, .chunk = { 4 } };
    struct stk__hdf5_chunk *table = malloc(10 * sizeof *table);
    if (table && stk__hdf5_index(&file, 0, &grid, table))
        for (int i = 0; i < 10; i++)
            if (table[i].offset == STK__HDF5_ABSENT && table[i].bytes)
                abort();
    free(table);
    return 0;
}
