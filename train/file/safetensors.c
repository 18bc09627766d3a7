/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c: files that are mapped. */
#define _GNU_SOURCE
#include "train/file/safetensors.h"

#include "base/error.h"
#include "io/map_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH_BYTES = 8 };

static int fail_errno(struct stk_error *err, const char *act, const char *path)
{
    char reason[128];
    return stk_fail(err, STK_IO, "cannot %s %s: %s", act, path,
                    strerror_r(errno, reason, sizeof reason));
}

/* The bytes of the header from the file's first eight. */
static int header_length(const uint8_t *first, uint64_t file_bytes, size_t *out,
                         struct stk_error *err)
{
    uint64_t bytes = 0;
    for (int i = 0; i < LENGTH_BYTES; i++)
        bytes |= (uint64_t)first[i] << 8 * i;
    if (bytes > STK__SAFETENSORS_MOST_HEADER)
        return stk_fail(err, STK_DATA,
                        "byte 0: a header of %llu bytes is too large: not a file of "
                        "safetensors",
                        (unsigned long long)bytes);
    if (bytes > file_bytes - LENGTH_BYTES)
        return stk_fail(err, STK_DATA,
                        "byte 0: the header has %llu bytes, but only %llu follow: the file is cut "
                        "short",
                        (unsigned long long)bytes, (unsigned long long)(file_bytes - LENGTH_BYTES));
    *out = (size_t)bytes;
    return STK_OK;
}

/* All of so many bytes, however few come at a time. */
static int read_exactly(int fd, uint8_t *dst, size_t bytes, size_t offset, struct stk_error *err)
{
    char reason[128];
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, dst + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return stk_fail(err, STK_IO, "byte %zu: %s", offset + done,
                            n ? strerror_r(errno, reason, sizeof reason)
                              : "the file has become shorter");
        done += (size_t)n;
    }
    return STK_OK;
}

/* The header is read, not mapped: nobody changes it while it is looked at. */
static int read_header(struct stk__safetensors *file, int fd, struct stk_error *err)
{
    uint8_t first[LENGTH_BYTES];
    size_t bytes = 0;
    if (file->map_bytes < LENGTH_BYTES)
        return stk_fail(err, STK_DATA, "%zu bytes are too few", file->map_bytes);
    int rc = read_exactly(fd, first, sizeof first, 0, err);
    if (!rc)
        rc = header_length(first, file->map_bytes, &bytes, err);
    if (rc)
        return rc;
    uint8_t *header = malloc(bytes + 1);
    if (!header)
        return stk__out_of_memory(err);
    const uint8_t *data = (const uint8_t *)file->map + LENGTH_BYTES + bytes;
    rc = read_exactly(fd, header, bytes, LENGTH_BYTES, err);
    if (!rc)
        rc = stk__safetensors_parse(file, header, bytes, data,
                                    file->map_bytes - LENGTH_BYTES - bytes, err);
    free(header);
    return rc;
}

static int map_file(struct stk__safetensors *file, int fd, struct stk_error *err)
{
    struct stat status;
    if (fstat(fd, &status))
        return fail_errno(err, "read", file->path);
    if (!S_ISREG(status.st_mode))
        return stk_fail(err, STK_IO, "cannot read %s: not a regular file", file->path);
    file->map_bytes = (size_t)status.st_size;
    if (!status.st_size)
        return stk_fail(err, STK_DATA, "%s: the file is empty", file->path);
    void *map = mmap(NULL, file->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return fail_errno(err, "map", file->path);
    file->map = map;
    int rc = read_header(file, fd, err);
    if (rc && rc != STK_MEMORY)
        stk__error_prefix(err, "%s: ", file->path);
    return rc;
}

int stk__safetensors_open(struct stk__safetensors *file, const char *path, struct stk_error *err)
{
    *file = (struct stk__safetensors){ .path = strdup(path) };
    stk__arena_init(&file->arena, 4096);
    int fd = -1, rc = file->path ? STK_OK : stk__out_of_memory(err);
    if (!rc && (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        rc = fail_errno(err, "open", path);
    if (!rc)
        rc = map_file(file, fd, err);
    if (fd >= 0)
        close(fd);
    if (rc)
        stk__safetensors_close(file);
    return rc;
}

void stk__safetensors_close(struct stk__safetensors *file)
{
    if (file->map)
        munmap(file->map, file->map_bytes);
    stk__arena_free(&file->arena);
    free(file->path);
    *file = (struct stk__safetensors){ 0 };
}

static int compare_name(const void *name, const void *tensor)
{
    return strcmp(name, ((const struct stk__saved_tensor *)tensor)->name);
}

const struct stk__saved_tensor *stk__safetensors_find(const struct stk__safetensors *file,
                                                      const char *name)
{
    return file->n_tensors ? bsearch(name, file->tensor, (size_t)file->n_tensors,
                                     sizeof *file->tensor, compare_name)
                           : NULL;
}

const char *stk__safetensors_text(const struct stk__safetensors *file, const char *key)
{
    for (int i = 0; i < file->metadata.n; i++)
        if (!strcmp(file->metadata.name[i], key))
            return file->metadata.value[i];
    return NULL;
}

int stk__safetensors_copy(const struct stk__safetensors *file,
                          const struct stk__saved_tensor *tensor, void *dst, struct stk_error *err)
{
    const struct stk__copy copy = { dst, tensor->data, tensor->bytes };
    if (stk__guard_start() && stk__guarded_copies(&copy, 1) == 1)
        return STK_OK;
    return stk_fail(err, STK_IO,
                    "%s: tensor '%s' cannot be read: the file has become shorter, or its storage "
                    "fails",
                    file->path, tensor->name);
}
