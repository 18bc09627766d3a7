/* SPDX-License-Identifier: Apache-2.0 */
/* memory_owners.c: the memory budget of the process, and who has it. */
#include "api/api.h"
#include "base/error.h"
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
    stk__text_add(
        &out, "{\"limit_bytes\": %lld, \"free_bytes\": %lld, \"runs\": %d, \"refused_runs\": %d,\n",
        (long long)s.limit, (long long)s.free, s.n_runs, s.n_wanting);
    stk__text_add(&out,
                  " \"owners\": {\"own_budgets_bytes\": %lld, \"minima_bytes\": %lld, "
                  "\"spare_bytes\": %lld, \"caches_bytes\": %lld, \"indices_bytes\": %lld}}",
                  (long long)s.fixed, (long long)s.owned, (long long)s.taken,
                  (long long)s.kept[STK__KEEPS_CACHE], (long long)s.kept[STK__KEEPS_INDEX]);
    return stk__text_take(&out);
}
