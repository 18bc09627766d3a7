/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: how a run is going, on stderr: a view that is drawn anew in its place on a terminal,
 * plain lines elsewhere. */
#pragma once
#include "args.h"
#include "look.h"

enum cli_progress_kind { CLI_PROGRESS_NONE, CLI_PROGRESS_LINES, CLI_PROGRESS_LIVE };

enum { CLI_PROGRESS_LOOKS = 8 };

struct cli_progress {
    enum cli_progress_kind kind;
    int64_t total;                            /* batches to expect, or negative */
    double due;                               /* when it is shown next */
    struct cli_look look[CLI_PROGRESS_LOOKS]; /* the last ones, in a ring */
    int n_looks;
    int n_drawn; /* lines that are on the terminal, and how long they are */
    int drawn_columns[40];
};

/* Which one it is to be; complains and returns an exit code if --progress says nothing we know. */
int cli_progress_begin(struct cli_progress *progress, const struct cli_args *args, int64_t total);

/* How long to wait for a batch at most before it is called again, in milliseconds; -1: for ever. */
int64_t cli_progress_patience(const struct cli_progress *progress);

/* Shows how it goes, if that is due. */
void cli_progress_tick(struct cli_progress *progress, struct stk_iterator *it, double now);

/* Leaves the terminal as it was. */
void cli_progress_end(struct cli_progress *progress);

/* The view of the last look, and of what happened since the first (live.c). */
void cli_live_draw(struct cli_progress *progress, const struct cli_look *first,
                   const struct cli_look *last);
void cli_live_clear(struct cli_progress *progress);
