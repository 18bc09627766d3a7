/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the stoker command: finds the command that was asked for and runs it. */
#include "commands.h"
#include "complain.h"
#include "tally.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_COMMANDS = 16 };

static const struct cli_command *const commands[N_COMMANDS] = {
    &cli_run,     &cli_head,   &cli_inspect, &cli_stats,   &cli_pack,   &cli_plan,
    &cli_profile, &cli_train,  &cli_eval,    &cli_predict, &cli_export, &cli_ops,
    &cli_model,   &cli_layers, &cli_devices, &cli_version,
};

static void print_overview(void)
{
    printf("Usage: stoker COMMAND [options]\n\n"
           "Takes data from storage to the training step, as fast as the machine allows.\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        printf("  %-8s  %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-8s  %s\n", "help", "Explain a command, an op or a layer: stoker help run.");
    printf("\nExit codes: 0 done, 1 data or I/O error, 2 wrong usage or a chain that cannot run,\n"
           "130 interrupted.\n");
}

static const struct cli_command *command_named(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static void complain_unknown(const char *name)
{
    const char *names[N_COMMANDS + 2];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i]->name;
    names[N_COMMANDS] = "help";
    names[N_COMMANDS + 1] = NULL;
    const char *near = cli_nearest(name, names);
    if (strchr(name, '('))
        cli_complain("a chain needs a command before it: stoker run \"%s\"", name);
    else if (near)
        cli_complain("unknown command '%s'; did you mean %s?", name, near);
    else
        cli_complain("unknown command '%s'; 'stoker help' lists them", name);
}

static int help(const char *name)
{
    const struct cli_command *command = name ? command_named(name) : NULL;
    if (!name) {
        print_overview();
    } else if (command) {
        cli_args_help(command);
    } else if (!cli_op_explain(name) && !cli_layer_explain(name)) {
        complain_unknown(name);
        return CLI_USAGE;
    }
    return CLI_OK;
}

static int run_command(int argc, char **argv, double start)
{
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return help(argv[2]);
    const char *name = strcmp(argv[1], "--version") ? argv[1] : "version";
    const struct cli_command *command = command_named(name);
    if (!command) {
        complain_unknown(name);
        return CLI_USAGE;
    }
    struct cli_args args = { .start = start, .take = -1, .n = 3, .shards = 1, .batch = 32 };
    int code = cli_plugins_load(getenv("STOKER_PLUGINS"));
    if (code == CLI_OK)
        code = cli_args_parse(command, argc - 2, argv + 2, &args);
    if (code == CLI_OK && args.help)
        cli_args_help(command);
    else if (code == CLI_OK)
        code = command->run(&args);
    cli_args_free(&args);
    return code;
}

/* Where standard input is closed, the next file that is opened would be taken for it. In its place
 * comes one that cannot be read. */
static void hold_input(void)
{
    if (fcntl(STDIN_FILENO, F_GETFD) >= 0)
        return;
    int fd = open("/dev/null", O_WRONLY);
    if (fd > STDIN_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    double start = cli_now();
    hold_input();
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_overview();
        return cli_output_finish(CLI_USAGE);
    }
    return cli_output_finish(run_command(argc, argv, start));
}
