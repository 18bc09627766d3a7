/* SPDX-License-Identifier: Apache-2.0 */
/* data_file.h: files of which parts are read at random.
 *
 * Descriptors are kept of some files alone, so there may be more files than a process may open. What
 * is likely to be in the page cache is copied from a map, made at first use; the rest is read. Maps
 * do not count as ours: every so often all are given back to the system.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stoker/op.h>

/* Where in a file something lies. */
struct stk__file_place {
    uint64_t offset, bytes;
    uint32_t file; /* among those of the source */
};

struct stk__data_file {
    char *path;
    uint64_t bytes;
    int64_t mtime_ns;
    uint64_t inode;
    int64_t ctime_ns;       /* of the last change to content or inode; no program can set it */
    _Atomic(uint8_t *) map; /* pairs with itself: release when made; NULL: none yet */
    atomic_bool is_unmappable;
    atomic_int kept; /* its descriptor + 1; pairs with itself: set once. 0: none */
};

struct stk__data_files {
    struct stk__data_file *item;
    size_t n, cap;
    pthread_mutex_t lock;        /* held while a map is made or a descriptor kept */
    int n_kept;                  /* descriptors */
    atomic_ullong touched_bytes; /* of maps since they were last given back */
};

/* Returns new; NULL when out of memory. */
struct stk__data_files *stk__data_files_new(void);
void stk__data_files_free(struct stk__data_files *files);

size_t stk__data_files_bytes(const struct stk__data_files *files);

/* Lets go of descriptors and maps, which are made again when they are needed. Not while others read. */
void stk__data_files_rest(struct stk__data_files *files);

/* Adds a regular file that can be read. Not while others read. */
int stk__data_files_add(struct stk__data_files *files, const char *path, struct stk_error *err);

/* Which of n files an item is in, where first[i] counts those before file i, and first[n] all. `likely`
 * is looked at before the others. */
size_t stk__file_of(const uint64_t *first, size_t n, uint64_t item, size_t likely);

/* True if a place can be read in one go with the one before it: it is the same one again, or begins where
 * that ends. Places of any other kind that overlap are reads of their own, such as two that begin alike and
 * end apart. */
static inline bool stk__place_follows(const struct stk__file_place *before,
                                      const struct stk__file_place *next)
{
    bool is_same = next->offset == before->offset && next->bytes == before->bytes;
    return next->file == before->file &&
           (is_same || next->offset == before->offset + before->bytes);
}

/* Reads a part. Thread-safe. The message is the cause alone, as of a row that is bad. */
int stk__data_file_read(struct stk__data_files *files, struct stk__file_place place, uint8_t *dst,
                        struct stk_error *err);

/* A descriptor that is kept of a file, which stays its own; -1: there is none. */
int stk__data_file_kept(const struct stk__data_files *files, uint32_t file);

/* Takes a descriptor of a file if there is room for it; else it stays the caller's. */
bool stk__data_file_keep(struct stk__data_files *files, uint32_t file, int fd);

/* Reads one part into several pieces; false if not all of it could be read. Thread-safe. */
struct iovec;
bool stk__data_file_read_pieces(struct stk__data_files *files, uint32_t file, uint64_t offset,
                                struct iovec *piece, int n);

/* Reads n parts that are likely in the page cache, one behind the other, from maps. Returns how many
 * were read: all but for a file that cannot be mapped or is shorter than it was. */
int stk__data_files_copy(struct stk__data_files *files, const struct stk__file_place *place, int n,
                         uint8_t *dst);
