/* SPDX-License-Identifier: Apache-2.0 */
/* meter.h: what one thread counts of one kind of work, and how its time is taken.
 *
 * A meter is written by its thread alone and read by anybody at any time, so it needs neither lock
 * nor read-modify-write. Counts are exact. Time is sampled where work is short: a piece of work is
 * timed after about STK__LONG_NS of pieces that were not, and stands for these as well (`weight`).
 * A clock costs 25 ns, so that is below half a percent. Work that is longer is timed each time.
 *
 *     begin ──────── lap(source) ─── lap(decode) ─────────── lap(resize) ── end
 *     |     source     |    decode     |        resize          |   rest   |
 *
 * The CPU time of a thread is a system call. It is asked for at laps that are long, and every
 * STK__ASK_NS; in between it is expected to be what it was and what was counted since. A short lap counts
 * as all computing, since one in which the thread lost its core is not short. What is missing from the
 * expected to the next reading belongs to the long lap that it is read at.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { STK__LONG_NS = 50000, STK__ASK_NS = 10000000 };

struct stk__meter {
    _Atomic uint64_t calls, rows_in, rows_out;
    _Atomic uint64_t rows_dropped; /* came in and were filtered out */
    _Atomic uint64_t rows_warned;  /* made although something is wrong with their data */
    _Atomic uint64_t span_bytes; /* made, in fields whose rows differ in size; sampled as time is */
    _Atomic uint64_t wall_ns, cpu_ns;
};

/* By the thread whose counter it is. */
static inline void stk__meter_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline uint64_t stk__counted(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* How often one thread times work of one kind. */
struct stk__sampling {
    uint32_t n_skipped, n_to_skip;
    bool is_short; /* the last one that was timed */
};

/* The piece of work a thread is at. */
struct stk__stopwatch {
    uint64_t began_at, lap_at; /* lap_at 0: it is not timed */
    uint64_t cpu_at;           /* expected reading of the thread's CPU clock */
    uint64_t asked_at;         /* when it was read; 0: never */
    uint64_t cpu_ns;           /* of the laps so far */
    uint64_t weight;           /* pieces of work that it stands for */
    uint64_t ended_at;         /* the last one that was timed */
    /* is told of every lap; NULL: nobody is */
    void (*on_lap)(void *ctx, const struct stk__meter *meter, uint64_t began, uint64_t ended);
    void *ctx;
};

void stk__watch_start(struct stk__stopwatch *watch, const struct stk__sampling *sampling);

static inline void stk__watch_begin(struct stk__stopwatch *watch, struct stk__sampling *sampling)
{
    watch->lap_at = 0;
    if (sampling->n_skipped < sampling->n_to_skip)
        sampling->n_skipped++;
    else
        stk__watch_start(watch, sampling);
}

/* Everything since the lap before was work of this meter. */
void stk__watch_lap(struct stk__stopwatch *watch, struct stk__meter *meter);

/* Adds the whole to a meter. */
void stk__watch_end(struct stk__stopwatch *watch, struct stk__sampling *sampling,
                    struct stk__meter *meter);

static inline bool stk__watch_is_on(const struct stk__stopwatch *watch)
{
    return watch->lap_at != 0;
}
