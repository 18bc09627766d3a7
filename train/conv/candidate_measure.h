/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_measure.h: how long a way takes on this machine, on memory of its own. */
#pragma once
#include "train/conv/candidate.h"

struct stk__way_cost {
    double run;  /* seconds of an image */
    double once; /* of packing weights, or unpacking sums, for a step */
};

/* Runs it for about so many seconds, at least twice, and takes the fastest. Bands of task.n_rows are
 * in memory for one band, as a step has them, images whole. */
int stk__way_measure(const struct stk__conv_way *way, double seconds, struct stk__way_cost *out,
                     struct stk_error *err);
