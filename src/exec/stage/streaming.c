/* SPDX-License-Identifier: Apache-2.0 */
/* streaming.c: stages of sources whose rows come in order only. */
#include "base/error.h"
#include "base/hash.h"
#include "exec/stage/stage_steps.h"
#include "graph/opened.h"
#include "op/op_names.h"

static int begin(struct stk__exec *x, struct stk__stage *s, struct stk_error *err)
{
    const struct stk__node *node = s->plan->node;
    if (s->plan->opened)
        return STK_OK; /* it has no files before it is opened */
    const struct stk__source_start begin = { node->params, node->state, x->pool };
    return node->op->source.begin(&begin, &s->run, err);
}

static void end(struct stk__stage *s)
{
    if (s->run && s->plan->node->op->source.end)
        s->plan->node->op->source.end(s->run);
}

/* The files that the element names. */
static int open_element(struct stk__exec *x, struct stk__stage *s, const struct stk__chunk *element,
                        struct stk_error *err)
{
    const struct stk__source_table *source = &s->plan->node->op->source;
    if (!s->plan->opened)
        return STK_OK;
    const struct stk_span name = element->column[s->plan->name_field].span[0];
    struct stk__source_start begin = { .params = s->plan->node->params, .pool = x->pool };
    if (s->run)
        source->end(s->run);
    s->run = NULL;
    int rc = stk__opened_find(s->plan->opened, name, &begin.state, &s->first_row, err);
    return rc ? rc : source->begin(&begin, &s->run, err);
}

static int next_rows(struct stk__stage *s, struct stk__chunk *out)
{
    const struct stk__source_table *source = &s->plan->node->op->source;
    if (s->begins_pass) {
        int rc = source->rewind(s->run, &s->breaking);
        if (rc)
            return rc;
        s->begins_pass = false;
    }
    return source->next(s->run, out, &s->breaking);
}

static void step(struct stk__exec *x, struct stk__stage *s, struct stk__work *w)
{
    (void)x;
    struct stk__chunk *out = s->open_out->chunk;
    int first = out->n;
    int rc = w->is_closed ? STK_END : next_rows(s, out);
    uint64_t where = stk__where(s->plan->origin, s->first_row + s->position);
    for (int i = first; i < out->n; i++) {
        uint64_t index = (uint64_t)(i - first);
        out->address[i] = (struct stk__address){ where + index, s->path };
        if (out->key)
            out->key[i] = stk__key_make(s->plan->node->ordinal, s->path, s->position + index);
    }
    w->n = out->n - first;
    w->is_flushed = rc != STK_OK;
    w->is_broken = rc != STK_OK && rc != STK_END;
    if (w->is_broken) {
        s->breaking.code = rc;
        stk__error_prefix(&s->breaking, "%s: ", stk__op_said(s->plan->node->op));
    }
}

const struct stk__stage_type stk__streaming_stage = {
    .name = "stream source",
    .is_stream = true,
    .begin = begin,
    .end = end,
    .open_element = open_element,
    STK__BY_STEPS,
    .is_ready = stk__source_is_ready,
    .step = step,
};
