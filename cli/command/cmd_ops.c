/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ops.c: `stoker ops`: the list of ops, or one of them in full. */
#include "commands.h"
#include "complain.h"
#include "explain.h"

static const struct cli_explained ops = { stk_ops_json, "op", "stoker ops" };

static int check(const struct cli_args *args)
{
    struct stk_error err = { 0 };
    char *text = NULL;
    if (!args->word) {
        cli_complain("--check needs the NAME of an op");
        return CLI_USAGE;
    }
    if (stk_op_check(args->word, &text, &err))
        return cli_report(&err, NULL, false);
    fputs(text, stdout);
    stk_text_free(text);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    return args->check ? check(args) : cli_explain_show(&ops, args);
}

bool cli_op_explain(const char *name)
{
    return cli_explain_one(&ops, name);
}

static const struct cli_option options[] = {
    { "json", NULL, "print JSON", CLI_FLAG, offsetof(struct cli_args, json) },
    { "check", NULL, "try the op NAME on the examples of its text, and its bounds", CLI_FLAG,
      offsetof(struct cli_args, check) },
    CLI_PLUGIN_OPTION,
    { 0 },
};

const struct cli_command cli_ops = {
    .name = "ops",
    .operand = "[NAME]",
    .summary = "List the ops, or explain one with its parameters.",
    .options = options,
    .run = run,
};
