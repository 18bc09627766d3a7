/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_stats.c: `stoker stats`: one pass over the data, and what is in its fields. */
#define _GNU_SOURCE
#include "commands.h"
#include "complain.h"
#include "interrupt.h"
#include "operand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct watch {
    struct cli_interrupt interrupt;
    int64_t total; /* batches to expect, or negative */
    bool has_progress;
};

/* The line on the terminal; true once a signal has come. */
static bool show(void *context, uint64_t elements, uint64_t batches)
{
    struct watch *watch = context;
    if (watch->has_progress) {
        fprintf(stderr, "\r%" PRIu64 " elements, batch %" PRIu64, elements, batches);
        if (watch->total >= 0)
            fprintf(stderr, " of %" PRId64, watch->total);
        fputs("\033[K", stderr);
        fflush(stderr);
    }
    return atomic_load(&watch->interrupt.signal) != 0;
}

static int save(const char *path, const char *text)
{
    char *line = NULL;
    if (asprintf(&line, "%s\n", text) < 0)
        line = NULL;
    int code = cli_save(path, line);
    free(line);
    return code;
}

static int print(const struct cli_args *args, const struct stk_statistics *found)
{
    if (found->errors && !args->json)
        printf("%" PRIu64 " bad elements were left out or replaced\n", found->errors);
    printf("%s%s", args->json ? found->json : found->text, args->json ? "\n" : "");
    return args->save ? save(args->save, found->json) : CLI_OK;
}

static int run_dataset(struct cli_args *args, const struct cli_chain *chain)
{
    struct stk_error err = { 0 };
    struct stk_statistics found = { 0 };
    int64_t count = stk_dataset_count(chain->dataset);
    struct watch watch = { .total = args->take > 0 && args->take < count ? args->take : count,
                           .has_progress = isatty(STDERR_FILENO) };
    const struct stk_statistics_options wanted = { .batches = args->take > 0 ? args->take : 0,
                                                   .progress = show,
                                                   .context = &watch };
    cli_interrupt_block(&watch.interrupt);
    cli_interrupt_watch(&watch.interrupt, NULL);
    int rc = stk_dataset_statistics(chain->dataset, args->options, &wanted, &found, &err);
    int signal = cli_interrupt_stop(&watch.interrupt);
    if (watch.has_progress)
        fputs("\r\033[K", stderr);
    if (rc == STK_CANCELLED && signal) {
        cli_complain("interrupted; nothing was written");
        return 128 + signal;
    }
    int code = rc ? cli_report(&err, chain, true) : print(args, &found);
    stk_text_free(found.text);
    stk_text_free(found.json);
    return code;
}

static int run(struct cli_args *args)
{
    struct cli_chain chain;
    if (args->take == 0) {
        cli_complain("--take wants at least one batch");
        return CLI_USAGE;
    }
    int code = cli_chain_open(&chain, args);
    if (code == CLI_OK)
        code = run_dataset(args, &chain);
    cli_chain_close(&chain);
    return code;
}

static const struct cli_option options[] = {
    { "take", "N", "stop after N batches", CLI_COUNT, offsetof(struct cli_args, take) },
    { "json", NULL, "print one JSON object", CLI_FLAG, offsetof(struct cli_args, json) },
    { "save", "FILE", "write the same JSON to FILE too", CLI_TEXT,
      offsetof(struct cli_args, save) },
    { 0 },
};

const struct cli_command cli_stats = {
    .name = "stats",
    .operand = "CHAIN",
    .summary = "Say what is in the fields: range, mean, deviation, histogram, classes, texts.",
    .text = "Images and short vectors are described channel by channel, and the call of normalize "
            "that\n"
            "they want is printed ready to paste:\n\n"
            "    stoker stats \"image_folder('train').decode().resize(64, 64, "
            "dtype=uint8).batch(64)\"",
    .options = options,
    .takes_run_options = true,
    .run = run,
};
