/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hdf5_filters.c: any bytes as a stored HDF5 chunk, through any filters of ours. libhdf5's own
 * parser is not fuzzed here.
 *
 * Input: number of filters, a byte for each, which are left out, 12 bits of chunk size, data. */
#include "codec/array/hdf5_filters.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stk__hdf5_filters filters = { 0 };
    size_t n = size ? data[0] % (STK__HDF5_MAX_FILTERS + 1) : 0;
    if (size < n + 4)
        return 0;
    for (size_t i = 0; i < n; i++) {
        filters.item[i].kind = data[1 + i] % 4;
        filters.item[i].item_bytes = (data[1 + i] >> 2) % 16 + 1u;
    }
    filters.n = (int)n;
    const uint8_t *rest = data + 1 + n;
    struct stk__hdf5_stored chunk = { .left_out = rest[0],
                                      .bytes = (size_t)(rest[1] | (rest[2] & 15) << 8) };
    chunk.n = size - n - 4;
    uint8_t *src = malloc(chunk.n + 1), *dst = malloc(chunk.bytes + 1);
    size_t spare_bytes = stk__hdf5_spare_bytes(&filters, chunk.bytes);
    uint8_t *spare = aligned_alloc(64, (spare_bytes + 127) / 64 * 64);
    const uint8_t *out;
    if (src && dst && spare) {
        memcpy(src, rest + 3, chunk.n);
        chunk.src = src;
        if (!stk__hdf5_unfilter(&filters, &chunk, dst, spare, &out) && out != dst &&
            (out < src || out + chunk.bytes > src + chunk.n))
            abort();
    }
    free(src);
    free(dst);
    free(spare);
    return 0;
}
