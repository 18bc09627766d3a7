/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.c: the lines of a recipe, declared; and their values as texts. */
#define _GNU_SOURCE
#include "train/fit/recipe.h"

#include "base/json_out.h"

#include "train/loss/loss.h"
#include "train/loss/loss_scale.h"
#include "train/optimizer/optimizer.h"
#include "train/trainer/team.h"

#include <stoker/fit.h>

#include <float.h>
#include <stdlib.h>
#include <string.h>

const char *const stk__precision_names[] = { "float32", "mixed_float16", "mixed_bfloat16", NULL };
const char *const stk__on_error_names[] = { "fail", "skip", "replace", NULL };
static const char *const monitors[] = { "auto", "valid_accuracy", "valid_loss", "train_loss",
                                        NULL };
static const char *const nonfinite[] = { "stop", "skip", NULL };

#define R(kind, f, ...) STK_##kind##_ROW(stk__recipe, f, __VA_ARGS__)
#define V(kind, f, ...) STK__##kind##_ROW(stk__recipe, f, __VA_ARGS__)

static const struct stk_param rows[] = {
    V(VALUE, model, STK_TAKES_NONE, "a chain of layers, or the name of a known model"),
    V(VALUE, train, STK_TAKES_NONE,
      "the pipeline whose batches are trained on; an epoch is a pass over it"),
    V(VALUE, valid, STK_TAKES_NONE, "the pipeline for validation after each epoch"),
    R(TEXT, image, NULL, 0, "the field that the model is given; none: image, else the first one"),
    R(TEXT, label, NULL, 0, "the field of the targets; none: label, else the last one"),
    R(TEXTS, classes, 0, INT32_MAX, STK_TAKES_NONE,
      "names of the labels 0, 1, …, for predict; none: those that the data has"),
    V(CALLS, optimizer, &stk__optimizers, STK_TAKES_NONE,
      "such as adam(0.001) or sgd(0.1, momentum=0.9); none: adam()"),
    V(CALLS, loss, &stk__losses, STK_TAKES_NONE, "none: cross_entropy()"),
    V(CALLS, loss_scale, &stk__loss_scales, STK_TAKES_NONE,
      "such as dynamic() or 1024; none: dynamic() where the precision is mixed_float16"),
    R(CHOICE, precision, stk__precision_names, 0, 0,
      "what activations are kept in: mixed ones take half the memory"),
    R(INT, epochs, 1, 1, INT64_MAX / 2, 0, "passes over the training data, at most"),
    R(INT, steps_per_epoch, STK_NONE, 1, INT64_MAX / 2, 0,
      "an epoch is so many steps; none: a pass"),
    R(INT, seed, 0, 0, INT64_MAX, 0, "of weights, dropout, and everything random in pipelines"),
    R(TEXT, weights, NULL, 0,
      "a file of safetensors to begin with: a checkpoint, or a state dict of PyTorch"),
    R(PAIRS, weights_map, 0, "which module of PyTorch is which layer, {layer: 'module'}"),
    R(INT, early_stop, STK_NONE, 1, INT64_MAX / 2, 0,
      "ends after so many epochs that were not better than the best"),
    R(CHOICE, monitor, monitors, STK__MONITOR_AUTO, 0,
      "what better means; auto: the accuracy of valid, its loss where there is none, else the loss "
      "of train"),
    R(REAL, min_delta, 0, 0, DBL_MAX, 0, "by how much an epoch must be better to count as such"),
    R(CHOICE, on_nonfinite, nonfinite, 0, 0,
      "where a loss or gradients are not finite: stop says in which step and layer, skip leaves "
      "the step out"),
    R(TEXT, checkpoint, NULL, 0, "a directory for checkpoints; none: nothing is kept"),
    R(INT, checkpoint_every, STK_NONE, 1, INT64_MAX / 2, 0,
      "steps between two; none: one after each epoch"),
    R(INT, keep, 3, 1, INT64_MAX / 2, 0, "how many of the newest stay, beside the best"),
    R(TEXT, log, NULL, 0, "a file for a line of JSON every few steps and after each epoch"),
    R(INT, log_every, 10, 1, INT64_MAX / 2, 0, "steps between two lines of logs"),
    R(TEXT, tensorboard, NULL, 0, "a directory for TensorBoard's event files"),
    R(INT, threads, STK_AUTO, 1, STK__MOST_THREADS, STK_TAKES_AUTO,
      "that compute the steps; auto: one per core. Results have the same bits for the same number"),
    R(INT, max_batch, STK_AUTO, 1, 1 << 20, STK_TAKES_AUTO,
      "rows of the largest batch; auto: of the first one"),
    R(INT, workers, STK_AUTO, 0, 1024, STK_TAKES_AUTO,
      "threads of the pipelines; auto: as many as keep up with the steps"),
    R(CHOICE, on_error, stk__on_error_names, 0, 0,
      "what a bad element of the data does: fail, skip or replace"),
    R(REAL, max_errors, DBL_MAX, 0, DBL_MAX, 0,
      "how many bad elements of an epoch skip and replace accept"),
    R(BOOL, deterministic, false, 0,
      "kernels are chosen by rule and not by measuring: the same bits in every process"),
    STK_ROWS_END,
};

