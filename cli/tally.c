/* SPDX-License-Identifier: Apache-2.0 */
/* tally.c: clocks, /proc/self/status and the counters of an interposed malloc. */
#define _GNU_SOURCE
#include "tally.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const double sample_interval = 0.05;

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A "Name:   123 kB" line of /proc/self/status in MB; 0 where there is none. No stdio: it would
 * allocate. */
static double status_mb(const char *name)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len <= 0)
        return 0;
    text[len] = 0;
    const char *line = strstr(text, name);
    return line ? (double)strtoll(line + strlen(name), NULL, 10) / 1024 : 0;
}

double cli_peak_rss_mb(void)
{
    return status_mb("\nVmHWM:");
}

double cli_cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void sample_memory(struct cli_tally *tally, double now)
{
    double anon_mb = status_mb("\nRssAnon:");
    if (anon_mb > tally->peak_anon_mb)
        tally->peak_anon_mb = anon_mb;
    tally->next_sample = now + sample_interval;
}

void cli_tally_begin(struct cli_tally *tally, double start)
{
    *tally = (struct cli_tally){ .start = start, .begin = cli_now(), .first_batch_s = -1 };
    tally->epoch_begin = tally->last_batch = tally->begin;
    void *symbol = dlsym(RTLD_DEFAULT, "interpose_count");
    memcpy(&tally->count_mallocs, &symbol, sizeof symbol);
}

static struct cli_mark count_now(const struct cli_tally *tally)
{
    return (struct cli_mark){ tally->batches, tally->count_mallocs(1), tally->count_mallocs(0) };
}

/* The total is not known before the end, so marks are set at growing distances of a sixteenth: one
 * of them is near enough to the first quarter. */
static void mark_mallocs(struct cli_tally *tally)
{
    const struct cli_mark *last = tally->n_marks ? &tally->mark[tally->n_marks - 1] : NULL;
    if (!tally->count_mallocs || tally->n_marks == CLI_MAX_MARKS)
        return;
    if (last && tally->batches < last->batches + 1 + last->batches / 16)
        return;
    tally->mark[tally->n_marks++] = count_now(tally);
}

static void close_epoch(struct cli_tally *tally)
{
    double seconds = tally->last_batch - tally->epoch_begin;
    double rate = seconds > 0 ? (double)tally->epoch_elements / seconds : 0;
    if (rate > tally->best_rate)
        tally->best_rate = rate;
    tally->epoch_begin = tally->last_batch;
    tally->epoch_elements = 0;
}

void cli_tally_batch(struct cli_tally *tally, const struct stk_batch *batch)
{
    double now = cli_now();
    struct stk_position position;
    stk_batch_position(batch, &position);
    if (tally->first_batch_s < 0)
        tally->first_batch_s = now - tally->start;
    else if (position.epoch != tally->epoch)
        close_epoch(tally);
    uint64_t n_rows = (uint64_t)stk_batch_n_rows(batch);
    tally->epoch = position.epoch;
    tally->batches++;
    tally->elements += n_rows;
    tally->epoch_elements += n_rows;
    tally->last_batch = now;
    mark_mallocs(tally);
    if (now >= tally->next_sample)
        sample_memory(tally, now);
}

void cli_tally_end(struct cli_tally *tally, bool is_whole)
{
    tally->end = cli_now();
    if (tally->count_mallocs)
        tally->last = count_now(tally);
    if (is_whole || tally->best_rate == 0)
        close_epoch(tally);
    sample_memory(tally, tally->end);
}

bool cli_tally_mallocs(const struct cli_tally *tally, double *own, double *library)
{
    int i = 0;
    while (i < tally->n_marks && tally->mark[i].batches < tally->batches / 4)
        i++;
    if (i >= tally->n_marks || tally->mark[i].batches == tally->batches)
        return false;
    const struct cli_mark *mark = &tally->mark[i];
    double n = (double)(tally->batches - mark->batches);
    unsigned long n_own = tally->last.own - mark->own;
    unsigned long n_all = tally->last.all - mark->all;
    *own = (double)n_own / n;
    *library = (double)(n_all - n_own) / n;
    return true;
}
