/* SPDX-License-Identifier: Apache-2.0 */
/* events.h: event files for TensorBoard: scalars by tag and step.
 *
 * A file is records (codec/record/tfrecord_frame.h), each a message Event. What was added is in the file at once, so
 * that TensorBoard shows a run while it goes on and a run that is killed loses nothing.
 */
#pragma once
#include <stoker/op.h>

struct stk__events {
    int fd;
    char *path;    /* owned */
    int64_t bytes; /* of whole records */
};

struct stk__event_scalar {
    const char *tag; /* "train/loss" */
    float value;
};

/* Makes the directory if need be, and a new file in it that TensorBoard finds. `time` is in seconds since
 * 1970. stk__events_close is due unless it fails. */
int stk__events_open(struct stk__events *events, const char *directory, double time,
                     struct stk_error *err);

/* Scalars of one step. */
int stk__events_add(struct stk__events *events, const struct stk__event_scalar *scalar, int n,
                    int64_t step, double time, struct stk_error *err);

void stk__events_close(struct stk__events *events);
