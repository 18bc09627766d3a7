/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_out.h: what a run counts of itself, in files. */
#pragma once
#include "args.h"

struct cli_metrics {
    const struct cli_args *args;
    double due; /* when the file for Prometheus is written next */
};

/* Every few seconds, whenever it is called: what Prometheus is to see. */
int cli_metrics_tick(struct cli_metrics *metrics, struct stk_iterator *it, struct stk_error *err);

/* At the end: all that was asked for. */
int cli_metrics_end(const struct cli_metrics *metrics, struct stk_iterator *it,
                    struct stk_error *err);
