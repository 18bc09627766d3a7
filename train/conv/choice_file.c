/* SPDX-License-Identifier: Apache-2.0 */
/* choice_file.c: see choice_file.h. */
#define _GNU_SOURCE /* getline */
#include "train/conv/choice_file.h"

#include "base/crc32c.h"
#include "base/text.h"
#include "io/file_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char first_line[] = "stoker convolutions 1";
enum { MOST_LINES = 4096 }; /* of others, when a file is written */

char *stk__choice_path(void)
{
    struct stk__text path = { 0 };
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        stk__text_add(&path, "%s/stoker/convolutions", cache);
    else if (home && *home == '/')
        stk__text_add(&path, "%s/.cache/stoker/convolutions", home);
    else
        return NULL;
    return stk__text_take(&path);
}

/* ---- lists ---- */

struct stk__costs *stk__costs_find(const struct stk__cost_list *list, const char *key)
{
    for (int i = 0; i < list->n; i++)
        if (!strcmp(list->at[i].key, key))
            return &list->at[i];
    return NULL;
}

struct stk__costs *stk__costs_add(struct stk__cost_list *list, char *key)
{
    if (list->n == list->cap) {
        int cap = list->cap ? 2 * list->cap : 64;
        struct stk__costs *at = realloc(list->at, (size_t)cap * sizeof *at);
        if (!at) {
            free(key);
            return NULL;
        }
        list->at = at;
        list->cap = cap;
    }
    list->at[list->n] = (struct stk__costs){ .key = key };
    return &list->at[list->n++];
}

void stk__costs_free(struct stk__cost_list *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->at[i].key);
    free(list->at);
    *list = (struct stk__cost_list){ 0 };
}

/* ---- lines ---- */

/* One column: a name and two times. */
static bool parse_cost(const char *text, char *name, struct stk__way_cost *cost)
{
    size_t len = strcspn(text, " ");
    if (len == 0 || len >= sizeof((struct stk__costs *)0)->name[0] || text[len] != ' ')
        return false;
    memcpy(name, text, len);
    name[len] = 0;
    const char *rest = stk__parse_real(text + len + 1, &cost->run);
    if (!rest || *rest != ' ')
        return false;
    rest = stk__parse_real(rest + 1, &cost->once);
    return rest && !*rest && cost->run > 0 && cost->run < 1e6 && cost->once >= 0 &&
           cost->once < 1e6;
}

/* The rest of a line behind its checksum, and without its end. It is cut at tabs. */
static bool parse_columns(char *columns, struct stk__costs *out)
{
    char *save, *key = strtok_r(columns, "\t", &save);
    out->n = 0;
    for (char *cost; key && (cost = strtok_r(NULL, "\t", &save)); out->n++)
        if (out->n == STK__MOST_COSTS || !parse_cost(cost, out->name[out->n], &out->cost[out->n]))
            return false;
    out->key = key;
    return key && out->n > 0;
}

/* Takes the end off. True if the checksum is right, and where the columns begin. */
static bool is_whole(char *line, char **columns)
{
    size_t len = strlen(line);
    if (len < 10 || line[len - 1] != '\n' || line[8] != '\t')
        return false;
    line[len - 1] = 0;
    char *end;
    unsigned long sum = strtoul(line, &end, 16);
    *columns = line + 9;
    return end == line + 8 && sum == stk__crc32c(0, *columns, len - 10);
}

void stk__costs_read(struct stk__cost_list *list, const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL, *columns;
    size_t cap = 0;
    bool is_ours =
        file && getline(&line, &cap, file) > 0 && !strncmp(line, first_line, sizeof first_line - 1);
    while (is_ours && list->n < MOST_LINES && getline(&line, &cap, file) > 0) {
        struct stk__costs costs = { 0 };
        if (!is_whole(line, &columns) || !parse_columns(columns, &costs) ||
            stk__costs_find(list, costs.key))
            continue;
        char *key = strdup(costs.key);
        struct stk__costs *added = key ? stk__costs_add(list, key) : NULL;
        if (!added)
            break;
        *added = costs;
        added->key = key;
    }
    free(line);
    if (file)
        fclose(file);
}

static void add_line(struct stk__text *out, const struct stk__costs *costs)
{
    struct stk__text columns = { 0 };
    stk__text_add(&columns, "%s", costs->key);
    for (int i = 0; i < costs->n; i++) {
        stk__text_add(&columns, "\t%s ", costs->name[i]);
        stk__text_add_rounded(&columns, costs->cost[i].run, 4);
        stk__text_add(&columns, " ");
        stk__text_add_rounded(&columns, costs->cost[i].once, 4);
    }
    if (columns.failed || !columns.data)
        out->failed = true;
    else
        stk__text_add(out, "%08x\t%s\n", stk__crc32c(0, columns.data, columns.len), columns.data);
    stk__text_free(&columns);
}

static void make_directories(const char *path)
{
    char *copy = strdup(path);
    for (char *at = copy ? strchr(copy + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(copy, 0777); /* whatever is wrong shows when the file is written */
        *at = '/';
    }
    free(copy);
}

bool stk__costs_write(const struct stk__cost_list *list, const char *path)
{
    struct stk__cost_list others = { 0 };
    struct stk__text text = { 0 };
    stk__costs_read(&others, path);
    stk__text_add(&text, "%s\n", first_line);
    for (int i = 0; i < others.n; i++)
        if (!stk__costs_find(list, others.at[i].key))
            add_line(&text, &others.at[i]);
    for (int i = 0; i < list->n; i++)
        add_line(&text, &list->at[i]);
    make_directories(path);
    bool is_written =
        !text.failed && stk__file_write_whole(path, text.data, text.len, NULL) == STK_OK;
    stk__text_free(&text);
    stk__costs_free(&others);
    return is_written;
}
