/* SPDX-License-Identifier: Apache-2.0 */
/* file_out.h: files that appear whole or not at all.
 *
 * The bytes go to a temporary file in the same directory, ".NAME.part". Syncing brings them to
 * storage, committing gives the file its name and brings the directory to storage. Whenever a
 * process ends, under the name is either what was there before or all of the new file.
 */
#pragma once
#include <stoker/stoker.h>

struct stk__file_out {
    char *path, *part; /* owned */
    int fd;            /* -1: closed */
    uint64_t bytes;    /* written */
    uint32_t crc;      /* CRC32C of them */
};

/* Creates the temporary file. stk__file_out_discard is due unless it was committed. */
int stk__file_out_open(struct stk__file_out *file, const char *path, struct stk_error *err);
int stk__file_out_write(struct stk__file_out *file, const void *data, size_t bytes,
                        struct stk_error *err);
int stk__file_out_sync(struct stk__file_out *file, struct stk_error *err);
int stk__file_out_commit(struct stk__file_out *file, struct stk_error *err);

/* Removes what is there of it, and frees. After a commit only frees. */
void stk__file_out_discard(struct stk__file_out *file);

/* Opens, writes, syncs and commits. */
int stk__file_write_whole(const char *path, const void *data, size_t bytes, struct stk_error *err);

/* The name of the temporary file. Returns new, NULL when out of memory. */
char *stk__file_part_name(const char *path);

/* Writes all bytes to a descriptor; the error names `path`. */
int stk__file_write_all(int fd, const char *path, const void *data, size_t bytes,
                        struct stk_error *err);

/* Brings the directory that holds a file to storage. */
int stk__directory_sync(const char *path, struct stk_error *err);

/* Length and CRC32C of a file; false if it cannot be read. */
bool stk__file_sum(const char *path, uint64_t *bytes, uint32_t *crc);
