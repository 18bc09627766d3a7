/* SPDX-License-Identifier: Apache-2.0 */
/* events.c: messages of tensorboard/compat/proto/event.proto, and the file of them. */
#define _GNU_SOURCE
#include "train/file/events.h"

#include "base/error.h"
#include "codec/record/tfrecord_frame.h"
#include "codec/record/wire_out.h"
#include "io/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Numbers of fields. */
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

static int fail_errno(struct stk_error *err, const char *act, const char *path)
{
    char reason[128];
    return stk_fail(err, STK_IO, "cannot %s %s: %s", act, path,
                    strerror_r(errno, reason, sizeof reason));
}

/* Directories of a path that are not there yet. */
static int make_directories(const char *path, struct stk_error *err)
{
    char *part = strdup(path);
    int rc = part ? STK_OK : stk__out_of_memory(err);
    for (size_t i = 1; !rc && i <= strlen(path); i++) {
        if (path[i] && path[i] != '/')
            continue;
        part[i] = '\0';
        if (mkdir(part, 0777) && errno != EEXIST)
            rc = fail_errno(err, "create", part);
        part[i] = path[i];
    }
    free(part);
    return rc;
}

/* A name that no other file has: TensorBoard wants "tfevents" in it, and reads files of a run in the
 * order of their names. */
static int create(struct stk__events *events, const char *directory, double time,
                  struct stk_error *err)
{
    char host[128] = "localhost";
    gethostname(host, sizeof host - 1);
    for (int i = 0; events->fd < 0; i++) {
        free(events->path);
        events->path = NULL;
        if (asprintf(&events->path, "%s/events.out.tfevents.%010lld.%s.%ld.%d", directory,
                     (long long)time, host, (long)getpid(), i) < 0) {
            events->path = NULL;
            return stk__out_of_memory(err);
        }
        events->fd = open(events->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (events->fd < 0 && errno != EEXIST)
            return fail_errno(err, "create", events->path);
    }
    return STK_OK;
}

/* One record, one write: whoever reads meanwhile sees a whole one or none. */
static int write_record(struct stk__events *events, const struct stk__text *event,
                        struct stk_error *err)
{
    struct stk__text record = { .failed = event->failed };
    size_t at = stk__tfrecord_begin(&record);
    if (!event->failed)
        stk__text_add_n(&record, event->data, event->len);
    stk__tfrecord_end(&record, at);
    int rc = record.failed
                 ? stk__out_of_memory(err)
                 : stk__file_write_all(events->fd, events->path, record.data, record.len, err);
    if (!rc)
        events->bytes += (int64_t)record.len;
    else if (ftruncate(events->fd, events->bytes)) /* a part of a record hides those behind it */
        stk__error_suffix(err, "; a part of a record is left there");
    stk__text_free(&record);
    return rc;
}

static int write_version(struct stk__events *events, double time, struct stk_error *err)
{
    struct stk__text event = { 0 };
    stk__wire_add_double(&event, EVENT_TIME, time);
    stk__wire_add_text(&event, EVENT_VERSION, "brain.Event:2");
    int rc = write_record(events, &event, err);
    stk__text_free(&event);
    return rc;
}

int stk__events_open(struct stk__events *events, const char *directory, double time,
                     struct stk_error *err)
{
    *events = (struct stk__events){ .fd = -1 };
    int rc = make_directories(directory, err);
    if (!rc)
        rc = create(events, directory, time, err);
    if (!rc && (rc = write_version(events, time, err)))
        unlink(events->path); /* ours, and without an event */
    if (rc)
        stk__events_close(events);
    return rc;
}

int stk__events_add(struct stk__events *events, const struct stk__event_scalar *scalar, int n,
                    int64_t step, double time, struct stk_error *err)
{
    struct stk__text event = { 0 }, summary = { 0 };
    for (int i = 0; i < n; i++) {
        struct stk__text value = { 0 };
        stk__wire_add_text(&value, VALUE_TAG, scalar[i].tag);
        stk__wire_add_float(&value, VALUE_SIMPLE, scalar[i].value);
        stk__wire_add_message(&summary, SUMMARY_VALUE, &value);
    }
    stk__wire_add_double(&event, EVENT_TIME, time);
    if (step) /* as protobuf leaves zeros out */
        stk__wire_add_int(&event, EVENT_STEP, step);
    stk__wire_add_message(&event, EVENT_SUMMARY, &summary);
    int rc = write_record(events, &event, err);
    stk__text_free(&event);
    return rc;
}

void stk__events_close(struct stk__events *events)
{
    if (events->fd >= 0)
        close(events->fd);
    free(events->path);
    *events = (struct stk__events){ .fd = -1 };
}
