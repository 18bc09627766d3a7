/* SPDX-License-Identifier: Apache-2.0 */
/* operand.h: the CHAIN operand: text on the command line, a recipe file, or standard input. */
#pragma once
#include <stoker/stoker.h>

struct cli_args;

struct cli_chain {
    const char *text;
    const char *file; /* where the text was read from, for messages; NULL for the command line */
    char *memory;     /* what cli_chain_close frees */
    struct stk_dataset *dataset;
};

/* The text of an operand, without a dataset; reports what is wrong and returns an exit code.
 * cli_chain_close is due either way. */
int cli_chain_load(struct cli_chain *chain, const char *word);

/* Applies --cpu, reads the operand and builds the dataset; reports what is wrong and returns an
 * exit code. cli_chain_close is due either way. */
int cli_chain_open(struct cli_chain *chain, const struct cli_args *args);
void cli_chain_close(struct cli_chain *chain);
