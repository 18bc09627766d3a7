/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h: what a training is, as lines of name = value.
 *
 *     images = image_folder('train').decode().resize(64, 64)
 *     train  = @images.random_flip().shuffle().batch(32)
 *     model  = m2(classes=10)
 *     epochs = 20
 *
 * The lines are one declaration, so they are bound, checked and explained as any call's parameters. Other
 * names are for later lines to use (@images). This declaration is what help, documents and Python have.
 */
#pragma once
#include "lang/lang.h"

enum stk__monitor { STK__MONITOR_AUTO, STK__VALID_ACCURACY, STK__VALID_LOSS, STK__TRAIN_LOSS };

struct stk__recipe {
    const struct stk_value *model, *train, *valid; /* NULL: not given */
    const char *image, *label;
    struct stk_texts classes;
    const struct stk_value *optimizer, *loss, *loss_scale;
    int precision;
    int64_t epochs, steps_per_epoch, seed;
    const char *weights;
    struct stk_pairs weights_map;
    int64_t early_stop;
    int monitor;
    double min_delta;
    int on_nonfinite;
    const char *checkpoint;
    int64_t checkpoint_every, keep;
    const char *log;
    int64_t log_every;
    const char *tensorboard;
    int64_t threads, max_batch, workers;
    int on_error;
    double max_errors;
    bool deterministic;
};

extern const struct stk_decl stk__recipe_decl;
extern const char *const stk__precision_names[], *const stk__on_error_names[];

/* Binds the lines; values are in the arena. */
int stk__recipe_read(const char *text, struct stk_arena *arena, struct stk__recipe *out,
                     struct stk_error *err);

/* Gives a fault the place of a line's value, if there is one. Returns its code. */
int stk__recipe_fail(const char *text, const char *name, int code, struct stk_error *err);

/* A value as a text of its own, and where that is in the recipe's. */
struct stk__recipe_piece {
    const char *text; /* NULL: there is no such value */
    uint32_t at, len;
    bool is_verbatim; /* places in it are those of the recipe, shifted */
};

/* In the arena. */
int stk__recipe_piece(const char *recipe, const struct stk_value *value, struct stk_arena *arena,
                      struct stk__recipe_piece *out, struct stk_error *err);

/* An error in a piece becomes one of the recipe. Returns its code. */
int stk__piece_fault(const struct stk__recipe_piece *piece, int rc, struct stk_error *err);
