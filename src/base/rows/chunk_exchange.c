/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_exchange.c: rows that take each other's places, for ops that hold rows and draw from them.
 *
 * Column by column, each in the order of the rows, so that many loads are under way at a time.
 */
#include "base/rows/chunk.h"

#include <string.h>

/* Row place[i] of what is held goes to row at + i, and row from + i takes its place. */
struct exchange {
    const int *place;
    int at, from, n;
};

/* Inlined, with the number of bytes known where it is one of the usual ones. */
static inline __attribute__((always_inline)) void
exchange_bytes(const struct exchange *x, size_t n, void *held, const void *in, void *out)
{
    uint8_t *to = (uint8_t *)out + n * (size_t)x->at;
    const uint8_t *from = (const uint8_t *)in + n * (size_t)x->from;
    for (int i = 0; i < x->n; i++, to += n, from += n) {
        uint8_t *place = (uint8_t *)held + n * (size_t)x->place[i];
        memcpy(to, place, n);
        memcpy(place, from, n);
    }
}

/* What is held moves on, and what takes its place is held, too. */
static void exchange_spans(const struct exchange *x, struct stk_span *held,
                           const struct stk_span *in, struct stk_span *out)
{
    for (int i = 0; i < x->n; i++) {
        struct stk_span span = in[x->from + i], *place = &held[x->place[i]];
        if (span.owner)
            stk__buffer_ref(span.owner);
        stk__buffer_unref(out[x->at + i].owner);
        out[x->at + i] = *place;
        *place = span;
    }
}

static void exchange_column(const struct exchange *x, struct stk_column *held,
                            const struct stk_column *in, struct stk_column *out)
{
    if (held->span)
        exchange_spans(x, held->span, in->span, out->span);
    else if (held->stride == 8)
        exchange_bytes(x, 8, held->data, in->data, out->data);
    else if (held->stride == 4)
        exchange_bytes(x, 4, held->data, in->data, out->data);
    else
        exchange_bytes(x, held->stride, held->data, in->data, out->data);
    if (held->dims)
        exchange_bytes(x, (size_t)held->rank * sizeof *held->dims, held->dims, in->dims, out->dims);
}

bool stk__chunk_can_exchange(const struct stk__chunk *held, const struct stk__chunk *in,
                             const struct stk__chunk *out)
{
    bool has_keys = held->key != NULL, has_trace = held->trace != NULL;
    return !held->n_bad && !in->n_bad && (in->key != NULL) == has_keys &&
           (out->key != NULL) == has_keys && (in->trace != NULL) == has_trace &&
           (out->trace != NULL) == has_trace;
}

void stk__chunk_exchange(struct stk__chunk *held, const int *place, const struct stk__chunk *in,
                         int from, int n, struct stk__chunk *out)
{
    const struct exchange x = { place, out->n, from, n };
    exchange_bytes(&x, sizeof *held->address, held->address, in->address, out->address);
    if (held->key)
        exchange_bytes(&x, sizeof *held->key, held->key, in->key, out->key);
    for (int f = 0; f < held->type->n_fields; f++)
        exchange_column(&x, &held->column[f], &in->column[f], &out->column[f]);
    if (held->trace)
        exchange_spans(&x, held->trace, in->trace, out->trace);
    out->n += n;
}
