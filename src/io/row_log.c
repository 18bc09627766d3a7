/* SPDX-License-Identifier: Apache-2.0 */
/* row_log.c: opening a log, finding, reading and adding records. log_table.c has the table. */
#define _GNU_SOURCE
#include "io/row_log.h"

#include "base/crc32c.h"
#include "base/error.h"
#include "io/directory.h"
#include "io/file_out.h"
#include "io/log_table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* All numbers are little-endian, as the machines are that this runs on. */
struct record_header {
    uint32_t magic, crc; /* crc: of what follows it, header and bytes */
    uint64_t number, bytes;
    uint32_t flags, reserved;
};

struct block_header {
    uint32_t magic, crc; /* crc: of what follows it, header and entries */
    uint32_t n, reserved;
};

_Static_assert(sizeof(struct record_header) == 32, "no holes");
_Static_assert(sizeof(struct block_header) == 16, "no holes");
_Static_assert(sizeof(struct stk__log_entry) == 32, "no holes");

static const uint32_t record_magic = 0x314b5453, block_magic = 0x324b5453;

enum { SEGMENT_SHIFT = 30, MAX_SEGMENTS = 1 << 14, BLOCK_ENTRIES = 256 };
#define SEGMENT_BYTES ((uint64_t)1 << SEGMENT_SHIFT)
#define MOST_BYTES (SEGMENT_BYTES * MAX_SEGMENTS) /* of all records; what lies behind is none */

struct stk__row_log {
    int fd, index_fd, lock_fd;            /* index_fd, lock_fd: -1 for those that only read */
    uint64_t opened_bytes;                /* of the rows when they were opened, those that count */
    bool had_name;                        /* then; some file systems do not count names */
    _Atomic(uint8_t *) map[MAX_SEGMENTS]; /* release when made, acquire when used */
    pthread_rwlock_t table_lock;          /* guards the table and n_lost */
    struct stk__log_table table;
    uint64_t n_lost;
    pthread_mutex_t lock; /* guards all that follows; taken before table_lock or alone */
    uint64_t end;         /* where the next record goes */
    struct stk__log_entry pending[BLOCK_ENTRIES]; /* not yet in the index */
    int n_pending;
    uint64_t pending_bytes;
    bool can_write;
    char why[160];
};

/* ---- checksums ---- */

static uint32_t header_sum(const struct record_header *h)
{
    return stk__crc32c(0, &h->number, sizeof *h - offsetof(struct record_header, number));
}

