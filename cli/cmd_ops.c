/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ops.c: `stoker ops`: the list of ops, or one of them in full. */
#include "commands.h"
#include "json_in.h"
#include "report.h"

#include <string.h>

static const struct cli_json *find_op(const struct cli_json *ops, const char *name)
{
    const struct cli_json *op = ops->child;
    while (op && strcmp(cli_json_text(op, "name"), name) != 0)
        op = op->next;
    return op;
}

static int widest(const struct cli_json *list)
{
    int width = 0;
    for (const struct cli_json *item = list->child; item; item = item->next) {
        int len = (int)strlen(cli_json_text(item, "name"));
        width = len > width ? len : width;
    }
    return width;
}

static void print_list(const struct cli_json *ops)
{
    int width = widest(ops);
    for (const struct cli_json *op = ops->child; op; op = op->next)
        printf("%s%-*s%s  %s\n", cli_style(stdout, CLI_BOLD), width, cli_json_text(op, "name"),
               cli_style(stdout, CLI_PLAIN), cli_json_text(op, "summary"));
}

/* A default or a bound as it would stand in a chain. */
static void print_value(const struct cli_json *value)
{
    if (value->kind == CLI_JSON_NULL) {
        fputs("none", stdout);
    } else if (value->kind == CLI_JSON_LIST) {
        putchar('[');
        for (const struct cli_json *item = value->child; item; item = item->next) {
            print_value(item);
            fputs(item->next ? ", " : "", stdout);
        }
        putchar(']');
    } else {
        fputs(value->text ? value->text : "{}", stdout);
    }
}

static void print_signature(const struct cli_json *op)
{
    const struct cli_json *params = cli_json_get(op, "params");
    printf("%s%s%s(", cli_style(stdout, CLI_BOLD), cli_json_text(op, "name"),
           cli_style(stdout, CLI_PLAIN));
    for (const struct cli_json *param = params ? params->child : NULL; param; param = param->next) {
        const struct cli_json *value = cli_json_get(param, "default");
        printf("%s%s", cli_json_flag(param, "variadic") ? "*" : "", cli_json_text(param, "name"));
        if (value && !cli_json_flag(param, "required")) {
            putchar('=');
            print_value(value);
        }
        fputs(param->next ? ", " : "", stdout);
    }
    puts(")");
}

static void print_choices(const struct cli_json *choices)
{
    for (const struct cli_json *choice = choices->child; choice; choice = choice->next)
        printf("%s%s", choice->text ? choice->text : "", choice->next ? "|" : "");
}

/* "int, 1 to 65535, or none". */
static void print_domain(const struct cli_json *param)
{
    const struct cli_json *choices = cli_json_get(param, "choices");
    const struct cli_json *lo = cli_json_get(param, "min"), *hi = cli_json_get(param, "max");
    printf("%s", cli_json_text(param, "type"));
    if (choices && choices->child) {
        putchar(' ');
        print_choices(choices);
    }
    if (lo && lo->kind == CLI_JSON_NUMBER)
        printf(", at least %s", lo->text);
    if (hi && hi->kind == CLI_JSON_NUMBER)
        printf(", at most %s", hi->text);
    if (cli_json_flag(param, "takes_none"))
        printf(", or none");
    if (cli_json_flag(param, "takes_auto"))
        printf(", or auto");
    if (cli_json_flag(param, "required"))
        printf("; required");
    if (cli_json_flag(param, "tunable"))
        printf("; changes speed or memory only");
}

static void print_op(const struct cli_json *op)
{
    const struct cli_json *params = cli_json_get(op, "params");
    const char *doc = cli_json_text(op, "doc");
    int width = params ? widest(params) : 0;
    print_signature(op);
    printf("\n%s\n", cli_json_text(op, "summary"));
    if (params && params->child)
        putchar('\n');
    for (const struct cli_json *param = params ? params->child : NULL; param; param = param->next) {
        printf("  %s%-*s%s  %s\n  %*s  %s", cli_style(stdout, CLI_BOLD), width,
               cli_json_text(param, "name"), cli_style(stdout, CLI_PLAIN),
               cli_json_text(param, "help"), width, "", cli_style(stdout, CLI_DIM));
        print_domain(param);
        printf("%s\n", cli_style(stdout, CLI_PLAIN));
    }
    if (*doc)
        printf("\n%s%s", doc, doc[strlen(doc) - 1] == '\n' ? "" : "\n");
}

static void complain_unknown(const struct cli_json *ops, const char *name)
{
    const char *names[512];
    int n = 0;
    for (const struct cli_json *op = ops->child; op && n < 511; op = op->next)
        names[n++] = cli_json_text(op, "name");
    names[n] = NULL;
    const char *near = cli_nearest(name, names);
    if (near)
        cli_complain("there is no op '%s'; did you mean %s?", name, near);
    else
        cli_complain("there is no op '%s'; 'stoker ops' lists them", name);
}

static int show(const struct cli_json *ops, const struct cli_args *args)
{
    const struct cli_json *op = args->word ? find_op(ops, args->word) : NULL;
    if (args->word && !op) {
        complain_unknown(ops, args->word);
        return CLI_USAGE;
    }
    if (args->json) {
        cli_json_print(stdout, op ? op : ops);
        putchar('\n');
    } else if (op) {
        print_op(op);
    } else {
        print_list(ops);
    }
    return CLI_OK;
}

static int check(const struct cli_args *args)
{
    struct stk_error err = { 0 };
    char *text = NULL;
    if (!args->word) {
        cli_complain("--check needs the NAME of an op");
        return CLI_USAGE;
    }
    if (stk_op_check(args->word, &text, &err))
        return cli_report(&err, NULL, false);
    fputs(text, stdout);
    stk_text_free(text);
    return CLI_OK;
}

/* Hands the list of ops on. */
static int with_ops(int (*use)(const struct cli_json *, const struct cli_args *),
                    const struct cli_args *args)
{
    char *text = stk_ops_json();
    struct cli_json *json = cli_json_parse(text);
    const struct cli_json *ops =
        json && json->kind == CLI_JSON_MAP ? cli_json_get(json, "ops") : json;
    int code = CLI_FAILED;
    if (ops)
        code = use(ops, args);
    else
        cli_complain("out of memory");
    cli_json_free(json);
    stk_text_free(text);
    return code;
}

static int run(struct cli_args *args)
{
    return args->check ? check(args) : with_ops(show, args);
}

static int explain(const struct cli_json *ops, const struct cli_args *args)
{
    const struct cli_json *op = find_op(ops, args->word);
    if (op)
        print_op(op);
    return op ? CLI_OK : CLI_USAGE;
}

bool cli_op_explain(const char *name)
{
    struct cli_args args = { .word = name };
    return with_ops(explain, &args) == CLI_OK;
}

static const struct cli_option options[] = {
    { "json", NULL, "print JSON", CLI_FLAG, offsetof(struct cli_args, json) },
    { "check", NULL, "try the op NAME on the examples of its text, and its bounds", CLI_FLAG,
      offsetof(struct cli_args, check) },
    CLI_PLUGIN_OPTION,
    { 0 },
};

const struct cli_command cli_ops = {
    .name = "ops",
    .operand = "[NAME]",
    .summary = "List the ops, or explain one with its parameters.",
    .options = options,
    .run = run,
};
