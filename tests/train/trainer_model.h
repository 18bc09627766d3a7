/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_model.h: a model's forward pass and loss in double, by obvious loops; gradients come from
 * differences. What the training step is checked against. */
#pragma once

#include "sanitized.h"
#include "train/loss/loss.h"
#include "train/model/model.h"

struct reference {
    const struct stk__model *model;
    double **weight;           /* of each weight, as many as it has */
    double **value;            /* of each node: [rows][height][width][channels] */
    double **mean, **variance; /* of each node: what a batchnorm found */
    int rows;
    bool trains;
    uint64_t seed;
    int64_t n_batches;
    /* How far every value and every mean is off by chance, relative to itself, and which chance: what
     * rounding may do to a model. The same at each call, so that differences are as smooth as without it. */
    double noise;
    uint32_t noise_seed;
};

struct reference reference_new(const struct stk__model *model, int rows);
void reference_free(struct reference *reference);

/* All values, from images [rows][height][width][channels]. */
void reference_forward(struct reference *reference, const float *images);

/* The mean loss of the values: of labels [rows], or, where these are NULL, of a target for each output. A
 * last softmax or sigmoid is what the loss wants probabilities from. */
double reference_loss(const struct reference *reference, const struct stk__loss *loss,
                      const int32_t *labels, const float *targets);
