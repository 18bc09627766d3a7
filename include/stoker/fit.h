/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h: what stands around a training step: files of weights, and the loop. Part of stoker.h; docs/training.md
 * has the recipes.
 *
 *     struct stk_fit *fit;
 *     struct stk_fit_event event;
 *     if (stk_fit_new("train = … valid = … model = … epochs = 10", NULL, &fit, &err))
 *         return report(&err);
 *     while ((rc = stk_fit_next(fit, &event, &err)) == STK_OK)
 *         if (event.kind == STK_FIT_EPOCH)
 *             printf("epoch %lld: %.3f\n", (long long)event.epoch, event.valid.accuracy);
 *     stk_fit_free(fit);
 */
#ifndef STOKER_FIT_H
#define STOKER_FIT_H

#include <stoker/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- files of weights ---- */

/* A text with a name: what a file carries along, or an entry of a map. */
struct stk_note {
    const char *name, *value;
};

/* Writes everything that training needs to go on, as a file of safetensors, whole or not at all: weights and
 * the optimizer's state under the names of stk_trainer_state, and as texts the model, the options in
 * force and all counts, so that the file alone says what it is. Notes are further texts. */
STK_API int stk_trainer_save(struct stk_trainer *trainer, const char *path,
                             const struct stk_note *note, int n_notes, struct stk_error *err);

/* Reads all of it back. Model, optimizer, loss, loss scale and precision must be the same; STK_STATE says
 * what is not, STK_DATA that the file is damaged. The trainer is then as before. */
STK_API int stk_trainer_load(struct stk_trainer *trainer, const char *path, struct stk_error *err);

/* Reads weights alone: of such a file, of any file of safetensors with the model's names and shapes, or of
 * a state dict of PyTorch. Modules of the latter are given to layers kind by kind in the order of their
 * names, or by a map: name is that of a layer and value that of a module, or name that of a weight and value
 * that of a tensor. Everything must fit; what does not is listed. */
STK_API int stk_trainer_load_weights(struct stk_trainer *trainer, const char *path,
                                     const struct stk_note *map, int n_map, struct stk_error *err);

/* A text of a file: "model", "recipe", a note. STK_NAME: it has none. Returns new; free with
 * stk_text_free. */
STK_API int stk_checkpoint_text(const char *path, const char *name, char **out,
                                struct stk_error *err);

/* Whether labels of a dataset, in this field, mean the classes that a checkpoint of a recipe was trained on:
 * STK_VALUE says how its class names differ. STK_OK where either has no names. */
STK_API int stk_checkpoint_check_classes(const char *path, const struct stk_dataset *dataset,
                                         const char *field, struct stk_error *err);

/* How a model is exported. */
struct stk_export_options {
    bool is_nchw;     /* images come and go as [N, C, H, W]; else as here, [N, H, W, C] */
    bool has_softmax; /* the output is "probabilities": softmax is added, unless it is there */
};

/* The model with its weights as an ONNX file for inference, with any size of batch. Options may be
 * NULL. The second one takes a file of weights instead of a trainer. */
STK_API int stk_trainer_export(struct stk_trainer *trainer, const char *path,
                               const struct stk_export_options *options, struct stk_error *err);
STK_API int stk_checkpoint_export(const char *checkpoint, const char *path,
                                  const struct stk_export_options *options, struct stk_error *err);

/* ---- the loop ---- */

/* A recipe that is carried out: pipelines, a trainer, and where it has come to. One caller at a time. */
struct stk_fit;

/* Members that are 0 or NULL take their default. */
struct stk_fit_options {
    /* instead of the recipe's train and valid; they are kept alive */
    struct stk_dataset *train, *valid;
    bool resume;       /* goes on where the newest checkpoint is, if there is one */
    bool resume_older; /* with resume: where the newest is damaged, from the newest that is whole */
    bool restart; /* takes the place of checkpoints; without it and resume, they are an error */
};

