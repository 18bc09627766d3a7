/* SPDX-License-Identifier: Apache-2.0 */
/* advice.h: what could be done about a verdict: rules that each look at a chain and a stretch of its
 * run and propose a change. What a change brings is found out by trying it, where that is possible
 * here, or else by a model of what the run was made of. */
#pragma once
#include "exec/exec.h"
#include "tune/chain_edit.h"
#include "tune/verdict.h"

struct stk__proposal {
    const char *rule;           /* which rule made it */
    const char *text;           /* what to do, why, and what it changes */
    const char *chain;          /* to use instead; NULL: the same */
    const char *option, *value; /* to set; NULL: none */
    const char *command;        /* to run first; NULL: none */
    const char *trial;          /* chain to try it with; NULL: it cannot be tried so */
    /* or: a part of what this chain delivers is stored, so often with other random numbers, and read
     * in place of it; then come the other calls ("" where there are none) */
    const char *stored, *rest;
    int variants;
    bool is_elsewhere; /* tried with functions of the caller in other processes */
    bool warms_up;     /* a first epoch of the trial does not count */
    double rate;       /* elements per second of the trial */
    double gain;       /* new rate over old one; 0: not known */
    bool is_measured;  /* by the trial; else by the model */
};

enum { STK__MAX_PROPOSALS = 16 };

struct stk__advice {
    struct stk__proposal item[STK__MAX_PROPOSALS];
    int n;
};

struct stk__situation {
    const struct stk_dataset *dataset;
    const struct stk__options *options; /* as given: auto where nothing was said */
    const struct stk__stretch *stretch;
    const struct stk__verdict *verdict;
    struct stk_arena *arena; /* for the texts */
};

/* What the rules have to say, with the model's gains; 0 or STK_MEMORY. */
int stk__advice_make(const struct stk__situation *situation, struct stk__advice *out);

/* Best first; what brings nothing is left out. */
void stk__advice_rank(struct stk__advice *advice);

/* What an element of the stretch takes of each thing that can be the bound, in seconds. */
struct stk__time_model {
    double compute, serial, lock, reads, step;
    int workers;
};
void stk__model_of(const struct stk__stretch *s, const struct stk__verdict *v,
                   struct stk__time_model *out);

/* Elements per second. */
double stk__model_rate(const struct stk__time_model *m);
