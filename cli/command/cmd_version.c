/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_version.c: `stoker version`. */
#include "commands.h"

#include <stdio.h>

static int run(struct cli_args *args)
{
    (void)args;
    printf("stoker %s\n", stk_version());
    return CLI_OK;
}

const struct cli_command cli_version = {
    .name = "version",
    .operand = "",
    .summary = "Print the version.",
    .run = run,
};
