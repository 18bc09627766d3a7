/* SPDX-License-Identifier: Apache-2.0 */
/* args.c: the option parser and the help text. */
#define _GNU_SOURCE
#include "args.h"

#include "complain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 32, MAX_NAME = 48 };

/* Taken by every command that runs or plans a chain. The library knows these by the same names. */
static const struct cli_option run_options[] = {
    { "epoch", "N", "number of the first epoch; shuffles differ by it (default 0)", CLI_LIBRARY,
      0 },
    { "epochs", "N", "passes over the data; none: for ever (default 1)", CLI_LIBRARY,
      offsetof(struct cli_args, epochs) },
    { "workers", "N",
      "threads that compute; 0: the consumer alone (default: usable cores, or fewer)", CLI_LIBRARY,
      0 },
    { "cpu", "LEVEL", "instruction set: auto, scalar, avx2, avx512", CLI_TEXT,
      offsetof(struct cli_args, cpu) },
    { "memory", "BYTES", "budget, e.g. 512M (default: a quarter of what is free, at most 2G)",
      CLI_LIBRARY, 0 },
    { "seed", "S", "seed of everything random (default 0)", CLI_LIBRARY, 0 },
    { "window", "N", "batches in flight (default: as prefetch says, else tuned)", CLI_LIBRARY, 0 },
    { "io-depth", "N", "reads in flight (default: as many as pay)", CLI_LIBRARY, 0 },
    { "io", "WHO", "who reads: auto, threads, or uring where it is permitted", CLI_LIBRARY, 0 },
    { "on-error", "WHAT", "bad elements: fail, skip, replace (default fail)", CLI_LIBRARY, 0 },
    { "max-errors", "LIMIT",
      "accept up to LIMIT bad elements, or below 1 this fraction (default: any)", CLI_LIBRARY, 0 },
    { "rank", "I", "this process among --world, for shard()", CLI_LIBRARY, 0 },
    { "world", "N", "processes that share the data, for shard()", CLI_LIBRARY, 0 },
    CLI_PLUGIN_OPTION,
    { 0 },
};

static const struct cli_option common_options[] = {
    { "help", NULL, "show this text", CLI_FLAG, offsetof(struct cli_args, help) },
    { 0 },
};

static int all_options(const struct cli_command *command, const struct cli_option **out)
{
    const struct cli_option *const tables[3] = { command->options,
                                                 command->takes_run_options ? run_options : NULL,
                                                 common_options };
    int n = 0;
    for (int t = 0; t < 3; t++)
        for (const struct cli_option *o = tables[t]; o && o->name && n < MAX_OPTIONS; o++)
            out[n++] = o;
    return n;
}

/* Edits (insert, drop, change, swap neighbours) between two names of at most MAX_NAME bytes. */
static int edits(const char *a, const char *b)
{
    int cost[3][MAX_NAME + 1], n = (int)strlen(b);
    int *older = cost[0], *old = cost[1], *now = cost[2];
    for (int j = 0; j <= n; j++)
        old[j] = older[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = old[j - 1] + (a[i - 1] != b[j - 1]);
            best = old[j] + 1 < best ? old[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            now[j] = is_swap && older[j - 2] + 1 < best ? older[j - 2] + 1 : best;
        }
        int *spare = older;
        older = old, old = now, now = spare;
    }
    return old[n];
}

const char *cli_nearest(const char *name, const char *const *candidates)
{
    const char *nearest = NULL;
    size_t len = strlen(name);
    if (len > MAX_NAME)
        return NULL;
    int best = (int)len / 3 + 2;
    for (; *candidates; candidates++) {
        if (strlen(*candidates) > MAX_NAME)
            continue;
        int n = edits(name, *candidates);
        if (n < best && n < (int)strlen(*candidates))
            best = n, nearest = *candidates;
    }
    return nearest;
}

static const char *dashes(const char *name)
{
    return name[1] ? "--" : "-";
}

static int unknown_option(const struct cli_command *command, const char *name)
{
    const struct cli_option *options[MAX_OPTIONS];
    const char *names[MAX_OPTIONS + 1];
    int n = all_options(command, options);
    for (int i = 0; i < n; i++)
        names[i] = options[i]->name;
    names[n] = NULL;
    const char *near = cli_nearest(name, names);
    if (near)
        cli_complain("%s has no option %s%s; did you mean %s%s?", command->name, dashes(name), name,
                     dashes(near), near);
    else
        cli_complain("%s has no option %s%s; 'stoker %s --help' lists them", command->name,
                     dashes(name), name, command->name);
    return CLI_USAGE;
}

static int set_library_option(struct cli_args *args, const struct cli_option *option,
                              const char *value)
{
    char name[MAX_NAME];
    snprintf(name, sizeof name, "%s", option->name);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    struct stk_error err = { 0 };
    if (!stk_options_set(args->options, name, value, &err))
        return CLI_OK;
    return cli_report(&err, NULL, false);
}

static int set_count(int64_t *out, const struct cli_option *option, const char *value)
{
    char *end;
    errno = 0;
    long long count = strtoll(value, &end, 10);
    if (end == value || *end || errno || count < 0) {
        cli_complain("%s%s wants a whole number, not '%s'", dashes(option->name), option->name,
                     value);
        return CLI_USAGE;
    }
    *out = count;
    return CLI_OK;
}

