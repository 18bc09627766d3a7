/* SPDX-License-Identifier: Apache-2.0 */
/* rewrites.c: the list of rewrites. */
#include "rewrite/rewrites.h"

int stk__rewrites_run(struct stk_dataset *graph, struct stk_error *err)
{
    static int (*const rewrites[])(struct stk_dataset *, struct stk_error *) = {
        stk__rewrite_place_cache,  stk__rewrite_project,     stk__rewrite_drop_nothing,
        stk__rewrite_filter_early, stk__rewrite_move_choice, stk__rewrite_late_float,
        stk__rewrite_fuse_maps,    stk__rewrite_fuse_finish, stk__rewrite_fuse_part,
        stk__rewrite_tell_passes,
    };
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
        int rc = rewrites[i](graph, err);
        if (rc)
            return rc;
    }
    return STK_OK;
}
