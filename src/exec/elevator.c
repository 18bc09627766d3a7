/* SPDX-License-Identifier: Apache-2.0 */
/* elevator.c: sorts the requests that wait by their places. */
#include "exec/elevator.h"

#include "exec/exec.h"

enum { MOST_SWEPT = 256 };

bool stk__order_matters(const struct stk__exec *x)
{
    return x->width.now && stk__depth_is_flat(&x->depth);
}

static struct stk__request *request_at(struct stk__exec *x, int i)
{
    return &x->request[(x->request_head + i) % x->request_cap];
}

/* Whole files come first, as they were asked for. */
static bool is_before(const struct stk__request *a, const struct stk__request *b)
{
    if (!a->place || !b->place)
        return !a->place && b->place;
    if (a->files != b->files)
        return (uintptr_t)a->files < (uintptr_t)b->files;
    if (a->place[0].file != b->place[0].file)
        return a->place[0].file < b->place[0].file;
    return a->place[0].offset < b->place[0].offset;
}

/* By insertion: they are few, and those of one ticket are often in order. */
static void sort(struct stk__exec *x, int n)
{
    for (int i = 1; i < n; i++) {
        const struct stk__request moved = *request_at(x, i);
        int k = i;
        for (; k > 0 && is_before(&moved, request_at(x, k - 1)); k--)
            *request_at(x, k) = *request_at(x, k - 1);
        *request_at(x, k) = moved;
    }
}

void stk__sweep_on(struct stk__exec *x)
{
    if (x->sweep_left || !stk__order_matters(x))
        return;
    x->sweep_left = x->request_len < MOST_SWEPT ? x->request_len : MOST_SWEPT;
    sort(x, x->sweep_left);
}

void stk__sweep_took(struct stk__exec *x, int i)
{
    x->sweep_left -= i < x->sweep_left;
}
