/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h: what a run costs, counted from outside: clocks, memory, calls of malloc. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stoker/stoker.h>

enum { CLI_MAX_MARKS = 768 };

/* Calls of malloc and its kin by the time so many batches had come: stoker's own, and all. */
struct cli_mark {
    uint64_t batches;
    unsigned long own, all;
};

struct cli_tally {
    double start, begin, end; /* of the process, the iterator, the run; seconds of cli_now */
    double first_batch_s;     /* after start; negative before there was one */
    uint64_t elements, batches;
    uint64_t epoch; /* the one that is running */
    uint64_t epoch_elements;
    double epoch_begin, last_batch;
    double best_rate; /* elements per second of the best whole epoch */
    double peak_anon_mb, next_sample;
    unsigned long (*count_mallocs)(int own); /* NULL unless interposed */
    int n_marks;
    struct cli_mark mark[CLI_MAX_MARKS];
    struct cli_mark last; /* when the run ended, before anything was printed */
};

/* Seconds of the monotonic clock. */
double cli_now(void);

void cli_tally_begin(struct cli_tally *tally, double start);

/* Counts one batch; allocates nothing. */
void cli_tally_batch(struct cli_tally *tally, const struct stk_batch *batch);

/* is_whole: the run came to its own end, so that the last epoch counts as a whole one. */
void cli_tally_end(struct cli_tally *tally, bool is_whole);

/* Calls per batch over the last three quarters of the run; false when nobody counts or there were
 * no batches. */
bool cli_tally_mallocs(const struct cli_tally *tally, double *own, double *library);

double cli_peak_rss_mb(void);

/* User and system time of the process so far. */
double cli_cpu_seconds(void);
