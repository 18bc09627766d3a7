/* SPDX-License-Identifier: Apache-2.0 */
/* fit_inside.h: the inside of a struct stk_fit: a recipe that is carried out.
 *
 *     fetch ──▶ step ──▶ fetch …   a batch of the next pass, or as many steps as an epoch has:
 *                 │
 *                 ▼
 *     validate … ──▶ end of the epoch: best, early stop, checkpoint, logs ──▶ fetch, or over
 *
 * Everything that a checkpoint keeps besides the trainer and the place in the data is in struct
 * stk__fit_progress, and nothing else decides what comes next: so a run that goes on from one does what
 * the first would have done.
 */
#pragma once
#include "train/file/checkpoint_file.h"
#include "train/file/events.h"
#include "train/fit/recipe.h"
#include "train/loss/loss.h"

#include <stoker/fit.h>

struct stk__sums {
    int64_t rows, top1, top5;
    double loss; /* times rows */
};

struct stk__fit_progress {
    int64_t epoch, step, total_steps, n_skipped; /* step: of this epoch */
    struct stk__sums train, valid;
    double best; /* NaN: no epoch is over */
    int64_t best_epoch, bad_epochs, max_batch, log_bytes;
    int64_t train_bad, valid_bad; /* bad elements of epochs that are over */
    bool is_stopped;              /* early */
};

enum stk__fit_phase { STK__FIT_FETCH, STK__FIT_VALIDATE, STK__FIT_FINISH, STK__FIT_OVER };

/* How labels of the first epoch came. */
enum { STK__MOST_CLASSES_IN_RUNS = 4096 };
struct stk__label_runs {
    int64_t n_rows, n_runs, run_rows; /* run_rows: of the last run, so far */
    int64_t last;
    uint64_t seen[STK__MOST_CLASSES_IN_RUNS / 64];
    bool is_mixed;  /* a class came twice, or is beyond what is counted */
    bool has_short; /* a run that is over was short */
    bool is_told;   /* or there is nothing to tell any more */
};

struct stk_fit {
    struct stk_arena arena;
    const char *text; /* the recipe */
    struct stk__recipe recipe;
    struct stk__loss loss;
    struct stk__recipe_piece train_piece, valid_piece, model_piece;
    struct stk_dataset *train, *valid; /* valid may be NULL */
    struct stk_model *model;
    struct stk_trainer *trainer;
    const char *image[2], *label[2]; /* fields of train and of valid */
    double factor;                   /* of bytes; 0: none is folded in */
    struct stk_options *options;     /* of runs over train */
    struct stk_iterator *it, *valid_it;
    struct stk_batch *next, *last; /* fetched, not trained on yet; trained on last */
    char *state;                   /* where the data goes on, from a checkpoint; or NULL */
    int64_t n_steps;               /* of an epoch, or -1 */
    enum stk__fit_phase phase;
    struct stk__fit_progress progress;
    struct stk__label_runs runs;
    struct stk_step result; /* of the last step */
    struct stk__checkpoint_dir dir;
    bool has_saved; /* at this step */
    bool has_ended; /* there is no more data */
    uint64_t began_ns, waited_ns, stepped_ns;
    int64_t seen_rows;
    int log; /* -1: none */
    struct stk__events events;
    bool has_events;
    int64_t bad, validated_bad; /* of train so far; of the validation that is over */
    char *first_bad;            /* what was wrong with the first of them, or NULL */
    bool restarts;              /* checkpoints that are there may go */
    bool is_log_told, is_events_told, is_end_told; /* that it cannot be written; that it is over */
    char message[1400];
};

/* ---- fit_data.c: pipelines and their fields ---- */

int stk__fit_open_data(struct stk_fit *fit, const struct stk_fit_options *options,
                       struct stk_error *err);

/* Where a chain of the recipe ends in scale(factor) and batch on images of uint8, batches are taken as
 * bytes, a quarter of the memory, and the trainer multiplies as it reads them: the same bits, since there
 * is one product and no sum. Fills in fit->factor. After the fields were checked. */
int stk__fit_fold(struct stk_fit *fit, struct stk_error *err);

/* Fields against the model's input and output; the trainer need not be there yet. */
int stk__fit_check_data(struct stk_fit *fit, struct stk_error *err);

/* The two views of a batch; which: 0 train, 1 valid. */
int stk__fit_views(const struct stk_fit *fit, const struct stk_batch *batch, int which,
                   struct stk_view *images, struct stk_view *labels, struct stk_error *err);

/* Says where the batch's data came from, if the error is about one of its labels. */
void stk__fit_blame(const struct stk_fit *fit, const struct stk_batch *batch,
                    const struct stk_view *labels, struct stk_error *err);

/* A label as a number; others than whole ones are 0. */
int64_t stk__fit_label_at(const struct stk_view *labels, int64_t row);

/* ---- fit_warnings.c: whether classes are mixed ---- */

/* Looks at the labels of a step. */
void stk__fit_note_labels(struct stk_fit *fit, const struct stk_view *labels);

/* An epoch is over: says so if they were not mixed, once. */
void stk__fit_end_labels(struct stk_fit *fit);

/* ---- fit_classes.c: names of labels ---- */

/* Whether valid numbers its classes as train does. After the fields were checked. */
int stk__fit_compare_classes(const struct stk_fit *fit, struct stk_error *err);

/* Names of train's labels, a line for each: what later data is compared with. */
void stk__fit_list_classes(const struct stk_fit *fit, struct stk__text *out);

/* ---- fit_save.c: checkpoints ---- */

int stk__fit_save(struct stk_fit *fit, bool is_best, struct stk_error *err);

/* Goes on from the newest checkpoint, if there is one: first what the trainer's size depends on, then
 * all the rest. Where the newest is damaged, from an older one if that is asked for. */
int stk__fit_find(struct stk_fit *fit, bool takes_older, char path[4096], struct stk_error *err);
int stk__fit_restore(struct stk_fit *fit, const char *path, struct stk_error *err);

/* ---- fit_loop.c ---- */

/* Something to be told with the next event, a line of its own. */
void stk__fit_tell(struct stk_fit *fit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- fit_warnings.c: elements that on_error leaves out or replaces ---- */

/* Counts those up to the last batch; those behind it too, where there is no more data. */
void stk__fit_count_bad(struct stk_fit *fit);

/* Likewise of a validation that is over. */
void stk__fit_count_bad_valid(struct stk_fit *fit);

/* Those of this epoch, and all. */
int64_t stk__fit_epoch_bad(const struct stk_fit *fit);
int64_t stk__fit_all_bad(const struct stk_fit *fit);

/* ---- fit_log.c: lines of JSON, and event files ---- */

int stk__fit_log_open(struct stk_fit *fit, struct stk_error *err);
int stk__fit_log_step(struct stk_fit *fit, struct stk_error *err);
int stk__fit_log_epoch(struct stk_fit *fit, struct stk_error *err);
void stk__fit_log_close(struct stk_fit *fit);

struct stk_fit_means stk__fit_means(const struct stk__sums *sums);
void stk__sums_add(struct stk__sums *sums, const struct stk_step *step);
