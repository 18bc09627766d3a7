/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h: what holds a run up, in one word and in one sentence. A pure function of a stretch. */
#pragma once
#include "tune/stretch.h"

/* Name, and what it means. */
#define STK__BOUND_LIST(X)                                                                         \
    X(STEP, "step", "the step is slower than its input")                                           \
    X(COMPUTE, "compute", "every core is at work on the input")                                    \
    X(WORKERS, "workers", "every worker is at work, but there are more cores")                     \
    X(STORAGE, "storage", "reads are waited for")                                                  \
    X(MEMORY, "memory", "the budget is used up")                                                   \
    X(OTHERS, "others", "other programs take the cores")                                           \
    X(LOCK, "lock", "work that needs one lock is done by one thread at a time")                    \
    X(SERIAL, "serial", "one stage is done by one thread at a time")                               \
    X(BATCHES, "batches", "handing batches over costs more than making them")                      \
    X(ORDER, "order", "a slow element holds up those behind it")                                   \
    X(NOTHING, "nothing", "too little was delivered to tell")

enum stk__bound {
#define STK__BOUND_ENUM(name, text, meaning) STK__BOUND_##name,
    STK__BOUND_LIST(STK__BOUND_ENUM)
#undef STK__BOUND_ENUM
        STK__N_BOUNDS
};

const char *stk__bound_name(enum stk__bound bound);

enum { STK__VERDICT_BYTES = 320 };

struct stk__verdict {
    enum stk__bound bound;
    int stage, op;                     /* that it is about; -1: none */
    char sentence[STK__VERDICT_BYTES]; /* "input-bound: the step waits 38 % of the time; …" */
};

void stk__verdict_of(const struct stk__stretch *s, struct stk__verdict *out);