static struct record_header make_header(const struct stk__log_entry *entry)
{
    return (struct record_header){ .magic = record_magic,
                                   .crc = entry->crc,
                                   .number = entry->number,
                                   .bytes = entry->bytes,
                                   .flags = entry->flags };
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static uint64_t end_of(const struct stk__log_entry *entry)
{
    return entry->offset + sizeof(struct record_header) + padded(entry->bytes);
}

/* A record never lies across the border of two segments. */
static bool is_placed(const struct stk__log_entry *entry)
{
    return entry->bytes < SEGMENT_BYTES && entry->offset < MOST_BYTES &&
           entry->offset >> SEGMENT_SHIFT == (end_of(entry) - 1) >> SEGMENT_SHIFT;
}

static uint64_t next_segment(uint64_t offset)
{
    return ((offset >> SEGMENT_SHIFT) + 1) << SEGMENT_SHIFT;
}

/* ---- reading ---- */

/* The map of a segment, made when it is first needed; NULL if that cannot be done. */
static uint8_t *segment_at(struct stk__row_log *log, uint64_t offset)
{
    _Atomic(uint8_t *) *slot = &log->map[offset >> SEGMENT_SHIFT];
    uint8_t *map = atomic_load_explicit(slot, memory_order_acquire);
    if (map)
        return map;
    map = mmap(NULL, SEGMENT_BYTES, PROT_READ, MAP_SHARED, log->fd,
               (off_t)(offset & ~(SEGMENT_BYTES - 1)));
    if (map == MAP_FAILED)
        return NULL;
    uint8_t *other = NULL;
    if (atomic_compare_exchange_strong(slot, &other, map))
        return map;
    munmap(map, SEGMENT_BYTES);
    return other;
}

/* As many of so many bytes at an offset as there are. */
static uint64_t read_at(int fd, uint8_t *into, uint64_t bytes, uint64_t offset)
{
    uint64_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(fd, into + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (uint64_t)got;
    }
    return done;
}

static bool read_pieces(int fd, uint64_t offset, const struct stk__copy *piece, int n,
                        uint32_t *crc)
{
    for (int i = 0; i < n; i++) {
        if (read_at(fd, piece[i].dst, piece[i].bytes, offset) != piece[i].bytes)
            return false;
        if (crc)
            *crc = stk__crc32c(*crc, piece[i].dst, piece[i].bytes);
        offset += piece[i].bytes;
    }
    return true;
}

/* Fills pieces with what lies from an offset on, one behind the other, and adds it to a checksum, if there
 * is one. A file that cannot be mapped, as on some file systems, is read. */
static bool fill(struct stk__row_log *log, uint64_t offset, struct stk__copy *piece, int n,
                 uint32_t *crc)
{
    const uint8_t *from = segment_at(log, offset);
    if (!from)
        return read_pieces(log->fd, offset, piece, n, crc);
    from += offset & (SEGMENT_BYTES - 1);
    for (int i = 0; i < n; i++) {
        piece[i].src = from;
        from += piece[i].bytes;
    }
    return (crc ? stk__guarded_copies_summed(piece, n, crc) : stk__guarded_copies(piece, n)) == n;
}

bool stk__row_log_peek(struct stk__row_log *log, const struct stk__log_entry *entry, void *into,
                       size_t bytes)
{
    struct stk__copy copy = { .dst = into, .bytes = bytes };
    return bytes <= entry->bytes &&
           fill(log, entry->offset + sizeof(struct record_header), &copy, 1, NULL);
}

bool stk__row_log_read(struct stk__row_log *log, const struct stk__log_entry *entry,
                       struct stk__copy *piece, int n)
{
    const struct record_header header = make_header(entry);
    uint32_t crc = header_sum(&header);
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += piece[i].bytes;
    return bytes == entry->bytes && fill(log, entry->offset + sizeof header, piece, n, &crc) &&
           crc == entry->crc;
}

bool stk__row_log_find(struct stk__row_log *log, uint64_t number, struct stk__log_entry *out)
{
    pthread_rwlock_rdlock(&log->table_lock);
    const struct stk__log_entry *found = stk__log_table_find(&log->table, number);
    bool is_there = found && !(found->flags & STK__LOG_LOST);
    if (is_there)
        *out = *found;
    pthread_rwlock_unlock(&log->table_lock);
    return is_there;
}

bool stk__row_log_next(struct stk__row_log *log, uint64_t *walk, struct stk__log_entry *out)
{
    while (*walk < log->table.n_slots) {
        *out = log->table.entry[(*walk)++];
        if (out->bytes != UINT64_MAX && !(out->flags & STK__LOG_LOST))
            return true;
    }
    return false;
}

/* ---- adding ---- */

/* Writes all pieces at an offset; false, with errno, if that cannot be done. */
static bool write_at(int fd, struct iovec *piece, int n, uint64_t offset)
{
    while (n) {
        ssize_t done = pwritev(fd, piece, n, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        offset += (uint64_t)done;
        for (; n && (size_t)done >= piece->iov_len; n--, piece++)
            done -= (ssize_t)piece->iov_len;
        if (n) {
            piece->iov_base = (uint8_t *)piece->iov_base + done;
            piece->iov_len -= (size_t)done;
        }
    }
    return true;
}

/* Keeps what there is and writes no more. Called with the lock held. */
static void give_up(struct stk__row_log *log, const char *what)
{
    char reason[64];
    bool is_full = errno == ENOSPC || errno == EDQUOT;
    log->can_write = false;
    snprintf(log->why, sizeof log->why, "%s: %s%s", what, strerror_r(errno, reason, sizeof reason),
             is_full ? "; make room there, or give the cache another directory" : "");
}

/* Somebody deleted the files: what is written is gone when they are closed. Called with the lock
 * held. */
static bool notice_removal(struct stk__row_log *log)
{
    struct stat info;
    bool is_removed = log->had_name && !fstat(log->fd, &info) && info.st_nlink == 0;
    if (is_removed) {
        log->can_write = false;
        snprintf(log->why, sizeof log->why,
                 "its files were removed meanwhile; the next run makes them again");
    }
    return is_removed;
}

/* Appends the pending entries to the index. Called with the lock held. */
static void flush_index(struct stk__row_log *log)
{
    struct block_header header = { .magic = block_magic, .n = (uint32_t)log->n_pending };
    size_t bytes = sizeof *log->pending * (size_t)log->n_pending;
    if (!log->n_pending || notice_removal(log))
        return;
    header.crc = stk__crc32c(0, &header.n, sizeof header - offsetof(struct block_header, n));
    header.crc = stk__crc32c(header.crc, log->pending, bytes);
    struct iovec piece[] = { { &header, sizeof header }, { log->pending, bytes } };
    off_t end = lseek(log->index_fd, 0, SEEK_END);
    if (end < 0 || !write_at(log->index_fd, piece, 2, (uint64_t)end))
        give_up(log, "cannot write the index");
    log->n_pending = 0;
    log->pending_bytes = 0;
}

static void note_pending(struct stk__row_log *log, const struct stk__log_entry *entry)
{
    const uint64_t most_bytes = 16 << 20; /* that somebody else would have to go over */
    log->pending[log->n_pending++] = *entry;
    log->pending_bytes += entry->bytes;
    if (log->n_pending == BLOCK_ENTRIES || log->pending_bytes > most_bytes)
        flush_index(log);
}

void stk__row_log_lose(struct stk__row_log *log, uint64_t number)
{
    pthread_rwlock_wrlock(&log->table_lock);
    struct stk__log_entry *found = stk__log_table_find(&log->table, number);
    bool is_new = found && !(found->flags & STK__LOG_LOST);
    struct stk__log_entry entry = { 0 };
    if (is_new) {
        found->flags |= STK__LOG_LOST;
        log->n_lost++;
        entry = *found;
    }
    pthread_rwlock_unlock(&log->table_lock);
    pthread_mutex_lock(&log->lock);
    if (is_new && log->can_write)
        note_pending(log, &entry); /* so that nobody counts on it again */
    pthread_mutex_unlock(&log->lock);
}

static bool put_entry(struct stk__row_log *log, const struct stk__log_entry *entry)
{
    pthread_rwlock_wrlock(&log->table_lock);
    const struct stk__log_entry *before = stk__log_table_find(&log->table, entry->number);
    log->n_lost -= before && before->flags & STK__LOG_LOST;
    bool is_put = stk__log_table_put(&log->table, entry);
    pthread_rwlock_unlock(&log->table_lock);
    return is_put;
}

/* Called with the lock held. */
static bool write_record(struct stk__row_log *log, struct stk__log_entry *entry,
                         struct iovec *piece, int n)
{
    entry->offset = log->end;
    if (!is_placed(entry))
        entry->offset = next_segment(log->end);
    if (!is_placed(entry))
        return false;
    if (!write_at(log->fd, piece, n, entry->offset)) {
        give_up(log, "cannot write to it");
        if (ftruncate(log->fd, (off_t)log->end))
            return false; /* what is there of the record is not good, which is enough */
        return false;
    }
    log->end = end_of(entry);
    return true;
}

bool stk__row_log_add(struct stk__row_log *log, uint64_t number, uint32_t flags,
                      const struct iovec *given, int n)
{
    static const uint8_t zeros[8];
    struct iovec piece[STK__LOG_PIECES + 2];
    struct stk__log_entry entry = { .number = number, .flags = flags }, other;
    for (int i = 0; i < n; i++) {
        piece[i + 1] = given[i];
        entry.bytes += given[i].iov_len;
    }
    struct record_header header = make_header(&entry);
    entry.crc = header_sum(&header);
    for (int i = 0; i < n; i++)
        entry.crc = stk__crc32c(entry.crc, given[i].iov_base, given[i].iov_len);
    header.crc = entry.crc;
    piece[0] = (struct iovec){ &header, sizeof header };
    piece[n + 1] = (struct iovec){ (void *)(uintptr_t)zeros, padded(entry.bytes) - entry.bytes };
    pthread_mutex_lock(&log->lock);
    bool is_added = log->can_write && !stk__row_log_find(log, number, &other) &&
                    write_record(log, &entry, piece, n + 2) && put_entry(log, &entry);
    if (is_added)
        note_pending(log, &entry);
    pthread_mutex_unlock(&log->lock);
    return is_added;
}

size_t stk__row_log_bytes(struct stk__row_log *log)
{
    pthread_rwlock_rdlock(&log->table_lock);
    size_t bytes = stk__log_table_bytes(&log->table);
    pthread_rwlock_unlock(&log->table_lock);
    return bytes;
}

struct stk__log_state stk__row_log_state(struct stk__row_log *log)
{
    struct stk__log_state state = { 0 };
    pthread_mutex_lock(&log->lock);
    notice_removal(log);
    state.bytes = log->end;
    state.is_written = log->can_write;
    memcpy(state.why, log->why, sizeof state.why);
    pthread_rwlock_rdlock(&log->table_lock);
    state.n = log->table.n - log->n_lost;
    state.n_lost = log->n_lost;
    pthread_rwlock_unlock(&log->table_lock);
    pthread_mutex_unlock(&log->lock);
    return state;
}

/* ---- opening: what is there ---- */

/* The entries of all good blocks; returns where those end. */
static int64_t read_blocks(struct stk__row_log *log, const uint8_t *data, uint64_t bytes,
                           uint64_t file_bytes)
{
    uint64_t at = 0;
    struct block_header h;
    while (bytes - at >= sizeof h) {
        memcpy(&h, data + at, sizeof h);
        uint64_t size = h.n * sizeof(struct stk__log_entry);
        if (h.magic != block_magic || h.n > BLOCK_ENTRIES || bytes - at - sizeof h < size ||
            stk__crc32c(0, data + at + offsetof(struct block_header, n),
                        sizeof h - offsetof(struct block_header, n) + size) != h.crc)
            break;
        for (uint32_t i = 0; i < h.n; i++) {
            struct stk__log_entry entry;
            memcpy(&entry, data + at + sizeof h + i * sizeof entry, sizeof entry);
            if (!is_placed(&entry) || end_of(&entry) > file_bytes)
                continue; /* its bytes are gone */
            if (!stk__log_table_put(&log->table, &entry))
                return -1;
            log->end = end_of(&entry) > log->end ? end_of(&entry) : log->end;
        }
        at += sizeof h + size;
    }
    return (int64_t)at;
}

static int read_index(struct stk__row_log *log, int fd, uint64_t file_bytes, uint64_t *good_bytes)
{
    struct stat info;
    if (fstat(fd, &info))
        return STK_OK;
    uint64_t bytes = (uint64_t)info.st_size;
    uint8_t *data = malloc(bytes + 1);
    if (!data)
        return STK_MEMORY;
    int64_t good = read_blocks(log, data, read_at(fd, data, bytes, 0), file_bytes);
    free(data);
    *good_bytes = good < 0 ? 0 : (uint64_t)good;
    return good < 0 ? STK_MEMORY : STK_OK;
}

/* A record that nobody has listed; false if what is there is none. */
static bool check_record(struct stk__row_log *log, uint64_t offset, uint64_t file_bytes,
                         struct stk__log_entry *entry)
{
    enum { STEP = 1 << 16 };
    struct record_header h;
    uint8_t part[STEP];
    struct stk__copy head = { .dst = (uint8_t *)&h, .bytes = sizeof h };
    if (file_bytes - offset < sizeof h || !fill(log, offset, &head, 1, NULL))
        return false;
    *entry = (struct stk__log_entry){ h.number, offset, h.bytes, h.crc, h.flags };
    if (h.magic != record_magic || !is_placed(entry) || end_of(entry) > file_bytes)
        return false;
    uint32_t crc = header_sum(&h);
    for (uint64_t done = 0; done < h.bytes;) {
        uint64_t n = h.bytes - done < STEP ? h.bytes - done : STEP;
        struct stk__copy copy = { .dst = part, .bytes = n };
        if (!fill(log, offset + sizeof h + done, &copy, 1, &crc))
            return false;
        done += n;
    }
    return crc == h.crc;
}

/* Goes over what lies behind the last record of the index. */
static int recover(struct stk__row_log *log, uint64_t file_bytes)
{
    struct stk__log_entry entry;
    uint64_t at = log->end;
    while (at < file_bytes) {
        if (!check_record(log, at, file_bytes, &entry)) {
            at = at & (SEGMENT_BYTES - 1) ? next_segment(at) : file_bytes;
            continue;
        }
        if (!stk__log_table_put(&log->table, &entry))
            return STK_MEMORY;
        if (log->index_fd >= 0)
            note_pending(log, &entry);
        at = log->end = end_of(&entry);
    }
    return STK_OK;
}

/* ---- opening: files ---- */

static int open_in(const char *directory, const char *name, int flags)
{
    char path[STK__PATH_BYTES];
    int len = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (len < 0 || (size_t)len >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, flags | O_CLOEXEC, 0666);
}

/* All directories of a path. */
static int make_directories(const char *path, struct stk_error *err)
{
    char text[STK__PATH_BYTES], reason[100];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof text)
        return stk_fail(err, STK_VALUE, "'%.60s' is no name for a directory", path);
    memcpy(text, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (text[i] != '/' && text[i])
            continue;
        text[i] = '\0';
        int code = mkdir(text, 0777) ? errno : 0; /* to look at it may change errno */
        if (code == EEXIST && !stk__is_directory(text))
            return stk_fail(err, STK_IO, "'%s' is a file, not a directory", text);
        if (code && !stk__is_directory(text))
            return stk_fail(err, STK_IO, "cannot make the directory '%s': %s", text,
                            strerror_r(code, reason, sizeof reason));
        text[i] = i < len ? '/' : '\0';
    }
    return STK_OK;
}

/* Becomes the one that writes, unless somebody else is or the files are not ours. */
static void lock_log(struct stk__row_log *log, const char *directory)
{
    log->lock_fd = open_in(directory, "lock", O_RDWR | O_CREAT);
    if (log->lock_fd < 0 || flock(log->lock_fd, LOCK_EX | LOCK_NB)) {
        if (log->lock_fd < 0 || errno != EWOULDBLOCK)
            give_up(log, "it cannot be written");
        else
            snprintf(log->why, sizeof log->why,
                     "another run writes it; this one reads what was there when it began");
        return;
    }
    log->fd = open_in(directory, "rows", O_RDWR | O_CREAT);
    log->index_fd = open_in(directory, "index", O_RDWR | O_CREAT);
    log->can_write = log->fd >= 0 && log->index_fd >= 0;
    if (!log->can_write)
        give_up(log, "it cannot be written");
}

/* Cuts a file to what is good, so that what is added is found. */
static void cut_file(struct stk__row_log *log, int fd, uint64_t bytes)
{
    if (log->can_write && ftruncate(fd, (off_t)bytes))
        give_up(log, "it cannot be cut to what is good");
}

static int read_log(struct stk__row_log *log, const char *directory, struct stk_error *err)
{
    struct stat info;
    uint64_t index_bytes = 0;
    if (log->fd < 0)
        log->fd = open_in(directory, "rows", O_RDONLY);
    if (log->fd < 0)
        return STK_OK; /* there is nothing, and nothing can be added */
    if (fstat(log->fd, &info))
        return stk_fail(err, STK_IO, "'%s' cannot be read", directory);
    log->had_name = info.st_nlink > 0;
    log->opened_bytes = (uint64_t)info.st_size < MOST_BYTES ? (uint64_t)info.st_size : MOST_BYTES;
    int fd = log->index_fd >= 0 ? log->index_fd : open_in(directory, "index", O_RDONLY);
    int rc = fd < 0 ? STK_OK : read_index(log, fd, log->opened_bytes, &index_bytes);
    if (fd >= 0 && fd != log->index_fd)
        close(fd);
    cut_file(log, log->index_fd, index_bytes);
    if (!rc)
        rc = recover(log, log->opened_bytes);
    if (!rc)
        cut_file(log, log->fd, log->end);
    for (uint64_t i = 0; i < log->table.n_slots; i++)
        log->n_lost +=
            log->table.entry[i].bytes != UINT64_MAX && log->table.entry[i].flags & STK__LOG_LOST;
    return rc ? stk__out_of_memory(err) : STK_OK;
}

static int write_text(const char *directory, const char *text, struct stk_error *err)
{
    char path[STK__PATH_BYTES];
    int len = snprintf(path, sizeof path, "%s/text", directory);
    if (len < 0 || (size_t)len >= sizeof path || access(path, F_OK) == 0)
        return STK_OK;
    return stk__file_write_whole(path, text, strlen(text), err);
}

static int new_log(struct stk__row_log **out, struct stk_error *err)
{
    struct stk__row_log *log = calloc(1, sizeof *log);
    if (!log)
        return stk__out_of_memory(err);
    if (!stk__guard_start()) {
        free(log);
        return stk_fail(err, STK_STATE, "SIGBUS cannot be handled");
    }
    log->fd = log->index_fd = log->lock_fd = -1;
    pthread_rwlock_init(&log->table_lock, NULL);
    pthread_mutex_init(&log->lock, NULL);
    *out = log;
    return STK_OK;
}

int stk__row_log_look(const char *directory, struct stk__row_log **out, struct stk_error *err)
{
    struct stk__row_log *log;
    int rc = new_log(&log, err);
    if (rc)
        return rc;
    if ((rc = read_log(log, directory, err)))
        stk__row_log_close(log);
    else
        *out = log;
    return rc;
}

bool stk__row_log_is_busy(const char *directory)
{
    int fd = open_in(directory, "lock", O_RDONLY);
    bool is_busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is_busy;
}

int stk__row_log_open(const char *directory, const char *text, struct stk__row_log **out,
                      struct stk_error *err)
{
    struct stk__row_log *log;
    int rc = new_log(&log, err);
    if (rc)
        return rc;
    rc = make_directories(directory, err);
    if (!rc) {
        lock_log(log, directory);
        rc = read_log(log, directory, err);
    }
    if (!rc && log->can_write && write_text(directory, text, err))
        give_up(log, "cannot write to it");
    if (rc)
        stk__row_log_close(log);
    else
        *out = log;
    return rc;
}

/* Those that records can be in: of what was there, or of what was added. */
static void unmap_segments(struct stk__row_log *log)
{
    uint64_t reach = log->end > log->opened_bytes ? log->end : log->opened_bytes;
    for (uint64_t i = 0; i * SEGMENT_BYTES < reach; i++)
        if (atomic_load(&log->map[i]))
            munmap(atomic_load(&log->map[i]), SEGMENT_BYTES);
}

void stk__row_log_close(struct stk__row_log *log)
{
    if (!log)
        return;
    if (log->can_write)
        flush_index(log);
    unmap_segments(log);
    const int fd[] = { log->fd, log->index_fd, log->lock_fd };
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    stk__log_table_free(&log->table);
    pthread_rwlock_destroy(&log->table_lock);
    pthread_mutex_destroy(&log->lock);
    free(log);
}
