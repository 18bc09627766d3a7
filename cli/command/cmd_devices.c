/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_devices.c: `stoker devices`: what the machine offers and what is used of it. */
#include "commands.h"
#include "complain.h"
#include "json_in.h"

#include <string.h>

static void print_members(const struct cli_json *json, int indent);

/* A list of scalars on one line. */
static void print_list(const struct cli_json *json)
{
    for (const struct cli_json *item = json->child; item; item = item->next)
        printf("%s%s", item->text ? item->text : "…", item->next ? ", " : "");
    putchar('\n');
}

static void print_member(const struct cli_json *json, int indent, int width)
{
    bool is_nested = json->kind == CLI_JSON_MAP ||
                     (json->kind == CLI_JSON_LIST && json->child && json->child->child);
    printf("%*s%s%-*s%s", indent, "", cli_style(stdout, CLI_BOLD), is_nested ? 0 : width,
           json->name ? json->name : "-", cli_style(stdout, CLI_PLAIN));
    if (is_nested) {
        putchar('\n');
        print_members(json, indent + 2);
    } else if (json->kind == CLI_JSON_LIST) {
        fputs("  ", stdout);
        print_list(json);
    } else {
        printf("  %s\n", json->kind == CLI_JSON_NULL ? "none" : json->text);
    }
}

static void print_members(const struct cli_json *json, int indent)
{
    int width = 0;
    for (const struct cli_json *member = json->child; member; member = member->next) {
        int len = member->name ? (int)strlen(member->name) : 1;
        width = len > width ? len : width;
    }
    for (const struct cli_json *member = json->child; member; member = member->next)
        print_member(member, indent, width);
}

static int run(struct cli_args *args)
{
    char *text = stk_devices_json();
    struct cli_json *devices = args->json ? NULL : cli_json_parse(text);
    if (args->json && text)
        printf("%s\n", text);
    else if (devices)
        print_members(devices, 0);
    bool is_shown = args->json ? text != NULL : devices != NULL;
    if (!is_shown)
        cli_complain("out of memory");
    cli_json_free(devices);
    stk_text_free(text);
    return is_shown ? CLI_OK : CLI_FAILED;
}

static const struct cli_option options[] = {
    { "json", NULL, "print JSON", CLI_FLAG, offsetof(struct cli_args, json) },
    { 0 },
};

const struct cli_command cli_devices = {
    .name = "devices",
    .operand = "",
    .summary = "Show cores, quota, instruction sets and caches: what is used, and why.",
    .options = options,
    .run = run,
};
