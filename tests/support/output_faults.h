/* SPDX-License-Identifier: Apache-2.0 */
/* output_faults.h: for tests: the n-th call that writes fails, as on a disk that is full. A program is linked with
 * --wrap of the calls and says WRAP for each. One plan at a time; counting is safe from any thread.
 * Included by one file of a program. */
#pragma once
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

static atomic_long output_calls, output_fails_at; /* 0: none does */
static atomic_bool output_failed;

/* From now on the n-th call (from 1) fails; 0: none. */
static inline void arm_output(long n)
{
    atomic_store(&output_calls, 0);
    atomic_store(&output_failed, false);
    atomic_store(&output_fails_at, n);
}

/* Ends that; true if a call did fail. */
static inline bool disarm_output(void)
{
    atomic_store(&output_fails_at, 0);
    return atomic_load(&output_failed);
}

static inline bool output_fails(void)
{
    long n = atomic_fetch_add(&output_calls, 1) + 1;
    if (n != atomic_load(&output_fails_at))
        return false;
    atomic_store(&output_failed, true);
    errno = ENOSPC;
    return true;
}

#define WRAP(type, name, args, call)                                                               \
    type __real_##name args;                                                                       \
    type __wrap_##name args;                                                                       \
    type __wrap_##name args                                                                        \
    {                                                                                              \
        return output_fails() ? (type)-1 : (call);                                                 \
    }
