/* SPDX-License-Identifier: Apache-2.0 */
/* causes.h: bad elements of a run, counted by op, code and kind of message. */
#pragma once
#include "base/rows/chunk.h"

#include <pthread.h>

enum { STK__CAUSE_BYTES = 96, STK__MAX_CAUSES = 32 };

struct stk__cause {
    const char *op; /* borrowed from the plan; NULL: those for which there was no room here */
    int code;
    char text[STK__CAUSE_BYTES]; /* the message without what differs from element to element */
    uint64_t n;
};

struct stk__causes {
    pthread_mutex_t lock; /* guards the rest, and what judges keep; taken last */
    int n;
    struct stk__cause cause[STK__MAX_CAUSES];
};

/* A message with # for each number and … for each quoted name: "file 'a/7.jpg' ends at byte 12"
 * becomes "file '…' ends at byte #". */
void stk__cause_text(const char *message, char *out, size_t size);

/* Counts one; a fault of NULL is want of memory. */
void stk__causes_add(struct stk__causes *causes, const struct stk__fault *fault);

/* Copies them; returns how many there are. */
int stk__causes_read(struct stk__causes *causes, struct stk__cause *out);
