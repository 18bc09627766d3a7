/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_train.c: `stoker train` and `stoker eval`: carry a recipe out, and look at what came of it. */
#define _GNU_SOURCE
#include "commands.h"
#include "complain.h"
#include "explain.h"
#include "interrupt.h"
#include "json_print.h"
#include "operand.h"
#include "tally.h"
#include "training.h"
#include "value_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static void add_means(struct stk__text *out, const char *name, const struct stk_fit_means *means)
{
    stk__json_open(out, name, '{');
    stk__json_whole(out, "rows", means->rows);
    stk__json_real(out, "loss", means->loss);
    stk__json_real(out, "accuracy", means->accuracy);
    stk__json_real(out, "top5", means->top5);
    stk__json_close(out, '}');
}

/* ---- train ---- */

/* What the last epochs were like, for the end. */
struct result {
    struct stk_fit_event last, best; /* epochs; kind 0: there was none */
    bool has_last, has_best;
    const char *checkpoint; /* the newest, or NULL */
};

static int carry_out(struct stk_fit *fit, struct cli_training *training,
                     const struct cli_interrupt *interrupt, struct result *result,
                     struct stk_error *err)
{
    struct stk_fit_event event;
    int rc;
    while ((rc = stk_fit_next(fit, &event, err)) == STK_OK) {
        cli_training_tell(training, &event, cli_now());
        if (event.kind == STK_FIT_EPOCH) {
            result->last = event;
            result->has_last = true;
        }
        if (event.kind == STK_FIT_EPOCH && event.is_best) {
            result->best = event;
            result->has_best = true;
        }
        if (atomic_load(&interrupt->signal))
            return STK_CANCELLED;
    }
    result->checkpoint = event.checkpoint;
    if (rc != STK_END)
        return rc;
    cli_training_tell(training, &event, -1); /* what is to be told, and nothing is drawn */
    if (!result->has_last)                   /* it was over when it was resumed */
        result->last = event;
    result->last.n_bad = event.n_bad;
    result->last.first_bad = event.first_bad;
    return STK_OK;
}

static void print_text(struct stk_fit *fit, const struct cli_args *args,
                       const struct result *result)
{
    char *verdict = stk_fit_verdict(fit);
    if (result->has_best && result->best.valid.rows && !isnan(result->best.valid.accuracy))
        printf("\nbest: epoch %" PRId64 ", %.2f %% of %" PRId64 " rows of valid right\n",
               result->best.epoch + 1, result->best.valid.accuracy * 100, result->best.valid.rows);
    if (result->has_last && result->last.checkpoint)
        printf("newest checkpoint: %s\n", result->last.checkpoint);
    if (result->last.n_bad)
        printf("bad elements, left out or replaced: %" PRId64 "%s%s\n", result->last.n_bad,
               result->last.first_bad ? ", the first: " : "",
               result->last.first_bad ? result->last.first_bad : "");
    if (verdict && !args->quiet)
        printf("\n%s", verdict);
    stk_text_free(verdict);
}

static void print_json(const struct result *result)
{
    const struct stk_fit_event *e = &result->last;
    struct cli_json_file out = cli_json_to(stdout);
    stk__json_open(&out.text, NULL, '{');
    stk__json_whole(&out.text, "epochs", e->epoch + 1);
    stk__json_whole(&out.text, "steps", e->total_steps);
    add_means(&out.text, "train", &e->train);
    add_means(&out.text, "valid", &e->valid);
    stk__json_whole(&out.text, "best_epoch", result->has_best ? result->best.epoch + 1 : 0);
    add_means(&out.text, "best_valid", &result->best.valid);
    stk__json_whole(&out.text, "skipped", e->n_skipped);
    stk__json_whole(&out.text, "bad", e->n_bad);
    stk__json_string(&out.text, "first_bad", e->first_bad);
    stk__json_fixed(&out.text, "seconds", e->seconds, 3);
    stk__json_fixed(&out.text, "waited_seconds", e->waited_seconds, 3);
    stk__json_close(&out.text, '}');
    cli_json_finish(&out);
}

/* What an interrupted or failed training leaves, and the exit code. */
static int conclude(struct stk_fit *fit, const struct cli_chain *chain, const struct cli_args *args,
                    const struct result *result, int rc, struct stk_error *err, int signal)
{
    struct stk_error unsaved = { 0 };
    if (rc == STK_CANCELLED && signal) {
        if (stk_fit_save(fit, &unsaved))
            return cli_report(&unsaved, NULL, true);
        if (!args->quiet)
            fprintf(stderr, "interrupted; --resume goes on where checkpoints are\n");
        return 128 + signal;
    }
    if (rc) {
        int code = cli_report(err, chain, true);
        if (result->checkpoint)
            fprintf(stderr, "the newest checkpoint is %s; --resume goes on from it\n",
                    result->checkpoint);
        return code;
    }
    if (args->json)
        print_json(result);
    else if (!args->quiet)
        print_text(fit, args, result);
    return CLI_OK;
}

static int train(struct cli_args *args, const struct cli_chain *chain)
{
    const struct stk_fit_options how = { .resume = args->resume || args->resume_older,
                                         .resume_older = args->resume_older,
                                         .restart = args->restart };
    struct cli_interrupt interrupt;
    struct cli_training training;
    struct result result = { .last = { .epoch = -1 } };
    struct stk_error err = { 0 };
    struct stk_fit *fit;
    int code = cli_training_begin(&training, args);
    if (code)
        return code;
    cli_interrupt_block(&interrupt);
    interrupt.saves = true;
    atomic_store(&interrupt.ends_at_once, true); /* reading an index cannot be cancelled */
    cli_interrupt_watch(&interrupt, NULL);
    int unmade = stk_fit_new(chain->text, &how, &fit, &err);
    atomic_store(&interrupt.ends_at_once, false);
    if (unmade) {
        cli_interrupt_stop(&interrupt);
        return cli_report(&err, chain, false);
    }
    int rc = carry_out(fit, &training, &interrupt, &result, &err);
    cli_training_end(&training);
    int signal = cli_interrupt_stop(&interrupt);
    code = conclude(fit, chain, args, &result, rc, &err, signal);
    stk_fit_free(fit);
    return code;
}

