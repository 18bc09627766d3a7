/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: models. Part of stoker.h, which includes it; docs/layers.md has the layers.
 *
 *     struct stk_model *model;
 *     if (stk_model_new("input(28, 28, 1).flatten().dense(10)", &model, &err) == STK_OK) {
 *         char *table = stk_model_describe(model, 32);
 *         …
 *         stk_text_free(table);
 *         stk_model_free(model);
 *     }
 */
#ifndef STOKER_TRAIN_H
#define STOKER_TRAIN_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A chain of layers whose shapes and weights are known. Constant, so any thread may use it. */
struct stk_model;

/* Reads a model: a chain that begins with input(…), a recipe that ends in one, or the name of a known
 * model such as resnet18 or resnet18(classes=10). Nothing is allocated for its weights. An error
 * names the layer and has its place in the text. */
STK_API int stk_model_new(const char *text, struct stk_model **out, struct stk_error *err);
STK_API void stk_model_free(struct stk_model *model); /* NULL is fine */

/* The layers with their output shapes, weights and multiplications, and the sums, with what all
 * outputs take in float32 for a batch of this size: a table for people, or JSON. Returns new; free
 * with stk_text_free. NULL when out of memory. */
STK_API char *stk_model_describe(const struct stk_model *model, int64_t batch);
STK_API char *stk_model_json(const struct stk_model *model, int64_t batch);

/* All layers with their parameters as JSON, in the form of stk_ops_json; and the known models, each
 * with the chain it stands for. Returns new; free with stk_text_free. */
STK_API char *stk_layers_json(void);
STK_API char *stk_models_json(void);

#ifdef __cplusplus
}
#endif
#endif
