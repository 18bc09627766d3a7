/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c: `stoker run`: reads everything, counts it, and says how fast it went. */
#define _GNU_SOURCE
#include "commands.h"
#include "complain.h"
#include "digest.h"
#include "dump.h"
#include "interrupt.h"
#include "operand.h"
#include "run_place.h"
#include "summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Batches the run will deliver, or negative where nobody knows. */
static int64_t expected_batches(const struct stk_dataset *dataset, const struct cli_args *args)
{
    int64_t count = stk_dataset_count(dataset), total = -1;
    long long n_epochs = args->epochs ? strtoll(args->epochs, NULL, 10) : 1;
    if (count < 0 || n_epochs <= 0 || __builtin_mul_overflow(count, (int64_t)n_epochs, &total))
        total = args->take;
    return args->take >= 0 && args->take < total ? args->take : total;
}

/* Milliseconds after which something else may have to be done. */
static int64_t patience_of(const struct cli_summary *summary)
{
    const int64_t prometheus = summary->args->prometheus ? 1000 : -1;
    const int64_t progress = cli_progress_patience(&summary->progress);
    return prometheus < 0 || (progress >= 0 && progress < prometheus) ? progress : prometheus;
}

/* What was dumped is not kept back while the next batch is waited for. */
static int next_batch(struct cli_summary *summary, struct stk_batch **out, struct stk_error *err)
{
    const int64_t patience = patience_of(summary);
    int status = STK_AGAIN;
    if (summary->args->dump && (status = stk_iterator_poll(summary->it, 0, out, err)) == STK_AGAIN)
        fflush(stdout);
    while (status == STK_AGAIN) {
        int told = cli_metrics_tick(&summary->metrics, summary->it, err);
        if (told)
            return told;
        cli_progress_tick(&summary->progress, summary->it, cli_now());
        status = stk_iterator_poll(summary->it, patience, out, err);
    }
    return status;
}

static bool is_failure(int status)
{
    return status != STK_OK && status != STK_END && status != STK_CANCELLED;
}

/* Takes batches until the end, an error, --take, or a reader that is gone; the status that ended
 * it. */
static int deliver(struct cli_summary *summary, struct cli_tally *tally, struct cli_digest *digest,
                   struct stk_error *err)
{
    const struct cli_args *args = summary->args;
    int status = STK_OK;
    while (args->take < 0 || tally->batches < (uint64_t)args->take) {
        struct stk_batch *batch = NULL;
        status = next_batch(summary, &batch, err);
        if (status)
            break;
        cli_tally_batch(tally, batch);
        if (args->digest)
            cli_digest_batch(digest, batch);
        if (args->dump)
            cli_dump_batch(stdout, batch);
        stk_batch_unref(batch);
        cli_progress_tick(&summary->progress, summary->it, tally->last_batch);
        if (args->dump && cli_output_is_broken())
            break;
        int saved = cli_checkpoint_after(args, summary->it, tally->batches, err);
        if (saved)
            return saved;
    }
    bool is_failed = is_failure(status);
    struct stk_error unseen;
    int saved = cli_checkpoint_save(args, summary->it, is_failed ? &unseen : err);
    status = saved && !is_failed ? saved : status;
    cli_tally_end(tally, status == STK_END);
    return status;
}

/* Dumped batches have stdout to themselves, so the text for people goes to stderr then. */
static void print_results(const struct cli_summary *summary)
{
    const struct cli_args *args = summary->args;
    if (args->json)
        cli_summary_json(stdout, summary);
    else if (!args->quiet)
        cli_summary_print(args->dump ? stderr : stdout, summary);
    if (args->digest && !args->json)
        printf("digest %016" PRIx64 "\n", summary->digest);
}

/* What is left to say when the batches have ended; the exit code. */
static int conclude(struct cli_summary *summary, const struct cli_chain *chain, int status,
                    const struct stk_error *err, int signal)
{
    bool is_failed = status != STK_OK && status != STK_END && !signal;
    fflush(stdout);
    stk_iterator_stats(summary->it, &summary->stats);
    summary->error = is_failed ? err : NULL;
    summary->signal = signal;
    if (!is_failed || summary->args->json)
        print_results(summary);
    if (!is_failed)
        return signal ? 128 + signal : CLI_OK;
    return cli_report(err, chain, true);
}

