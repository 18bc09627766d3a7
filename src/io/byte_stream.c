/* SPDX-License-Identifier: Apache-2.0 */
/* byte_stream.c: reading and, if need be, unpacking.
 *
 * Bytes that are not compressed go from the file to the caller, except for the first few, which
 * tell what the file is. Compressed ones pass through `packed`.
 */
#define _GNU_SOURCE
#include "io/byte_stream.h"

#include "base/error.h"
#include "base/memory/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 20, NAME_BYTES = 400 };

struct stk__byte_stream {
    struct stk__byte_stream_options options;
    int fd;
    bool may_wait;  /* not a file on storage */
    bool has_ended; /* the file has */
    enum stk__compression compression;
    struct stk__decompressor *decompressor;
    uint64_t offset, file_offset; /* handed out; read from the file */
    size_t at, filled;            /* in packed */
    uint8_t *packed;              /* `head`; of compressed data STK__PACKED_BYTES, mapped */
    uint8_t head[STK__SNIFF_BYTES];
    struct stk_error broken; /* how it ended if not well */
};

bool stk__is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

bool stk__is_on_storage(const char *path)
{
    struct stat st;
    return !stk__is_standard_input(path) && (stat(path, &st) || S_ISREG(st.st_mode));
}

const char *stk__byte_stream_name(const char *path, char *text, size_t size)
{
    if (stk__is_standard_input(path))
        return "standard input";
    snprintf(text, size, "'%s'", path);
    return text;
}

