/* SPDX-License-Identifier: Apache-2.0 */
/* sidecar.c: index files.
 *
 *     header (88 bytes) | base of each block, step of each record, or all offsets in full
 *
 * An index is of one file as it was: same size, times and inode. Size and mtime alone are not
 * enough, because programs set both (cp -p, tar, rsync), and a wrong index gives wrong rows without
 * a word. So a copy of data and index has its index made once more.
 *
 * All numbers are little-endian. The checksum is over the header up to it and all that follows it.
 */
#define _GNU_SOURCE
#include "base/crc32c.h"
#include "base/hash.h"
#include "io/directory.h"
#include "io/record_index_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct header {
    char magic[8], format[16];
    uint64_t parameters, file_bytes;
    int64_t file_mtime_ns;
    uint64_t n, end, is_wide, identity; /* identity: of inode and ctime */
    uint32_t version, crc;
};

_Static_assert(sizeof(struct header) == 88, "the header has no holes");
static const char magic[8] = "STKIDX\r\n";
enum { VERSION = 1 };

static uint64_t identity_of(const struct stk__data_file *file)
{
    const uint64_t parts[] = { file->inode, (uint64_t)file->ctime_ns };
    return stk__hash_bytes(0, parts, sizeof parts);
}

static struct header make_header(const struct stk__sidecar *sidecar)
{
    struct header header = { .parameters = sidecar->parameters,
                             .file_bytes = sidecar->file->bytes,
                             .file_mtime_ns = sidecar->file->mtime_ns,
                             .identity = identity_of(sidecar->file),
                             .version = VERSION };
    memcpy(header.magic, magic, sizeof magic);
    strncpy(header.format, sidecar->format, sizeof header.format - 1);
    return header;
}

/* The name of the sidecar; false if it is too long. In a directory, files of the same name from
 * different places stay apart. */
static bool name_of(const struct stk__sidecar *sidecar, char *text, size_t size)
{
    const char *path = sidecar->file->path, *slash = strrchr(path, '/');
    int len;
    if (!sidecar->directory) {
        len = snprintf(text, size, "%s.stkidx", path);
    } else {
        char *real = realpath(path, NULL);
        const char *whole = real ? real : path;
        len = snprintf(text, size, "%s/%s.%016llx.stkidx", sidecar->directory,
                       slash ? slash + 1 : path,
                       (unsigned long long)stk__hash_bytes(0, whole, strlen(whole)));
        free(real);
    }
    return len > 0 && (size_t)len < size;
}

static uint32_t checksum(const struct header *header, const struct stk__record_index *index)
{
    uint32_t crc = stk__crc32c(0, header, offsetof(struct header, crc));
    if (index->wide)
        return stk__crc32c(crc, index->wide, index->n * sizeof *index->wide);
    crc = stk__crc32c(crc, index->base, stk__index_blocks(index->n) * sizeof *index->base);
    return stk__crc32c(crc, index->step, index->n * sizeof *index->step);
}

/* ---- reading ---- */

static bool read_all(int fd, void *into, size_t bytes)
{
    uint8_t *at = into;
    while (bytes) {
        ssize_t got = read(fd, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static uint64_t payload_bytes(const struct header *header)
{
    return header->is_wide ? header->n * 8 : stk__index_blocks(header->n) * 8 + header->n * 4;
}

/* True if the header is that of this file, read in this way, and the sidecar as long as it says. */
static bool is_for(const struct header *header, const struct stk__sidecar *sidecar, uint64_t bytes)
{
    struct header expected = make_header(sidecar);
    expected.n = header->n;
    expected.end = header->end;
    expected.is_wide = header->is_wide;
    expected.crc = header->crc;
    return !memcmp(header, &expected, sizeof expected) && header->is_wide <= 1 &&
           header->n <= bytes && header->end <= sidecar->file->bytes &&
           bytes == sizeof *header + payload_bytes(header);
}

static bool read_index(int fd, const struct header *header, struct stk__record_index *index)
{
    size_t n = header->n ? header->n : 1;
    index->n = header->n;
    index->end = header->end;
    if (header->is_wide) {
        index->wide = malloc(n * sizeof *index->wide);
        return index->wide && read_all(fd, index->wide, header->n * sizeof *index->wide);
    }
    size_t blocks = stk__index_blocks(header->n);
    index->base = malloc((blocks + 1) * sizeof *index->base);
    index->step = malloc(n * sizeof *index->step);
    return index->base && index->step && read_all(fd, index->base, blocks * sizeof *index->base) &&
           read_all(fd, index->step, header->n * sizeof *index->step);
}

/* Records follow one another, in the file. A checksum may be right for numbers that are not. */
static bool is_ascending(const struct stk__record_index *index)
{
    uint64_t last = 0;
    for (uint64_t i = 0; i < index->n; i++) {
        uint64_t base = index->wide ? 0 : index->base[i / STK__INDEX_BLOCK];
        uint64_t offset = base + (index->wide ? index->wide[i] : index->step[i]);
        if (offset < last || offset < base)
            return false;
        last = offset;
    }
    return last <= index->end;
}

struct stk__record_index *stk__sidecar_load(const struct stk__sidecar *sidecar)
{
    char name[STK__PATH_BYTES];
    struct stat st;
    struct header header;
    if (!name_of(sidecar, name, sizeof name))
        return NULL;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stk__record_index *index = NULL;
    if (!fstat(fd, &st) && read_all(fd, &header, sizeof header) &&
        is_for(&header, sidecar, (uint64_t)st.st_size) && (index = stk__record_index_new()) &&
        (!read_index(fd, &header, index) || checksum(&header, index) != header.crc ||
         !is_ascending(index))) {
        stk__record_index_free(index);
        index = NULL;
    }
    close(fd);
    return index;
}

/* ---- writing ---- */

static bool write_all(int fd, const void *from, size_t bytes)
{
    const uint8_t *at = from;
    while (bytes) {
        ssize_t put = write(fd, at, bytes);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        bytes -= (size_t)put;
    }
    return true;
}

static bool write_index(int fd, const struct header *header, const struct stk__record_index *index)
{
    if (!write_all(fd, header, sizeof *header))
        return false;
    if (index->wide)
        return write_all(fd, index->wide, index->n * sizeof *index->wide);
    return write_all(fd, index->base, stk__index_blocks(index->n) * sizeof *index->base) &&
           write_all(fd, index->step, index->n * sizeof *index->step);
}

static int make_hidden(const char *name, char *hidden, size_t size)
{
    snprintf(hidden, size, "%s.XXXXXX", name);
    return mkostemp(hidden, O_CLOEXEC);
}

bool stk__sidecar_save(const struct stk__sidecar *sidecar, const struct stk__record_index *index)
{
    char name[STK__PATH_BYTES], hidden[STK__PATH_BYTES + 8];
    struct header header = make_header(sidecar);
    header.n = index->n;
    header.end = index->end;
    header.is_wide = index->wide != NULL;
    header.crc = checksum(&header, index);
    if (!name_of(sidecar, name, sizeof name))
        return false;
    int fd = make_hidden(name, hidden, sizeof hidden);
    if (fd < 0 && errno == ENOENT && sidecar->directory && !mkdir(sidecar->directory, 0777))
        fd = make_hidden(name, hidden, sizeof hidden);
    if (fd < 0)
        return false;
    bool is_written = write_index(fd, &header, index) && !fchmod(fd, 0644) && !fsync(fd);
    is_written &= !close(fd);
    if (is_written && !rename(hidden, name))
        return true;
    unlink(hidden);
    return false;
}
