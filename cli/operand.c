/* SPDX-License-Identifier: Apache-2.0 */
/* operand.c: from the operand to a dataset. */
#include "operand.h"

#include "args.h"
#include "complain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RECIPE = 64 << 20 };

static int read_all(FILE *file, struct cli_chain *chain)
{
    size_t len = 0, cap = 0;
    do {
        cap = cap ? cap * 2 : 4096;
        char *memory = cap <= MAX_RECIPE ? realloc(chain->memory, cap) : NULL;
        if (!memory) {
            cli_complain("%s is too large for a recipe", chain->file);
            return CLI_FAILED;
        }
        chain->memory = memory;
        len += fread(memory + len, 1, cap - 1 - len, file);
    } while (len == cap - 1);
    if (ferror(file)) {
        cli_complain("cannot read %s: %s", chain->file, strerror(errno));
        return CLI_FAILED;
    }
    if (memchr(chain->memory, 0, len)) {
        cli_complain("%s is not a recipe: it holds NUL bytes", chain->file);
        return CLI_USAGE;
    }
    chain->memory[len] = 0;
    chain->text = chain->memory;
    return CLI_OK;
}

int cli_chain_load(struct cli_chain *chain, const char *word)
{
    size_t len = strlen(word);
    bool is_stdin = !strcmp(word, "-");
    bool is_file = len > 4 && !strcmp(word + len - 4, ".stk");
    chain->text = word;
    if (!is_stdin && !is_file)
        return CLI_OK;
    chain->file = is_stdin ? "standard input" : word;
    FILE *file = is_stdin ? stdin : fopen(word, "re");
    if (!file) {
        cli_complain("cannot read %s: %s", word, strerror(errno));
        return CLI_FAILED;
    }
    int status = read_all(file, chain);
    if (!is_stdin)
        fclose(file);
    return status;
}

int cli_chain_open(struct cli_chain *chain, const struct cli_args *args)
{
    struct stk_error err = { 0 };
    *chain = (struct cli_chain){ 0 };
    if (args->cpu && stk_cpu_limit(args->cpu, &err))
        return cli_report(&err, NULL, false);
    int status = cli_chain_load(chain, args->word);
    if (status)
        return status;
    if (stk_dataset_new(chain->text, NULL, &chain->dataset, &err))
        return cli_report(&err, chain, false);
    return CLI_OK;
}

void cli_chain_close(struct cli_chain *chain)
{
    if (chain->dataset)
        stk_dataset_unref(chain->dataset);
    free(chain->memory);
    *chain = (struct cli_chain){ 0 };
}
