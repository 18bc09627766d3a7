/* SPDX-License-Identifier: Apache-2.0 */
/* train.h: models and their training. Part of stoker.h; docs/layers.md has the layers.
 *
 *     struct stk_model *model;
 *     if (stk_model_new("input(28, 28, 1).flatten().dense(10)", &model, &err) == STK_OK) {
 *         char *table = stk_model_describe(model, 32);
 *         …
 *         stk_text_free(table);
 *         stk_model_free(model);
 *     }
 *
 *     struct stk_trainer_options options = { .optimizer = "adam(0.001)", .max_batch = 32 };
 *     struct stk_trainer *trainer;
 *     struct stk_step result;
 *     stk_trainer_new(model, &options, &trainer, &err);
 *     while (stk_iterator_next(it, &batch, &err) == STK_OK) {
 *         struct stk_view images, labels;
 *         stk_batch_view(batch, "image", &images, &err);
 *         stk_batch_view(batch, "label", &labels, &err);
 *         stk_trainer_step(trainer, &images, &labels, &result, &err);
 *         stk_batch_unref(batch);
 *     }
 *     stk_trainer_free(trainer);
 */
#ifndef STOKER_TRAIN_H
#define STOKER_TRAIN_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A chain of layers whose shapes and weights are known. Constant, so any thread may use it. */
struct stk_model;

/* Reads a model: a chain that begins with input(…), a recipe that ends in one, or the name of a
 * known model such as resnet18 or resnet18(classes=10). Nothing is allocated for its weights. An
 * error names the layer and has its place in the text. */
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

/* ---- trainers ---- */

/* The training step of one model: weights, gradients, the optimizer's state, a plan of what is done
 * in which memory, and a team of threads. All memory is taken when it is made; a step allocates
 * nothing (but where oneDNN was chosen, its calls take small blocks for their arguments and give
 * them back). One caller at a time.  Arrays come and go as struct stk_view. Of those that are
 * given, dtype, rank, shape, strides and data count; values lie row after row without gaps (a
 * batch's fields do; stk_view_rows makes one). */
struct stk_trainer;

/* What a step does where its loss or its gradients are not finite and no loss scale expects that. */
enum stk_on_nonfinite {
    STK_NONFINITE_FAIL, /* an error of code STK_DATA that names the step and the layer */
    STK_NONFINITE_SKIP, /* no weight changes, and the result says so */
};

/* A member that is 0 or NULL takes its default. Texts are calls as docs/training.md lists them. */
struct stk_trainer_options {
    const char *optimizer;  /* "adam()", the default */
    const char *loss;       /* "cross_entropy()", the default */
    const char *loss_scale; /* "dynamic()", "fixed(1024)" or "1024"; by default none, and dynamic()
                               where the precision is mixed_float16 */
    const char *precision;  /* "float32", the default; "mixed_float16"; "mixed_bfloat16" */
    int64_t max_batch;      /* rows of the largest batch; 32 */
    int threads;          /* of the team, the caller among them; as many as there are processors */
    uint64_t seed;        /* of weights, and of dropout */
    bool deterministic;   /* kernels by a fixed rule and not by measuring: the same bits in every
                               process. Steps of one trainer have the same bits in any case */
    bool only_forward;    /* eval and predict alone: neither gradients nor state of an optimizer */
    int on_nonfinite;     /* enum stk_on_nonfinite */
    int64_t memory_bytes; /* the most it may take; by default what the machine has free */
};

/* Makes the step of a model: weights are drawn by their initialisers, state is 0. Borrows the
 * model, which must stay, and the options. Where memory would not do, the error (STK_BUDGET) says
 * what is needed and which batch would fit. Returns new. */
STK_API int stk_trainer_new(const struct stk_model *model,
                            const struct stk_trainer_options *options, struct stk_trainer **out,
                            struct stk_error *err);
STK_API void stk_trainer_free(struct stk_trainer *trainer); /* NULL is fine */

/* A view of values that lie row after row. */
STK_API struct stk_view stk_view_rows(const void *data, int dtype, int rank, const int64_t *shape);

