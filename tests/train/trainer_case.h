/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_case.h: one model, one batch: outputs, losses, gradients, statistics and weights after a step, beside
 * what a reference in double says. */
#pragma once

#include "trainer_model.h"

#include <stdbool.h>
#include <stdint.h>

struct trial {
    const char *chain;
    const char *loss; /* NULL: cross_entropy() */
};

/* How far results may be from those in double: outputs, losses and statistics relative to 1 and their size;
 * gradients to the greatest of their weight, and of all weights. Values of maps are within 2^-11 and 2^-8 of
 * themselves in half precision, and a maximum or a ReLU of two that are as close may go the other way. Where
 * results are not as near, the reference is asked what noise of that size does to them. */
struct precision {
    const char *name, *loss_scale;
    double output, gradient, statistic;
    double of_all; /* how much of the greatest of all gradients counts */
    double noise;
};

extern const struct precision float_precision, half_precisions[2];

struct setting {
    int threads, max_batch, rows;
    const char *cpu; /* of stk_cpu_limit; who runs cases sets it */
    const struct precision *precision;
    const char *optimizer; /* NULL: no step is looked at; sgd(…) or adam(…) without decay */
    double rate;           /* the optimizer's */
    uint32_t data;         /* which images and targets */
    bool has_bytes;        /* images are uint8 */
    bool has_values;       /* targets of cross entropy are a value for each class */
    bool is_tolerant;      /* of noise */
    bool is_measured;      /* convolutions are carried out by whatever was fastest just now */
};

/* What was wrong is appended to the report. Returns how many things were. */
struct stk__text;
int run_case(const struct trial *trial, const struct setting *setting, struct stk__text *report);
