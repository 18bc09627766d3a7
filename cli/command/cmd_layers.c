/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_layers.c: `stoker layers`: the list of layers, or one of them in full. */
#include "commands.h"
#include "explain.h"

static const struct cli_explained layers = { stk_layers_json, "layer", "stoker layers" };

static int run(struct cli_args *args)
{
    return cli_explain_show(&layers, args);
}

bool cli_layer_explain(const char *name)
{
    return cli_explain_one(&layers, name);
}

static const struct cli_option options[] = {
    { "json", NULL, "print JSON", CLI_FLAG, offsetof(struct cli_args, json) },
    { 0 },
};

const struct cli_command cli_layers = {
    .name = "layers",
    .operand = "[NAME]",
    .summary = "List the layers of models, or explain one with its parameters.",
    .options = options,
    .run = run,
};
