/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_weights.c: the weights of a trainer as files take them. */
#include "train/model/weights.h"
#include "train/trainer/trainer.h"

struct stk__weights stk__trainer_weights(const struct stk_trainer *trainer)
{
    return (struct stk__weights){ trainer->model, trainer->weight };
}
