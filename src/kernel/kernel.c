/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c: the tables, one per level, each the one below with faster versions written over it. */
#include "kernel/kernel.h"

#include "base/cpu.h"

#include <pthread.h>

static struct stk__kernels tables[STK__N_CPU_LEVELS]; /* written once, under `filled` */
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill_scalar(struct stk__kernels *table)
{
    stk__image_fill_scalar(&table->image);
    stk__resample_fill_scalar(&table->resample);
    stk__colour_fill_scalar(&table->colour);
    stk__elementwise_fill_scalar(&table->elementwise);
    stk__jpeg_fill_scalar(&table->jpeg);
    table->csv_marks = stk__csv_marks_scalar;
    table->csv_digits = stk__csv_digits_scalar;
    stk__moments_fill_scalar(&table->moments);
    table->permute = stk__permute_scalar;
    stk__warp_fill_scalar(&table->warp);
}

#if defined __x86_64__
static void fill_avx2(struct stk__kernels *table)
{
    stk__image_fill_avx2(&table->image);
    stk__lerp_fill_avx2(&table->resample);
    stk__span_fill_avx2(&table->resample);
    stk__rows_fill_avx2(&table->resample);
    stk__colour_fill_avx2(&table->colour);
    stk__elementwise_fill_avx2(&table->elementwise);
    stk__jpeg_fill_avx2(&table->jpeg);
    table->csv_marks = stk__csv_marks_avx2;
    table->csv_digits = stk__csv_digits_avx2;
    stk__moments_fill_avx2(&table->moments);
    table->permute = stk__permute_avx2;
    stk__warp_fill_avx2(&table->warp);
}

static void fill_avx512(struct stk__kernels *table)
{
    stk__image_fill_avx512(&table->image);
    stk__rows_fill_avx512(&table->resample);
    stk__colour_fill_avx512(&table->colour);
    stk__elementwise_fill_avx512(&table->elementwise);
    table->permute = stk__permute_avx512;
}
#endif

/* Even the functions that fill a table are compiled for its level: none above the machine's may be
 * called. */
static void fill_all(void)
{
    for (int level = 0; level <= (int)stk__cpu_best(); level++) {
        fill_scalar(&tables[level]);
#if defined __x86_64__
        if (level >= STK__CPU_AVX2)
            fill_avx2(&tables[level]);
        if (level >= STK__CPU_AVX512)
            fill_avx512(&tables[level]);
#endif
    }
}

const struct stk__kernels *stk__kernels_at(int cpu_level)
{
    pthread_once(&filled, fill_all);
    return &tables[cpu_level];
}

const struct stk__kernels *stk__kernels(void)
{
    return stk__kernels_at((int)stk__cpu_level());
}
