/* SPDX-License-Identifier: Apache-2.0 */
/* update.h: what becomes of a weight in a step: one record per weight.
 *
 *     gradient ─▶ 0 where masked ─▶ optimizer: state, weight ─▶ 0 where masked ─▶ average
 *     weight, whenever it has changed ─▶ 0 where masked ─▶ derive ─▶ used: what layers read
 *
 * Who has gradients gives them to stk__update_span, span by span: the pass over those that are
 * stored, and wide dense layers, which store none, while they go back or late. What the same span
 * is in the norm of all gradients says stk__update_squares. Nobody else knows what is asked for of
 * a weight, so what is new about weights is new here alone.
 *
 * Layers read used[w], in the forward and in the backward pass, and gradients are those of what
 * they read. It is the weight itself unless `derive` makes other values of it. Files have the
 * weight.
 *
 * Spans of a weight are on any threads. What is asked for changes between steps alone; whoever
 * changes it says stk_trainer_changed.
 */
#pragma once
#include "train/optimizer/optimizer.h"

struct stk__weight_update {
    float *weight;   /* as long as the weight is: so are those below */
    float *slot[2];  /* state of the optimizer; NULL: has none */
    bool is_used_up; /* the last step's gradient was never stored */

    /* What is asked for. */
    bool is_frozen;     /* it stays as it is, and its gradient counts for nothing */
    bool is_undecayed;  /* weight decay leaves it alone */
    double rate_factor; /* of the learning rate: 1 */
    const uint8_t *
        mask; /* NULL, or 0 where values are 0 and stay so, and their gradients count for nothing */
    float *average;      /* NULL, or follows the weight: behind each of its updates */
    float average_share; /* average += average_share * (weight - average) */
    /* NULL, or writes values first to first + n of `to` from the weight, all of which may be looked
     * at. */
    void (*derive)(const struct stk__weight_update *update, int64_t first, int64_t n, float *to);
    const void *derive_context;

    struct stk__step_rates rates; /* of the step */
};

struct stk__updates {
    const struct stk__optimizer *optimizer;
    int n_weights;
    struct stk__weight_update *of; /* of each weight */
    float **used;                  /* of each weight; the same memory, or what `derive` writes to */
};

/* A record in which nothing is asked for. */
struct stk__weight_update stk__update_of(float *weight, float *first, float *second);

/* The rates of all weights for a step; gradients are multiplied by `factor`. */
void stk__updates_begin(struct stk__updates *updates, int64_t step, double factor);

/* A gradient, of some values of a weight. */
struct stk__gradient_span {
    int weight;
    int64_t first, n;
    const float *at;
};

/* Whether its gradient counts for anything; one that is not stored need not be made then. */
bool stk__update_wants_gradient(const struct stk__updates *updates, int weight);

/* Updates these values. False: some of the gradients that count were not finite, and weights are
 * changed all the same. */
bool stk__update_span(const struct stk__updates *updates, const struct stk__gradient_span *span);

/* The sum of squares of the gradients that count; finite if and only if they all are. */
double stk__update_squares(const struct stk__updates *updates,
                           const struct stk__gradient_span *span);

/* Before weights that have changed are read: whether anything is to be done, and it, in two turns
 * with all threads at the end of each. */
bool stk__updates_want_settling(const struct stk__updates *updates);
void stk__update_settle_mask(const struct stk__updates *updates, int weight, int64_t first,
                             int64_t n);
void stk__update_settle_used(const struct stk__updates *updates, int weight, int64_t first,
                             int64_t n);
