/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_row_log.c: any bytes as the files of a log, some with the right checksums: what is found and
 * read lies in the file and has its checksum, and the log can be written on.
 *
 * Input: kind, length of the index in two bytes, the index, the rows; if the kind says so, checksums
 * of the first block and the first record are put right. */
#define _GNU_SOURCE
#include "base/crc32c.h"
#include "io/row_log.h"

#include <fcntl.h>
#include <sanitizer/asan_interface.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIXES_BLOCK = 1, FIXES_RECORD = 2, BLOCK_HEADER = 16, ENTRY = 32, RECORD_HEADER = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

/* ---- the log is in memory; the linker sends what opens its files here ---- */

enum { ROWS, INDEX, LOCK, N_FILES };
static const char *const paths[N_FILES] = { "./rows", "./index", "./lock" };
static int memory[N_FILES];

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_access(const char *path, int mode);

int __wrap_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    for (int i = 0; i < N_FILES; i++)
        if (!strcmp(path, paths[i]))
            return dup(memory[i]);
    return __real_open(path, flags, mode);
}

/* What the log is of has been written. */
int __wrap_access(const char *path, int mode)
{
    (void)mode;
    must(!strcmp(path, "./text"));
    return 0;
}

/* The rows stay mapped where they are: most of the time went into making and dropping maps. */
static void *rows_map;

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);

static bool is_rows(int fd)
{
    struct stat opened, rows;
    return fd >= 0 && memory[ROWS] && !fstat(fd, &opened) && !fstat(memory[ROWS], &rows) &&
           opened.st_ino == rows.st_ino && opened.st_dev == rows.st_dev;
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (offset || !is_rows(fd))
        return __real_mmap(at, bytes, protection, flags, fd, offset);
    if (!rows_map)
        rows_map = __real_mmap(at, bytes, protection, flags, memory[ROWS], 0);
    return rows_map;
}

int __wrap_munmap(void *at, size_t bytes)
{
    return at == rows_map ? 0 : __real_munmap(at, bytes);
}

/* So does the memory of the log itself, which is large; nobody may touch it while it is given back. */
enum { LARGE_BYTES = 1 << 16 };
static struct {
    void *data;
    size_t bytes;
    bool is_taken;
} large;

void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void __real_free(void *data);
void __wrap_free(void *data);

void *__wrap_calloc(size_t n, size_t bytes)
{
    if (n != 1 || bytes < LARGE_BYTES || large.is_taken || (large.data && bytes != large.bytes))
        return __real_calloc(n, bytes);
    if (!large.data)
        large.data = malloc(bytes);
    must(large.data != NULL);
    large.bytes = bytes;
    large.is_taken = true;
    ASAN_UNPOISON_MEMORY_REGION(large.data, bytes);
    return memset(large.data, 0, bytes);
}

void __wrap_free(void *data)
{
    if (!data || data != large.data) {
        __real_free(data);
        return;
    }
    must(large.is_taken);
    large.is_taken = false;
    ASAN_POISON_MEMORY_REGION(data, large.bytes);
}

static void store(int file, const uint8_t *data, size_t bytes)
{
    if (!memory[file])
        memory[file] = memfd_create("fuzz", MFD_CLOEXEC);
    must(memory[file] > 0 && !ftruncate(memory[file], (off_t)bytes) &&
         pwrite(memory[file], data, bytes, 0) == (ssize_t)bytes);
}

/* ---- the rest ---- */

static void put(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void fix_block(uint8_t *index, size_t bytes)
{
    uint32_t n;
    if (bytes < BLOCK_HEADER)
        return;
    put(index, 0x324b5453);
    memcpy(&n, index + 8, sizeof n);
    if (n <= (bytes - BLOCK_HEADER) / ENTRY)
        put(index + 4, stk__crc32c(0, index + 8, BLOCK_HEADER - 8 + n * ENTRY));
}

static void fix_record(uint8_t *rows, size_t bytes)
{
    uint64_t n;
    if (bytes < RECORD_HEADER)
        return;
    put(rows, 0x314b5453);
    memcpy(&n, rows + 16, sizeof n);
    if (n <= bytes - RECORD_HEADER)
        put(rows + 4, stk__crc32c(0, rows + 8, RECORD_HEADER - 8 + n));
}

/* Reads what the log says of a number; what it gives is all of the record. */
static void look(struct stk__row_log *log, uint64_t number)
{
    struct stk__log_entry entry;
    if (!stk__row_log_find(log, number, &entry))
        return;
    must(entry.number == number && entry.bytes < 1 << 20);
    uint8_t *bytes = malloc(entry.bytes + 1);
    struct stk__copy piece = { bytes, NULL, entry.bytes };
    must(bytes != NULL);
    if (!stk__row_log_read(log, &entry, &piece, 1))
        stk__row_log_lose(log, number);
    free(bytes);
}

/* Every record that is there, some numbers that may not be, and one that is added. */
static void use(struct stk__row_log *log, const struct iovec *piece)
{
    struct stk__log_entry entry;
    uint64_t walk = 0;
    while (stk__row_log_next(log, &walk, &entry))
        look(log, entry.number);
    for (uint64_t i = 0; i < 16; i++)
        look(log, i);
    must(stk__row_log_find(log, 5, &entry) || stk__row_log_add(log, 5, 0, piece, 1));
    look(log, 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stk__row_log *log = NULL;
    struct stk_error err;
    if (size < 3 || size > 1 << 16)
        return 0;
    size_t index_bytes = (size_t)data[1] | (size_t)data[2] << 8;
    uint8_t *copy = malloc(size);
    must(copy != NULL);
    memcpy(copy, data, size);
    index_bytes = index_bytes < size - 3 ? index_bytes : size - 3;
    uint8_t *index = copy + 3, *rows = index + index_bytes;
    size_t rows_bytes = size - 3 - index_bytes;
    if (data[0] & FIXES_BLOCK)
        fix_block(index, index_bytes);
    if (data[0] & FIXES_RECORD)
        fix_record(rows, rows_bytes);
    store(INDEX, index, index_bytes);
    store(ROWS, rows, rows_bytes);
    if (!memory[LOCK])
        store(LOCK, NULL, 0);
    must(stk__row_log_open(".", "", &log, &err) == STK_OK);
    use(log, &(struct iovec){ copy, size });
    stk__row_log_close(log);
    free(copy);
    return 0;
}
