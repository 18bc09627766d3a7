/* SPDX-License-Identifier: Apache-2.0 */
/* read_bytes.c: see read_bytes.h. */
#define _GNU_SOURCE
#include "io/read/read_bytes.h"

#include "base/error.h"
#include "base/memory/buffer.h"
#include "io/data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TAIL = 64 }; /* bytes behind a result that may be read */

void stk__fetched_free(struct stk__fetched *fetched, int n)
{
    for (int i = 0, n_same = 0; i < n; i++) {
        n_same++;
        if (i + 1 == n || fetched[i + 1].buffer != fetched[i].buffer) {
            stk__buffer_unref_n(fetched[i].buffer, n_same);
            n_same = 0;
        }
        if (fetched[i].text)
            free((char *)(uintptr_t)fetched[i].text);
    }
    memset(fetched, 0, sizeof *fetched * (size_t)n);
}

uint64_t stk__fetched_bytes(const struct stk__fetched *fetched, int n, int step)
{
    uint64_t bytes = 0;
    const uint8_t *last = NULL;
    for (int i = 0; i < n; i++, fetched += step) {
        bytes += fetched->data != last ? fetched->bytes : 0;
        last = fetched->data;
    }
    return bytes;
}

/* ---- one file ---- */

static void fail_read(int fd, struct stk_buffer *buffer, struct stk__fetched *out, const char *what,
                      int error)
{
    char reason[160], message[256];
    if (fd >= 0)
        close(fd);
    stk__buffer_unref(buffer);
    snprintf(message, sizeof message, "%s: %s", what, strerror_r(error, reason, sizeof reason));
    *out = (struct stk__fetched){ .code = error == ENOMEM ? STK_MEMORY : STK_IO,
                                  .text = strdup(message) };
}

static ssize_t read_once(int fd, uint8_t *data, size_t bytes)
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

/* Refuses in words of our own, where errno has none. */
static void refuse(int fd, struct stk__fetched *out, int code, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    close(fd);
    *out = (struct stk__fetched){ .code = code, .text = strdup(text) };
}

static void refuse_kind(int fd, mode_t mode, struct stk__fetched *out)
{
    if (S_ISDIR(mode)) {
        fail_read(fd, NULL, out, "not a regular file", EISDIR);
        return;
    }
    refuse(fd, out, STK_IO,
           "%s, not a regular file; lines, csv, tfrecord, tar and fixed_length read such things as "
           "streams",
           S_ISFIFO(mode)   ? "a named pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device");
}

/* What is not yet known to be wanted is not read. */
static size_t wanted_bytes(const struct stk__read_request *r, int fd, size_t bytes)
{
    uint8_t head[STK__HEAD_BYTES];
    if (bytes < STK__LARGE_FILE || !r->may_begin)
        return bytes;
    ssize_t got = pread(fd, head, sizeof head, 0);
    bool may_be_good = got < 0 || r->may_begin(r->params, head, (size_t)got);
    return may_be_good ? bytes : sizeof head;
}

/* In parts, so that a run that is cancelled does not wait for all of a large file. */
static ssize_t read_parts(const struct stk__read_host *host, int fd, uint8_t *data, size_t bytes)
{
    const size_t part = (size_t)32 << 20;
    size_t done = 0;
    while (done < bytes) {
        size_t left = bytes - done;
        ssize_t got = read_once(fd, data + done, left < part ? left : part);
        if (got < 0)
            return got;
        if (got == 0)
            break; /* shorter than it said: what is there decides */
        done += (size_t)got;
        if (done < bytes && atomic_load_explicit(host->cancelled, memory_order_relaxed)) {
            errno = ECANCELED;
            return -1;
        }
    }
    return (ssize_t)done;
}

/* Without O_NONBLOCK a named pipe would wait here for its writer. */
void stk__read_file(const struct stk__read_host *host, const struct stk__read_request *r)
{
    struct stk__fetched *out = r->result;
    struct stat info;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_read(fd, NULL, out, "cannot open the file", errno);
    if (fstat(fd, &info))
        return fail_read(fd, NULL, out, "cannot stat the file", errno);
    if (!S_ISREG(info.st_mode))
        return refuse_kind(fd, info.st_mode, out);
    size_t bytes = wanted_bytes(r, fd, (size_t)info.st_size);
    if (bytes > (uint64_t)host->budget_bytes)
        return refuse(fd, out, STK_BUDGET,
                      "the file has %zu bytes, which can never fit into the memory budget of %lld; "
                      "memory= gives it more",
                      bytes, (long long)host->budget_bytes);
    struct stk_buffer *buffer = stk__buffer_new(host->pool, bytes);
    if (!buffer)
        return fail_read(fd, NULL, out, "no memory for the file", ENOMEM);
    ssize_t got = read_parts(host, fd, buffer->data, bytes);
    if (got < 0)
        return fail_read(fd, buffer, out, "cannot read the file", errno);
    close(fd);
    stk__file_end(out, buffer, (size_t)got);
}

