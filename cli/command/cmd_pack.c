/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_pack.c: `stoker pack`: stores what a chain delivers in record files. */
#define _GNU_SOURCE
#include "commands.h"
#include "complain.h"
#include "interrupt.h"
#include "json_print.h"
#include "operand.h"
#include "tally.h"
#include "value_text.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* What the library's calls of `show` come to. */
struct watch {
    struct cli_interrupt interrupt;
    double begin;
    bool has_progress;
};

static double megabytes(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static const char *files_word(int64_t n)
{
    return n == 1 ? "file" : "files";
}

static void print_eta(const struct stk_pack_progress *p, double rate)
{
    double left = p->total >= 0 && rate > 0 ? ((double)p->total - (double)p->elements) / rate : -1;
    if (left < 0 || left > 1e6)
        return;
    int seconds = (int)(left + 0.5);
    fprintf(stderr, "  ETA %d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/* The line on the terminal; true once a signal has come. */
static bool show(void *context, const struct stk_pack_progress *p)
{
    struct watch *watch = context;
    double seconds = cli_now() - watch->begin;
    double rate = seconds > 0 ? (double)p->elements / seconds : 0;
    if (watch->has_progress) {
        fprintf(stderr, "\r%" PRIu64, p->elements);
        if (p->total >= 0)
            fprintf(stderr, " of %" PRId64, p->total);
        fprintf(
            stderr, " elements  %.0f/s  %" PRId64 " of %" PRId64 " %s  %.1f MB  %" PRIu64 " errors",
            rate, p->shards_done, p->shards, files_word(p->shards), megabytes(p->bytes), p->errors);
        print_eta(p, rate);
        fputs("\033[K", stderr);
        fflush(stderr);
    }
    return atomic_load(&watch->interrupt.signal) != 0;
}

/* Whether elements were stored class after class, as their source has them. */
static bool is_sorted_by_class(const struct stk_dataset *dataset)
{
    static const char *const mixing[] = { "shuffle(", "sample_from(", "choose_from(", "balance(" };
    char *chain = stk_dataset_text(dataset, false);
    bool is_sorted = false;
    for (int i = 0; i < stk_dataset_n_fields(dataset); i++) {
        struct stk_field_info field;
        is_sorted |= !stk_dataset_field(dataset, i, &field) &&
                     stk_dataset_class_name(dataset, field.name, 1) != NULL;
    }
    for (size_t i = 0; chain && i < sizeof mixing / sizeof *mixing; i++)
        is_sorted &= !strstr(chain, mixing[i]);
    stk_text_free(chain);
    return is_sorted;
}

static void print_summary(const struct stk_pack_result *result, bool is_sorted, double seconds)
{
    double rate = seconds > 0 ? (double)result->elements / seconds : 0;
    const char *bold = cli_style(stdout, CLI_BOLD), *plain = cli_style(stdout, CLI_PLAIN);
    int64_t n_files = result->written + result->kept;
    printf("%selements%s     %" PRIu64 " in %" PRId64 " %s, %.1f MB\n", bold, plain,
           result->elements, n_files, files_word(n_files), megabytes(result->bytes));
    if (result->kept)
        printf("%skept%s         %" PRId64 " %s that %s complete\n", bold, plain, result->kept,
               files_word(result->kept), result->kept == 1 ? "was" : "were");
    else
        printf("%srate%s         %.1f elements/s in %.3f s\n", bold, plain, rate, seconds);
    printf("%serrors%s       %" PRIu64 "\n", bold, plain, result->errors);
    printf("%smanifest%s     %s\n", bold, plain, result->manifest);
    if (is_sorted)
        printf(
            "%sorder%s        class after class: read it with shuffle(), or pack a chain that has "
            "one\n",
            bold, plain);
}

static void print_json(const struct stk_pack_result *result, double seconds)
{
    struct cli_json_file out = cli_json_to(stdout);
    stk__json_open(&out.text, NULL, '{');
    stk__json_count(&out.text, "elements", result->elements);
    stk__json_count(&out.text, "bytes", result->bytes);
    stk__json_count(&out.text, "errors", result->errors);
    stk__json_whole(&out.text, "written", result->written);
    stk__json_whole(&out.text, "kept", result->kept);
    stk__json_fixed(&out.text, "seconds", seconds, 6);
    stk__json_string(&out.text, "manifest", result->manifest);
    stk__json_close(&out.text, '}');
    cli_json_finish(&out);
}

static int pack_dataset(const struct cli_args *args, const struct cli_chain *chain)
{
    struct stk_error err = { 0 };
    struct stk_pack_result result;
    struct watch watch = { .begin = cli_now(),
                           .has_progress = !args->quiet && isatty(STDERR_FILENO) };
    const struct stk_pack_options options = {
        .out = args->out,
        .shards = args->shards,
        .format = args->to,
        .compression = args->compression,
        .variants = args->variants,
        .keep_original = args->keep_original,
        .force = args->force,
        .progress = show,
        .context = &watch,
    };
    cli_interrupt_block(&watch.interrupt);
    cli_interrupt_watch(&watch.interrupt, NULL);
    int rc = stk_pack(chain->dataset, args->options, &options, &result, &err);
    int signal = cli_interrupt_stop(&watch.interrupt);
    if (watch.has_progress)
        fputs("\r\033[K", stderr);
    if (rc == STK_CANCELLED && signal) {
        cli_complain("%s", err.text);
        return 128 + signal;
    }
    if (rc)
        return cli_report(&err, chain, true);
    if (args->json)
        print_json(&result, cli_now() - args->start);
    else if (!args->quiet)
        print_summary(&result, is_sorted_by_class(chain->dataset), cli_now() - args->start);
    stk_text_free(result.manifest);
    return CLI_OK;
}

static int run(struct cli_args *args)
{
    struct cli_chain chain;
    if (args->epochs) {
        cli_complain("pack stores one epoch; --variants N stores N of them");
        return CLI_USAGE;
    }
    if (!args->out) {
        cli_complain("pack needs names for its files: --out 'train-{shard:05d}.tfrecord'");
        return CLI_USAGE;
    }
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error like a full disk */
    int code = cli_chain_open(&chain, args);
    if (code == CLI_OK)
        code = pack_dataset(args, &chain);
    cli_chain_close(&chain);
    return code;
}

static const struct cli_option options[] = {
    { "out", "NAME", "names of the files; {shard:05d} and {shards:05d} stand for numbers", CLI_TEXT,
      offsetof(struct cli_args, out) },
    { "shards", "N", "how many files (default 1)", CLI_COUNT, offsetof(struct cli_args, shards) },
    { "to", "FORMAT", "format of the files: tfrecord, tar (default: as named, else tfrecord)",
      CLI_TEXT, offsetof(struct cli_args, to) },
    { "compression", "KIND", "of each file: none, gzip, zlib (default: as named, else none)",
      CLI_TEXT, offsetof(struct cli_args, compression) },
    { "variants", "K", "store K passes, each with its own random draws", CLI_COUNT,
      offsetof(struct cli_args, variants) },
    { "keep-original", NULL, "store a pass without the random ops before them", CLI_FLAG,
      offsetof(struct cli_args, keep_original) },
    { "force", NULL,
      "replace files of an earlier pack of another chain or form; what it listed is removed at the "
      "end",
      CLI_FLAG, offsetof(struct cli_args, force) },
    { "json", NULL, "print the summary as one JSON object", CLI_FLAG,
      offsetof(struct cli_args, json) },
    { "quiet", NULL, "no progress line and no summary", CLI_FLAG,
      offsetof(struct cli_args, quiet) },
    { 0 },
};

const struct cli_command cli_pack = {
    .name = "pack",
    .operand = "CHAIN",
    .summary = "Store what a chain delivers as TFRecord files or tar shards.",
    .text = "Each element becomes a tf.train.Example, or a group of files as WebDataset has them.\n"
            "A file gets its name when it is complete; a manifest beside them says what they\n"
            "hold. A directory that is missing is made, if the one above it is there. A pack that\n"
            "was stopped resumes when the command is given again:\n\n"
            "    stoker pack \"image_folder('train').decode().resize(64, 64, dtype=uint8)\" \\\n"
            "        --shards 8 --out 'train-{shard:05d}-of-{shards:05d}.tfrecord'",
    .options = options,
    .takes_run_options = true,
    .run = run,
};
