/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_inspect.c: `stoker inspect`: what is in files, and the chain that reads them. */
#include "commands.h"
#include "complain.h"

/* One file; JSON objects stand one per line. */
static int inspect(const struct cli_args *args, const char *path)
{
    struct stk_error err = { 0 };
    char *text = NULL;
    if (stk_inspect(path, args->json, &text, &err)) {
        fflush(stdout);
        return cli_report(&err, NULL, true);
    }
    printf("%s%s", text, args->json ? "\n" : "");
    stk_text_free(text);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    int code = CLI_OK;
    for (int i = 0; i < args->n_words && !cli_output_is_broken(); i++) {
        if (i && !args->json)
            putchar('\n');
        int status = inspect(args, args->words[i]);
        code = status ? status : code;
    }
    return code;
}

static const struct cli_option options[] = {
    { "json", NULL, "print a JSON object per file, one line each", CLI_FLAG,
      offsetof(struct cli_args, json) },
    { 0 },
};

const struct cli_command cli_inspect = {
    .name = "inspect",
    .operand = "FILE...",
    .summary = "Say what is in files or directories, and which chain reads them.",
    .text = "The format is recognised by the content. Of large files the first 64 MB are examined.",
    .options = options,
    .run = run,
};
