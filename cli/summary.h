/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h: how a run is going, and how it went. */
#pragma once
#include "args.h"
#include "metrics_out.h"
#include "tally.h"

#include <stdio.h>

struct cli_summary {
    const struct cli_args *args;
    const struct cli_tally *tally;
    struct stk_iterator *it;
    struct stk_stats stats;
    int64_t total;                 /* batches to expect, or negative */
    const struct stk_error *error; /* that ended the run, or NULL */
    bool has_digest,
        has_progress; /* has_progress: a line on the terminal is to be kept up to date */
    uint64_t digest;
    double next_progress;
    struct cli_metrics metrics;
};

/* Rewrites the progress line if it is due. */
void cli_progress(struct cli_summary *summary);
void cli_progress_clear(struct cli_summary *summary);

/* Aligned lines for people. */
void cli_summary_print(FILE *file, const struct cli_summary *summary);

/* One JSON object on one line. */
void cli_summary_json(FILE *file, const struct cli_summary *summary);
