/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_file.c: a trainer as a file of safetensors, and back.
 *
 * Texts beside the arrays say what they belong to. A file is taken whole or not at all: everything is
 * compared and read before the first array of the trainer is written.
 */
#define _GNU_SOURCE
#include "train/file/checkpoint_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts that must be the same, and how they are called in messages. */
enum { MODEL, OPTIMIZER, LOSS, LOSS_SCALE, PRECISION, N_SAME };
static const char *const same_names[N_SAME] = { "model", "optimizer", "loss", "loss_scale",
                                                "precision" };
enum { STEP, BATCHES, SCALE, GOOD_STEPS, SEED, N_COUNTS };
enum { NUMBER = 32 };
static const char *const count_names[N_COUNTS] = { "step", "batches", "scale", "good_steps",
                                                   "seed" };

static void same_texts(const struct stk_trainer *trainer, const char *text[N_SAME])
{
    struct stk_trainer_options options;
    stk_trainer_options_in_force(trainer, &options);
    text[MODEL] = stk__trainer_weights(trainer).model->text;
    text[OPTIMIZER] = options.optimizer;
    text[LOSS] = options.loss;
    text[LOSS_SCALE] = options.loss_scale;
    text[PRECISION] = options.precision;
    for (int i = 0; i < N_SAME; i++)
        text[i] = text[i] ? text[i] : "none";
}

static void count_texts(const struct stk_trainer *trainer, char text[N_COUNTS][NUMBER])
{
    struct stk_trainer_counts counts;
    struct stk__text scale = { 0 };
    stk_trainer_get_counts(trainer, &counts);
    stk__text_add_real(&scale, (double)counts.loss_scale);
    snprintf(text[STEP], NUMBER, "%" PRId64, counts.step);
    snprintf(text[BATCHES], NUMBER, "%" PRId64, counts.batches);
    snprintf(text[SCALE], NUMBER, "%s", scale.data ? scale.data : "");
    snprintf(text[GOOD_STEPS], NUMBER, "%" PRId64, counts.good_steps);
    snprintf(text[SEED], NUMBER, "%" PRId64, (int64_t)counts.seed);
    stk__text_free(&scale);
}

/* ---- writing ---- */

static size_t bytes_of(const struct stk_view *view)
{
    size_t bytes = stk_dtype_bytes(view->dtype);
    for (int i = 0; i < view->rank; i++)
        bytes *= (size_t)view->shape[i];
    return bytes;
}

static struct stk__saved_tensor tensor_of(const struct stk_view *view)
{
    struct stk__saved_tensor tensor = { view->name, view->dtype, view->rank,
                                        { 0 },      view->data,  bytes_of(view) };
    memcpy(tensor.shape, view->shape, sizeof view->shape);
    return tensor;
}

int stk_trainer_save(struct stk_trainer *trainer, const char *path, const struct stk_note *note,
                     int n_notes, struct stk_error *err)
{
    int n = stk_trainer_n_state(trainer), n_texts = 1 + N_SAME + N_COUNTS + n_notes;
    struct stk__saved_tensor *tensor = calloc((size_t)n + 1, sizeof *tensor);
    const char **text = calloc((size_t)n_texts * 2, sizeof *text);
    const char **name = text ? text + n_texts : NULL;
    char number[N_COUNTS][NUMBER];
    int rc = tensor && text ? STK_OK : stk__out_of_memory(err), at = 0;
    for (int i = 0; i < n && !rc; i++) {
        struct stk_view view;
        rc = stk_trainer_state(trainer, i, &view);
        tensor[i] = tensor_of(&view);
    }
    if (!rc) {
        name[at] = "stoker";
        text[at++] = stk_version();
        same_texts(trainer, text + at);
        count_texts(trainer, number);
        for (int i = 0; i < N_SAME; i++)
            name[at++] = same_names[i];
        for (int i = 0; i < N_COUNTS; i++) {
            name[at] = count_names[i];
            text[at++] = number[i];
        }
        for (int i = 0; i < n_notes; i++) {
            name[at] = note[i].name;
            text[at++] = note[i].value;
        }
        const struct stk_pairs metadata = { name, text, at };
        rc = stk__safetensors_write(path, tensor, n, &metadata, err);
    }
    free(tensor);
    free((void *)text);
    return rc;
}

/* ---- reading ---- */

/* The first place at which two texts differ, with what is around it. */
static int fail_text(const struct stk__safetensors *file, const char *what, const char *theirs,
                     const char *ours, struct stk_error *err)
{
    size_t at = 0;
    while (theirs[at] && theirs[at] == ours[at])
        at++;
    while (at && (theirs[at] & 0xc0) == 0x80)
        at--;
    size_t from = at > 30 ? at - 30 : 0;
    while (from && (theirs[from] & 0xc0) == 0x80)
        from--;
    return stk_fail(err, STK_STATE,
                    "%s is of another %s: it has “%s%.90s”, and this training “%s%.90s”",
                    file->path, what, from ? "…" : "", theirs + from, from ? "…" : "", ours + from);
}