void stk__file_end(struct stk__fetched *out, struct stk_buffer *buffer, size_t bytes)
{
    buffer->bytes = bytes;
    clear_tail(buffer, bytes);
    *out = (struct stk__fetched){ .buffer = buffer, .data = buffer->data, .bytes = bytes };
}

/* ---- places of files ---- */

static const struct stk__file_place *place_at(const struct stk__read_request *r, int i)
{
    return &r->place[i * r->step];
}

static struct stk__fetched *result_at(const struct stk__read_request *r, int i)
{
    return &r->result[i * r->step];
}

/* Larger than all the run may ever use: one damaged length, or one record, would take the memory of others. */
static bool is_too_large(const struct stk__read_host *host, const struct stk__file_place *place)
{
    return place->file != STK__NOWHERE && place->bytes > (uint64_t)host->budget_bytes;
}

/* There is something to read at a place, and room for it. */
static bool is_readable(const struct stk__read_host *host, const struct stk__file_place *place)
{
    return place->file != STK__NOWHERE && !is_too_large(host, place);
}

/* Places of one file, each behind the one before it or the same, that are read in one go. */
struct run {
    int first, n;
    struct stk__file_place all;
};

static struct run next_run(const struct stk__read_host *host, const struct stk__read_request *r,
                           int first)
{
    struct run run = { first, 1, *place_at(r, first) };
    int i = first + 1;
    for (; i < r->n && stk__place_follows(place_at(r, i - 1), place_at(r, i)) &&
           !is_too_large(host, place_at(r, i));
         i++)
        run.all.bytes = place_at(r, i)->offset + place_at(r, i)->bytes - run.all.offset;
    run.n = i - first;
    return run;
}

static void fail_places(const struct stk__read_request *r, int first, int n, int code,
                        const char *text)
{
    for (int i = first; i < first + n; i++)
        *result_at(r, i) =
            (struct stk__fetched){ .code = code, .text = text ? strdup(text) : NULL };
}

static void fail_too_large(const struct stk__read_host *host, const struct stk__read_request *r,
                           int i)
{
    char text[256];
    snprintf(
        text, sizeof text,
        "it has %llu bytes, which can never fit into the memory budget of %lld; memory= gives it "
        "more",
        (unsigned long long)place_at(r, i)->bytes, (long long)host->budget_bytes);
    fail_places(r, i, 1, STK_BUDGET, text);
}

static size_t total_bytes(const struct stk__read_host *host, const struct stk__read_request *r)
{
    size_t bytes = 0;
    for (int i = 0; i < r->n;) {
        struct run run = next_run(host, r, i);
        bytes += is_readable(host, place_at(r, i)) ? run.all.bytes : 0;
        i += run.n;
    }
    return bytes;
}

/* Each result is a view of the buffer, and holds it. */
static void set_views(const struct stk__read_request *r, const struct run *run,
                      struct stk_buffer *buffer, uint8_t *data)
{
    atomic_fetch_add_explicit(&buffer->refs, run->n, memory_order_relaxed);
    for (int i = run->first; i < run->first + run->n; i++)
        *result_at(r, i) =
            (struct stk__fetched){ .buffer = buffer,
                                   .data = data + (place_at(r, i)->offset - run->all.offset),
                                   .bytes = (size_t)place_at(r, i)->bytes };
}

/* One by one: what could not be read together may be good in part. */
static void read_apart(struct stk__pool *pool, const struct stk__read_request *r,
                       const struct run *all)
{
    for (int i = all->first; i < all->first + all->n; i++) {
        const struct run run = { i, 1, *place_at(r, i) };
        struct stk_error err = { 0 };
        struct stk_buffer *buffer = stk__buffer_new(pool, run.all.bytes);
        int code = buffer ? stk__data_file_read(r->files, run.all, buffer->data, &err) : STK_MEMORY;
        if (code)
            fail_places(r, i, 1, code, buffer ? err.text : NULL);
        else
            set_views(r, &run, buffer, buffer->data);
        stk__buffer_unref(buffer);
    }
}

