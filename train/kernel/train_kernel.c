/* SPDX-License-Identifier: Apache-2.0 */
/* train_kernel.c: the tables, one per level, each the one below with faster versions over it. */
#include "train/kernel/train_kernel.h"

#include "base/cpu.h"

#include <pthread.h>

static struct stk__train_kernels tables[STK__N_CPU_LEVELS]; /* written once, under `filled` */
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill_scalar(struct stk__train_kernels *table)
{
    stk__activation_fill_scalar(&table->activation);
    stk__conv_fill_scalar(&table->conv);
    stk__dense_fill_scalar(&table->dense);
    stk__depthwise_fill_scalar(&table->depthwise);
    stk__loss_fill_scalar(&table->loss);
    stk__norm_fill_scalar(&table->norm);
    stk__optimizer_fill_scalar(&table->optimizer);
    stk__pixel_fill_scalar(&table->pixel);
    stk__pool_fill_scalar(&table->pool);
    stk__wino_4_fill_scalar(&table->wino_4);
    stk__wino_6_fill_scalar(&table->wino_6);
}

#if defined __x86_64__
static void fill_avx2(struct stk__train_kernels *table)
{
    table->takes_halves = true;
    stk__activation_fill_avx2(&table->activation);
    stk__conv_fill_avx2(&table->conv);
    stk__dense_fill_avx2(&table->dense);
    stk__depthwise_fill_avx2(&table->depthwise);
    stk__loss_fill_avx2(&table->loss);
    stk__norm_fill_avx2(&table->norm);
    stk__optimizer_fill_avx2(&table->optimizer);
    stk__pixel_fill_avx2(&table->pixel);
    stk__pool_fill_avx2(&table->pool);
    stk__wino_4_fill_avx2(&table->wino_4);
    stk__wino_6_fill_avx2(&table->wino_6);
}

static void fill_avx512(struct stk__train_kernels *table)
{
    stk__activation_fill_avx512(&table->activation);
    stk__conv_fill_avx512(&table->conv);
    stk__dense_fill_avx512(&table->dense);
    stk__depthwise_fill_avx512(&table->depthwise);
    stk__loss_fill_avx512(&table->loss);
    stk__norm_fill_avx512(&table->norm);
    stk__optimizer_fill_avx512(&table->optimizer);
    stk__pixel_fill_avx512(&table->pixel);
    stk__pool_fill_avx512(&table->pool);
    stk__wino_4_fill_avx512(&table->wino_4);
    stk__wino_6_fill_avx512(&table->wino_6);
}
#endif

/* Functions that fill a table are compiled for its level: none above the machine's may be called. */
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

const struct stk__train_kernels *stk__train_kernels_at(int cpu_level)
{
    pthread_once(&filled, fill_all);
    return &tables[cpu_level];
}

const struct stk__train_kernels *stk__train_kernels(void)
{
    return stk__train_kernels_at((int)stk__cpu_level());
}
