/* SPDX-License-Identifier: Apache-2.0 */
/* advice_rules.h: the rules of advice.c. Each fills in a proposal, or leaves its text NULL; 0 or
 * STK_MEMORY. */
#pragma once
#include "tune/advice.h"

#define STK__ADVICE_RULE(name)                                                                     \
    int name(const struct stk__situation *s, const struct stk__chain_edit *chain,                  \
             struct stk__proposal *out)

STK__ADVICE_RULE(stk__advise_workers);  /* a number of workers was given, and is too small */
STK__ADVICE_RULE(stk__advise_memory);   /* the budget is used up */
STK__ADVICE_RULE(stk__advise_io_depth); /* so was a number of reads in flight */
STK__ADVICE_RULE(stk__advise_window);   /* a slow element holds up those behind it */
STK__ADVICE_RULE(stk__advise_cache);    /* what is the same in every epoch is made once */
STK__ADVICE_RULE(stk__advise_scale);    /* large JPEG files are decoded smaller */
STK__ADVICE_RULE(stk__advise_small);    /* small files on slow storage: one large file */
STK__ADVICE_RULE(stk__advise_pack);     /* what is the same in every epoch is stored */
STK__ADVICE_RULE(stk__advise_variants); /* so are some variants of what is random */
STK__ADVICE_RULE(stk__advise_unpack);   /* compressed streams and locked libraries: plain records */
STK__ADVICE_RULE(stk__advise_processes);  /* functions in Python */
STK__ADVICE_RULE(stk__advise_batch_size); /* tiny batches */
