/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c: detection of instruction sets. */
#include "base/cpu.h"

#include "base/error.h"

#include <stdatomic.h>
#include <string.h>
#if defined __x86_64__
#include <cpuid.h>
#endif

const char *const stk__cpu_level_names[STK__N_CPU_LEVELS + 1] = { "scalar", "avx2", "avx512",
                                                                  NULL };

static _Atomic int limit = STK__N_CPU_LEVELS; /* pairs with itself: a plain flag */

#if defined __x86_64__
static enum stk__cpu_level detect(void)
{
    unsigned a, b, features = 0, d;
    __builtin_cpu_init();
    bool has_f16c = __get_cpuid(1, &a, &b, &features, &d) && (features & bit_F16C);
    bool has_avx2 = has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
    return has_avx512 ? STK__CPU_AVX512 : has_avx2 ? STK__CPU_AVX2 : STK__CPU_SCALAR;
}
#else
static enum stk__cpu_level detect(void)
{
    return STK__CPU_SCALAR;
}
#endif

/* Asking takes long in a virtual machine. */
enum stk__cpu_level stk__cpu_best(void)
{
    static _Atomic int known = -1; /* pairs with itself: a memo */
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) {
        level = (int)detect();
        atomic_store_explicit(&known, level, memory_order_relaxed);
    }
    return (enum stk__cpu_level)level;
}

enum stk__cpu_level stk__cpu_level(void)
{
    int best = (int)stk__cpu_best(), allowed = atomic_load_explicit(&limit, memory_order_relaxed);
    return (enum stk__cpu_level)(best < allowed ? best : allowed);
}

int stk_cpu_limit(const char *level, struct stk_error *err)
{
    if (!strcmp(level, "auto")) {
        atomic_store(&limit, STK__N_CPU_LEVELS);
        return STK_OK;
    }
    for (int i = 0; i < STK__N_CPU_LEVELS; i++) {
        if (strcmp(level, stk__cpu_level_names[i]))
            continue;
        if (i > (int)stk__cpu_best())
            return stk_fail(err, STK_VALUE, "cpu: this machine has no %s; its best is %s", level,
                            stk__cpu_level_names[stk__cpu_best()]);
        atomic_store(&limit, i);
        return STK_OK;
    }
    return stk_fail(err, STK_VALUE, "cpu: '%s' is not one of auto, scalar, avx2, avx512", level);
}