/* ---- eval ---- */

static int eval(struct cli_args *args, const struct cli_chain *chain)
{
    struct stk_fit_means means;
    struct stk_error err = { 0 };
    struct stk_fit *fit;
    if (stk_fit_new(chain->text, NULL, &fit, &err))
        return cli_report(&err, chain, false);
    int rc = stk_fit_eval(fit, args->checkpoint, &means, &err);
    stk_fit_free(fit);
    if (rc)
        return cli_report(&err, chain, true);
    if (args->json) {
        struct cli_json_file out = cli_json_to(stdout);
        stk__json_open(&out.text, NULL, '{');
        add_means(&out.text, "valid", &means);
        stk__json_close(&out.text, '}');
        cli_json_finish(&out);
    } else {
        printf("%" PRId64 " rows: loss %.5g", means.rows, means.loss);
        if (!isnan(means.accuracy))
            printf(", accuracy %.2f %%", means.accuracy * 100);
        if (!isnan(means.top5))
            printf(", top 5 %.2f %%", means.top5 * 100);
        printf("\n");
    }
    return CLI_OK;
}

static int with_recipe(struct cli_args *args,
                       int (*then)(struct cli_args *, const struct cli_chain *))
{
    struct cli_chain chain = { 0 };
    struct stk_error err = { 0 };
    if (args->cpu && stk_cpu_limit(args->cpu, &err))
        return cli_report(&err, NULL, false);
    int code = cli_chain_load(&chain, args->word);
    if (code == CLI_OK)
        code = then(args, &chain);
    cli_chain_close(&chain);
    return code;
}

static const struct cli_explained lines = { stk_recipe_json, "line", "stoker train --lines" };

static int run_train(struct cli_args *args)
{
    if (args->list) {
        struct cli_args one = *args;
        one.word = "recipe";
        return cli_explain_show(&lines, &one);
    }
    if (!args->word) {
        cli_complain("train needs a RECIPE: a file (.stk) or lines of name = value");
        return CLI_USAGE;
    }
    return with_recipe(args, train);
}

static int run_eval(struct cli_args *args)
{
    return with_recipe(args, eval);
}

#define CPU_OPTION                                                                                 \
    {                                                                                              \
        "cpu", "LEVEL", "instruction set: auto, scalar, avx2, avx512", CLI_TEXT,                   \
            offsetof(struct cli_args, cpu)                                                         \
    }

static const struct cli_option train_options[] = {
    { "resume", NULL, "go on from the newest checkpoint, if there is one", CLI_FLAG,
      offsetof(struct cli_args, resume) },
    { "resume-older", NULL,
      "--resume, and where the newest checkpoint is damaged, from an older one", CLI_FLAG,
      offsetof(struct cli_args, resume_older) },
    { "restart", NULL, "begin anew where checkpoints are, and take their place", CLI_FLAG,
      offsetof(struct cli_args, restart) },
    { "progress", "HOW", "how it goes, on stderr: auto, live, lines, none", CLI_TEXT,
      offsetof(struct cli_args, progress) },
    { "json", NULL, "print one JSON object at the end", CLI_FLAG, offsetof(struct cli_args, json) },
    { "quiet", NULL, "print nothing but errors", CLI_FLAG, offsetof(struct cli_args, quiet) },
    { "lines", NULL, "explain all lines that a recipe may have", CLI_FLAG,
      offsetof(struct cli_args, list) },
    CPU_OPTION,
    CLI_PLUGIN_OPTION,
    { 0 },
};

const struct cli_command cli_train = {
    .name = "train",
    .operand = "[RECIPE]",
    .summary = "Train a model: data, layers and how, as lines of name = value.",
    .text = "RECIPE is a file of such lines (.stk), or the lines themselves:\n\n"
            "    train = image_folder('train').decode().resize(64, 64).scale(1/255).shuffle()"
            ".batch(32)\n"
            "    model = input(64, 64, 3).conv2d(16, 3, activation=relu).maxpool(2).flatten()"
            ".dense(10)\n"
            "    optimizer = adam(0.001)\n"
            "    epochs = 10\n"
            "    checkpoint = 'run'\n\n"
            "docs/training.md explains all of them. Ctrl-C writes a checkpoint and ends.",
    .options = train_options,
    .run = run_train,
};

static const struct cli_option eval_options[] = {
    { "checkpoint", "FILE", "weights to evaluate (default: the recipe's best, else its newest)",
      CLI_TEXT, offsetof(struct cli_args, checkpoint) },
    { "json", NULL, "print one JSON object", CLI_FLAG, offsetof(struct cli_args, json) },
    CPU_OPTION,
    CLI_PLUGIN_OPTION,
    { 0 },
};

const struct cli_command cli_eval = {
    .name = "eval",
    .operand = "RECIPE",
    .summary = "Say how good a trained model is on its recipe's valid.",
    .text = "    stoker eval recipe.stk\n"
            "    stoker eval recipe.stk --checkpoint run/step-00001200.safetensors",
    .options = eval_options,
    .run = run_eval,
};
