/* SPDX-License-Identifier: Apache-2.0 */
/* fetched.h: what reads bring. */
#pragma once
#include <stdint.h>
#include <stoker/op.h>

/* The file of a place at which nothing is wanted. */
#define STK__NOWHERE UINT32_MAX

/* The bytes a read brought for one place of a row, or why it failed. */
struct stk__fetched {
    struct stk_buffer *buffer; /* NULL: not asked for, or failed */
    uint8_t *data;             /* in the buffer */
    size_t bytes;
    int code;
    const char *text; /* owned by whoever holds this */
};

/* Gives back what n of them hold. */
void stk__fetched_free(struct stk__fetched *fetched, int n);

/* What n of them brought, `step` apart; neighbours that are the same bytes count once. */
uint64_t stk__fetched_bytes(const struct stk__fetched *fetched, int n, int step);
