/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_profile.c: `stoker profile`: where the time goes, and what would be faster. */
#define _GNU_SOURCE
#include "commands.h"
#include "complain.h"
#include "interrupt.h"
#include "operand.h"
#include "tally.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct watch {
    struct cli_interrupt interrupt;
    double start;
    bool has_progress;
};

/* The line on the terminal; true once a signal has come. */
static bool show(void *context, const char *doing)
{
    struct watch *watch = context;
    if (watch->has_progress) {
        fprintf(stderr, "\r%.1f s  %s\033[K", cli_now() - watch->start, doing);
        fflush(stderr);
    }
    return atomic_load(&watch->interrupt.signal) != 0;
}

/* A number of at least 0; false if it is none. */
static bool read_number(const char *text, const char *option, double *out)
{
    char *end = NULL;
    if (!text)
        return true;
    *out = strtod(text, &end);
    if (end != text && !*end && *out >= 0 && *out < 1e6)
        return true;
    cli_complain("--%s takes a number, not '%s'", option, text);
    return false;
}

/* Takes the text. */
static int save(const char *path, char *text)
{
    int code = cli_save(path, text);
    stk_text_free(text);
    return code;
}

static int print(const struct cli_args *args, const struct stk_profile *profile)
{
    char *text = args->json ? stk_profile_json(profile) : stk_profile_text(profile);
    if (text)
        printf("%s%s", text, args->json ? "\n" : "");
    else
        cli_complain("out of memory");
    int code = text ? CLI_OK : CLI_FAILED;
    stk_text_free(text);
    if (code == CLI_OK && args->report)
        code = save(args->report, stk_profile_report(profile));
    if (code == CLI_OK && args->trace)
        code = save(args->trace, stk_profile_trace(profile));
    return code;
}

static int run_dataset(struct cli_args *args, const struct cli_chain *chain,
                       struct stk_profile_options *how)
{
    struct stk_error err = { 0 };
    struct stk_profile *profile = NULL;
    struct watch watch = { .start = cli_now(), .has_progress = isatty(STDERR_FILENO) };
    how->progress = show;
    how->context = &watch;
    cli_interrupt_block(&watch.interrupt);
    cli_interrupt_watch(&watch.interrupt, NULL);
    int rc = stk_dataset_profile(chain->dataset, args->options, how, &profile, &err);
    int signal = cli_interrupt_stop(&watch.interrupt);
    if (watch.has_progress)
        fputs("\r\033[K", stderr);
    if (rc == STK_CANCELLED && signal) {
        cli_complain("interrupted; nothing was written");
        return 128 + signal;
    }
    int code = rc ? cli_report(&err, chain, true) : print(args, profile);
    stk_profile_free(profile);
    return code;
}

static int run(struct cli_args *args)
{
    struct cli_chain chain;
    struct stk_profile_options how = { .no_trials = args->no_trials,
                                       .records = args->report || args->trace };
    if (!read_number(args->seconds, "seconds", &how.seconds) ||
        !read_number(args->consumer_ms, "consumer-ms", &how.consumer_ms))
        return CLI_USAGE;
    int code = cli_chain_open(&chain, args);
    if (code == CLI_OK)
        code = run_dataset(args, &chain, &how);
    cli_chain_close(&chain);
    return code;
}

static const struct cli_option options[] = {
    { "seconds", "S", "watch it for S seconds, once it is warm (default 3)", CLI_TEXT,
      offsetof(struct cli_args, seconds) },
    { "consumer-ms", "M", "wait M milliseconds after each batch, as a training step would",
      CLI_TEXT, offsetof(struct cli_args, consumer_ms) },
    { "no-trials", NULL, "try nothing out; what advice brings is then modelled", CLI_FLAG,
      offsetof(struct cli_args, no_trials) },
    { "report", "FILE", "write a page for a browser: threads over time, ops, advice", CLI_TEXT,
      offsetof(struct cli_args, report) },
    { "trace", "FILE", "write what each thread did, for ui.perfetto.dev", CLI_TEXT,
      offsetof(struct cli_args, trace) },
    { "json", NULL, "print one JSON object", CLI_FLAG, offsetof(struct cli_args, json) },
    { 0 },
};

const struct cli_command cli_profile = {
    .name = "profile",
    .operand = "CHAIN",
    .summary = "Say where the time goes, what holds the run up, and what would be faster.",
    .text =
        "Runs the chain for a few seconds, again and again if it is short, then tries out what\n"
        "could be better, a second each. With a step that takes 20 ms:\n\n"
        "    stoker profile \"image_folder('train').shuffle().decode().resize(224, "
        "224).batch(32)\" \\\n"
        "        --consumer-ms 20",
    .options = options,
    .takes_run_options = true,
    .run = run,
};
