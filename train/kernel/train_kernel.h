/* SPDX-License-Identifier: Apache-2.0 */
/* train_kernel.h: the table of the training step's inner loops for the instruction set in force.
 *
 * As kernel/kernel.h, with one difference: versions of one kernel agree within a tolerance that its
 * header states, not bit for bit. One level gives the same bits every time.
 */
#pragma once
#include "train/kernel/activation_kernel.h"
#include "train/kernel/conv_kernel.h"
#include "train/kernel/dense_kernel.h"
#include "train/kernel/depthwise_kernel.h"
#include "train/kernel/loss_kernel.h"
#include "train/kernel/norm_kernel.h"
#include "train/kernel/optimizer_kernel.h"
#include "train/kernel/pixel_kernel.h"
#include "train/kernel/pool_kernel.h"
#include "train/kernel/wino_kernel.h"

#include <stdbool.h>

struct stk__train_kernels {
    /* In all versions but the scalar one, these maps may be of halves: y of convolutions, x and y of depthwise
     * ones and of Winograd's tiles, dx of depthwise ones, y of maxima and dy of their gradients, x and dx of
     * dense layers, all of normalisation. */
    bool takes_halves;
    struct stk__activation_kernels activation;
    struct stk__conv_kernels conv;
    struct stk__dense_kernels dense;
    struct stk__depthwise_kernels depthwise;
    struct stk__loss_kernels loss;
    struct stk__norm_kernels norm;
    struct stk__optimizer_kernels optimizer;
    struct stk__pixel_kernels pixel;
    struct stk__pool_kernels pool;
    struct stk__wino_kernels wino_4, wino_6;
};

/* The table for stk__cpu_level(); filled once per level. Any thread. */
const struct stk__train_kernels *stk__train_kernels(void);

/* The table for a level up to stk__cpu_best(), for the harness. */
const struct stk__train_kernels *stk__train_kernels_at(int cpu_level);