static int open_file(const char *path)
{
    if (stk__is_standard_input(path))
        return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    /* without O_NONBLOCK a named pipe would wait here for its writer */
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int stk__byte_stream_open(const struct stk__byte_stream_options *options,
                          struct stk__byte_stream **out, struct stk_error *err)
{
    char name[NAME_BYTES];
    struct stat st;
    struct stk__byte_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return stk__out_of_memory(err);
    stream->options = *options;
    stream->packed = stream->head;
    stream->compression = options->compression;
    stream->fd = open_file(options->path);
    if (stream->fd < 0 || fstat(stream->fd, &st)) {
        int code =
            stk_fail(err, STK_IO, "cannot open %s: %s",
                     stk__byte_stream_name(options->path, name, sizeof name), strerror(errno));
        stk__byte_stream_close(stream);
        return code;
    }
    stream->may_wait = !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
    if (!stream->may_wait)
        posix_fadvise(stream->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    *out = stream;
    return STK_OK;
}

void stk__byte_stream_close(struct stk__byte_stream *stream)
{
    if (!stream)
        return;
    if (stream->fd >= 0)
        close(stream->fd);
    stk__decompressor_free(stream->decompressor);
    if (stream->packed != stream->head)
        stk__memory_free(stream->packed, STK__PACKED_BYTES);
    free(stream);
}

/* ---- the file ---- */

/* Waits for a moment where data may be long in coming. A pipe that nobody has opened yet says
 * nothing; one that everybody has closed says that it can be read. */
static bool is_readable(const struct stk__byte_stream *stream)
{
    struct pollfd poll_fd = { .fd = stream->fd, .events = POLLIN };
    return !stream->may_wait || poll(&poll_fd, 1, PATIENCE_MS) > 0;
}

static int read_file(struct stk__byte_stream *stream, uint8_t *into, size_t n, size_t *got,
                     struct stk_error *err)
{
    char name[NAME_BYTES];
    ssize_t rc = 0;
    *got = 0;
    if (stream->has_ended)
        return STK_OK;
    if (!is_readable(stream))
        return STK_AGAIN;
    do
        rc = read(stream->fd, into, n);
    while (rc < 0 && errno == EINTR);
    if (rc < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return STK_AGAIN;
    if (rc < 0)
        return stk_fail(err, STK_IO, "cannot read %s at byte %llu: %s",
                        stk__byte_stream_name(stream->options.path, name, sizeof name),
                        (unsigned long long)stream->file_offset, strerror(errno));
    stream->has_ended = rc == 0;
    stream->file_offset += (uint64_t)rc;
    *got = (size_t)rc;
    return STK_OK;
}

/* ---- what the file is ---- */

static int blame(const struct stk__byte_stream *stream, struct stk_error *err)
{
    char name[NAME_BYTES];
    stk__error_prefix(
        err, "%s, at byte %llu: ", stk__byte_stream_name(stream->options.path, name, sizeof name),
        (unsigned long long)stk__byte_stream_file_offset(stream));
    return err->code;
}

static int sniff(struct stk__byte_stream *stream, struct stk_error *err)
{
    const struct stk__byte_stream_options *options = &stream->options;
    enum stk__compression found;
    bool is_all = stream->has_ended || stream->filled == STK__SNIFF_BYTES;
    int code = stk__compression_sniff(stream->packed, stream->filled, &found, err);
    bool is_odd = code || found != STK__COMPRESSION_NONE;
    if (is_odd && options->is_plain && !is_all)
        return STK_OK; /* it may be the caller's own, which needs more bytes to know */
    if (is_odd && options->is_plain && options->is_plain(stream->packed, stream->filled)) {
        found = STK__COMPRESSION_NONE;
        code = err->code = STK_OK;
    }
    if (code) {
        stream->at = 0;
        return blame(stream, err);
    }
    if (found == STK__COMPRESSION_AUTO && stream->has_ended)
        found = STK__COMPRESSION_NONE;
    stream->compression = found;
    return STK_OK;
}

/* Reads the first bytes until they tell. */
static int find_compression(struct stk__byte_stream *stream, struct stk_error *err)
{
    while (stream->compression == STK__COMPRESSION_AUTO) {
        size_t got;
        int code = read_file(stream, stream->packed + stream->filled,
                             STK__SNIFF_BYTES - stream->filled, &got, err);
        if (code)
            return code;
        stream->filled += got;
        code = sniff(stream, err);
        if (code)
            return code;
    }
    return STK_OK;
}

/* ---- bytes ---- */

static int begin_unpacking(struct stk__byte_stream *stream, struct stk_error *err)
{
    struct stk__decompressor *decompressor = stk__decompressor_new(stream->compression);
    uint8_t *packed = decompressor ? stk__memory_take(STK__PACKED_BYTES) : NULL;
    if (!packed) {
        stk__decompressor_free(decompressor);
        return stk__out_of_memory(err);
    }
    memcpy(packed, stream->head, sizeof stream->head);
    stream->packed = packed;
    stream->decompressor = decompressor;
    return STK_OK;
}

static int check_end(struct stk__byte_stream *stream, struct stk_error *err)
{
    char name[NAME_BYTES];
    if (stk__decompress_may_end(stream->decompressor))
        return STK_END;
    return stk_fail(err, STK_DATA, "%s ends at byte %llu, within its %s data: it is not whole",
                    stk__byte_stream_name(stream->options.path, name, sizeof name),
                    (unsigned long long)stream->file_offset,
                    stk__compression_words[stream->compression]);
}

static int unpack(struct stk__byte_stream *stream, uint8_t *into, size_t n, size_t *got,
                  struct stk_error *err)
{
    int code = stream->decompressor ? STK_OK : begin_unpacking(stream, err);
    while (!code && *got == 0) {
        struct stk__pump pump = { stream->packed + stream->at, stream->filled - stream->at, into,
                                  n };
        code = stk__decompressor_pump(stream->decompressor, &pump, err);
        stream->at = stream->filled - pump.in_bytes;
        *got = n - pump.out_bytes;
        if (code)
            return blame(stream, err);
        if (*got || stream->at < stream->filled)
            continue;
        stream->at = stream->filled = 0;
        code = read_file(stream, stream->packed, STK__PACKED_BYTES, &stream->filled, err);
        if (!code && stream->filled == 0)
            return check_end(stream, err);
    }
    return code;
}

/* Hands out the first bytes and then reads past them. */
static int copy(struct stk__byte_stream *stream, uint8_t *into, size_t n, size_t *got,
                struct stk_error *err)
{
    size_t kept = stream->filled - stream->at;
    if (kept == 0) {
        int code = read_file(stream, into, n, got, err);
        return code || *got ? code : STK_END;
    }
    *got = kept < n ? kept : n;
    memcpy(into, stream->packed + stream->at, *got);
    stream->at += *got;
    return STK_OK;
}

static int read_some(struct stk__byte_stream *stream, uint8_t *into, size_t n, size_t *got)
{
    struct stk_error *err = &stream->broken;
    int code = STK_OK;
    if (stream->compression == STK__COMPRESSION_AUTO)
        code = find_compression(stream, err);
    if (code)
        return code;
    return stream->compression == STK__COMPRESSION_NONE ? copy(stream, into, n, got, err)
                                                        : unpack(stream, into, n, got, err);
}

/* What comes before a fault is handed out first. */
int stk__byte_stream_read(struct stk__byte_stream *stream, uint8_t *into, size_t n, size_t *got,
                          struct stk_error *err)
{
    *got = 0;
    int code = stream->broken.code;
    if (!code)
        code = read_some(stream, into, n, got);
    stream->offset += *got;
    if (*got)
        return STK_OK;
    if (stream->broken.code && err)
        *err = stream->broken;
    return code;
}

uint64_t stk__byte_stream_offset(const struct stk__byte_stream *stream)
{
    return stream->offset;
}

uint64_t stk__byte_stream_file_offset(const struct stk__byte_stream *stream)
{
    return stream->file_offset - (stream->filled - stream->at);
}

enum stk__compression stk__byte_stream_compression(const struct stk__byte_stream *stream)
{
    return stream->compression;
}

bool stk__byte_stream_may_wait(const struct stk__byte_stream *stream)
{
    return stream->may_wait;
}