static int load_plugin(const char *path)
{
    struct stk_error err = { 0 };
    return stk_plugin_load(path, &err) ? cli_report(&err, NULL, false) : CLI_OK;
}

int cli_plugins_load(const char *list)
{
    int code = CLI_OK;
    for (size_t len; list && *list && !code; list += len + (list[len] == ':')) {
        len = strcspn(list, ":");
        char *path = strndup(list, len);
        if (!path)
            cli_complain("out of memory");
        code = !path ? CLI_FAILED : *path ? load_plugin(path) : CLI_OK;
        free(path);
    }
    return code;
}

static int set_option(struct cli_args *args, const struct cli_option *option, const char *value)
{
    char *member = (char *)args + option->offset;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)member = true;
        return CLI_OK;
    case CLI_COUNT:
        return set_count((int64_t *)(void *)member, option, value);
    case CLI_TEXT:
        *(const char **)(void *)member = value;
        return CLI_OK;
    case CLI_PLUGIN:
        return load_plugin(value);
    case CLI_LIBRARY:
        break;
    }
    if (option->offset)
        *(const char **)(void *)member = value;
    return set_library_option(args, option, value);
}

static const struct cli_option *find_option(const struct cli_command *command, const char *name,
                                            size_t len)
{
    const struct cli_option *options[MAX_OPTIONS];
    int n = all_options(command, options);
    for (int i = 0; i < n; i++)
        if (strlen(options[i]->name) == len && !memcmp(options[i]->name, name, len))
            return options[i];
    return NULL;
}

/* One option at words[0], which begins with a dash; *n_used is how many words it took. */
static int parse_option(const struct cli_command *command, char **words, struct cli_args *args,
                        int *n_used)
{
    bool is_long = words[0][1] == '-';
    const char *name = words[0] + (is_long ? 2 : 1);
    if (!strcmp(words[0], "-h"))
        name = "help", is_long = true;
    size_t len = is_long ? strcspn(name, "=") : 1;
    const char *value = name[len] ? name + len + (name[len] == '=') : NULL;
    const struct cli_option *option = find_option(command, name, len);
    *n_used = 1;
    if (!option) {
        char unknown[MAX_NAME + 2];
        snprintf(unknown, sizeof unknown, "%.*s", is_long ? (int)len : MAX_NAME, name);
        return unknown_option(command, unknown);
    }
    if (option->kind == CLI_FLAG && value) {
        cli_complain("%s%s takes no value", dashes(option->name), option->name);
        return CLI_USAGE;
    }
    if (option->kind != CLI_FLAG && !value) {
        value = words[1];
        *n_used = 2;
    }
    if (option->kind != CLI_FLAG && !value) {
        cli_complain("%s%s needs a value: %s", dashes(option->name), option->name, option->value);
        return CLI_USAGE;
    }
    return set_option(args, option, value);
}

/* args->words is what the command line begins with, where words that were seen are put together. */
static int take_word(const struct cli_command *command, char *word, struct cli_args *args)
{
    bool takes_many = strstr(command->operand, "...") != NULL;
    if (!*command->operand)
        cli_complain("%s takes no argument, so '%s' is one too many", command->name, word);
    else if (args->word && !takes_many)
        cli_complain("%s takes one %s; quote it if it holds spaces ('%s' is one too many)",
                     command->name, command->operand, word);
    else
        args->words[args->n_words++] = word, args->word = word;
    return args->word == word ? CLI_OK : CLI_USAGE;
}

int cli_args_parse(const struct cli_command *command, int n_words, char **words,
                   struct cli_args *args)
{
    bool options_ended = false;
    args->words = words;
    args->options = stk_options_new();
    if (!args->options) {
        cli_complain("out of memory");
        return CLI_FAILED;
    }
    for (int i = 0, n_used; i < n_words; i += n_used) {
        int status = CLI_OK;
        n_used = 1;
        if (!options_ended && !strcmp(words[i], "--"))
            options_ended = true;
        else if (!options_ended && words[i][0] == '-' && words[i][1])
            status = parse_option(command, words + i, args, &n_used);
        else
            status = take_word(command, words[i], args);
        if (status)
            return status;
    }
    if (args->help || args->word || !*command->operand || *command->operand == '[')
        return CLI_OK;
    cli_complain("%s needs a %s; see 'stoker %s --help'", command->name, command->operand,
                 command->name);
    return CLI_USAGE;
}

void cli_args_free(struct cli_args *args)
{
    stk_options_free(args->options);
    args->options = NULL;
}

static void print_table(const char *title, const struct cli_option *options)
{
    if (!options || !options->name)
        return;
    printf("\n%s:\n", title);
    for (; options->name; options++) {
        char left[MAX_NAME];
        snprintf(left, sizeof left, "%s%s%s%s", dashes(options->name), options->name,
                 options->value ? " " : "", options->value ? options->value : "");
        printf("  %-20s  %s\n", left, options->help);
    }
}

void cli_args_help(const struct cli_command *command)
{
    printf("Usage: stoker %s%s%s [options]\n\n%s\n", command->name, *command->operand ? " " : "",
           command->operand, command->summary);
    if (command->text)
        printf("\n%s\n", command->text);
    print_table("Options", command->options);
    print_table("Run options", command->takes_run_options ? run_options : NULL);
    print_table("Everywhere", common_options);
}
