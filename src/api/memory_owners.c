/* SPDX-License-Identifier: Apache-2.0 */
/* memory_owners.c: the memory budget of the process, and who has it. */
#include "api/api.h"
#include "base/error.h"
#include "base/json_out.h"
#include "base/memory/purse.h"

int stk_memory_limit(int64_t bytes, struct stk_error *err)
{
    if (bytes < 0)
        return stk_fail(err, STK_VALUE,
                        "memory_limit: %lld is no number of bytes; 0 leaves it to the machine",
                        (long long)bytes);
    stk__purse_set_limit(bytes);
    return STK_OK;
}

char *stk_memory_json(void)
{
    struct stk__text out = { 0 };
    struct stk__purse_state s = stk__purse_look();
    stk__json_open(&out, NULL, '{');
    stk__json_whole(&out, "limit_bytes", s.limit);
    stk__json_whole(&out, "free_bytes", s.free);
    stk__json_whole(&out, "runs", s.n_runs);
    stk__json_whole(&out, "refused_runs", s.n_wanting);
    stk__json_line(&out, 1);
    stk__json_open(&out, "owners", '{');
    stk__json_whole(&out, "own_budgets_bytes", s.fixed);
    stk__json_whole(&out, "minima_bytes", s.owned);
    stk__json_whole(&out, "spare_bytes", s.taken);
    stk__json_whole(&out, "caches_bytes", s.kept[STK__KEEPS_CACHE]);
    stk__json_whole(&out, "indices_bytes", s.kept[STK__KEEPS_INDEX]);
    stk__json_close(&out, '}');
    stk__json_close(&out, '}');
    return stk__text_take(&out);
}