/* Reads a recipe, and makes everything that it names. Errors have their place in its text. Returns new. */
STK_API int stk_fit_new(const char *recipe, const struct stk_fit_options *options,
                        struct stk_fit **out, struct stk_error *err);
STK_API void stk_fit_free(struct stk_fit *fit); /* NULL is fine */

enum stk_fit_kind {
    STK_FIT_WAITING, /* a batch is not ready yet; comes every 50 ms */
    STK_FIT_STEP,    /* a step was made */
    STK_FIT_VALID,   /* a batch of validation was looked at */
    STK_FIT_EPOCH,   /* an epoch is over, its validation and checkpoint too */
};

/* Means over rows of an epoch or a validation. */
struct stk_fit_means {
    int64_t rows;
    double loss, accuracy,
        top5; /* NaN where there are no rows, or no right and wrong; from 0 to 1 */
};

struct stk_fit_event {
    int kind;
    int64_t epoch, epochs;      /* epoch: the number of this one, from 0 */
    int64_t step, steps;        /* of this epoch: made, and all; -1 where nobody knows */
    int64_t total_steps;        /* since the training began, resumed ones too */
    struct stk_fit_means train; /* of this epoch so far */
    struct stk_fit_means valid; /* of this validation so far, or the last one */
    struct stk_step last;       /* the last step */
    int64_t n_skipped;          /* steps with gradients that were not finite, so far */
    int64_t n_bad;     /* elements of train and valid that on_error left out or replaced, so far */
    int64_t epoch_bad; /* those of this epoch */
    const char *first_bad; /* what was wrong with the first of them, or NULL */
    double seconds, step_seconds, waited_seconds; /* since the loop began: all, steps, waiting */
    int64_t seen_rows;                            /* rows of steps since the loop began */
    bool is_best, is_last;  /* STK_FIT_EPOCH: the best so far; training is over */
    const char *checkpoint; /* that was written last, or NULL; valid until the next call */
    const char *message;    /* something to be told once, or NULL: likewise */
};

/* Does a piece of work and says what it was. STK_END when training is over: counts are filled in, and a message
 * where nothing was left to do. Other codes are errors, behind which only freeing is left to do. What was
 * done up to then is in the checkpoints. */
STK_API int stk_fit_next(struct stk_fit *fit, struct stk_fit_event *out, struct stk_error *err);

/* Writes a checkpoint now, as at the end of an epoch; nothing if the recipe names no directory. */
STK_API int stk_fit_save(struct stk_fit *fit, struct stk_error *err);

/* Loss and accuracy of the recipe's valid by the weights of a file; NULL: of the best checkpoint, else the
 * newest. STK_NAME: the recipe has no valid. Not while the loop runs. */
STK_API int stk_fit_eval(struct stk_fit *fit, const char *weights, struct stk_fit_means *out,
                         struct stk_error *err);

/* Its parts, borrowed. The run of the training data is NULL before the first step. */
STK_API struct stk_trainer *stk_fit_trainer(struct stk_fit *fit);
STK_API struct stk_iterator *stk_fit_iterator(struct stk_fit *fit);

/* The text of its model, with every parameter. Returns new; NULL when out of memory. */
STK_API char *stk_fit_model(const struct stk_fit *fit);

/* What held the training up, as stoker profile says it. Returns new; NULL before the first step. */
STK_API char *stk_fit_verdict(struct stk_fit *fit);

/* What a recipe may say, as JSON in the form of stk_ops_json: a list of one. Returns new. */
STK_API char *stk_recipe_json(void);

/* The value of a line of a recipe as text, for programs that carry out a part of it: "model", "valid".
 * STK_NAME: the recipe does not say. Returns new. */
STK_API int stk_recipe_text(const char *recipe, const char *name, char **out,
                            struct stk_error *err);

#ifdef __cplusplus
}
#endif
#endif
