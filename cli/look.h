/* SPDX-License-Identifier: Apache-2.0 */
/* look.h: the numbers of a run that its progress shows, at one moment. */
#pragma once
#include <stdbool.h>
#include <stoker/stoker.h>

enum { CLI_LOOK_OPS = 24 };

struct cli_look {
    double elapsed, elements, batches, epochs, errors; /* elapsed: seconds since the run began */
    double read_bytes, waited, consumer; /* waited: seconds of the consumer's, which are all */
    double window, ready;                /* batches: allowed in flight, ready now */
    double threads;                      /* that may compute at a time */
    double used_bytes, budget_bytes, hits, misses;
    int n_ops;
    struct cli_look_op {
        char name[32];
        double wall; /* seconds, of all threads together */
    } op[CLI_LOOK_OPS];
};

/* False when memory is short. */
bool cli_look_at(struct stk_iterator *it, struct cli_look *out);

/* What is shown of two looks: the first one may be empty. */
double cli_look_rate(const struct cli_look *first, const struct cli_look *last);
double cli_look_waits(const struct cli_look *first, const struct cli_look *last);
