/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h: what the processor can do, and what we were told to use. */
#pragma once
#include <stoker/stoker.h>

/* avx512 is what Ice Lake and Zen 4 began with: F, BW, DQ, VL and VBMI. */
enum stk__cpu_level { STK__CPU_SCALAR, STK__CPU_AVX2, STK__CPU_AVX512, STK__N_CPU_LEVELS };

/* Levels by name, for the option and for messages. */
extern const char *const stk__cpu_level_names[STK__N_CPU_LEVELS + 1];

/* The best level of this processor and operating system; detected once. */
enum stk__cpu_level stk__cpu_best(void);

/* The level in force: the best, unless limited by stk_cpu_limit. Any thread. */
enum stk__cpu_level stk__cpu_level(void);
