/* SPDX-License-Identifier: Apache-2.0 */
/* file_out.c: write to a temporary file, sync, rename, sync the directory. */
#define _GNU_SOURCE
#include "io/file_out.h"

#include "base/crc32c.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail_errno(struct stk_error *err, const char *act, const char *path)
{
    char reason[128];
    return stk_fail(err, STK_IO, "cannot %s %s: %s", act, path,
                    strerror_r(errno, reason, sizeof reason));
}

char *stk__file_part_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *part = NULL;
    int len = asprintf(&part, "%.*s.%s.part", (int)(name - path), path, name);
    return len < 0 ? NULL : part;
}

int stk__file_out_open(struct stk__file_out *file, const char *path, struct stk_error *err)
{
    *file = (struct stk__file_out){ .fd = -1, .path = strdup(path) };
    file->part = file->path ? stk__file_part_name(path) : NULL;
    if (!file->part)
        return stk__out_of_memory(err);
    file->fd = open(file->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return file->fd < 0 ? fail_errno(err, "create", path) : STK_OK;
}

int stk__file_write_all(int fd, const char *path, const void *data, size_t bytes,
                        struct stk_error *err)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "write", path);
        at += n;
        bytes -= (size_t)n;
    }
    return STK_OK;
}

int stk__file_out_write(struct stk__file_out *file, const void *data, size_t bytes,
                        struct stk_error *err)
{
    int rc = stk__file_write_all(file->fd, file->path, data, bytes, err);
    if (rc)
        return rc;
    file->bytes += bytes;
    file->crc = stk__crc32c(file->crc, data, bytes);
    return STK_OK;
}

int stk__file_out_sync(struct stk__file_out *file, struct stk_error *err)
{
    int rc = fsync(file->fd) ? fail_errno(err, "write", file->path) : STK_OK;
    if (close(file->fd) && !rc)
        rc = fail_errno(err, "write", file->path);
    file->fd = -1;
    return rc;
}

int stk__directory_sync(const char *path, struct stk_error *err)
{
    const char *slash = strrchr(path, '/');
    char *name = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!name)
        return stk__out_of_memory(err);
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_synced = fd >= 0 && (!fsync(fd) || errno == EINVAL); /* some systems cannot */
    int rc = is_synced ? STK_OK : fail_errno(err, "write directory", name);
    if (fd >= 0)
        close(fd);
    free(name);
    return rc;
}

int stk__file_out_commit(struct stk__file_out *file, struct stk_error *err)
{
    if (rename(file->part, file->path))
        return fail_errno(err, "create", file->path);
    free(file->part);
    file->part = NULL;
    return stk__directory_sync(file->path, err);
}

void stk__file_out_discard(struct stk__file_out *file)
{
    if (file->fd >= 0 && file->path)
        close(file->fd);
    if (file->part)
        unlink(file->part);
    free(file->part);
    free(file->path);
    *file = (struct stk__file_out){ .fd = -1 };
}

int stk__file_write_whole(const char *path, const void *data, size_t bytes, struct stk_error *err)
{
    struct stk__file_out file;
    int rc = stk__file_out_open(&file, path, err);
    if (!rc)
        rc = stk__file_out_write(&file, data, bytes, err);
    if (!rc)
        rc = stk__file_out_sync(&file, err);
    if (!rc)
        rc = stk__file_out_commit(&file, err);
    stk__file_out_discard(&file);
    return rc;
}

bool stk__file_sum(const char *path, uint64_t *bytes, uint32_t *crc)
{
    enum { PIECE = 256 << 10 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *piece = fd < 0 ? NULL : malloc(PIECE);
    ssize_t n = -1;
    *bytes = *crc = 0;
    while (piece && ((n = read(fd, piece, PIECE)) > 0 || (n < 0 && errno == EINTR))) {
        *crc = n > 0 ? stk__crc32c(*crc, piece, (size_t)n) : *crc;
        *bytes += n > 0 ? (uint64_t)n : 0;
    }
    free(piece);
    if (fd >= 0)
        close(fd);
    return n == 0;
}
