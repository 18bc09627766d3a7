/* SPDX-License-Identifier: Apache-2.0 */
/* fit_save.c: where a training has come to, in its checkpoints.
 *
 * Beside the trainer: the recipe, the place in the data, and as lines of name = value what the loop has
 * counted, reals with all their bits.
 */
#define _GNU_SOURCE
#include "train/fit/fit_inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { WHOLE, REAL, FLAG };

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} members[] = {
#define MEMBER(name, kind, member)                                                                 \
    {                                                                                              \
        name, kind, offsetof(struct stk__fit_progress, member)                                     \
    }
    MEMBER("epoch", WHOLE, epoch),
    MEMBER("step_of_epoch", WHOLE, step),
    MEMBER("total_steps", WHOLE, total_steps),
    MEMBER("skipped", WHOLE, n_skipped),
    MEMBER("train_rows", WHOLE, train.rows),
    MEMBER("train_top1", WHOLE, train.top1),
    MEMBER("train_top5", WHOLE, train.top5),
    MEMBER("train_loss", REAL, train.loss),
    MEMBER("valid_rows", WHOLE, valid.rows),
    MEMBER("valid_top1", WHOLE, valid.top1),
    MEMBER("valid_top5", WHOLE, valid.top5),
    MEMBER("valid_loss", REAL, valid.loss),
    MEMBER("best", REAL, best),
    MEMBER("best_epoch", WHOLE, best_epoch),
    MEMBER("bad_epochs", WHOLE, bad_epochs),
    MEMBER("max_batch", WHOLE, max_batch),
    MEMBER("log_bytes", WHOLE, log_bytes),
    MEMBER("is_stopped", FLAG, is_stopped),
    MEMBER("train_bad", WHOLE, train_bad),
    MEMBER("valid_bad", WHOLE, valid_bad),
#undef MEMBER
};
enum { N_MEMBERS = sizeof members / sizeof *members, N_LATER = 2 };
enum { FIRST_LATER = N_MEMBERS - N_LATER }; /* which older checkpoints do not have: 0 */

static void print_progress(const struct stk__fit_progress *progress, struct stk__text *out)
{
    for (int i = 0; i < N_MEMBERS; i++) {
        const void *at = (const char *)progress + members[i].offset;
        stk__text_add(out, "%s = ", members[i].name);
        if (members[i].kind == WHOLE)
            stk__text_add(out, "%" PRId64, *(const int64_t *)at);
        else if (members[i].kind == FLAG)
            stk__text_add(out, "%s", *(const bool *)at ? "true" : "false");
        else if (isfinite(*(const double *)at))
            stk__text_add_real(out, *(const double *)at);
        else
            stk__text_add(out, "none");
        stk__text_add(out, "\n");
    }
}

static bool read_member(const struct stk_value *value, enum kind kind, void *at)
{
    switch (kind) {
    case WHOLE:
        if (value->kind == STK__INT)
            *(int64_t *)at = value->integer;
        return value->kind == STK__INT;
    case FLAG:
        if (value->kind == STK__WORD)
            *(bool *)at = !strcmp(value->text, "true");
        return value->kind == STK__WORD;
    case REAL:
        *(double *)at = value->kind == STK__REAL ? value->real : NAN;
        return value->kind == STK__REAL || value->kind == STK__WORD;
    }
    return false;
}

static int read_progress(const char *text, struct stk_arena *arena, struct stk__fit_progress *out,
                         struct stk_error *err)
{
    struct stk__assignments lines;
    struct stk_error unseen;
    bool is_read = !stk__parse_assignments(text, NULL, arena, &lines, &unseen);
    *out = (struct stk__fit_progress){ 0 };
    for (int i = 0; i < N_MEMBERS && is_read; i++) {
        const struct stk_value *value = NULL;
        for (int k = 0; k < lines.n; k++)
            if (!strcmp(lines.arg[k].name, members[i].name))
                value = lines.arg[k].value;
        if (!value && i >= FIRST_LATER)
            continue;
        is_read = value && read_member(value, members[i].kind, (char *)out + members[i].offset);
    }
    return is_read ? STK_OK : stk_fail(err, STK_DATA, "what it says of its progress is damaged");
}

/* ---- writing ---- */

/* What predict calls the classes: as the recipe says, else as the data does. A line for each. */
static void list_classes(const struct stk_fit *fit, struct stk__text *out)
{
    const struct stk_texts *given = &fit->recipe.classes;
    for (int i = 0; i < given->n; i++)
        stk__text_add(out, "%s\n", given->item[i]);
    if (!given->n)
        stk__fit_list_classes(fit, out);
}

