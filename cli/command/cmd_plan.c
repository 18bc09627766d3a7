/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_plan.c: `stoker plan`: how a chain will run, and why. */
#include "commands.h"
#include "complain.h"
#include "operand.h"

#include <string.h>

static int print_rewrites(const struct cli_chain *chain)
{
    char *text = stk_dataset_explain(chain->dataset);
    if (!text)
        return cli_report(&(struct stk_error){ .code = STK_MEMORY, .text = "out of memory" }, chain,
                          false);
    printf("\n%s", text);
    stk_text_free(text);
    return CLI_OK;
}

static int print_plan(const struct cli_args *args, const struct cli_chain *chain)
{
    struct stk_error err = { 0 };
    char *plan = NULL;
    if (stk_dataset_plan(chain->dataset, args->options, args->json, &plan, &err))
        return cli_report(&err, chain, false);
    size_t len = strlen(plan);
    printf("%s%s", plan, len && plan[len - 1] == '\n' ? "" : "\n");
    stk_text_free(plan);
    return args->explain && !args->json ? print_rewrites(chain) : CLI_OK;
}

static int run(struct cli_args *args)
{
    struct cli_chain chain;
    int code = cli_chain_open(&chain, args);
    if (code == CLI_OK)
        code = print_plan(args, &chain);
    cli_chain_close(&chain);
    return code;
}

static const struct cli_option options[] = {
    { "json", NULL, "print the plan as JSON", CLI_FLAG, offsetof(struct cli_args, json) },
    { "explain", NULL, "say how the chain was rewritten, and why; JSON always does", CLI_FLAG,
      offsetof(struct cli_args, explain) },
    { 0 },
};

const struct cli_command cli_plan = {
    .name = "plan",
    .operand = "CHAIN",
    .summary = "Show how a chain will run: tree, classes, segments, and bytes, with reasons.",
    .options = options,
    .takes_run_options = true,
    .run = run,
};
