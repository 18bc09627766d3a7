/* SPDX-License-Identifier: Apache-2.0 */
/* cursor.c: runs of chains that are opened for elements. */
#include "exec/stage/cursor.h"

int stk__cursor_open(struct stk__exec *x, const struct stk__chunk *element, uint64_t path,
                     struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < x->n_stages && !rc; i++) {
        struct stk__stage *s = &x->stage[i];
        if (s->plan->kind->open_element)
            rc = s->plan->kind->open_element(x, s, element, err);
        s->element = element;
        s->base_path = path;
        s->counter[0] = 0;
        if (s->plan->is_source)
            stk__source_begin(s);
    }
    return rc;
}

/* Tickets at the head that are ready, up to n; a mark is as good as all of them. */
static int count_ready(struct stk__exec *x, int n)
{
    struct stk__ring *ring = &stk__last_stage(x)->ring;
    int n_ready = 0;
    if (!stk__stage_peek(x, stk__last_stage(x), NULL))
        return 0;
    for (uint64_t seq = ring->head; seq < ring->opened && n_ready < n; seq++) {
        const struct stk__ticket *t = stk__slot_at(ring, seq);
        if (t->state != STK__READY)
            break;
        n_ready = t->end && t->level == 0 ? n : n_ready + 1;
    }
    return n_ready;
}

void stk__cursor_run(struct stk__exec *x, int n)
{
    const int most = 256;
    pthread_mutex_lock(&x->lock);
    for (int i = 0; i < most && count_ready(x, n) < n && !stk__is_over(x); i++) {
        if (stk__exec_work(x))
            continue;
        if (count_ready(x, 1) || stk__is_over(x)) /* to look for work may bring a mark on its way */
            break;
        x->crew.is_consumer_waiting = true; /* for reads */
        pthread_cond_wait(&x->crew.delivered, &x->lock);
        x->crew.is_consumer_waiting = false;
    }
    pthread_mutex_unlock(&x->lock);
}

struct stk__ticket *stk__cursor_head(struct stk__exec *x)
{
    pthread_mutex_lock(&x->lock);
    struct stk__ticket *t = stk__stage_peek(x, stk__last_stage(x), NULL);
    pthread_mutex_unlock(&x->lock);
    return t;
}

void stk__cursor_retire(struct stk__exec *x)
{
    pthread_mutex_lock(&x->lock);
    stk__stage_retire(x, stk__last_stage(x));
    pthread_mutex_unlock(&x->lock);
}

struct stk_error stk__cursor_failure(struct stk__exec *x)
{
    pthread_mutex_lock(&x->lock);
    struct stk_error error = x->is_stopped ? x->error : (struct stk_error){ 0 };
    pthread_mutex_unlock(&x->lock);
    return error;
}
