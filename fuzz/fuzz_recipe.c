/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_recipe.c: any text as a recipe of a training. What is refused has a message and a place in the text; of
 * what is accepted, the values of its lines are texts that read by themselves, and say the same again; its
 * optimizer, loss and scale are read, and their canonical texts read to the same. Nothing is carried out.
 *
 * Bytes from 128 on stand for words of the declarations (words.h). */
#include "fuzz/words.h"
#include "train/fit/recipe.h"
#include "train/loss/loss.h"
#include "train/loss/loss_scale.h"
#include "train/optimizer/optimizer.h"

#include <stoker/fit.h>

static const struct words *dictionary(void)
{
    static struct words words;
    if (!words.n) {
        add_word(&words, " = ");
        add_word(&words, "\n");
        add_word(&words, "none");
        add_word(&words, "auto");
        add_word(&words, "range(9).batch(3)");
        add_word(&words, "input(8, 8, 3).flatten().dense(2)");
        add_rows(&words, &stk__recipe_decl);
        add_namespace(&words, &stk__optimizers);
        add_namespace(&words, &stk__losses);
        add_namespace(&words, &stk__loss_scales);
    }
    return &words;
}

static void check_error(int rc, const struct stk_error *err, const char *text)
{
    require(rc == err->code && err->text[0]);
    require(err->at <= strlen(text));
}

/* The line's value as a text of its own is a value, and says the same when it is asked for again. */
static void check_line(const char *recipe, const char *name)
{
    struct stk_error err = { 0 };
    char *text, *again;
    int rc = stk_recipe_text(recipe, name, &text, &err);
    if (rc) {
        require(rc == STK_NAME || rc == err.code);
        return;
    }
    struct stk__text line = { 0 };
    stk__text_add(&line, "%s = %s", name, text);
    require(!line.failed);
    rc = stk_recipe_text(line.data, name, &again, &err);
    require(rc == STK_OK);
    require(!strcmp(text, again));
    stk_text_free(again);
    stk_text_free(text);
    stk__text_free(&line);
}

static void read_calls(const struct stk__recipe *recipe, struct stk_arena *arena)
{
    struct stk__optimizer optimizer;
    struct stk__loss loss;
    struct stk__loss_scale scale;
    struct stk_error bad_optimizer = { 0 }, bad_loss = { 0 }, bad_scale = { 0 };
    if (recipe->optimizer)
        require(stk__optimizer_read(recipe->optimizer, arena, &optimizer, &bad_optimizer) ==
                bad_optimizer.code);
    if (recipe->loss)
        require(stk__loss_read(recipe->loss, arena, &loss, &bad_loss) == bad_loss.code);
    if (recipe->loss_scale)
        require(stk__loss_scale_read(recipe->loss_scale, arena, &scale, &bad_scale) ==
                bad_scale.code);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const char *const lines[] = { "model", "train", "valid", "optimizer", "loss" };
    char *text = text_of(dictionary(), bytes, n_bytes);
    struct stk__recipe recipe;
    struct stk_error err = { 0 };
    struct stk_arena arena;
    stk__arena_init(&arena, 1024);
    require(text != NULL);
    int rc = stk__recipe_read(text, &arena, &recipe, &err);
    if (rc) {
        check_error(rc, &err, text);
    } else {
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            check_line(text, lines[i]);
        read_calls(&recipe, &arena);
    }
    stk__arena_free(&arena);
    free(text);
    return 0;
}