int stk__fit_save(struct stk_fit *fit, bool is_best, struct stk_error *err)
{
    char *state = NULL;
    struct stk__text progress = { 0 }, classes = { 0 }, data_classes = { 0 };
    if (!fit->recipe.checkpoint || (fit->has_saved && !is_best))
        return STK_OK;
    int rc = fit->last    ? stk_batch_state(fit->last, &state, err)
             : fit->state ? STK_OK
                          : stk_fail(err, STK_STATE, "no step was made yet");
    print_progress(&fit->progress, &progress);
    list_classes(fit, &classes);
    stk__fit_list_classes(fit, &data_classes);
    const struct stk_note note[] = {
        { "recipe", fit->text },
        { "pipeline", state        ? state
                      : fit->state ? fit->state
                                   : "" },
        { "progress", progress.data },
        { "classes", classes.data ? classes.data : "" },
        { "data_classes", data_classes.data ? data_classes.data : "" },
        { "image", fit->image[fit->valid ? 1 : 0] }, /* fields that predict looks at */
        { "label", fit->label[fit->valid ? 1 : 0] },
    };
    enum { N_NOTES = sizeof note / sizeof *note };
    if (!rc && (progress.failed || classes.failed || data_classes.failed))
        rc = stk__out_of_memory(err);
    if (!rc)
        rc = stk__checkpoint_dir_save(&fit->dir, fit->trainer, fit->progress.total_steps, note,
                                      N_NOTES, err);
    if (!rc && is_best)
        rc = stk__checkpoint_dir_save_best(&fit->dir, fit->trainer, note, N_NOTES, err);
    fit->has_saved = !rc;
    stk__text_free(&progress);
    stk__text_free(&classes);
    stk__text_free(&data_classes);
    stk_text_free(state);
    return rc;
}

/* ---- going on ---- */

static int read_notes(struct stk_fit *fit, const struct stk__safetensors *file,
                      struct stk_error *err)
{
    const char *progress = stk__safetensors_text(file, "progress");
    const char *state = stk__safetensors_text(file, "pipeline");
    if (!progress || !state)
        return stk_fail(err, STK_STATE, "%s is no checkpoint of a recipe", file->path);
    stk_text_free(fit->state);
    fit->state = strdup(state);
    if (!fit->state)
        return stk__out_of_memory(err);
    int rc = read_progress(progress, &fit->arena, &fit->progress, err);
    fit->bad = fit->progress.train_bad;
    if (rc)
        stk__error_prefix(err, "%s: ", file->path);
    return rc;
}

static int read_checkpoint(struct stk_fit *fit, const char *path, struct stk_error *err)
{
    struct stk__safetensors file;
    int rc = stk__safetensors_open(&file, path, err);
    if (rc)
        return rc;
    rc = read_notes(fit, &file, err);
    stk__safetensors_close(&file);
    return rc;
}

/* What can be done about a checkpoint that is damaged. */
static int offer_older(const struct stk_fit *fit, const char *path, int rc, struct stk_error *err)
{
    char before[4096], text[4300];
    struct stk_error unseen;
    if (stk__checkpoint_dir_before(&fit->dir, path, before, &unseen))
        before[0] = 0;
    snprintf(text, sizeof text,
             *before
                 ? "; the checkpoint before it is %.300s: resume_older (--resume-older) goes on "
                   "from the newest one that is whole"
                 : "; there is none before it%.0s: restart (--restart) begins anew",
             before);
    stk__error_suffix(err, text);
    return rc;
}

int stk__fit_find(struct stk_fit *fit, bool takes_older, char path[4096], struct stk_error *err)
{
    char damaged[4096] = "";
    int rc = stk__checkpoint_dir_newest(&fit->dir, path, err);
    while (!rc && *path && (rc = read_checkpoint(fit, path, err)) == STK_DATA) {
        if (!takes_older)
            return offer_older(fit, path, rc, err);
        memcpy(damaged, path, sizeof damaged);
        rc = stk__checkpoint_dir_before(&fit->dir, damaged, path, err);
        if (!rc && !*path)
            return stk_fail(err, STK_DATA,
                            "%s: no checkpoint is whole; restart (--restart) begins anew",
                            fit->dir.path);
    }
    if (!rc && *damaged)
        stk__fit_tell(fit, "%.400s is damaged: the training goes on from %.400s", damaged, path);
    return rc;
}

int stk__fit_restore(struct stk_fit *fit, const char *path, struct stk_error *err)
{
    int rc = stk_trainer_load(fit->trainer, path, err);
    if (rc == STK_STATE)
        stk__error_suffix(err, "; a training of its own wants a checkpoint directory of its own");
    fit->has_saved = !rc;
    if (!rc)
        memcpy(fit->dir.last, path, strlen(path) + 1);
    return rc;
}
