/* SPDX-License-Identifier: Apache-2.0 */
/* reading.c: bytes of files into buffers, on whatever thread. */
#define _GNU_SOURCE
#include "base/error.h"
#include "exec/exec.h"
#include "io/data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes behind a result that may be read; places whose memory is asked for ahead, since a map of a
 * shuffled file is slow to answer (bench/works/records.py). */
enum { TAIL = 64, AHEAD = 12 };

/* ---- one file ---- */

static struct stk_buffer *fail_read(int fd, struct stk_buffer *buffer, struct stk__fetched *out,
                                    const char *what, int error)
{
    char reason[160], message[256];
    if (fd >= 0)
        close(fd);
    stk__buffer_unref(buffer);
    out->code = error == ENOMEM ? STK_MEMORY : STK_IO;
    snprintf(message, sizeof message, "%s: %s", what, strerror_r(error, reason, sizeof reason));
    out->text = strdup(message);
    return NULL;
}

static ssize_t read_some(int fd, uint8_t *data, size_t bytes)
{
    ssize_t got;
    do
        got = read(fd, data, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

static void clear_tail(struct stk_buffer *buffer, size_t bytes)
{
    size_t rest = buffer->capacity - bytes;
    memset(buffer->data + bytes, 0, rest < TAIL ? rest : TAIL);
}

static struct stk_buffer *read_whole(struct stk__pool *pool, const char *path,
                                     struct stk__fetched *out)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_read(fd, NULL, out, "cannot open the file", errno);
    if (fstat(fd, &info))
        return fail_read(fd, NULL, out, "cannot stat the file", errno);
    if (!S_ISREG(info.st_mode))
        return fail_read(fd, NULL, out, "not a regular file",
                         S_ISDIR(info.st_mode) ? EISDIR : EINVAL);
    size_t bytes = (size_t)info.st_size, done = 0;
    struct stk_buffer *buffer = stk__buffer_new(pool, bytes);
    if (!buffer)
        return fail_read(fd, NULL, out, "no memory for the file", ENOMEM);
    while (done < bytes) {
        ssize_t got = read_some(fd, buffer->data + done, bytes - done);
        if (got < 0)
            return fail_read(fd, buffer, out, "cannot read the file", errno);
        if (got == 0)
            break; /* shorter than it said: what is there decides */
        done += (size_t)got;
    }
    close(fd);
    buffer->bytes = done;
    clear_tail(buffer, done);
    return buffer;
}

void stk__read_file(struct stk__pool *pool, const char *path, struct stk__fetched *out)
{
    *out = (struct stk__fetched){ 0 };
    out->buffer = read_whole(pool, path, out);
    if (out->buffer) {
        out->data = out->buffer->data;
        out->bytes = out->buffer->bytes;
    }
}

/* ---- places of files ---- */

/* Places of one file, each behind the one before it or the same, that are read in one go. */
struct run {
    int n;
    struct stk_place all;
};

static struct run next_run(const struct stk_place *place, int n)
{
    struct run run = { 1, place[0] };
    for (; run.n < n && place[run.n].file == run.all.file; run.n++) {
        const struct stk_place *p = &place[run.n], *before = p - 1;
        bool is_same = p->offset == before->offset && p->bytes == before->bytes;
        if (!is_same && p->offset != run.all.offset + run.all.bytes)
            break;
        run.all.bytes += is_same ? 0 : p->bytes;
    }
    return run;
}

static void fail_places(struct stk__fetched *result, int n, int code, const char *text)
{
    for (int i = 0; i < n; i++)
        result[i] = (struct stk__fetched){ .code = code, .text = text ? strdup(text) : NULL };
}

static size_t total_bytes(const struct stk_place *place, int n)
{
    size_t bytes = 0;
    for (struct run run; n; place += run.n, n -= run.n) {
        run = next_run(place, n);
        bytes += run.all.file == STK__NOWHERE ? 0 : run.all.bytes;
    }
    return bytes;
}

/* Each result is a view of the buffer, and holds it. */
static void set_views(struct stk_buffer *buffer, const struct stk_place *place,
                      const struct run *run, uint8_t *data, struct stk__fetched *result)
{
    for (int i = 0; i < run->n; i++) {
        uint8_t *at = data + (place[i].offset - run->all.offset);
        result[i] = (struct stk__fetched){ .buffer = stk__buffer_ref(buffer),
                                           .data = at,
                                           .bytes = (size_t)place[i].bytes };
    }
}

/* One by one: what could not be read together may be good in part. */
static void read_apart(struct stk__pool *pool, struct stk__data_files *files,
                       const struct stk_place *place, int n, struct stk__fetched *result)
{
    for (int i = 0; i < n; i++) {
        const struct run run = { 1, place[i] };
        struct stk_error err = { 0 };
        struct stk_buffer *buffer = stk__buffer_new(pool, place[i].bytes);
        int code =
            buffer ? stk__data_file_read(files, place[i].file, place[i], buffer->data, false, &err)
                   : STK_MEMORY;
        if (code)
            fail_places(&result[i], 1, code, buffer ? err.text : NULL);
        else
            set_views(buffer, &place[i], &run, buffer->data, &result[i]);
        stk__buffer_unref(buffer);
    }
}

void stk__read_places(struct stk__pool *pool, const struct stk__request *r, bool is_quick)
{
    const struct stk_place *place = r->place;
    struct stk__fetched *result = r->result;
    size_t bytes = total_bytes(place, r->n);
    struct stk_buffer *buffer = stk__buffer_new(pool, bytes);
    if (!buffer) {
        fail_places(result, r->n, STK_MEMORY, NULL);
        return;
    }
    uint8_t *at = buffer->data;
    struct run run;
    for (int n = r->n; n; n -= run.n, place += run.n, result += run.n) {
        struct stk_error err = { 0 };
        run = next_run(place, n);
        if (is_quick && n > AHEAD && place[AHEAD].file != STK__NOWHERE)
            stk__data_file_hint(r->files, place[AHEAD]);
        if (run.all.file == STK__NOWHERE) {
            fail_places(result, run.n, STK_OK, NULL);
            continue;
        }
        int code = stk__data_file_read(r->files, run.all.file, run.all, at, is_quick, &err);
        if (code && run.n > 1)
            read_apart(pool, r->files, place, run.n, result);
        else if (code)
            fail_places(result, run.n, code, err.text);
        else
            set_views(buffer, place, &run, at, result);
        at += run.all.bytes;
    }
    clear_tail(buffer, bytes);
    stk__buffer_unref(buffer);
}
