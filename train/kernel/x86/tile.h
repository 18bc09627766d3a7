/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h: functions whose sizes are constants where they are called, and whose sums stay in registers. */
#pragma once

/* A sanitizer checks every access, lane by lane where a load has a mask. Written out in every tile that would be
 * minutes of compiling: there, tiles are functions and loops stay loops. */
#if defined __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STK__TILES_ARE_CALLED 1
#endif
#endif

#if defined STK__TILES_ARE_CALLED
#define TILE static __attribute__((noinline, unused))
#else
#define TILE static inline __attribute__((always_inline))
#endif

/* Before a loop of a constant count: written out, so that arrays of sums become registers. */
#if defined STK__TILES_ARE_CALLED
#define UNROLL _Pragma("clang loop unroll(disable)")
#elif defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
