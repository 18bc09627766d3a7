/* SPDX-License-Identifier: Apache-2.0 */
/* choice.c: see choice.h. */
#define _GNU_SOURCE /* strdup */
#include "train/choice.h"

#include "base/cpu.h"
#include "base/error.h"
#include "train/choice_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rises when kernels change such that old times mislead. */
enum { KERNELS = 1 };

struct stk__choices {
    struct stk__choice_options options;
    char *path;          /* NULL: nothing is remembered */
    char processor[160]; /* "unknown", or what tells its kind */
    struct stk__cost_list costs;
    bool has_new;
};

/* The value of a line "name : value" of /proc/cpuinfo, appended. */
static void add_value(char *out, size_t size, const char *line, const char *name)
{
    size_t len = strlen(name), used = strlen(out);
    const char *colon = strchr(line, ':');
    if (strncmp(line, name, len) || !colon || strspn(line + len, " \t:") < 1)
        return;
    snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)strcspn(colon + 2, "\t\n"),
             colon + 2);
}

static void name_processor(char *out, size_t size)
{
    static const char *const names[] = { "cpu family", "model name", "model\t", "stepping" };
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    *out = 0;
    while (file && fgets(line, sizeof line, file) && *line != '\n') /* of the first core */
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            add_value(out, size, line, names[i]);
    if (file)
        fclose(file);
    if (!*out)
        snprintf(out, size, "unknown");
}

struct stk__choices *stk__choices_open(const struct stk__choice_options *options)
{
    struct stk__choices *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->options = *options;
    if (options->deterministic)
        return c;
    name_processor(c->processor, sizeof c->processor);
    if (!options->forgets)
        c->path = options->path ? strdup(options->path) : stk__choice_path();
    if (c->path)
        stk__costs_read(&c->costs, c->path);
    return c;
}

void stk__choices_close(struct stk__choices *c)
{
    if (!c)
        return;
    if (c->path && c->has_new)
        stk__costs_write(&c->costs, c->path);
    stk__costs_free(&c->costs);
    free(c->path);
    free(c);
}

static const char *const direction_words[] = { "forward", "to image", "to weights" };

/* What costs depend on. Returns new, or NULL. */
static char *key_of(const struct stk__choices *choices, const struct stk__conv_task *task)
{
    const struct stk__conv *c = &task->conv;
    struct stk__text key = { 0 };
    stk__text_add(&key, "%s; %s; kernels %d; %s; ", choices->processor,
                  stk__cpu_level_names[task->cpu_level], KERNELS, direction_words[task->direction]);
    stk__text_add(&key, "%dx%dx%d, kernel %dx%d, %d filters", c->height, c->width, c->channels,
                  c->kernel_height, c->kernel_width, c->filters);
    stk__text_add(&key, ", stride %dx%d, dilation %dx%d, pad %d %d %d %d, %d groups", c->stride_y,
                  c->stride_x, c->dilation_y, c->dilation_x, c->pad_top, c->pad_left, c->pad_bottom,
                  c->pad_right, c->groups);
    stk__text_add(&key, "; %d images, %d rows", task->n_images, task->n_rows);
    return stk__text_take(&key);
}

static bool measure(const struct stk__choices *choices, const struct stk__candidate *candidate,
                    const struct stk__conv_task *task, struct stk__way_cost *cost)
{
    struct stk__way way;
    double seconds = choices->options.seconds > 0 ? choices->options.seconds : 0.004;
    if (!candidate->can(task) || stk__way_open(&way, candidate, task, NULL))
        return false;
    int rc = stk__way_measure(&way, seconds, cost, NULL);
    stk__way_close(&way);
    return rc == STK_OK;
}

static int measure_all(struct stk__choices *choices, const struct stk__conv_task *task,
                       struct stk__costs *out, struct stk_error *err)
{
    for (int i = 0; stk__candidates[i] && out->n < STK__MOST_COSTS; i++)
        if (measure(choices, stk__candidates[i], task, &out->cost[out->n]))
            snprintf(out->name[out->n++], sizeof out->name[0], "%s", stk__candidates[i]->name);
    out->is_new = true;
    choices->has_new = true;
    return out->n ? STK_OK : stk__out_of_memory(err); /* the plainest can, if there is memory */
}