/* Runs of places into one buffer: where they are likely in the page cache, several at a time. */
struct reading {
    const struct stk__read_host *host;
    const struct stk__read_request *request;
    struct stk_buffer *buffer;
    bool is_quick;
};

static void read_run(const struct reading *reading, const struct run *run, uint8_t *at)
{
    const struct stk__read_request *r = reading->request;
    struct stk_error err = { 0 };
    int code = stk__data_file_read(r->files, run->all, at, &err);
    if (code && run->n > 1)
        read_apart(reading->host->pool, r, run);
    else if (code)
        fail_places(r, run->first, 1, code, err.text);
    else
        set_views(r, run, reading->buffer, at);
}

enum { MOST_RUNS = 64 };

/* Reads up to MOST_RUNS runs; returns how many places they had. */
static int read_some(const struct reading *reading, int first, uint8_t **at)
{
    const struct stk__read_request *r = reading->request;
    struct run run[MOST_RUNS];
    struct stk__file_place all[MOST_RUNS];
    int n_runs = 0, i = first;
    for (; n_runs < MOST_RUNS && i < r->n && is_readable(reading->host, place_at(r, i)); n_runs++) {
        run[n_runs] = next_run(reading->host, r, i);
        all[n_runs] = run[n_runs].all;
        i += run[n_runs].n;
    }
    int n_copied = reading->is_quick ? stk__data_files_copy(r->files, all, n_runs, *at) : 0;
    for (int k = 0; k < n_runs; *at += run[k++].all.bytes) {
        if (k < n_copied)
            set_views(r, &run[k], reading->buffer, *at);
        else
            read_run(reading, &run[k], *at);
    }
    return i - first;
}

void stk__read_places(const struct stk__read_host *host, const struct stk__read_request *request,
                      bool is_quick)
{
    size_t bytes = total_bytes(host, request);
    struct reading reading = { host, request, stk__buffer_new(host->pool, bytes), is_quick };
    if (!reading.buffer) {
        fail_places(request, 0, request->n, STK_MEMORY, NULL);
        return;
    }
    uint8_t *at = reading.buffer->data;
    for (int i = 0; i < request->n;) {
        if (place_at(request, i)->file == STK__NOWHERE)
            fail_places(request, i++, 1, STK_OK, NULL);
        else if (is_too_large(host, place_at(request, i)))
            fail_too_large(host, request, i++);
        else
            i += read_some(&reading, i, &at);
    }
    clear_tail(reading.buffer, bytes);
    stk__buffer_unref(reading.buffer);
}

/* ---- requests that lie side by side ---- */

bool stk__pieces_new(const struct stk__read_host *host, const struct stk__read_request *r, int n,
                     struct stk__pieces *pieces)
{
    for (pieces->n = 0; pieces->n < n; pieces->n++) {
        size_t bytes = (size_t)r[pieces->n].run_bytes;
        bool may_fit = bytes <= (uint64_t)host->budget_bytes;
        struct stk_buffer *buffer = may_fit ? stk__buffer_new(host->pool, bytes) : NULL;
        if (!buffer)
            return false;
        clear_tail(buffer, bytes);
        pieces->buffer[pieces->n] = buffer;
        pieces->piece[pieces->n] = (struct iovec){ buffer->data, bytes };
    }
    return true;
}

void stk__pieces_end(const struct stk__read_host *host, const struct stk__read_request *r, int n,
                     struct stk__pieces *pieces, bool is_read)
{
    for (int i = 0; i < pieces->n; i++) {
        const struct run run = next_run(host, &r[i], 0);
        if (is_read)
            set_views(&r[i], &run, pieces->buffer[i], pieces->buffer[i]->data);
        stk__buffer_unref(pieces->buffer[i]);
    }
    /* one by one: some may be good, and messages name the bad */
    for (int i = 0; i < n && !is_read; i++)
        stk__read_places(host, &r[i], false);
}

void stk__read_neighbours(const struct stk__read_host *host, const struct stk__read_request *r,
                          int n)
{
    struct stk__pieces pieces;
    bool is_read =
        stk__pieces_new(host, r, n, &pieces) &&
        stk__data_file_read_pieces(r->files, r->place[0].file, r->place[0].offset, pieces.piece, n);
    stk__pieces_end(host, r, n, &pieces, is_read);
}
