/* SPDX-License-Identifier: Apache-2.0 */
/* run_place.h: --checkpoint, --every and --resume. */
#pragma once
#include "args.h"

/* Starts the run, where the checkpoint says if it is to be resumed. */
int cli_checkpoint_start(const struct cli_args *args, struct stk_dataset *dataset,
                         struct stk_iterator **out, struct stk_error *err);

/* Saves the place of the run if one was asked for; after n batches, only if it is time. */
int cli_checkpoint_save(const struct cli_args *args, struct stk_iterator *it,
                        struct stk_error *err);
int cli_checkpoint_after(const struct cli_args *args, struct stk_iterator *it, uint64_t n,
                         struct stk_error *err);
