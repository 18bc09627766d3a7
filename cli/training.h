/* SPDX-License-Identifier: Apache-2.0 */
/* training.h: how a training is going: a bar on a terminal, lines elsewhere, and a line for each epoch. */
#pragma once
#include "progress.h"

#include <stdio.h>

struct cli_training {
    enum cli_progress_kind kind;
    bool is_quiet;
    FILE *lines; /* for epochs; NULL: none */
    double due;
    bool is_drawn;
    double epoch_began, epoch_waited; /* seconds of the loop */
    int64_t epoch_rows;
};

/* Complains and returns an exit code if --progress says nothing we know. */
int cli_training_begin(struct cli_training *training, const struct cli_args *args);

/* Shows what has happened, if that is due. */
void cli_training_tell(struct cli_training *training, const struct stk_fit_event *event,
                       double now);

/* Leaves the terminal as it was. */
void cli_training_end(struct cli_training *training);
