/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_model.c: `stoker model`: the layers of a model, and what it costs. */
#include "commands.h"
#include "complain.h"
#include "explain.h"

static const struct cli_explained models = { stk_models_json, "known model",
                                             "stoker model --list" };

static int describe(const struct cli_chain *chain, const struct cli_args *args)
{
    struct stk_error err = { 0 };
    struct stk_model *model;
    if (stk_model_new(chain->text, &model, &err))
        return cli_report(&err, chain, false);
    char *text = (args->json ? stk_model_json : stk_model_describe)(model, args->batch);
    stk_model_free(model);
    if (!text) {
        cli_complain("out of memory");
        return CLI_FAILED;
    }
    printf("%s%s", text, args->json ? "\n" : "");
    stk_text_free(text);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    struct cli_chain chain = { 0 };
    if (args->list)
        return cli_explain_show(&models, args);
    if (!args->word) {
        cli_complain("model needs a CHAIN of layers, a NAME ('stoker model --list' has them) or a "
                     "FILE.stk");
        return CLI_USAGE;
    }
    if (args->batch < 1) {
        cli_complain("--batch takes a number from 1 on");
        return CLI_USAGE;
    }
    int code = cli_chain_load(&chain, args->word);
    if (code == CLI_OK)
        code = describe(&chain, args);
    cli_chain_close(&chain);
    return code;
}

static const struct cli_option options[] = {
    { "batch", "N", "elements in a batch, for the memory of activations (default 32)", CLI_COUNT,
      offsetof(struct cli_args, batch) },
    { "json", NULL, "print JSON", CLI_FLAG, offsetof(struct cli_args, json) },
    { "list", NULL, "list the known models, or explain the one that is named", CLI_FLAG,
      offsetof(struct cli_args, list) },
    { 0 },
};

const struct cli_command cli_model = {
    .name = "model",
    .operand = "[MODEL]",
    .summary = "Show the layers of a model: shapes, weights, multiplications, memory.",
    .text =
        "MODEL is a chain of layers, the name of a known model, or a file of either (.stk):\n\n"
        "    stoker model \"input(28, 28, 1).conv2d(32, 3, activation=relu).flatten().dense(10)\"\n"
        "    stoker model \"resnet18(classes=10)\" --batch 64",
    .options = options,
    .run = run,
};
