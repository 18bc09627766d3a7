/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_dir.c: the newest checkpoints of a training, and the best one. A new one is there whole
 * before an old one goes. */
#define _GNU_SOURCE
#include "train/file/checkpoint_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096 };
static const char ending[] = ".safetensors";

/* The step of a checkpoint's name, or -1. */
static int64_t step_of(const char *name)
{
    int64_t step;
    int len = -1;
    if (sscanf(name, "step-%" SCNd64 ".safetensors%n", &step, &len) != 1 || len < 0 || name[len])
        return -1;
    return step;
}

static bool is_leftover(const char *name)
{
    size_t len = strlen(name);
    return name[0] == '.' && len > 5 && !strcmp(name + len - 5, ".part") && strstr(name, ending);
}

static int fail_dir(const char *path, const char *what, struct stk_error *err)
{
    return stk_fail(err, STK_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static int join(const struct stk__checkpoint_dir *dir, const char *name, char out[PATH],
                struct stk_error *err)
{
    if (snprintf(out, PATH, "%s/%s", dir->path, name) >= PATH)
        return stk_fail(err, STK_VALUE, "the path of %s is too long", dir->path);
    return STK_OK;
}

static int make_dirs(const char *path, struct stk_error *err)
{
    char part[PATH];
    if (snprintf(part, sizeof part, "%s", path) >= PATH)
        return stk_fail(err, STK_VALUE, "the path %.60s… is too long", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            return fail_dir(part, "make", err);
        *slash = '/';
    }
    return mkdir(part, 0777) && errno != EEXIST ? fail_dir(path, "make", err) : STK_OK;
}

int stk__checkpoint_dir_open(struct stk__checkpoint_dir *dir, struct stk_error *err)
{
    int rc = make_dirs(dir->path, err);
    DIR *list = rc ? NULL : opendir(dir->path);
    if (rc)
        return rc;
    if (!list)
        return fail_dir(dir->path, "read", err);
    for (struct dirent *entry; (entry = readdir(list));) {
        char path[PATH];
        if (is_leftover(entry->d_name) && !join(dir, entry->d_name, path, err))
            unlink(path);
    }
    closedir(list);
    return STK_OK;
}

/* The newest of those below a step. */
static int find_below(const struct stk__checkpoint_dir *dir, int64_t below, char path[PATH],
                      struct stk_error *err)
{
    DIR *list = opendir(dir->path);
    int64_t newest = -1;
    path[0] = 0;
    if (!list)
        return errno == ENOENT ? STK_OK : fail_dir(dir->path, "read", err);
    int rc = STK_OK;
    for (struct dirent *entry; !rc && (entry = readdir(list));) {
        int64_t step = step_of(entry->d_name);
        if (step <= newest || step >= below)
            continue;
        newest = step;
        rc = join(dir, entry->d_name, path, err);
    }
    closedir(list);
    return rc;
}

int stk__checkpoint_dir_newest(const struct stk__checkpoint_dir *dir, char path[PATH],
                               struct stk_error *err)
{
    return find_below(dir, INT64_MAX, path, err);
}

int stk__checkpoint_dir_before(const struct stk__checkpoint_dir *dir, const char *than,
                               char path[PATH], struct stk_error *err)
{
    const char *name = strrchr(than, '/');
    return find_below(dir, step_of(name ? name + 1 : than), path, err);
}

/* Those of later steps are of a training before this one: as the newest they would be gone on
 * from. */
static void remove_later(const struct stk__checkpoint_dir *dir, int64_t step)
{
    DIR *list = opendir(dir->path);
    char path[PATH];
    struct stk_error unseen;
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (step_of(entry->d_name) > step && !join(dir, entry->d_name, path, &unseen))
            unlink(path);
    if (list)
        closedir(list);
}

/* Removes the oldest one if there are more than `keep`; true if it did. */
static bool remove_oldest(const struct stk__checkpoint_dir *dir)
{
    DIR *list = opendir(dir->path);
    int64_t oldest = INT64_MAX, n = 0;
    char path[PATH] = "";
    struct stk_error unseen;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        int64_t step = step_of(entry->d_name);
        n += step >= 0;
        if (step >= 0 && step < oldest && !join(dir, entry->d_name, path, &unseen))
            oldest = step;
    }
    if (list)
        closedir(list);
    return n > dir->keep && !unlink(path);
}

int stk__checkpoint_dir_save(struct stk__checkpoint_dir *dir, struct stk_trainer *trainer,
                             int64_t step, const struct stk_note *note, int n_notes,
                             struct stk_error *err)
{
    char name[64], path[PATH];
    snprintf(name, sizeof name, "step-%08" PRId64 "%s", step, ending);
    int rc = join(dir, name, path, err);
    if (!rc)
        rc = stk_trainer_save(trainer, path, note, n_notes, err);
    if (rc) {
        stk__error_prefix(err,
                          "the checkpoint of step %" PRId64 " was not written, older ones "
                          "are there: ",
                          step);
        return rc;
    }
    memcpy(dir->last, path, sizeof path);
    remove_later(dir, step);
    while (remove_oldest(dir))
        ;
    return STK_OK;
}

int stk__checkpoint_dir_save_best(struct stk__checkpoint_dir *dir, struct stk_trainer *trainer,
                                  const struct stk_note *note, int n_notes, struct stk_error *err)
{
    char path[PATH];
    int rc = join(dir, "best.safetensors", path, err);
    if (!rc)
        rc = stk_trainer_save(trainer, path, note, n_notes, err);
    if (rc)
        stk__error_prefix(
            err, "the checkpoint of the best epoch was not written, %s is there: ", dir->last);
    return rc;
}
