/* SPDX-License-Identifier: Apache-2.0 */
/* channels.h: channels of a pixel vector by vector, behind a vector header. */
#pragma once

/* n: lanes. A constant LANES makes it a plain load. */
TILE vector get(const float *from, int n)
{
    return n >= LANES ? load(from) : load_some(from, n);
}

TILE void put(float *to, vector value, int n)
{
    if (n >= LANES)
        store(to, value);
    else
        store_some(to, value, n);
}

/* NaN stays. */
TILE vector within(vector value, vector low, vector high)
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
