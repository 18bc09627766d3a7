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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIXES_BLOCK = 1, FIXES_RECORD = 2, BLOCK_HEADER = 16, ENTRY = 32, RECORD_HEADER = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char place[] = "/tmp/stoker_fuzz_log_XXXXXX";

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

static void store(const char *name, const uint8_t *data, size_t bytes)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    close(fd);
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_made;
    struct stk__row_log *log = NULL;
    struct stk_error err;
    if (!is_made)
        must(mkdtemp(place) != NULL);
    is_made = true;
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
    store("index", index, index_bytes);
    store("rows", rows, rows_bytes);
    must(stk__row_log_open(place, "", &log, &err) == STK_OK);
    for (uint64_t i = 0; i < 300; i++)
        look(log, i);
    const struct iovec piece = { copy, size };
    struct stk__log_entry entry;
    must(stk__row_log_find(log, 5, &entry) || stk__row_log_add(log, 5, 0, &piece, 1));
    look(log, 5);
    stk__row_log_close(log);
    free(copy);
    return 0;
}
