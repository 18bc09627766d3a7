/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.c: the list of candidates. */
#include "train/conv/candidate.h"

const struct stk__candidate *const stk__candidates[] = { &stk__direct, &stk__winograd,
                                                         &stk__winograd_6,
#if defined STK__HAS_ONEDNN
                                                         &stk__onednn,
#endif
                                                         NULL };

int stk__way_open(struct stk__way *way, const struct stk__candidate *candidate,
                  const struct stk__conv_task *task, struct stk_error *err)
{
    *way = (struct stk__way){ .task = *task, .candidate = candidate };
    return candidate->open(way, err);
}

void stk__way_close(struct stk__way *way)
{
    if (way->candidate && way->candidate->close)
        way->candidate->close(way);
    *way = (struct stk__way){ 0 };
}
