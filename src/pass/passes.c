/* SPDX-License-Identifier: Apache-2.0 */
/* passes.c: the list of rewrites. */
#include "pass/pass.h"

int stk__passes_run(struct stk_dataset *graph, struct stk_error *err)
{
    static int (*const passes[])(struct stk_dataset *, struct stk_error *) = {
        stk__pass_place_cache,  stk__pass_project,     stk__pass_drop_nothing,
        stk__pass_filter_early, stk__pass_move_choice, stk__pass_late_float,
        stk__pass_fuse_maps,    stk__pass_fuse_finish, stk__pass_fuse_part,
        stk__pass_tell_passes,
    };
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        int rc = passes[i](graph, err);
        if (rc)
            return rc;
    }
    return STK_OK;
}
