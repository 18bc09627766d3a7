/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c: four independent multiply lanes over 32-byte blocks, folded by stk__hash_mix. */
#include "base/hash.h"

#include <string.h>

static uint64_t load_u64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t lane(uint64_t acc, uint64_t word)
{
    acc = (acc ^ word) * 0x9fb21c651e98df25u;
    return acc ^ acc >> 32;
}

uint64_t stk__hash_bytes(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = bytes ? data : "", *end = p + bytes;
    uint64_t acc[4] = { h ^ 1, h ^ 2, h ^ 3, h ^ 4 };
    for (; end - p >= 32; p += 32)
        for (int i = 0; i < 4; i++)
            acc[i] = lane(acc[i], load_u64(p + 8 * i));
    for (; end - p >= 8; p += 8)
        acc[0] = lane(acc[0], load_u64(p));
    uint64_t last = 0;
    memcpy(&last, p, (size_t)(end - p));
    acc[1] = lane(acc[1], last);
    return stk__hash_mix(stk__hash_mix(acc[0], acc[1]),
                         stk__hash_mix(stk__hash_mix(acc[2], acc[3]), bytes));
}
