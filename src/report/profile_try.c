/* SPDX-License-Identifier: Apache-2.0 */
/* profile_try.c: advice, tried out: the other chain is run for a second under the same step, and its
 * rate compared with that of the chain as it is, which is run for as long before all trials and behind them, since a
 * machine is not as fast at all times. The run that was watched counts, too, unless it had many batches: then recording
 * what it did held it up. Where advice is to store something, a part of it is stored in a directory that is
 * removed afterwards. */
#define _GNU_SOURCE
#include "look/inspect.h"
#include "report/profile_run.h"

#include "base/error.h"
#include "codec/record/record_out.h"
#include "lang/objects.h"
#include "lang/quote.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a part of the data, stored ---- */

static void remove_directory(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* What stoker inspect says reads a file. */
static char *chain_that_reads(struct stk_arena *arena, const char *path)
{
    char *chain = NULL, *copy = NULL;
    if (stk__inspect_chain(path, &chain, NULL))
        return NULL;
    copy = *chain ? stk_arena_text(arena, chain) : NULL;
    stk_text_free(chain);
    return copy;
}

enum { MOST_STORED = 20000 }; /* elements that a trial stores */

/* The chain that makes of the file what was stored there, or NULL. */
static char *chain_that_restores(struct stk_arena *arena, const char *path,
                                 const struct stk_type *type)
{
    struct stk__text chain = { 0 };
    stk__text_add(&chain, "tfrecord(");
    stk__quote(&chain, path);
    stk__text_add(&chain, ").");
    char *copy = stk__example_reader(type, &chain) ? stk_arena_text(arena, chain.data) : NULL;
    stk__text_free(&chain);
    return copy;
}

/* `reads`: the chain that reads it; NULL if that is not known yet. */
static int store_part(struct stk_profile *profile, const struct stk__proposal *item,
                      const char *path, const char **reads, struct stk_error *err)
{
    struct stk_dataset *dataset;
    char *text = stk__arena_printf(&profile->arena, "%s.take(%lld)", item->stored,
                                   stk__stretch_sample(&profile->stretch, MOST_STORED));
    if (!text)
        return stk__out_of_memory(err);
    int rc = stk_dataset_new(text, profile->dataset->objects, &dataset, err);
    if (rc)
        return rc;
    const struct stk_pack_options pack = { .out = path, .shards = 1, .variants = item->variants };
    struct stk_pack_result result = { 0 };
    rc = stk_pack(dataset, NULL, &pack, &result, err);
    stk_text_free(result.manifest);
    *reads = chain_that_restores(&profile->arena, path, &dataset->root->type);
    stk_dataset_unref(dataset);
    return rc;
}

/* The chain that reads the part in place of what was stored, or NULL. */
static const char *stored_trial(struct stk_profile *profile, const struct stk__proposal *item,
                                const char *directory, struct stk_error *err)
{
    const char *path = stk__arena_printf(&profile->arena, "%s/part.tfrecord", directory);
    const char *reads = NULL;
    if (!path || store_part(profile, item, path, &reads, err))
        return NULL;
    reads = reads ? reads : chain_that_reads(&profile->arena, path);
    if (!reads || !*item->rest)
        return reads;
    return stk__arena_printf(&profile->arena, "%s.%s", reads, item->rest);
}

/* The same chain on what the command will have stored. */
static const char *on_stored_files(struct stk_profile *profile, const char *chain,
                                   const char *directory)
{
    const char *at = strstr(chain, directory);
    const char *end = at ? strstr(at, "part.tfrecord") : NULL;
    if (!end)
        return NULL;
    return stk__arena_printf(&profile->arena, "%.*spacked-*.tfrecord%s", (int)(at - chain), chain,
                             end + strlen("part.tfrecord"));
}

/* ---- trials ---- */

static int run_trial(const struct stk_profile *profile, struct stk_dataset *dataset,
                     struct stk__advice_trial trial, struct stk__stretch *stretch,
                     struct stk_error *err)
{
    double seconds = trial.how->seconds;
    trial.seconds = seconds > 0 && seconds < 3 ? seconds / 3 : 1;
    trial.consumer_s = profile->consumer_s;
    trial.loop_s = profile->loop_s;
    return stk__trial_run(dataset, &trial, stretch, err);
}

static int try_dataset(struct stk_profile *profile, struct stk__proposal *item,
                       struct stk_dataset *dataset, const struct stk_profile_options *how,
                       struct stk_error *err)
{
    struct stk__options options = profile->options;
    struct stk__stretch stretch;
    char doing[80];
    snprintf(doing, sizeof doing, "tries: %s", item->rule);
    const struct stk__advice_trial trial = {
        .options = &options, .how = how, .doing = doing, .warms_up = item->warms_up
    };
    int rc = item->option ? stk__options_set(&options, item->option, item->value, err) : STK_OK;
    rc = rc ? rc : run_trial(profile, dataset, trial, &stretch, err);
    item->is_measured = !rc;
    item->rate = rc ? 0 : stk__stretch_rate(&stretch);
    return rc;
}

/* The chain as it is, all runs of it together. */
struct baseline {
    double elements, seconds;
};

static void add_run(struct baseline *base, const struct stk__stretch *stretch)
{
    base->elements += stretch->elements;
    base->seconds += stretch->seconds;
}

static int run_again(const struct stk_profile *profile, const struct stk_profile_options *how,
                     struct baseline *base, struct stk_error *err)
{
    const struct stk__advice_trial trial = { .options = &profile->options,
                                             .how = how,
                                             .doing = "runs it again, to compare" };
    struct stk__stretch stretch;
    int rc = run_trial(profile, profile->dataset, trial, &stretch, err);
    if (!rc)
        add_run(base, &stretch);
    return rc;
}

static struct baseline watched(const struct stk_profile *profile)
{
    const double many = 1000; /* batches per second */
    struct baseline base = { 0 };
    if (profile->stretch.batches < many * profile->stretch.seconds)
        add_run(&base, &profile->stretch);
    return base;
}

static int try_chain(struct stk_profile *profile, struct stk__proposal *item, const char *chain,
                     const struct stk_profile_options *how, struct stk_error *err)
{
    struct stk_dataset *dataset;
    int rc = stk_dataset_new(chain, profile->dataset->objects, &dataset, err);
    if (rc)
        return rc;
    rc = try_dataset(profile, item, dataset, how, err);
    stk_dataset_unref(dataset);
    return rc;
}

static int try_stored(struct stk_profile *profile, struct stk__proposal *item,
                      const struct stk_profile_options *how, struct stk_error *err)
{
    const char *base = getenv("TMPDIR");
    char *directory = stk__arena_printf(&profile->arena, "%s/stoker-profile-XXXXXX",
                                        base && *base ? base : "/tmp");
    if (!directory || !mkdtemp(directory))
        return stk_fail(err, STK_IO, "cannot make a directory for a trial");
    const char *chain = stored_trial(profile, item, directory, err);
    int rc = chain ? try_chain(profile, item, chain, how, err) : STK_DATA;
    if (!rc)
        item->chain = on_stored_files(profile, chain, directory);
    remove_directory(directory);
    return rc;
}

static int try_item(struct stk_profile *profile, struct stk__proposal *item,
                    const struct stk_profile_options *how, struct stk_error *err)
{
    if (item->is_elsewhere && how->elsewhere)
        return try_dataset(profile, item, how->elsewhere, how, err);
    if (item->trial)
        return try_chain(profile, item, item->trial, how, err);
    return item->stored ? try_stored(profile, item, how, err) : STK_OK;
}

static bool can_try(const struct stk__proposal *item, const struct stk_profile_options *how)
{
    return item->trial || item->stored || (item->is_elsewhere && how->elsewhere);
}

/* What cannot be tried keeps its model; a chain that does not work is no advice. */
static int try_all(struct stk_profile *profile, const struct stk_profile_options *how,
                   struct stk_error *err)
{
    for (int i = 0; i < profile->advice.n; i++) {
        struct stk__proposal *item = &profile->advice.item[i];
        struct stk_error why = { 0 };
        int rc = try_item(profile, item, how, &why);
        if (rc == STK_CANCELLED) {
            if (err)
                *err = why;
            return rc;
        }
        if (rc && item->trial)
            item->gain = 0;
    }
    return STK_OK;
}

int stk__profile_try(struct stk_profile *profile, const struct stk_profile_options *how,
                     struct stk_error *err)
{
    struct baseline base = watched(profile);
    int rc = STK_OK, n = 0;
    for (int i = 0; i < profile->advice.n; i++)
        n += can_try(&profile->advice.item[i], how);
    if (n)
        rc = run_again(profile, how, &base, err);
    rc = rc ? rc : try_all(profile, how, err);
    if (n && !rc)
        rc = run_again(profile, how, &base, err);
    if (rc)
        return rc;
    for (int i = 0; i < profile->advice.n; i++) {
        struct stk__proposal *item = &profile->advice.item[i];
        if (item->is_measured)
            item->gain = base.elements > 0 ? item->rate * base.seconds / base.elements : 0;
    }
    stk__advice_rank(&profile->advice);
    return STK_OK;
}