const struct stk_decl stk__recipe_decl = {
    "recipe",
    1,
    "What a training is: data, model, and how.",
    "Lines of name = value; # begins a comment. Other names may be given to values that later "
    "lines "
    "use as @name. A file of such lines is what stoker train carries out.\n"
    "\n"
    "    recipe(model=input(8, 8, 3).flatten().dense(2), epochs=5)",
    rows,
    sizeof(struct stk__recipe),
};

char *stk_recipe_json(void)
{
    struct stk__text out = { .is_tight = true };
    stk__json_open(&out, NULL, '[');
    stk__decl_json(&stk__recipe_decl, &out);
    stk__json_close(&out, ']');
    return stk__text_take(&out);
}

static bool is_row(const char *name)
{
    for (const struct stk_param *row = rows; row->name; row++)
        if (!strcmp(row->name, name))
            return true;
    return false;
}

/* ---- lines that cannot be meant ---- */

/* The line of a name; NULL where there is none, or none is what it says. */
static const struct stk__arg *line_of(const struct stk__call *lines, const char *name)
{
    for (int i = 0; name && i < lines->n_args; i++) {
        const struct stk_value *value = lines->arg[i].value;
        bool is_none = value->kind == STK__WORD && !strcmp(value->text, "none");
        if (!strcmp(lines->arg[i].name, name) && !is_none)
            return &lines->arg[i];
    }
    return NULL;
}

/* Empty texts: a directory of that name would be the root. */
static int check_texts(const struct stk__call *lines, const struct stk__recipe *r,
                       struct stk_error *err)
{
    const struct {
        const char *name, *value, *what;
    } texts[] = {
        { "image", r->image, "the name of a field" },
        { "label", r->label, "the name of a field" },
        { "weights", r->weights, "a file" },
        { "checkpoint", r->checkpoint, "a directory" },
        { "log", r->log, "a file" },
        { "tensorboard", r->tensorboard, "a directory" },
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct stk__arg *line = line_of(lines, texts[i].name);
        if (line && texts[i].value && !*texts[i].value)
            return stk__fail_at(err, STK_VALUE, line->value->at, line->value->len,
                                "%s is empty; it takes %s, or none", texts[i].name, texts[i].what);
    }
    return STK_OK;
}

