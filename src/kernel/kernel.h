/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: the table of inner loops for the instruction set in force.
 *
 * Kernels work on raw pointers, allocate nothing and cannot fail. Every version of one gives the
 * same bits (files are compiled without contraction and keep one order of operations), so which
 * one ran never shows.
 */
#pragma once
#include "kernel/colour.h"
#include "kernel/csv_kernel.h"
#include "kernel/elementwise.h"
#include "kernel/image.h"
#include "kernel/jpeg.h"
#include "kernel/moments.h"
#include "kernel/permute.h"
#include "kernel/resample.h"
#include "kernel/warp.h"

struct stk__kernels {
    struct stk__image_kernels image;
    struct stk__resample_kernels resample;
    struct stk__colour_kernels colour;
    struct stk__elementwise_kernels elementwise;
    struct stk__jpeg_kernels jpeg;
    stk__csv_marks_fn csv_marks;
    stk__csv_digits_fn csv_digits;
    struct stk__moment_kernels moments;
    stk__permute_fn permute;
    struct stk__warp_kernels warp;
};

/* The table for stk__cpu_level(); filled once per level. Any thread. */
const struct stk__kernels *stk__kernels(void);

/* The table for a level up to stk__cpu_best(), for the harness. */
const struct stk__kernels *stk__kernels_at(int cpu_level);
