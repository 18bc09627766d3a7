/* SPDX-License-Identifier: Apache-2.0 */
/* data_file.c: parts of files, from maps or by reading. */
#define _GNU_SOURCE
#include "io/data_file.h"

#include "base/error.h"
#include "io/map_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_KEPT = 64 };
static const unsigned long long most_touched = 256ull << 20;

struct stk__data_files *stk__data_files_new(void)
{
    struct stk__data_files *files = calloc(1, sizeof *files);
    if (files)
        pthread_mutex_init(&files->lock, NULL);
    return files;
}

void stk__data_files_rest(struct stk__data_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        struct stk__data_file *file = &files->item[i];
        uint8_t *map = atomic_exchange(&file->map, NULL);
        int kept = atomic_exchange(&file->kept, 0);
        if (map)
            munmap(map, file->bytes);
        if (kept)
            close(kept - 1);
    }
    files->n_kept = 0;
}

void stk__data_files_free(struct stk__data_files *files)
{
    if (!files)
        return;
    stk__data_files_rest(files);
    for (size_t i = 0; i < files->n; i++)
        free(files->item[i].path);
    pthread_mutex_destroy(&files->lock);
    free(files->item);
    free(files);
}

static int grow(struct stk__data_files *files)
{
    size_t cap = files->cap ? 2 * files->cap : 8;
    struct stk__data_file *item = realloc(files->item, cap * sizeof *item);
    if (!item)
        return STK_MEMORY;
    files->item = item;
    files->cap = cap;
    return STK_OK;
}

size_t stk__data_files_bytes(const struct stk__data_files *files)
{
    size_t bytes = sizeof *files + files->cap * sizeof *files->item;
    for (size_t i = 0; i < files->n; i++)
        bytes += strlen(files->item[i].path) + 1;
    return bytes;
}

