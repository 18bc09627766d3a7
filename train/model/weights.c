/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c: a block for the weights of a model that nobody trains. */
#include "train/model/weights.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE = 16 }; /* floats: each weight begins at a cache line */

static size_t floats_of(const struct stk__weight *weight)
{
    return ((size_t)weight->n_values + LINE - 1) / LINE * LINE;
}

int stk__weights_new(const struct stk__model *model, struct stk__weights *out,
                     struct stk_error *err)
{
    size_t heads = ((size_t)model->n_weights * sizeof(float *) + 63) / 64 * 64, floats = 0;
    for (int i = 0; i < model->n_weights; i++)
        floats += floats_of(&model->weight[i]);
    float **value = calloc(1, heads + floats * sizeof(float) + 64);
    *out = (struct stk__weights){ model, value };
    if (!value)
        return stk_fail(err, STK_MEMORY,
                        "there is no memory for the %.1f MB of the model's weights",
                        (double)floats * 4e-6);
    float *at = (float *)(void *)((char *)value + heads);
    for (int i = 0; i < model->n_weights; i++) {
        value[i] = at;
        at += floats_of(&model->weight[i]);
    }
    return STK_OK;
}

void stk__weights_free(struct stk__weights *weights)
{
    free((void *)weights->value);
    weights->value = NULL;
}

void stk__weights_draw(const struct stk__weights *weights, uint64_t seed)
{
    for (int i = 0; i < weights->model->n_weights; i++) {
        const struct stk__weight *weight = &weights->model->weight[i];
        stk__initializer_fill(&weight->initializer, seed, weight->name, 0, weight->n_values,
                              weights->value[i]);
    }
}

const char *stk__sides_text(const int64_t *shape, int rank, char text[STK__SHAPE_TEXT])
{
    int len = rank ? 0 : snprintf(text, STK__SHAPE_TEXT, "one value");
    for (int i = 0; i < rank && len < STK__SHAPE_TEXT - 1; i++)
        len += snprintf(text + len, (size_t)(STK__SHAPE_TEXT - len), "%s%lld", i ? "×" : "",
                        (long long)shape[i]);
    return text;
}
