/* SPDX-License-Identifier: Apache-2.0 */
/* args.h: commands and options as tables; parsing and help come from the same rows. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stoker/stoker.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 }; /* exit codes */

/* What a command line came to. One struct serves all commands; a command's rows say which members
 * it fills. */
struct cli_args {
    double start;     /* cli_now() when main began */
    const char *word; /* CHAIN, NAME; NULL when not given */
    char **words;     /* all of them, where several may be given */
    int n_words;
    struct stk_options *options;
    const char *cpu, *epochs, *png, *save;
    const char *to, *out, *compression, *checkpoint, *seconds, *consumer_ms, *report;
    const char *metrics, *prometheus, *trace, *progress;
    int64_t take, n, shards, variants, every, batch; /* take: -1 without limit */
    bool json, digest, dump, quiet, errors, explain, help, keep_original, force, resume, check;
    bool tuning, no_trials, list, nchw, softmax, restart, resume_older;
};

enum cli_option_kind {
    CLI_FLAG,    /* bool */
    CLI_COUNT,   /* int64_t */
    CLI_TEXT,    /* const char * */
    CLI_LIBRARY, /* goes to stk_options_set as it is; kept as text too where offset is not 0 */
    CLI_PLUGIN,  /* a file that is loaded at once; may be given several times */
};

#define CLI_PLUGIN_OPTION                                                                          \
    {                                                                                              \
        "plugin", "FILE", "add the ops of a plug-in", CLI_PLUGIN, 0                                \
    }

/* A name of one letter takes one dash. */
struct cli_option {
    const char *name, *value, *help; /* value: what help calls it; NULL for flags */
    enum cli_option_kind kind;
    size_t offset; /* in struct cli_args */
};

struct cli_command {
    const char *name, *operand, *summary; /* operand: "CHAIN", "[NAME]", "FILE..." or "" */
    const char *text;                     /* paragraphs for help; may be NULL */
    const struct cli_option *options;     /* its own; ends with a NULL name */
    bool takes_run_options;
    int (*run)(struct cli_args *args); /* returns the exit code */
};

/* Fills args from the words after the command's name; reports what is wrong and returns an exit
 * code. cli_args_free is due either way. */
int cli_args_parse(const struct cli_command *command, int n_words, char **words,
                   struct cli_args *args);
void cli_args_free(struct cli_args *args);

/* Loads plug-ins: names of files with ':' between them, or NULL. Reports what is wrong. */
int cli_plugins_load(const char *list);

void cli_args_help(const struct cli_command *command);

/* The candidate nearest to a misspelt name by edit distance, or NULL. Candidates end with NULL. */
const char *cli_nearest(const char *name, const char *const *candidates);
