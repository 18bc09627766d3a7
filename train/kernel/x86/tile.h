/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h: functions whose sizes are constants where they are called, and whose sums stay in registers. */
#pragma once

#define TILE static inline __attribute__((always_inline))

/* Before a loop of a constant count: written out, so that arrays of sums become registers. */
#if defined __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNROLL                                                                                     \
    _Pragma("clang loop unroll(disable)") /* each access is checked: minutes to compile */
#else
#define UNROLL _Pragma("clang loop unroll(full)")
#endif
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