/* What images of type uint8 mean: value · scale[channel] + offset[channel], which is computed while
 * they are read; by default value alone. Of as many channels as the model's input has. Images of
 * type float32 are taken as they are. */
STK_API int stk_trainer_affine(struct stk_trainer *trainer, const float *scale, const float *offset,
                               int n_channels, struct stk_error *err);

/* What came out of a batch. */
struct stk_step {
    double loss;          /* the mean, not scaled */
    int64_t rows;         /* of this batch */
    int64_t top1, top5;   /* rows whose label (or greatest target) is the model's first answer, or
                              among the first five. Of one output that is true or false
                              (binary_cross_entropy) top1 counts right ones. -1: there is no such
                              thing */
    int64_t step;         /* the optimizer's number of this step, from 0 */
    double learning_rate; /* of this step */
    float loss_scale;     /* of this step; 1 where there is none */
    double
        gradient_norm; /* of all gradients, not scaled; NaN where nothing needed it (global_clipnorm=,
                              a loss scale) */
    bool is_skipped;   /* gradients were not finite: no weight changed */
};

/* One step: forward, loss, backward, update. Images are [rows, height, width, channels], of type
 * float32 or uint8, with 1 to max_batch rows. Targets are labels [rows] of any integer type, or
 * [rows, outputs] of integers, float32 or float64. Where the last layer is softmax and the loss
 * cross entropy, or sigmoid and binary_cross_entropy, the loss is computed from what goes into it;
 * trainers whose outputs are not what their loss takes are not made.
 * Errors: shapes (both are named), a label that is none (its row and value), loss or gradients that
 * are not finite; weights are then as before, except where it was gradients alone. */
STK_API int stk_trainer_step(struct stk_trainer *trainer, const struct stk_view *images,
                             const struct stk_view *targets, struct stk_step *out,
                             struct stk_error *err);

/* The two halves of a step, for loops that look at gradients or change them in between: gradients
 * of the loss, and the update of the weights by them (is_skipped, gradient_norm and learning_rate
 * are known then). */
STK_API int stk_trainer_gradients(struct stk_trainer *trainer, const struct stk_view *images,
                                  const struct stk_view *targets, struct stk_step *out,
                                  struct stk_error *err);
STK_API int stk_trainer_update(struct stk_trainer *trainer, struct stk_step *out,
                               struct stk_error *err);

/* Loss and metrics of a batch as in use: without dropout, with moving statistics. Changes nothing. */
STK_API int stk_trainer_eval(struct stk_trainer *trainer, const struct stk_view *images,
                             const struct stk_view *targets, struct stk_step *out,
                             struct stk_error *err);

/* What the model puts out, [rows, outputs] in float32, as in use. */
STK_API int stk_trainer_predict(struct stk_trainer *trainer, const struct stk_view *images,
                                float *outputs, struct stk_error *err);

/* Does a step's forward and backward pass again, as the last one was done, and names the first
 * layer with an output, or else the last with a gradient, that is not finite: "conv2d_1: its output
 * is not finite (row 3)". Changes no weight. *out is NULL where all are finite; else returns new,
 * free it with stk_text_free. */
STK_API int stk_trainer_find_nonfinite(struct stk_trainer *trainer, const struct stk_view *images,
                                       const struct stk_view *targets, char **out,
                                       struct stk_error *err);

/* ---- what a trainer holds ---- */

/* Shape of one image: height, width, channels (features: 1, 1, n); values of one output. */
STK_API void stk_trainer_shapes(const struct stk_trainer *trainer, int64_t input[3],
                                int64_t *outputs);

/* What the outputs of stk_trainer_predict mean, by the model's last activation and the loss. */
enum stk_output_kind {
    STK_OUTPUT_LOGITS,        /* of classes: softmax makes probabilities of them */
    STK_OUTPUT_PROBABILITIES, /* of classes: the model ends in softmax */
    STK_OUTPUT_BINARY_LOGITS, /* each by itself true or false: sigmoid makes probabilities of them */
    STK_OUTPUT_BINARY,        /* probabilities that each is true: the model ends in sigmoid */
    STK_OUTPUT_VALUES,        /* numbers, as mse learns them */
};
STK_API enum stk_output_kind stk_trainer_output_kind(const struct stk_trainer *trainer);

