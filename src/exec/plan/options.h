/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the run options, one row each, with their defaults resolved for this machine. */
#pragma once
#include "base/text.h"
#include "lang/lang.h"

enum stk__io { STK__IO_AUTO, STK__IO_URING, STK__IO_THREADS };
enum stk__on_error { STK__FAIL, STK__SKIP, STK__REPLACE };

struct stk__options {
    /* STK_AUTO where not set */
    int64_t workers, window, io_depth, memory, seed, epoch, epochs, rank, world, trace;
    int on_error, io;
    double max_errors;  /* below 1: a fraction of the rows; else a count */
    bool is_depth_auto; /* io_depth is the most that is tried; else it was given */
};

/* As a declaration, so that docs, checks and messages come from the same rows. */
extern const struct stk_decl stk__options_decl;

/* Sets one option from text. */
int stk__options_set(struct stk__options *options, const char *name, const char *value,
                     struct stk_error *err);

/* Every option at its default. */
struct stk__options stk__options_default(void);

/* The number of the first epoch that is not run; INT64_MAX: there is none. */
int64_t stk__options_end_epoch(const struct stk__options *options);

/* Replaces auto by what this machine calls for. */
void stk__options_resolve(struct stk__options *options);

/* rank and world, from the environment where they are auto. */
int stk__options_resolve_world(struct stk__options *options, struct stk_error *err);
