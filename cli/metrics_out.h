/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_out.h: what a run counts of itself, in files. */
#pragma once
#include "args.h"

struct cli_metrics {
    const struct cli_args *args;
    double due; /* when the file for Prometheus is written next */
};

/* Before there is an iterator: what it is to record. */
int cli_metrics_prepare(const struct cli_args *args, struct stk_error *err);

/* Every few seconds, whenever it is called: what Prometheus is to see. */
int cli_metrics_tick(struct cli_metrics *metrics, struct stk_iterator *it, struct stk_error *err);

/* At the end: all that was asked for. */
int cli_metrics_end(const struct cli_metrics *metrics, struct stk_iterator *it,
                    struct stk_error *err);