static int check_texts(const struct stk__safetensors *file, const struct stk_trainer *trainer,
                       struct stk_error *err)
{
    const char *ours[N_SAME];
    same_texts(trainer, ours);
    if (!stk__safetensors_text(file, "stoker"))
        return stk_fail(err, STK_STATE,
                        "%s is no checkpoint of stoker's; weights= reads weights alone, PyTorch's "
                        "too",
                        file->path);
    for (int i = 0; i < N_SAME; i++) {
        const char *theirs = stk__safetensors_text(file, same_names[i]);
        if (!theirs)
            return stk_fail(err, STK_DATA, "%s does not say its %s", file->path, same_names[i]);
        if (strcmp(theirs, ours[i]) != 0)
            return fail_text(file, same_names[i], theirs, ours[i], err);
    }
    return STK_OK;
}

static int check_array(const struct stk__safetensors *file, const struct stk_view *view,
                       struct stk_error *err)
{
    const struct stk__saved_tensor *found = stk__safetensors_find(file, view->name);
    struct stk__saved_tensor want = tensor_of(view);
    char got[STK__SHAPE_TEXT], wanted[STK__SHAPE_TEXT];
    if (!found)
        return stk_fail(err, STK_STATE, "%s has no %s", file->path, view->name);
    if (found->dtype != want.dtype || found->rank != want.rank ||
        memcmp(found->shape, want.shape, sizeof *want.shape * (size_t)want.rank) != 0)
        return stk_fail(err, STK_STATE, "%s: %s is %s of %s, and here %s of %s", file->path,
                        view->name, stk__sides_text(found->shape, found->rank, got),
                        stk_dtype_name(found->dtype),
                        stk__sides_text(want.shape, want.rank, wanted), stk_dtype_name(want.dtype));
    return STK_OK;
}

/* A text that is a whole number, all of it. */
static bool read_whole(const struct stk__safetensors *file, int which, int64_t *out)
{
    const char *text = stk__safetensors_text(file, count_names[which]);
    char *end = NULL;
    errno = 0;
    *out = text ? strtoll(text, &end, 10) : 0;
    return text && *text && !*end && !errno;
}

static int read_counts(const struct stk__safetensors *file, struct stk_trainer_counts *out,
                       struct stk_error *err)
{
    int64_t whole[N_COUNTS] = { 0 };
    double scale = 1;
    int bad = -1;
    for (int i = 0; i < N_COUNTS && bad < 0; i++)
        if (i != SCALE && !read_whole(file, i, &whole[i]))
            bad = i;
    const char *text = stk__safetensors_text(file, count_names[SCALE]);
    const char *end = text ? stk__parse_real(text, &scale) : NULL;
    if (!end || *end)
        bad = SCALE;
    if (bad >= 0)
        return stk_fail(err, STK_DATA, "%s does not say its %s", file->path, count_names[bad]);
    *out = (struct stk_trainer_counts){ whole[STEP], whole[BATCHES], (float)scale,
                                        whole[GOOD_STEPS], (uint64_t)whole[SEED] };
    return STK_OK;
}

/* Copies of all arrays first: a file that cannot be read changes nothing. */
static int read_arrays(const struct stk__safetensors *file, struct stk_trainer *trainer,
                       struct stk_error *err)
{
    int n = stk_trainer_n_state(trainer), rc = STK_OK;
    size_t bytes = 1, at = 0;
    struct stk_view view;
    for (int i = 0; i < n && !rc; i++) {
        stk_trainer_state(trainer, i, &view);
        bytes += bytes_of(&view);
        rc = check_array(file, &view, err);
    }
    char *copy = rc ? NULL : malloc(bytes);
    if (!rc && !copy)
        rc = stk__out_of_memory(err);
    for (int i = 0; i < n && !rc; i++) {
        stk_trainer_state(trainer, i, &view);
        rc = stk__safetensors_copy(file, stk__safetensors_find(file, view.name), copy + at, err);
        at += bytes_of(&view);
    }
    at = 0;
    for (int i = 0; i < n && !rc; i++) {
        stk_trainer_state(trainer, i, &view);
        memcpy(view.data, copy + at, bytes_of(&view));
        at += bytes_of(&view);
    }
    free(copy);
    return rc;
}

int stk__checkpoint_load(struct stk_trainer *trainer, const struct stk__safetensors *file,
                         struct stk_error *err)
{
    struct stk_trainer_counts counts;
    int rc = check_texts(file, trainer, err);
    if (!rc)
        rc = read_counts(file, &counts, err);
    if (!rc)
        rc = read_arrays(file, trainer, err);
    if (!rc)
        rc = stk_trainer_set_counts(trainer, &counts, err);
    if (!rc)
        stk_trainer_changed(trainer);
    return rc;
}

int stk_trainer_load(struct stk_trainer *trainer, const char *path, struct stk_error *err)
{
    struct stk__safetensors file;
    int rc = stk__safetensors_open(&file, path, err);
    if (rc)
        return rc;
    rc = stk__checkpoint_load(trainer, &file, err);
    stk__safetensors_close(&file);
    return rc;
}

int stk_checkpoint_text(const char *path, const char *name, char **out, struct stk_error *err)
{
    struct stk__safetensors file;
    int rc = stk__safetensors_open(&file, path, err);
    *out = NULL;
    if (rc)
        return rc;
    const char *text = stk__safetensors_text(&file, name);
    *out = text ? strdup(text) : NULL;
    if (!text)
        rc = stk_fail(err, STK_NAME, "%s has no text named %s", path, name);
    else if (!*out)
        rc = stk__out_of_memory(err);
    stk__safetensors_close(&file);
    return rc;
}