static const struct stk__candidate *candidate_named(const char *name)
{
    for (int i = 0; stk__candidates[i]; i++)
        if (!strcmp(stk__candidates[i]->name, name))
            return stk__candidates[i];
    return NULL;
}

/* Of an image. */
static double total(const struct stk__way_cost *cost, int64_t batch)
{
    return cost->run + cost->once / (double)(batch > 0 ? batch : 1);
}

static void add_time(struct stk__text *why, double seconds)
{
    stk__text_add_rounded(why, seconds < 1e-3 ? seconds * 1e6 : seconds * 1e3, 3);
    stk__text_add(why, seconds < 1e-3 ? " µs" : " ms");
}

static void explain(struct stk__text *why, const struct stk__costs *costs, int best, int64_t batch)
{
    stk__text_add(why, "%s: ", costs->name[best]);
    add_time(why, total(&costs->cost[best], batch));
    stk__text_add(why, " an image");
    for (int i = 0; i < costs->n; i++)
        if (i != best) {
            stk__text_add(why, ", %s ", costs->name[i]);
            add_time(why, total(&costs->cost[i], batch));
        }
    stk__text_add(why, costs->is_new ? ", measured" : ", measured before");
}

/* Known costs, or new ones. NULL: err is set. */
static const struct stk__costs *costs_of(struct stk__choices *choices,
                                         const struct stk__conv_task *task, struct stk_error *err)
{
    char *key = key_of(choices, task);
    struct stk__costs *costs = key ? stk__costs_find(&choices->costs, key) : NULL;
    if (costs) {
        free(key);
        return costs;
    }
    costs = key ? stk__costs_add(&choices->costs, key) : NULL;
    if (!costs) {
        stk__out_of_memory(err);
        return NULL;
    }
    if (measure_all(choices, task, costs, err)) {
        free(costs->key);
        choices->costs.n--;
        return NULL;
    }
    return costs;
}

/* NULL where there is a choice. */
static const struct stk__candidate *only_one(const struct stk__conv_task *task)
{
    const struct stk__candidate *found = NULL;
    for (int i = 0; stk__candidates[i]; i++)
        if (stk__candidates[i]->can(task)) {
            if (found)
                return NULL;
            found = stk__candidates[i];
        }
    return found;
}

static int choose_fastest(struct stk__choices *choices, const struct stk__conv_task *task,
                          int64_t batch, struct stk__way *out, struct stk__text *why,
                          struct stk_error *err)
{
    const struct stk__candidate *one = only_one(task);
    if (one) {
        if (why)
            stk__text_add(why, "%s: nothing else can", one->name);
        return stk__way_open(out, one, task, err);
    }
    const struct stk__costs *costs = costs_of(choices, task, err);
    if (!costs)
        return STK_MEMORY;
    int best = 0;
    for (int i = 1; i < costs->n; i++)
        if (total(&costs->cost[i], batch) < total(&costs->cost[best], batch))
            best = i;
    const struct stk__candidate *candidate = candidate_named(costs->name[best]);
    if (!candidate || !candidate->can(task))
        candidate = &stk__direct;
    else if (why)
        explain(why, costs, best, batch);
    return stk__way_open(out, candidate, task, err);
}

/* Winograd's where products are many enough to be worth its transforms. */
static const struct stk__candidate *by_rule(const struct stk__conv_task *task)
{
    enum { ENOUGH = 16 };
    bool is_wide = task->conv.channels >= ENOUGH && task->conv.filters >= ENOUGH;
    return stk__winograd.can(task) && is_wide ? &stk__winograd : &stk__direct;
}

int stk__choose(struct stk__choices *choices, const struct stk__conv_task *task, int64_t batch,
                struct stk__way *out, struct stk__text *why, struct stk_error *err)
{
    const struct stk__choice_options *options = &choices->options;
    const struct stk__candidate *only = options->only ? candidate_named(options->only) : NULL;
    if (!only && !options->deterministic)
        return choose_fastest(choices, task, batch, out, why, err);
    const struct stk__candidate *candidate = only ? only : by_rule(task);
    if (!candidate->can(task))
        candidate = &stk__direct;
    if (why)
        stk__text_add(why, "%s: %s", candidate->name, only ? "as asked for" : "by rule");
    return stk__way_open(out, candidate, task, err);
}
