/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.c: the numbers of a run for people and programs outside. */
#include "report/metrics_text.h"
#include "api/api.h"
#include "base/error.h"
#include "exec/exec.h"

#include <string.h>

const char *stk__metrics_stage_op(const struct stk__metrics *m, int stage)
{
    return m->stage[stage].op ? m->stage[stage].op : "batch";
}

const char *stk__metrics_stage_kind(const struct stk__metrics *m, int stage)
{
    return m->stage[stage].kind ? m->stage[stage].kind : "batcher";
}

double stk__metrics_busy_workers(const struct stk__metrics *m)
{
    uint64_t busy = 0;
    for (int i = 0; i <= m->n_stages; i++)
        busy += m->stage[i].work.wall_ns + m->stage[i].ask.wall_ns;
    return m->elapsed_ns ? (double)busy / (double)m->elapsed_ns : 0;
}

double stk__metrics_ready_batches(const struct stk__metrics *m)
{
    return m->consumer.n_asked ? (double)m->consumer.n_ready / (double)m->consumer.n_asked : 0;
}

int stk_iterator_metrics(struct stk_iterator *it, const char *format, char **out,
                         struct stk_error *err)
{
    struct stk__exec *x = stk__iterator_exec(it);
    int rc = stk__iterator_check(it, err);
    *out = NULL;
    if (rc)
        return rc;
    bool is_json = !strcmp(format, "json");
    if (!is_json && strcmp(format, "prometheus"))
        return stk_fail(err, STK_VALUE, "metrics come as json or prometheus, not '%.40s'", format);
    struct stk__metrics *metrics = stk__metrics_new(x);
    struct stk__text text = { 0 };
    if (!metrics)
        return stk__out_of_memory(err);
    stk__metrics_read(x, metrics);
    if (is_json)
        stk__metrics_json(metrics, x, &text);
    else
        stk__metrics_prometheus(metrics, &text);
    stk__metrics_free(metrics);
    return (*out = stk__text_take(&text)) ? STK_OK : stk__out_of_memory(err);
}
