/* SPDX-License-Identifier: Apache-2.0 */
/* latency.h: how long things took, as counts of times that are about the same.
 *
 * An octave is cut into eight buckets, so a percentile is right to a few percent; the greatest is
 * exact. Whoever owns one guards it.
 */
#pragma once
#include <stdint.h>

enum { STK__PER_OCTAVE_BITS = 3, STK__LATENCY_BUCKETS = (64 - STK__PER_OCTAVE_BITS + 1) * 8 };

struct stk__latency {
    uint64_t max_ns;
    uint64_t count[STK__LATENCY_BUCKETS];
};

/* Times below 8 ns have a bucket each; then eight to an octave. */
static inline unsigned stk__latency_bucket(uint64_t ns)
{
    if (ns >> STK__PER_OCTAVE_BITS == 0)
        return (unsigned)ns;
    unsigned octave = 63u - (unsigned)__builtin_clzll(ns) - STK__PER_OCTAVE_BITS;
    return (octave << STK__PER_OCTAVE_BITS) + (unsigned)(ns >> octave);
}

static inline void stk__latency_add(struct stk__latency *latency, uint64_t ns)
{
    latency->max_ns = ns > latency->max_ns ? ns : latency->max_ns;
    latency->count[stk__latency_bucket(ns)]++;
}

/* How many there were. */
uint64_t stk__latency_n(const struct stk__latency *latency);

/* The time that this share of all (0 to 1) did not exceed; 0 when there are none. */
uint64_t stk__latency_at(const struct stk__latency *latency, double share);