/* Weights by number or by name ("conv2d_1/kernel"), as they lie in the trainer: float32, in Keras'
 * layouts (HWIO, HWIM, IO). Valid as long as the trainer. Whoever writes to one calls
 * stk_trainer_changed before the next step. STK_END behind the last one; STK_NAME. */
STK_API int stk_trainer_n_weights(const struct stk_trainer *trainer);
STK_API int stk_trainer_weight(struct stk_trainer *trainer, int index, struct stk_view *out);
STK_API int stk_trainer_find_weight(struct stk_trainer *trainer, const char *name, int *index,
                                    struct stk_error *err);
STK_API bool stk_trainer_is_trainable(const struct stk_trainer *trainer, int index);
STK_API void stk_trainer_changed(struct stk_trainer *trainer);

/* The gradient of the last batch by that weight, with the loss scale undone. STK_STATE: there is
 * none, since the weight is a statistic, the trainer only_forward, or no batch was seen. Whoever
 * writes to it does so between stk_trainer_gradients and stk_trainer_update.
 *
 * stk_trainer_step uses the gradient of a wide dense layer's kernel while it is in cache and stores it
 * nowhere. Asked for it then, this gives STK_STATE once, and steps from then on keep it, with the
 * same results in a little more time. stk_trainer_gradients keeps all in any case. */
STK_API int stk_trainer_gradient(struct stk_trainer *trainer, int index, struct stk_view *out);

/* All arrays that a checkpoint keeps: weights under their names, then the optimizer's state as
 * "optimizer/first/NAME" and "optimizer/second/NAME". By number; STK_END behind the last one. They
 * may be written, as weights may. */
STK_API int stk_trainer_n_state(const struct stk_trainer *trainer);
STK_API int stk_trainer_state(struct stk_trainer *trainer, int index, struct stk_view *out);

/* And all numbers. */
struct stk_trainer_counts {
    int64_t step;       /* the next one's number: steps that changed weights */
    int64_t batches;    /* seen: these and those that were left out; what dropout is drawn by */
    float loss_scale;   /* of the next step; 1 where there is none */
    int64_t good_steps; /* since the scale changed */
    uint64_t seed;
};
STK_API void stk_trainer_get_counts(const struct stk_trainer *trainer,
                                    struct stk_trainer_counts *out);
STK_API int stk_trainer_set_counts(struct stk_trainer *trainer,
                                   const struct stk_trainer_counts *counts, struct stk_error *err);

/* The options in force as their canonical texts, for recipes and checkpoints: borrowed. */
STK_API void stk_trainer_options_in_force(const struct stk_trainer *trainer,
                                          struct stk_trainer_options *out);

struct stk_trainer_bytes {
    int64_t weights, gradients, optimizer; /* bytes; gradients of all threads */
    int64_t packed;                        /* weights once more, as kernels read them */
    int64_t activations;                   /* all tensors of a step, packed by their lifetimes */
    int64_t total;
    int64_t scratch; /* of kernels, behind tensors in the same arena */
};
STK_API void stk_trainer_memory(const struct stk_trainer *trainer, struct stk_trainer_bytes *out);

/* What a step does: groups and segments, kernels and why, and where each tensor lies, for people.
 * Returns new; free with stk_text_free; NULL when out of memory. */
STK_API char *stk_trainer_plan(const struct stk_trainer *trainer);

/* Seconds spent per group since the last call, as JSON: a list of {"name", "forward", "backward"},
 * summed over threads. Off until it was called once. Returns new. */
STK_API char *stk_trainer_times_json(struct stk_trainer *trainer);

#ifdef __cplusplus
}
#endif

#include <stoker/fit.h>
#endif
