/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h: what a public struct stk_trainer is.
 *
 *     trainer.c           options, and the memory of everything
 *     trainer_input.c     checks of images and targets
 *     trainer_run.c       a program by the team; a pass over nothing, before the first step
 *     trainer_update.c    from gradients to weights
 *     trainer_step.c      steps, evaluation, prediction
 *     trainer_state.c     weights, gradients and state as arrays
 */
#pragma once
#include "train/loss/loss_scale.h"
#include "train/step/step.h"

#include <stoker/train.h>

#include <sys/types.h>

/* Memory of 64-byte aligned floats. */
struct stk__floats {
    float *at;
    size_t bytes;
};

struct stk_trainer {
    const struct stk__model *model;
    struct stk_arena arena;
    struct stk_trainer_options options; /* in force; texts are in the arena */
    struct stk__optimizer optimizer;
    struct stk__loss loss;
    struct stk__loss_scale scale;
    bool has_scale;
    int dtype;     /* of maps */
    pid_t process; /* its threads are this one's */

    struct stk__step_plan plan;
    struct stk__team *team;
    struct stk__floats weights, gradients, first, second, packed, sums, tensors;
    int64_t n_trainable;         /* floats in all */
    float **weight, **gradient;  /* of each weight; NULL: has none */
    struct stk__updates updates; /* with the state of the optimizer, and what layers read */
    const char **slot_name[2];   /* once somebody asked for them */
    float **thread_sums;         /* of each thread */
    struct stk__found *found;    /* of each thread */
    double *squares;             /* of each thread, a line of cache apart */
    float *image_scale, *image_offset;
    int packed_for;        /* what packed weights are good for: 0 nothing, 1 use, 2 training */
    bool stores_gradients; /* all of them, before any weight changes: asked for, or by one that was
                              used up */

    int64_t step, n_batches;
    bool has_gradients; /* of a batch, that no update has used */
    bool seen_gradients;
    float gradient_scale; /* what gradients are too large by */
    struct stk_step last;
    double *seconds; /* of each op and thread, when they are measured */
};

/* Whether the model's outputs are what the loss takes: when a trainer is made that trains, else
 * when a loss is asked for. */
int stk__trainer_check_loss(const struct stk_trainer *trainer, struct stk_error *err);

/* As stk_trainer_new; with all gradients stored before any weight changes, also those that a step
 * can use up on the way: for who must see them whole. Bits of weights are the same. */
int stk__trainer_make(const struct stk_model *model, const struct stk_trainer_options *options,
                      bool stores_gradients, struct stk_trainer **out, struct stk_error *err);

/* ---- trainer_input.c ---- */

/* Checks a batch and fills a run in; targets may be NULL. */
int stk__trainer_take(struct stk_trainer *trainer, const struct stk_view *images,
                      const struct stk_view *targets, struct stk__run *run, struct stk_error *err);

/* ---- trainer_run.c ---- */

/* Packs weights if they changed, runs the program, and collects gradients where it trains. */
void stk__trainer_run(struct stk_trainer *trainer, struct stk__run *run);

/* One pass over images of zeros, in which candidates meet the bands of steps; changes nothing
 * else. */
int stk__trainer_rehearse(struct stk_trainer *trainer, struct stk_error *err);

/* The late parts of a program. */
void stk__trainer_run_late(struct stk_trainer *trainer, struct stk__run *run);

/* Adds up what threads found. */
struct stk__found stk__trainer_found(const struct stk_trainer *trainer);

/* ---- trainer_update.c ---- */

/* Whether gradients must be known of all weights before one changes. */
bool stk__update_is_late(const struct stk_trainer *trainer);

/* One update, or none where gradients are not finite: fills in what a step says of it. The run is
 * the one that made the gradients, whose late parts are run; NULL: it had none. */
int stk__trainer_update(struct stk_trainer *trainer, struct stk__run *run, struct stk_step *out,
                        struct stk_error *err);

/* Whether gradients must be known to be finite, and no more than that, before weights change. */
bool stk__update_puts_off(const struct stk_trainer *trainer);

/* Statistics become part of the weights. */
void stk__trainer_keep(struct stk_trainer *trainer, const struct stk__run *run);