/* Lines that do nothing without another one. */
static int check_needs(const struct stk__call *lines, struct stk_error *err)
{
    static const struct {
        const char *name, *needs, *or_needs, *example;
    } rules[] = {
        { "checkpoint_every", "checkpoint", NULL, "checkpoint = 'directory'" },
        { "keep", "checkpoint", NULL, "checkpoint = 'directory'" },
        { "weights_map", "weights", NULL, "weights = 'file.safetensors'" },
        { "log_every", "log", "tensorboard", "log = 'file.jsonl' or tensorboard = 'directory'" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct stk__arg *line = line_of(lines, rules[i].name);
        if (line && !line_of(lines, rules[i].needs) && !line_of(lines, rules[i].or_needs))
            return stk__fail_at(err, STK_VALUE, line->at, line->len, "%s does nothing without %s",
                                rules[i].name, rules[i].example);
    }
    return STK_OK;
}

int stk__recipe_read(const char *text, struct stk_arena *arena, struct stk__recipe *out,
                     struct stk_error *err)
{
    struct stk__assignments lines;
    int rc = stk__parse_assignments(text, NULL, arena, &lines, err), n = 0;
    if (rc)
        return rc;
    struct stk__arg *arg = stk_arena_alloc(arena, sizeof *arg * ((size_t)lines.n + 1));
    if (!arg)
        return stk__out_of_memory(err);
    for (int i = 0; i < lines.n; i++)
        if (is_row(lines.arg[i].name) || !lines.is_used[i])
            arg[n++] = lines.arg[i];
    const struct stk__call call = { .name = "recipe", .n_args = n, .arg = arg };
    rc = stk__call_bind(&call, &stk__recipe_decl, arena, out, err);
    if (!rc)
        rc = check_texts(&call, out, err);
    return rc ? rc : check_needs(&call, err);
}

int stk__recipe_fail(const char *text, const char *name, int code, struct stk_error *err)
{
    struct stk_arena arena;
    struct stk__assignments lines;
    struct stk_error unseen;
    stk__arena_init(&arena, 1 << 12);
    if (err && !stk__parse_assignments(text, NULL, &arena, &lines, &unseen))
        for (int i = 0; i < lines.n; i++)
            if (!strcmp(lines.arg[i].name, name)) {
                err->at = lines.arg[i].value->at;
                err->len = lines.arg[i].value->len;
            }
    stk__arena_free(&arena);
    return code;
}

/* ---- pieces ---- */

int stk__recipe_piece(const char *recipe, const struct stk_value *value, struct stk_arena *arena,
                      struct stk__recipe_piece *out, struct stk_error *err)
{
    *out = (struct stk__recipe_piece){ 0 };
    if (!value || (value->kind == STK__WORD && !strcmp(value->text, "none")))
        return STK_OK;
    out->at = value->at;
    out->len = value->len;
    out->is_verbatim = !memchr(recipe + value->at, '@', value->len);
    if (out->is_verbatim) {
        out->text = stk__arena_text_n(arena, recipe + value->at, value->len);
        return out->text ? STK_OK : stk__out_of_memory(err);
    }
    struct stk__text text = { 0 };
    int rc = stk__print_value(value, NULL, STK__SHORT, &text, err);
    out->text = rc || text.failed ? NULL : stk__arena_text_n(arena, text.data, text.len);
    stk__text_free(&text);
    return rc ? rc : out->text ? STK_OK : stk__out_of_memory(err);
}

int stk__piece_fault(const struct stk__recipe_piece *piece, int rc, struct stk_error *err)
{
    if (!rc || !err)
        return rc;
    bool has_place = piece->is_verbatim && err->len;
    err->at = has_place ? piece->at + err->at : piece->at;
    err->len = has_place ? err->len : piece->len;
    return rc;
}

int stk_recipe_text(const char *recipe, const char *name, char **out, struct stk_error *err)
{
    struct stk_arena arena;
    struct stk__assignments lines;
    struct stk__recipe_piece piece = { 0 };
    stk__arena_init(&arena, 1 << 12);
    *out = NULL;
    int rc = stk__parse_assignments(recipe, NULL, &arena, &lines, err), found = -1;
    for (int i = 0; !rc && i < lines.n; i++)
        if (!strcmp(lines.arg[i].name, name))
            found = i;
    if (!rc && found < 0)
        rc = stk_fail(err, STK_NAME, "the recipe does not say %s", name);
    if (!rc)
        rc = stk__recipe_piece(recipe, lines.arg[found].value, &arena, &piece, err);
    if (!rc && !piece.text)
        rc = stk_fail(err, STK_NAME, "the recipe has no %s", name);
    if (!rc && !(*out = strdup(piece.text)))
        rc = stk__out_of_memory(err);
    stk__arena_free(&arena);
    return rc;
}
