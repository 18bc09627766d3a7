/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: what can be called, as a list or one by one. */
#include "explain.h"

#include "args.h"
#include "complain.h"
#include "json_print.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_json *find(const struct cli_json *list, const char *name)
{
    const struct cli_json *op = list->child;
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

static void print_line(const struct cli_json *op, int width)
{
    printf("%s%-*s%s  %s\n", cli_style(stdout, CLI_BOLD), width, cli_json_text(op, "name"),
           cli_style(stdout, CLI_PLAIN), cli_json_text(op, "summary"));
}

/* The place of an op's subject among all; 0 where there are none. */
static int place_of(const struct cli_json *op)
{
    const struct cli_json *place = cli_json_get(op, "subject_place");
    return place && place->text ? atoi(place->text) : 0;
}

/* By subject, if there are any, each under its name. */
static void print_list(const struct cli_json *list)
{
    int width = widest(list), last = 0;
    for (const struct cli_json *op = list->child; op; op = op->next)
        last = place_of(op) > last ? place_of(op) : last;
    for (int place = 0; place <= last; place++) {
        bool is_begun = false;
        for (const struct cli_json *op = list->child; op; op = op->next) {
            const char *subject = cli_json_text(op, "subject");
            if (place_of(op) != place)
                continue;
            if (*subject && !is_begun)
                printf("%s%s\n", place ? "\n" : "", subject);
            is_begun = true;
            print_line(op, width);
        }
    }
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
    const struct cli_json *calls = cli_json_get(param, "calls");
    const struct cli_json *lo = cli_json_get(param, "min"), *hi = cli_json_get(param, "max");
    printf("%s", cli_json_text(param, "type"));
    for (const struct cli_json *call = calls ? calls->child : NULL; call; call = call->next)
        printf("%s%s", call == calls->child ? " " : "|", cli_json_text(call, "name"));
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

static void print_one(const struct cli_json *op)
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

/* Names that are spelled alike or have the name in them, up to five: "crop, random_crop". */
static void list_near(const char *name, const char *const *names, char *text, size_t size)
{
    const char *nearest = cli_nearest(name, names);
    size_t len = (size_t)snprintf(text, size, "%s", nearest ? nearest : "");
    int n = nearest ? 1 : 0;
    for (; *names && n < 5 && *name; names++) {
        if (*names == nearest || !strstr(*names, name))
            continue;
        len += (size_t)snprintf(text + len, size - len, "%s%s", n++ ? ", " : "", *names);
        if (len >= size)
            return;
    }
}

static void complain_unknown(const struct cli_json *list, const struct cli_explained *what,
                             const char *name)
{
    const char *names[512];
    int n = 0;
    for (const struct cli_json *op = list->child; op && n < 511; op = op->next)
        names[n++] = cli_json_text(op, "name");
    names[n] = NULL;
    char near[256];
    list_near(name, names, near, sizeof near);
    if (*near)
        cli_complain("there is no %s '%s'; did you mean %s?", what->one, name, near);
    else
        cli_complain("there is no %s '%s'; '%s' lists them", what->one, name, what->command);
}

static int show(const struct cli_json *list, const struct cli_explained *what,
                const struct cli_args *args)
{
    const struct cli_json *op = args->word ? find(list, args->word) : NULL;
    if (args->word && !op) {
        complain_unknown(list, what, args->word);
        return CLI_USAGE;
    }
    if (args->json) {
        struct cli_json_file out = cli_json_to(stdout);
        cli_json_add(&out.text, NULL, op ? op : list);
        cli_json_finish(&out);
    } else if (op) {
        print_one(op);
    } else {
        print_list(list);
    }
    return CLI_OK;
}

int cli_explain_show(const struct cli_explained *what, const struct cli_args *args)
{
    char *text = what->json();
    struct cli_json *list = text ? cli_json_parse(text) : NULL;
    int code = CLI_FAILED;
    if (list)
        code = show(list, what, args);
    else
        cli_complain("out of memory");
    cli_json_free(list);
    stk_text_free(text);
    return code;
}

bool cli_explain_one(const struct cli_explained *what, const char *name)
{
    char *text = what->json();
    struct cli_json *list = text ? cli_json_parse(text) : NULL;
    const struct cli_json *op = list ? find(list, name) : NULL;
    if (op)
        print_one(op);
    cli_json_free(list);
    stk_text_free(text);
    return op != NULL;
}
