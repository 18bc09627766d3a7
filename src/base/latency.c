/* SPDX-License-Identifier: Apache-2.0 */
/* latency.c: see latency.h. */
#include "base/latency.h"

/* Where a bucket begins; exact as long as a double is. */
static double begin_of(unsigned bucket)
{
    const unsigned per_octave = 1u << STK__PER_OCTAVE_BITS;
    if (bucket < per_octave)
        return bucket;
    unsigned octave = bucket / per_octave - 1;
    return (double)(per_octave + bucket % per_octave) * (double)((uint64_t)1 << octave);
}

uint64_t stk__latency_n(const struct stk__latency *latency)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < STK__LATENCY_BUCKETS; i++)
        n += latency->count[i];
    return n;
}

uint64_t stk__latency_at(const struct stk__latency *latency, double share)
{
    double wanted = share * (double)stk__latency_n(latency), seen = 0;
    for (unsigned i = 0; i < STK__LATENCY_BUCKETS; i++) {
        double here = (double)latency->count[i];
        if (here == 0 || seen + here < wanted) {
            seen += here;
            continue;
        }
        double from = begin_of(i), to = begin_of(i + 1);
        double ns = from + (to - from) * (wanted - seen) / here;
        return ns < (double)latency->max_ns ? (uint64_t)ns : latency->max_ns;
    }
    return latency->max_ns;
}
