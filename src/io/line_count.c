/* SPDX-License-Identifier: Apache-2.0 */
/* line_count.c: counting line ends, block by block. */
#include "io/line_count.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20 };

struct stk__line_counts {
    struct stk__data_files *files;
    pthread_mutex_t lock; /* guards what follows */
    uint64_t **before;    /* [files->n]: line ends before each block, or NULL: not counted yet */
    uint8_t *room;        /* [BLOCK + 1] */
};

struct stk__line_counts *stk__line_counts_new(struct stk__data_files *files)
{
    struct stk__line_counts *counts = calloc(1, sizeof *counts);
    if (!counts)
        return NULL;
    pthread_mutex_init(&counts->lock, NULL);
    counts->files = files;
    counts->before = calloc(files->n + 1, sizeof *counts->before);
    if (counts->before)
        return counts;
    stk__line_counts_free(counts);
    return NULL;
}

void stk__line_counts_free(struct stk__line_counts *counts)
{
    if (!counts)
        return;
    for (size_t i = 0; counts->before && i < counts->files->n; i++)
        free(counts->before[i]);
    pthread_mutex_destroy(&counts->lock);
    free(counts->before);
    free(counts->room);
    free(counts);
}

static uint64_t count_byte(const uint8_t *data, size_t bytes, int byte)
{
    uint64_t n = 0;
    const uint8_t *end = data + bytes;
    while (data < end && (data = memchr(data, byte, (size_t)(end - data)))) {
        n++;
        data++;
    }
    return n;
}

uint64_t stk__count_line_ends(const uint8_t *data, size_t bytes, bool has_more)
{
    uint64_t n = count_byte(data, bytes, '\n');
    const uint8_t *at = data, *end = data + bytes;
    while (at < end && (at = memchr(at, '\r', (size_t)(end - at)))) {
        at++;
        bool is_known = at < end || has_more;
        n += !is_known || *at != '\n';
    }
    return n;
}

/* Line ends in bytes [from, to) of a file, which lie in one block; false if they cannot be read. */
static bool count_part(struct stk__line_counts *counts, size_t file, uint64_t from, uint64_t to,
                       uint64_t *n)
{
    bool has_more = to < counts->files->item[file].bytes;
    const struct stk__file_place place = { from, to - from + has_more, (uint32_t)file };
    if (stk__data_file_read(counts->files, place, counts->room, NULL))
        return false;
    *n = stk__count_line_ends(counts->room, to - from, has_more);
    return true;
}

static uint64_t *count_blocks(struct stk__line_counts *counts, size_t file)
{
    uint64_t bytes = counts->files->item[file].bytes, n_blocks = bytes / BLOCK;
    uint64_t *before = calloc(n_blocks + 1, sizeof *before), n = 0;
    for (uint64_t i = 0; before && i < n_blocks; i++) {
        if (!count_part(counts, file, i * BLOCK, (i + 1) * BLOCK, &n)) {
            free(before);
            return NULL;
        }
        before[i + 1] = before[i] + n;
    }
    return before;
}

uint64_t stk__line_of(struct stk__line_counts *counts, size_t file, uint64_t offset)
{
    uint64_t line = 0, n = 0, block = offset / BLOCK;
    pthread_mutex_lock(&counts->lock);
    if (!counts->room)
        counts->room = malloc(BLOCK + 1);
    if (counts->room && !counts->before[file])
        counts->before[file] = count_blocks(counts, file);
    if (counts->room && counts->before[file] && offset <= counts->files->item[file].bytes &&
        count_part(counts, file, block * BLOCK, offset, &n))
        line = counts->before[file][block] + n + 1;
    pthread_mutex_unlock(&counts->lock);
    return line;
}
