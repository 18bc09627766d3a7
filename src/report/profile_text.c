/* SPDX-License-Identifier: Apache-2.0 */
/* profile_text.c: a profile for people, and as JSON. */
#include "base/json_out.h"
#include "report/profile_run.h"

#include <string.h>

static double per_row_us(const struct stk__stretch_op *op)
{
    return op->rows > 0 ? op->cpu_s / op->rows * 1e6 : 0;
}

static double share_of(const struct stk__stretch *s, double seconds)
{
    return s->seconds > 0 ? seconds / s->seconds : 0;
}

/* ---- for people ---- */

static void add_ops(struct stk__text *out, const struct stk__stretch *s)
{
    stk__text_add(out, "%-48s %10s %10s %8s %9s\n", "op", "rows/s", "µs/row", "cores", "MB/s");
    for (int i = 0; i < s->n_ops; i++) {
        const struct stk__stretch_op *op = &s->op[i];
        int width = 48; /* in bytes; characters of more than one are few */
        for (const char *c = op->name; *c; c++)
            width += (*c & 0xc0) == 0x80;
        stk__text_add(out, "%-*s %10.0f %10.2f %8.2f %9.1f\n", width, op->name,
                      share_of(s, op->rows), per_row_us(op), share_of(s, op->cpu_s),
                      share_of(s, op->bytes) / 1e6);
    }
}

static void add_cache(struct stk__text *out, const struct stk__stretch *s)
{
    double n = s->cache_hits + s->cache_misses;
    if (n > 0)
        stk__text_add(out,
                      "cache: served %.0f %% of the elements; keeps %.0f, %.1f MB in memory and "
                      "%.1f MB on disk%s\n",
                      s->cache_hits / n * 100, s->cache_rows, s->cache_bytes / (1 << 20),
                      s->cache_disk_bytes / (1 << 20), s->is_cache_full ? ", and is full" : "");
}

static void add_summary(struct stk__text *out, const struct stk_profile *p)
{
    const struct stk__stretch *s = &p->stretch;
    stk__text_add(out, "%.0f elements/s in %.1f s: %.0f batches, %.1f cores used of %d\n",
                  stk__stretch_rate(s), s->seconds, s->batches, s->cores_used, s->cores);
    if (s->reads > 0)
        stk__text_add(out, "%.0f reads/s of %.1f KB, %.2f ms each, %.1f MB/s\n",
                      share_of(s, s->reads), s->read_bytes / s->reads / 1024,
                      s->read_s / s->reads * 1e3, share_of(s, s->read_bytes) / 1e6);
    stk__text_add(out,
                  "batches: half come within %.2f ms of the one before, 99 %% within %.2f ms\n",
                  s->batch_p50_s * 1e3, s->batch_p99_s * 1e3);
    if (s->has_consumer)
        stk__text_add(out, "the step takes %.2f ms, and waits %.2f ms for each batch\n",
                      s->step_s * 1e3,
                      s->batches > 0 ? s->waited * s->seconds / s->batches * 1e3 : 0);
    stk__text_add(out, "memory: %.0f MB of a budget of %.0f MB, %.0f MB at most\n",
                  s->used_bytes / (1 << 20), s->budget_bytes / (1 << 20),
                  s->peak_bytes / (1 << 20));
    add_cache(out, s);
}

static void add_item(struct stk__text *out, int number, const struct stk__proposal *item)
{
    stk__text_add(out, "%d. %.2f× (%s): %s\n", number, item->gain,
                  item->is_measured ? "measured" : "modelled", item->text);
    if (item->command)
        stk__text_add(out, "   %s\n", item->command);
    if (item->option)
        stk__text_add(out, "   --%s %s\n", item->option, item->value);
    if (item->chain)
        stk__text_add(out, "   %s\n", item->chain);
}

/* What is to be said behind the verdict that no other chain would do; returns new, NULL:
 * nothing. */
static char *remark_of(const struct stk_profile *p)
{
    struct stk__text out = { 0 };
    switch (p->verdict.bound) {
    case STK__BOUND_NOTHING:
        return NULL;
    case STK__BOUND_STEP:
        if (p->rate_alone <= 0)
            return NULL;
        stk__text_add(&out,
                      "the input could deliver %.1f times as much: nothing in it makes this faster",
                      p->rate_alone / stk__stretch_rate(&p->stretch));
        break;
    case STK__BOUND_OTHERS:
        stk__text_add(&out, "end the other programs, or give them cores that this one does not use "
                            "(taskset, a cpuset)");
        break;
    default:
        if (p->advice.n)
            return NULL;
        stk__text_add(&out, "nothing that stoker knows of would make this chain faster here");
    }
    return stk__text_take(&out);
}

char *stk_profile_text(const struct stk_profile *p)
{
    struct stk__text out = { 0 };
    char *remark = remark_of(p);
    add_ops(&out, &p->stretch);
    stk__text_add(&out, "\n");
    add_summary(&out, p);
    stk__text_add(&out, "\n%s\n", p->verdict.sentence);
    if (remark)
        stk__text_add(&out, "%s\n", remark);
    for (int i = 0; i < p->advice.n; i++) {
        stk__text_add(&out, i ? "" : "\nWhat would be faster:\n");
        add_item(&out, i + 1, &p->advice.item[i]);
    }
    stk_text_free(remark);
    return stk__text_take(&out);
}