static int run_dataset(struct cli_args *args, const struct cli_chain *chain)
{
    struct stk_error err = { 0 };
    struct cli_interrupt interrupt;
    struct cli_tally tally;
    struct cli_digest digest;
    struct cli_summary summary = {
        .args = args,
        .tally = &tally,
        .has_digest = args->digest,
        .metrics.args = args,
    };
    int code = cli_progress_begin(&summary.progress, args, expected_batches(chain->dataset, args));
    if (code)
        return code;
    cli_digest_begin(&digest);
    cli_interrupt_block(&interrupt);
    cli_tally_begin(&tally, args->start);
    if (cli_metrics_prepare(args, &err) ||
        cli_checkpoint_start(args, chain->dataset, &summary.it, &err))
        return cli_report(&err, chain, false);
    cli_interrupt_watch(&interrupt, summary.it);
    int status = deliver(&summary, &tally, &digest, &err);
    int signal = cli_interrupt_signal(&interrupt);
    struct stk_error unwritten;
    if (cli_metrics_end(&summary.metrics, summary.it, &unwritten) && !is_failure(status)) {
        status = unwritten.code;
        err = unwritten;
    }
    cli_progress_end(&summary.progress);
    summary.digest = cli_digest_end(&digest);
    code = conclude(&summary, chain, status, &err, signal);
    fflush(stdout);
    cli_interrupt_stop(&interrupt); /* until then it looks whether somebody reads what is said */
    stk_iterator_free(summary.it);
    return code;
}

static int run(struct cli_args *args)
{
    struct cli_chain chain;
    if (!args->checkpoint && (args->resume || args->every)) {
        cli_complain("--%s needs --checkpoint FILE", args->resume ? "resume" : "every");
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
    { "json", NULL, "print the summary as one JSON object", CLI_FLAG,
      offsetof(struct cli_args, json) },
    { "digest", NULL, "print a hash of everything delivered, in order", CLI_FLAG,
      offsetof(struct cli_args, digest) },
    { "dump", NULL, "print every batch as a line of JSON", CLI_FLAG,
      offsetof(struct cli_args, dump) },
    { "errors", NULL, "list the last skipped errors at the end", CLI_FLAG,
      offsetof(struct cli_args, errors) },
    { "tuning", NULL, "list at the end what the run changed about itself, and why", CLI_FLAG,
      offsetof(struct cli_args, tuning) },
    { "checkpoint", "FILE", "save the place of the run there: every N batches and at its end",
      CLI_TEXT, offsetof(struct cli_args, checkpoint) },
    { "every", "N", "batches from one checkpoint to the next (default 100)", CLI_COUNT,
      offsetof(struct cli_args, every) },
    { "resume", NULL, "continue where FILE says, or from the beginning if there is none yet",
      CLI_FLAG, offsetof(struct cli_args, resume) },
    { "metrics", "FILE", "write all numbers of the run there at its end, as JSON", CLI_TEXT,
      offsetof(struct cli_args, metrics) },
    { "prometheus", "FILE", "write them there every two seconds, for Prometheus to scrape",
      CLI_TEXT, offsetof(struct cli_args, prometheus) },
    { "trace", "FILE", "record what each thread does and write it there; ui.perfetto.dev opens it",
      CLI_TEXT, offsetof(struct cli_args, trace) },
    { "progress", "KIND",
      "on stderr: live, a view that is drawn anew 4 times a second; lines, one every 5 seconds; "
      "none; "
      "auto, what suits (default)",
      CLI_TEXT, offsetof(struct cli_args, progress) },
    { "quiet", NULL, "no progress and no summary", CLI_FLAG, offsetof(struct cli_args, quiet) },
    { 0 },
};

const struct cli_command cli_run = {
    .name = "run",
    .operand = "CHAIN",
    .summary = "Read everything a chain delivers and say how fast that went.",
    .text =
        "CHAIN is the text of a chain, the name of a recipe file that ends in .stk, or - for "
        "standard\n"
        "input:\n\n"
        "    stoker run \"files('train/*/*.jpg').decode().resize(224, 224).batch(32)\" --epochs "
        "2\n\n"
        "With --checkpoint the same command, run again with --resume, delivers exactly what was "
        "left:\n\n"
        "    stoker run train.stk --epochs 90 --checkpoint train.state --every 500 --resume",
    .options = options,
    .takes_run_options = true,
    .run = run,
};
