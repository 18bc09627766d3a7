/* SPDX-License-Identifier: Apache-2.0 */
/* run_place.c: the place of a run in a file. */
#include "run_place.h"

#include <stdio.h>
#include <unistd.h>

enum { EVERY = 100 };

int cli_checkpoint_start(const struct cli_args *args, struct stk_dataset *dataset,
                         struct stk_iterator **out, struct stk_error *err)
{
    char *state = NULL;
    if (!args->resume || access(args->checkpoint, F_OK)) {
        if (args->resume && !args->quiet)
            fprintf(stderr, "%s is not there yet: from the beginning\n", args->checkpoint);
        return stk_iterator_new(dataset, args->options, out, err);
    }
    int rc = stk_state_load(args->checkpoint, &state, err);
    if (!rc)
        rc = stk_iterator_resume(dataset, args->options, state, out, err);
    stk_text_free(state);
    return rc;
}

int cli_checkpoint_save(const struct cli_args *args, struct stk_iterator *it, struct stk_error *err)
{
    char *state = NULL;
    if (!args->checkpoint)
        return STK_OK;
    fflush(stdout); /* what the place says was delivered must be out */
    int rc = stk_iterator_state(it, &state, err);
    if (!rc)
        rc = stk_state_save(state, args->checkpoint, err);
    stk_text_free(state);
    return rc;
}

int cli_checkpoint_after(const struct cli_args *args, struct stk_iterator *it, uint64_t n,
                         struct stk_error *err)
{
    uint64_t every = args->every > 0 ? (uint64_t)args->every : EVERY;
    return n % every ? STK_OK : cli_checkpoint_save(args, it, err);
}