/* ---- JSON ---- */

static void add_verdict_json(struct stk__text *out, const struct stk_profile *p)
{
    char *remark = remark_of(p);
    stk__json_open(out, "verdict", '{');
    stk__json_string(out, "bound", stk__bound_name(p->verdict.bound));
    stk__json_string(out, "sentence", p->verdict.sentence);
    stk__json_string(out, "remark", remark);
    stk__json_close(out, '}');
    stk_text_free(remark);
}

static void add_stretch_json(struct stk__text *out, const struct stk_profile *p)
{
    const struct stk__stretch *s = &p->stretch;
    stk__json_real(out, "seconds", s->seconds);
    stk__json_real(out, "elements", s->elements);
    stk__json_real(out, "batches", s->batches);
    stk__json_real(out, "elements_per_second", stk__stretch_rate(s));
    stk__json_real(out, "elements_per_second_alone", p->rate_alone);
    stk__json_real(out, "cores", s->cores);
    stk__json_real(out, "cores_used", s->cores_used);
    stk__json_real(out, "workers", s->workers);
    stk__json_real(out, "wait_share", s->waited);
    stk__json_real(out, "step_ms", s->has_consumer ? s->step_s * 1e3 : 0);
    stk__json_real(out, "batch_p50_ms", s->batch_p50_s * 1e3);
    stk__json_real(out, "batch_p99_ms", s->batch_p99_s * 1e3);
    stk__json_real(out, "reads_per_second", share_of(s, s->reads));
    stk__json_real(out, "read_bytes_per_second", share_of(s, s->read_bytes));
    stk__json_real(out, "read_ms", s->reads > 0 ? s->read_s / s->reads * 1e3 : 0);
    stk__json_real(out, "budget_bytes", s->budget_bytes);
    stk__json_real(out, "used_bytes", s->used_bytes);
    stk__json_real(out, "peak_bytes", s->peak_bytes);
    stk__json_real(out, "cache_hits", s->cache_hits);
    stk__json_real(out, "cache_misses", s->cache_misses);
    stk__json_real(out, "cache_rows", s->cache_rows);
    stk__json_real(out, "cache_bytes", s->cache_bytes);
    stk__json_real(out, "cache_disk_bytes", s->cache_disk_bytes);
    stk__json_bool(out, "is_cache_full", s->is_cache_full);
}

static void add_ops_json(struct stk__text *out, const struct stk__stretch *s)
{
    stk__json_open(out, "ops", '[');
    for (int i = 0; i < s->n_ops; i++) {
        const struct stk__stretch_op *op = &s->op[i];
        stk__json_open(out, NULL, '{');
        stk__json_whole(out, "stage", op->stage);
        if (op->node) /* the same as in the trace */
            stk__json_whole(out, "node", op->node->id);
        stk__json_string(out, "name", op->name);
        stk__json_real(out, "calls", op->calls);
        stk__json_real(out, "rows", op->rows);
        stk__json_real(out, "bytes", op->bytes);
        stk__json_real(out, "wall_s", op->wall_s);
        stk__json_real(out, "cpu_s", op->cpu_s);
        stk__json_real(out, "cores", share_of(s, op->cpu_s));
        stk__json_real(out, "us_per_row", per_row_us(op));
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
}

static void add_stages_json(struct stk__text *out, const struct stk__stretch *s)
{
    stk__json_open(out, "stages", '[');
    for (int i = 0; i < s->n_stages; i++) {
        const struct stk__stretch_stage *stage = &s->stage[i];
        stk__json_open(out, NULL, '{');
        stk__json_bool(out, "is_serial", stage->is_serial);
        stk__json_string(out, "name", stage->name);
        stk__json_string(out, "lock", stage->lock);
        stk__json_real(out, "work_s", stage->work_s);
        for (int w = STK__WAIT_INPUT; w < STK__N_WAITS; w++) {
            char key[32] = "wait_";
            strncat(key, stk__wait_name((enum stk__wait)w), sizeof key - 8);
            strcat(key, "_s");
            stk__json_real(out, key, stage->wait_s[w]);
        }
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
}

static void add_advice_json(struct stk__text *out, const struct stk__advice *advice)
{
    stk__json_open(out, "advice", '[');
    for (int i = 0; i < advice->n; i++) {
        const struct stk__proposal *item = &advice->item[i];
        stk__json_open(out, NULL, '{');
        stk__json_string(out, "rule", item->rule);
        stk__json_string(out, "text", item->text);
        stk__json_real(out, "gain", item->gain);
        stk__json_bool(out, "is_measured", item->is_measured);
        stk__json_string(out, "chain", item->chain);
        stk__json_string(out, "command", item->command);
        stk__json_string(out, "rest", item->rest);
        stk__json_string(out, "option", item->option);
        stk__json_string(out, "value", item->value);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
}

char *stk_profile_json(const struct stk_profile *p)
{
    struct stk__text out = { 0 };
    char *chain = stk_dataset_text(p->dataset, false);
    stk__json_open(&out, NULL, '{');
    add_verdict_json(&out, p);
    stk__json_string(&out, "chain", chain);
    add_stretch_json(&out, p);
    add_ops_json(&out, &p->stretch);
    add_stages_json(&out, &p->stretch);
    add_advice_json(&out, &p->advice);
    stk__json_close(&out, '}');
    stk_text_free(chain);
    return stk__text_take(&out);
}
