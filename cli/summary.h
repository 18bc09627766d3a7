/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h: how a run went. */
#pragma once
#include "args.h"
#include "metrics_out.h"
#include "progress.h"
#include "tally.h"

#include <stdio.h>

struct cli_summary {
    const struct cli_args *args;
    const struct cli_tally *tally;
    struct stk_iterator *it;
    struct stk_stats stats;
    const struct stk_error *error; /* that ended the run, or NULL */
    int signal;                    /* that ended it, or 0 */
    bool has_digest;
    uint64_t digest;
    struct cli_metrics metrics;
    struct cli_progress progress;
};

/* Aligned lines for people. */
void cli_summary_print(FILE *file, const struct cli_summary *summary);

/* One JSON object on one line. */
void cli_summary_json(FILE *file, const struct cli_summary *summary);
