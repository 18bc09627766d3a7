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

static void ask_cpu(struct stk__stopwatch *watch, uint64_t now)
{
    watch->cpu_at = thread_cpu_ns();
    watch->asked_at = now;
}

void stk__watch_start(struct stk__stopwatch *watch, const struct stk__sampling *sampling)
{
    uint64_t now = stk__clock_ns();
    watch->weight = sampling->n_skipped + 1;
    watch->cpu_ns = 0;
    if (!sampling->is_short || !watch->asked_at || now - watch->asked_at > STK__ASK_NS) {
        ask_cpu(watch, now);
        now = stk__clock_ns();
    } else if (sampling->n_skipped) {
        watch->cpu_at += STK__LONG_NS; /* they took about as long */
    }
    watch->began_at = watch->lap_at = now;
}

static uint64_t cpu_of(struct stk__stopwatch *watch, uint64_t wall_ns, uint64_t now)
{
    if (wall_ns < STK__LONG_NS) {
        watch->cpu_at += wall_ns;
        return wall_ns;
    }
    uint64_t expected = watch->cpu_at;
    ask_cpu(watch, now);
    uint64_t used = watch->cpu_at > expected ? watch->cpu_at - expected : 0;
    return used < wall_ns ? used : wall_ns;
}

static uint64_t take_lap(struct stk__stopwatch *watch, uint64_t now)
{
    uint64_t cpu_ns = cpu_of(watch, now - watch->lap_at, now);
    watch->cpu_ns += cpu_ns;
    watch->lap_at = now;
    return cpu_ns;
}

void stk__watch_lap(struct stk__stopwatch *watch, struct stk__meter *meter)
{
    uint64_t before = watch->lap_at, now = stk__clock_ns();
    stk__meter_add(&meter->cpu_ns, take_lap(watch, now) * watch->weight);
    stk__meter_add(&meter->wall_ns, (now - before) * watch->weight);
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
    stk__meter_add(&meter->wall_ns, wall_ns * watch->weight);
    stk__meter_add(&meter->cpu_ns, watch->cpu_ns * watch->weight);
    sampling->is_short = wall_ns < STK__LONG_NS;
    sampling->n_skipped = 0;
    sampling->n_to_skip = n < most ? (uint32_t)n : most;
    watch->lap_at = 0;
    watch->ended_at = now;
}
