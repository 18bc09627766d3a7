/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_stats.c: `stoker stats`: one pass over the data, and what is in its fields. */
#define _GNU_SOURCE
#include "commands.h"
#include "interrupt.h"
#include "operand.h"
#include "report.h"
#include "summary.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Takes batches until the end, an error or --take; the status that ended it. */
static int collect(struct cli_summary *summary, struct cli_tally *tally,
                   struct stk_statistics *statistics, struct stk_error *err)
{
    int64_t take = summary->args->take;
    int status = STK_OK;
    while (take < 0 || tally->batches < (uint64_t)take) {
        struct stk_batch *batch = NULL;
        status = stk_iterator_next(summary->it, &batch, err);
        if (status)
            break;
        cli_tally_batch(tally, batch);
        status = stk_statistics_add(statistics, batch, err);
        stk_batch_unref(batch);
        if (status)
            break;
        cli_progress(summary);
    }
    return status == STK_END ? STK_OK : status;
}

static int save(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool is_written = file && fputs(text, file) >= 0 && putc('\n', file) != EOF;
    int cause = errno;
    if (file && fclose(file) && is_written) {
        is_written = false;
        cause = errno;
    }
    if (!is_written)
        cli_complain("cannot write %s: %s", path, strerror(cause));
    return is_written ? CLI_OK : CLI_FAILED;
}

static int print(const struct cli_args *args, struct stk_statistics *statistics)
{
    struct stk_error err = { 0 };
    char *text = NULL, *json = NULL;
    int code = CLI_OK;
    if (stk_statistics_print(statistics, args->json, &text, &err))
        return cli_report(&err, NULL, true);
    printf("%s%s", text, args->json ? "\n" : "");
    stk_text_free(text);
    if (!args->save)
        return CLI_OK;
    if (stk_statistics_print(statistics, true, &json, &err))
        return cli_report(&err, NULL, true);
    code = save(args->save, json);
    stk_text_free(json);
    return code;
}

static int run_dataset(struct cli_args *args, const struct cli_chain *chain,
                       struct stk_statistics *statistics)
{
    struct stk_error err = { 0 };
    struct cli_interrupt interrupt;
    struct cli_tally tally;
    struct cli_summary summary = { .args = args, .tally = &tally };
    summary.total = stk_dataset_count(chain->dataset);
    summary.total = args->take >= 0 && args->take < summary.total ? args->take : summary.total;
    summary.has_progress = isatty(STDERR_FILENO);
    cli_interrupt_block(&interrupt);
    cli_tally_begin(&tally, args->start);
    if (stk_iterator_new(chain->dataset, args->options, &summary.it, &err))
        return cli_report(&err, chain, false);
    cli_interrupt_watch(&interrupt, summary.it);
    int status = collect(&summary, &tally, statistics, &err);
    int signal = cli_interrupt_stop(&interrupt);
    cli_progress_clear(&summary);
    struct stk_stats run;
    stk_iterator_stats(summary.it, &run);
    stk_iterator_free(summary.it);
    if (signal)
        return 128 + signal;
    if (status)
        return cli_report(&err, chain, true);
    if (run.errors && !args->json)
        printf("%llu bad elements were left out or replaced\n", (unsigned long long)run.errors);
    return print(args, statistics);
}

static int run(struct cli_args *args)
{
    struct cli_chain chain;
    struct stk_error err = { 0 };
    struct stk_statistics *statistics = NULL;
    int code = cli_chain_open(&chain, args);
    if (code == CLI_OK && stk_statistics_new(chain.dataset, &statistics, &err))
        code = cli_report(&err, &chain, false);
    if (code == CLI_OK)
        code = run_dataset(args, &chain, statistics);
    stk_statistics_free(statistics);
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
