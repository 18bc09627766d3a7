/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h: channels of a pixel vector by vector, behind a vector header. */
#pragma once
#include "train/kernel/map.h"

/* n: lanes. A constant LANES makes it a plain load. */
INLINE vector get(const float *from, int n)
{
    return n >= LANES ? load(from) : load_some(from, n);
}

INLINE void put(float *to, vector value, int n)
{
    if (n >= LANES)
        store(to, value);
    else
        store_some(to, value, n);
}

/* Values of a map from `at` on. dtype: STK_F32, or what its halves are, where it should be known when the
 * function is compiled. */
INLINE vector get_from(const int dtype, const struct stk__read_map *map, int64_t at, int n)
{
    return dtype == STK_F32 ? get(map->at + at, n) : load_halves(dtype, map->halves.at + at, n);
}

INLINE void put_to(const struct stk__write_map *map, int64_t at, vector value, int n)
{
    if (map->halves.at)
        store_halves(map->halves.dtype, map->halves.at + at, value, n);
    else
        put(map->at + at, value, n);
}

/* ACT(dtype, …) with a constant for the type of a map's values. */
#define BY_DTYPE(map, ACT, ...)                                                                    \
    do {                                                                                           \
        if (!(map)->halves.at)                                                                     \
            ACT(STK_F32, __VA_ARGS__);                                                             \
        else if ((map)->halves.dtype == STK_F16)                                                   \
            ACT(STK_F16, __VA_ARGS__);                                                             \
        else                                                                                       \
            ACT(STK_BF16, __VA_ARGS__);                                                            \
    } while (0)

/* NaN stays. */
INLINE vector within(vector value, vector low, vector high)
{
    return least(high, greatest(low, value));
}

/* DO(c, lanes) for vectors of channels, the last one maybe shorter. */
#define EACH_CHANNELS(channels, DO)                                                                \
    do {                                                                                           \
        int c = 0;                                                                                 \
        for (; c + LANES <= (channels); c += LANES)                                                \
            DO(c, LANES);                                                                          \
        if (c < (channels))                                                                        \
            DO(c, (channels)-c);                                                                   \
    } while (0)

/* The same for a span of any size. */
#define EACH_SPAN(n, DO)                                                                           \
    do {                                                                                           \
        size_t i = 0;                                                                              \
        for (; i + LANES <= (n); i += LANES)                                                       \
            DO(i, LANES);                                                                          \
        if (i < (n))                                                                               \
            DO(i, (int)((n)-i));                                                                   \
    } while (0)
