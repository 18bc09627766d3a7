/* SPDX-License-Identifier: Apache-2.0 */
/* choice.c: see choice.h. */
#define _GNU_SOURCE /* strdup */
#include "train/conv/choice.h"

#include "base/cpu.h"
#include "base/error.h"
#include "train/conv/choice_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rises when kernels change such that old times mislead. */
enum { KERNELS = 2 };

struct stk__conv_choices {
    struct stk__choice_options options;
    char *path;          /* NULL: nothing is remembered */
    char processor[160]; /* "unknown", or what tells its kind */
    struct stk__cost_list costs;
    bool has_new;
    bool wants_rehearsal;
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

struct stk__conv_choices *stk__choices_open(const struct stk__choice_options *options)
{
    struct stk__conv_choices *c = calloc(1, sizeof *c);
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

void stk__choices_close(struct stk__conv_choices *c)
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
static char *key_of(const struct stk__conv_choices *choices, const struct stk__conv_task *task)
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

/* Seconds of an image that nothing takes: the candidate is there, but not for this task. */
enum { REFUSED = 100000 };

/* False if the candidate is not there: another time it may be. */
static bool measure(const struct stk__conv_choices *choices,
                    const struct stk__conv_candidate *candidate, const struct stk__conv_task *task,
                    struct stk__way_cost *cost)
{
    struct stk__conv_way way;
    double seconds = choices->options.seconds > 0 ? choices->options.seconds : 0.004;
    if (!candidate->can(task))
        return false;
    int rc = stk__conv_way_open(&way, candidate, task, NULL);
    *cost = (struct stk__way_cost){ .run = REFUSED };
    if (rc)
        return rc == STK_VALUE;
    rc = stk__way_measure(&way, seconds, cost, NULL);
    stk__conv_way_close(&way);
    return rc == STK_OK;
}

static bool has_cost(const struct stk__costs *costs, const char *name)
{
    for (int i = 0; i < costs->n; i++)
        if (!strcmp(costs->name[i], name))
            return true;
    return false;
}

/* All that are not known yet: on another day there may have been no oneDNN. */
static int measure_all(struct stk__conv_choices *choices, const struct stk__conv_task *task,
                       struct stk__costs *out, struct stk_error *err)
{
    for (int i = 0; stk__conv_candidates[i] && out->n < STK__MOST_COSTS; i++)
        if (!has_cost(out, stk__conv_candidates[i]->name) &&
            measure(choices, stk__conv_candidates[i], task, &out->cost[out->n])) {
            snprintf(out->name[out->n++], sizeof out->name[0], "%s", stk__conv_candidates[i]->name);
            out->is_new = true;
            choices->has_new = true;
        }
    return out->n ? STK_OK : stk__out_of_memory(err); /* the plainest can, if there is memory */
}

static const struct stk__conv_candidate *candidate_named(const char *name)
{
    for (int i = 0; stk__conv_candidates[i]; i++)
        if (!strcmp(stk__conv_candidates[i]->name, name))
            return stk__conv_candidates[i];
    return NULL;
}

/* Of an image. */
static double total(const struct stk__way_cost *cost, int64_t batch)
{
    return cost->run + cost->once / (double)(batch > 0 ? batch : 1);
}

/* What to open, for steps of how many images, and where to. */
struct chosen {
    const struct stk__conv_task *task;
    int64_t batch;
    struct stk__conv_way *way;
};

static void add_time(struct stk__text *why, double seconds)
{
    stk__text_add_rounded(why, seconds < 1e-3 ? seconds * 1e6 : seconds * 1e3, 3);
    stk__text_add(why, seconds < 1e-3 ? " µs" : " ms");
}

static bool can_be(const struct stk__costs *costs, int i, const struct stk__conv_task *task)
{
    const struct stk__conv_candidate *candidate = candidate_named(costs->name[i]);
    return candidate && candidate->can(task) && costs->cost[i].run < REFUSED;
}

static void explain(struct stk__text *why, const struct stk__costs *costs, int best,
                    const struct chosen *chosen)
{
    int64_t batch = chosen->batch;
    stk__text_add(why, "%s: ", costs->name[best]);
    add_time(why, total(&costs->cost[best], batch));
    stk__text_add(why, " an image");
    for (int i = 0; i < costs->n; i++)
        if (i != best && can_be(costs, i, chosen->task)) {
            stk__text_add(why, ", %s ", costs->name[i]);
            add_time(why, total(&costs->cost[i], batch));
        }
    stk__text_add(why, costs->is_new ? ", measured" : ", measured before");
}

/* Known costs, or new ones. NULL: err is set. */
static const struct stk__costs *costs_of(struct stk__conv_choices *choices,
                                         const struct stk__conv_task *task, struct stk_error *err)
{
    char *key = key_of(choices, task);
    struct stk__costs *costs = key ? stk__costs_find(&choices->costs, key) : NULL;
    if (costs) {
        free(key);
        return measure_all(choices, task, costs, err) ? NULL : costs;
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
static const struct stk__conv_candidate *only_one(const struct stk__conv_task *task)
{
    const struct stk__conv_candidate *found = NULL;
    for (int i = 0; stk__conv_candidates[i]; i++)
        if (stk__conv_candidates[i]->can(task)) {
            if (found)
                return NULL;
            found = stk__conv_candidates[i];
        }
    return found;
}

/* Which costs least; -1: nothing that is known. */
static int best_of(const struct stk__costs *costs, const struct stk__conv_task *task, int64_t batch,
                   bool with_optional)
{
    double least = REFUSED;
    int best = -1;
    for (int i = 0; i < costs->n; i++) {
        const struct stk__conv_candidate *candidate = candidate_named(costs->name[i]);
        if (!candidate || !candidate->can(task) || (candidate->is_optional && !with_optional))
            continue;
        double time =
            total(&costs->cost[i], batch) * (candidate->handicap > 0 ? candidate->handicap : 1);
        if (time < least) {
            least = time;
            best = i;
        }
    }
    return best;
}

/* For steps, which have several threads. */
static int open_way(struct stk__conv_choices *choices, const struct stk__conv_candidate *candidate,
                    const struct chosen *chosen, struct stk_error *err)
{
    struct stk__conv_task task = *chosen->task;
    task.n_threads = choices->options.n_threads;
    int rc = stk__conv_way_open(chosen->way, candidate, &task, err);
    if (!rc && candidate->rehearses)
        choices->wants_rehearsal = true;
    return rc;
}

static int open_best(struct stk__conv_choices *choices, const struct stk__costs *costs,
                     const struct chosen *chosen, bool with_optional, struct stk__text *why,
                     struct stk_error *err)
{
    int best = best_of(costs, chosen->task, chosen->batch, with_optional);
    const struct stk__conv_candidate *candidate =
        best < 0 ? &stk__conv_direct : candidate_named(costs->name[best]);
    int rc = open_way(choices, candidate, chosen, err);
    if (!rc && best >= 0 && why)
        explain(why, costs, best, chosen);
    return rc;
}

/* What was there when it was measured may be gone. */
static int choose_fastest(struct stk__conv_choices *choices, const struct chosen *chosen,
                          struct stk__text *why, struct stk_error *err)
{
    const struct stk__conv_candidate *one = only_one(chosen->task);
    if (one) {
        if (why)
            stk__text_add(why, "%s: nothing else can", one->name);
        return open_way(choices, one, chosen, err);
    }
    const struct stk__costs *costs = costs_of(choices, chosen->task, err);
    if (!costs)
        return STK_MEMORY;
    if (!open_best(choices, costs, chosen, true, why, NULL))
        return STK_OK;
    return open_best(choices, costs, chosen, false, why, err);
}

/* Winograd's where products are many enough to be worth its transforms, with large tiles where few of them
 * reach over the edge. */
static const struct stk__conv_candidate *by_rule(const struct stk__conv_task *task)
{
    enum { ENOUGH = 16, LARGE = 24 };
    const struct stk__conv *c = &task->conv;
    if (!stk__conv_winograd.can(task) || c->channels < ENOUGH || c->filters < ENOUGH)
        return &stk__conv_direct;
    bool is_large = c->out_height >= LARGE && c->out_width >= LARGE;
    return stk__conv_winograd_6.can(task) && is_large ? &stk__conv_winograd_6 : &stk__conv_winograd;
}

int stk__conv_choose(struct stk__conv_choices *choices, const struct stk__conv_task *task,
                     int64_t batch, struct stk__conv_way *out, struct stk__text *why,
                     struct stk_error *err)
{
    const struct stk__choice_options *options = &choices->options;
    const struct stk__conv_candidate *only = options->only ? candidate_named(options->only) : NULL;
    const struct chosen chosen = { task, batch, out };
    if (!only && !options->deterministic)
        return choose_fastest(choices, &chosen, why, err);
    const struct stk__conv_candidate *candidate = only ? only : by_rule(task);
    if (!candidate->can(task))
        candidate = &stk__conv_direct;
    if (why)
        stk__text_add(why, "%s: %s", candidate->name, only ? "as asked for" : "by rule");
    return open_way(choices, candidate, &chosen, err);
}

bool stk__choices_want_rehearsal(const struct stk__conv_choices *choices)
{
    return choices->wants_rehearsal;
}
