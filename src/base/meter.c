/* SPDX-License-Identifier: Apache-2.0 */
/* meter.c: see meter.h. */
#define _GNU_SOURCE
#include "base/meter.h"

#include "base/clock.h"

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void stk__watch_start(struct stk__stopwatch *watch, const struct stk__sampling *sampling)
{
    watch->weight = sampling->n_skipped + 1;
    watch->cpu_ns = 0;
    watch->cpu_at = sampling->is_short ? 0 : thread_cpu_ns();
    watch->began_at = watch->lap_at = stk__clock_ns();
}

static uint64_t cpu_of(struct stk__stopwatch *watch, uint64_t wall_ns)
{
    if (wall_ns < STK__LONG_NS) {
        watch->cpu_at += watch->cpu_at ? wall_ns : 0;
        return wall_ns;
    }
    if (!watch->cpu_at) /* work that is short: the thread lost its core */
        return STK__LONG_NS;
    uint64_t now = thread_cpu_ns(), used = now > watch->cpu_at ? now - watch->cpu_at : 0;
    watch->cpu_at = now;
    return used < wall_ns ? used : wall_ns;
}

static uint64_t take_lap(struct stk__stopwatch *watch, uint64_t now)
{
    uint64_t cpu_ns = cpu_of(watch, now - watch->lap_at);
    watch->cpu_ns += cpu_ns;
    watch->lap_at = now;
    return cpu_ns;
}

void stk__watch_lap(struct stk__stopwatch *watch, struct stk__meter *meter)
{
    uint64_t before = watch->lap_at, now = stk__clock_ns();
    stk__count(&meter->cpu_ns, take_lap(watch, now) * watch->weight);
    stk__count(&meter->wall_ns, (now - before) * watch->weight);
    if (watch->on_lap)
        watch->on_lap(watch->ctx, meter, before, now);
}

void stk__watch_end(struct stk__stopwatch *watch, struct stk__sampling *sampling,
                    struct stk__meter *meter)
{
    const uint32_t most = 63;
    uint64_t now = stk__clock_ns();
    take_lap(watch, now);
    uint64_t wall_ns = now - watch->began_at, n = STK__LONG_NS / (wall_ns + 1);
    stk__count(&meter->wall_ns, wall_ns * watch->weight);
    stk__count(&meter->cpu_ns, watch->cpu_ns * watch->weight);
    sampling->is_short = wall_ns < STK__LONG_NS;
    sampling->n_skipped = 0;
    sampling->n_to_skip = n < most ? (uint32_t)n : most;
    watch->lap_at = 0;
    watch->ended_at = now;
}
