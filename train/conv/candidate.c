/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.c: the list of candidates. */
#include "train/conv/candidate.h"

const struct stk__conv_candidate *const stk__conv_candidates[] = { &stk__conv_direct,
                                                                   &stk__conv_winograd,
                                                                   &stk__conv_winograd_6,
#if defined STK__HAS_ONEDNN
                                                                   &stk__conv_onednn,
#endif
                                                                   NULL };

int stk__conv_way_open(struct stk__conv_way *way, const struct stk__conv_candidate *candidate,
                       const struct stk__conv_task *task, struct stk_error *err)
{
    *way = (struct stk__conv_way){ .task = *task, .candidate = candidate };
    return candidate->open(way, err);
}

void stk__conv_way_close(struct stk__conv_way *way)
{
    if (way->candidate && way->candidate->close)
        way->candidate->close(way);
    *way = (struct stk__conv_way){ 0 };
}
