/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h: the values of a model's weights, wherever they lie. */
#pragma once
#include "train/model/model.h"

/* float32, row-major, in the order of model->weight. Borrowed, unless made below. */
struct stk__weights {
    const struct stk__model *model;
    float *const *value;
};

/* Room for all of them in one block, zeros. stk__weights_free is due unless it fails. */
int stk__weights_new(const struct stk__model *model, struct stk__weights *out,
                     struct stk_error *err);
void stk__weights_free(struct stk__weights *weights);

/* What their initialisers draw by that seed. */
void stk__weights_draw(const struct stk__weights *weights, uint64_t seed);

/* "3×3×16×32". */
const char *stk__sides_text(const int64_t *shape, int rank, char text[STK__SHAPE_TEXT]);

/* Those of a trainer, where they lie. */
struct stk_trainer;
struct stk__weights stk__trainer_weights(const struct stk_trainer *trainer);