size_t stk__file_of(const uint64_t *first, size_t n, uint64_t item, size_t likely)
{
    size_t low = 0, high = n;
    if (item >= first[likely] && item < first[likely + 1])
        return likely;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (first[middle] <= item)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int stk__data_files_add(struct stk__data_files *files, const char *path, struct stk_error *err)
{
    struct stat st;
    char reason[160];
    if (stat(path, &st) || access(path, R_OK))
        return stk_fail(err, STK_IO, "cannot read '%s': %s", path,
                        strerror_r(errno, reason, sizeof reason));
    if (!S_ISREG(st.st_mode))
        return stk_fail(err, STK_IO, "'%s' is not a regular file", path);
    if (files->n == files->cap && grow(files))
        return stk__out_of_memory(err);
    struct stk__data_file *file = &files->item[files->n];
    *file = (struct stk__data_file){ .path = strdup(path),
                                     .bytes = (uint64_t)st.st_size,
                                     .mtime_ns = nanoseconds(st.st_mtim),
                                     .inode = (uint64_t)st.st_ino,
                                     .ctime_ns = nanoseconds(st.st_ctim) };
    if (!file->path)
        return stk__out_of_memory(err);
    files->n++;
    return STK_OK;
}

static int fail_short(const struct stk__data_file *file, struct stk_error *err)
{
    return stk_fail(err, STK_IO, "the file had %llu bytes when the run began and has fewer now",
                    (unsigned long long)file->bytes);
}

/* ---- by reading ---- */

static int read_fully(int fd, uint8_t *dst, uint64_t bytes, uint64_t offset)
{
    while (bytes) {
        ssize_t got = pread(fd, dst, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (got == 0)
            return -1;
        dst += got;
        offset += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    return 0;
}

int stk__data_file_kept(const struct stk__data_files *files, uint32_t index)
{
    return atomic_load(&files->item[index].kept) - 1;
}

/* Unless there is one or there are enough. */
bool stk__data_file_keep(struct stk__data_files *files, uint32_t index, int fd)
{
    struct stk__data_file *file = &files->item[index];
    pthread_mutex_lock(&files->lock);
    bool is_kept = files->n_kept < MOST_KEPT && !atomic_load(&file->kept);
    if (is_kept) {
        files->n_kept++;
        atomic_store(&file->kept, fd + 1);
    }
    pthread_mutex_unlock(&files->lock);
    return is_kept;
}

/* Opening takes as long as reading where storage is far away. */
static int open_kept(struct stk__data_files *files, uint32_t index, bool *is_kept)
{
    int kept = stk__data_file_kept(files, index);
    *is_kept = kept >= 0;
    return *is_kept ? kept : open(files->item[index].path, O_RDONLY | O_CLOEXEC);
}

static void let_go(struct stk__data_files *files, uint32_t index, int fd, bool is_kept)
{
    if (!is_kept && !stk__data_file_keep(files, index, fd))
        close(fd);
}

static int read_part(struct stk__data_files *files, struct stk__file_place place, uint8_t *dst,
                     struct stk_error *err)
{
    struct stk__data_file *file = &files->item[place.file];
    char reason[160];
    bool is_kept;
    int fd = open_kept(files, place.file, &is_kept);
    if (fd < 0)
        return stk_fail(err, STK_IO, "cannot open the file: %s",
                        strerror_r(errno, reason, sizeof reason));
    int failed = read_fully(fd, dst, place.bytes, place.offset);
    let_go(files, place.file, fd, is_kept);
    if (failed > 0)
        return stk_fail(err, STK_IO, "cannot read the file at byte %llu: %s",
                        (unsigned long long)place.offset,
                        strerror_r(failed, reason, sizeof reason));
    return failed ? fail_short(file, err) : STK_OK;
}

/* Moves pieces on by what was read; returns how many are left, of which `piece` is the first. */
static int advance(struct iovec **piece, int n, size_t got)
{
    for (; n && got >= (*piece)->iov_len; n--)
        got -= (*piece)++->iov_len;
    if (n) {
        (*piece)->iov_base = (uint8_t *)(*piece)->iov_base + got;
        (*piece)->iov_len -= got;
    }
    return n;
}

bool stk__data_file_read_pieces(struct stk__data_files *files, uint32_t index, uint64_t offset,
                                struct iovec *piece, int n)
{
    bool is_kept;
    int fd = open_kept(files, index, &is_kept);
    if (fd < 0)
        return false;
    while (n) {
        ssize_t got = preadv(fd, piece, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n = advance(&piece, n, (size_t)got);
        offset += (uint64_t)got;
    }
    let_go(files, index, fd, is_kept);
    return n == 0;
}

/* ---- from maps ---- */

/* A map of what the file had when it was added. */
static uint8_t *make_map(struct stk__data_file *file)
{
    struct stat st;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    uint8_t *map = MAP_FAILED;
    if (!fstat(fd, &st) && (uint64_t)st.st_size == file->bytes && stk__guard_start())
        map = mmap(NULL, file->bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}

static uint8_t *map_of(struct stk__data_files *files, struct stk__data_file *file)
{
    uint8_t *map = atomic_load_explicit(&file->map, memory_order_acquire);
    if (map || atomic_load_explicit(&file->is_unmappable, memory_order_relaxed))
        return map;
    pthread_mutex_lock(&files->lock);
    map = atomic_load(&file->map);
    if (!map) {
        map = make_map(file);
        atomic_store(&file->is_unmappable, !map);
        atomic_store_explicit(&file->map, map, memory_order_release);
    }
    pthread_mutex_unlock(&files->lock);
    return map;
}

/* Pages that were touched count as ours until they are given back; they stay in the page cache. */
static void note_touched(struct stk__data_files *files, const struct stk__file_place *place, int n)
{
    unsigned long long more = 0;
    for (int i = 0; i < n; i++)
        more += place[i].bytes < PAGE ? PAGE : place[i].bytes;
    if (atomic_fetch_add(&files->touched_bytes, more) + more < most_touched)
        return;
    atomic_store(&files->touched_bytes, 0);
    for (size_t i = 0; i < files->n; i++) {
        uint8_t *map = atomic_load_explicit(&files->item[i].map, memory_order_acquire);
        if (map)
            madvise(map, files->item[i].bytes, MADV_DONTNEED);
    }
}

static bool is_inside(const struct stk__data_file *file, struct stk__file_place place)
{
    return place.offset <= file->bytes && place.bytes <= file->bytes - place.offset;
}

int stk__data_files_copy(struct stk__data_files *files, const struct stk__file_place *place, int n,
                         uint8_t *dst)
{
    enum { AT_ONCE = 64 };
    struct stk__copy copy[AT_ONCE];
    int n_done = 0, n_some, n_copied;
    do {
        for (n_some = 0; n_some < AT_ONCE && n_done + n_some < n; n_some++) {
            const struct stk__file_place *p = &place[n_done + n_some];
            struct stk__data_file *file = &files->item[p->file];
            const uint8_t *map = is_inside(file, *p) ? map_of(files, file) : NULL;
            if (!map)
                break;
            copy[n_some] = (struct stk__copy){ dst, map + p->offset, (size_t)p->bytes };
            dst += p->bytes;
        }
        n_copied = stk__guarded_copies(copy, n_some);
        note_touched(files, place + n_done, n_copied);
        n_done += n_copied;
    } while (n_copied == AT_ONCE && n_done < n);
    return n_done;
}

int stk__data_file_read(struct stk__data_files *files, struct stk__file_place place, uint8_t *dst,
                        struct stk_error *err)
{
    const struct stk__data_file *file = &files->item[place.file];
    return is_inside(file, place) ? read_part(files, place, dst, err) : fail_short(file, err);
}
