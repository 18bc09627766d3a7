/* SPDX-License-Identifier: Apache-2.0 */
/* inline.h: functions that are to be part of their callers, where their sizes and kinds are constants.
 *
 * A sanitizer checks every access, lane by lane where a load has a mask. Written out in every caller that would
 * be minutes of compiling: under one they are functions, and loops stay loops.
 */
#pragma once

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define STK__IS_CALLED 1
#elif defined __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STK__IS_CALLED 1
#endif
#endif

#if defined STK__IS_CALLED
#define INLINE static __attribute__((noinline, unused))
#else
#define INLINE static inline __attribute__((always_inline))
#endif

/* Before a loop that stays one. */
#if defined __clang__
#define STK__LOOP _Pragma("clang loop unroll(disable)")
#else
#define STK__LOOP _Pragma("GCC unroll 1")
#endif

/* Before a loop of a constant count: written out, so that arrays of sums become registers. */
#if defined STK__IS_CALLED
#define UNROLL STK__LOOP
#elif defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
