/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sidecar.c: any bytes as the index file of a file, some with the right checksum: what is
 * believed lies in the file, record behind record.
 *
 * Input: kind, length of the file in two bytes, then the sidecar; if the kind says so, its
 * checksum or all of its header but counts are put right. */
#include "base/crc32c.h"
#include "base/hash.h"
#include "io/record_index.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER = 88,
    COUNTS = 48,
    VERSION = 80,
    CHECKSUM = 84,
    MOST_BYTES = 4096,
    MEMORY_FD = 1 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

/* ---- the sidecar is in memory; the linker sends what reads it here ---- */

static struct {
    uint8_t data[MOST_BYTES];
    size_t bytes, at;
} sidecar;

int __real_open(const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *info);
int __real_close(int fd);
ssize_t __real_read(int fd, void *into, size_t bytes);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *info);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *into, size_t bytes);

int __wrap_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    sidecar.at = 0;
    return strcmp(path, "fuzz.stkidx") ? __real_open(path, flags, mode) : MEMORY_FD;
}

int __wrap_fstat(int fd, struct stat *info)
{
    if (fd != MEMORY_FD)
        return __real_fstat(fd, info);
    *info = (struct stat){ .st_size = (off_t)sidecar.bytes };
    return 0;
}

int __wrap_close(int fd)
{
    return fd == MEMORY_FD ? 0 : __real_close(fd);
}

ssize_t __wrap_read(int fd, void *into, size_t bytes)
{
    if (fd != MEMORY_FD)
        return __real_read(fd, into, bytes);
    size_t left = sidecar.bytes - sidecar.at, n = bytes < left ? bytes : left;
    memcpy(into, sidecar.data + sidecar.at, n);
    sidecar.at += n;
    return (ssize_t)n;
}

/* ---- the rest ---- */

static void put_right(uint8_t *data, size_t size, uint8_t kind, uint64_t file_bytes)
{
    static const uint64_t inode_and_ctime[2];
    const uint64_t fields[3] = { 7, file_bytes, 11 };
    const uint64_t identity = stk__hash_bytes(0, inode_and_ctime, sizeof inode_and_ctime);
    const uint32_t version = 1;
    if (kind & 1) {
        memcpy(data, "STKIDX\r\nfuzz\0\0\0\0\0\0\0\0\0\0\0\0", 24);
        memcpy(data + 24, fields, sizeof fields);
        memcpy(data + COUNTS + 24, &identity, sizeof identity);
        memcpy(data + VERSION, &version, sizeof version);
    }
    if (kind & 2) {
        uint32_t crc = stk__crc32c(0, data, CHECKSUM);
        crc = stk__crc32c(crc, data + HEADER, size - HEADER);
        memcpy(data + CHECKSUM, &crc, sizeof crc);
    }
}

static void check(const struct stk__record_index *index, uint64_t file_bytes)
{
    uint64_t n = stk__record_index_count(index), end = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct stk__file_place place;
        stk__record_index_at(index, i, &place);
        must(i == 0 || place.offset == end);
        must(place.offset <= file_bytes && place.bytes <= file_bytes - place.offset);
        end = place.offset + place.bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "fuzz";
    if (size < 3 + HEADER || size - 3 > MOST_BYTES)
        return 0;
    struct stk__data_file file = { .path = path,
                                   .bytes = data[1] | (uint64_t)data[2] << 8,
                                   .mtime_ns = 11 };
    const struct stk__sidecar which = { &file, "fuzz", 7, NULL };
    sidecar.bytes = size - 3;
    memcpy(sidecar.data, data + 3, sidecar.bytes);
    put_right(sidecar.data, sidecar.bytes, data[0], file.bytes);
    struct stk__record_index *index = stk__sidecar_load(&which);
    must(sidecar.at > 0 || !index);
    if (index)
        check(index, file.bytes);
    stk__record_index_free(index);
    return 0;
}
