/* SPDX-License-Identifier: Apache-2.0 */
/* row_groups.c: counting rows, and finding them again. */
#include "op/table/row_groups.h"

#include "base/error.h"
#include "io/file_window.h"

#include <stdlib.h>
#include <string.h>

int stk__row_groups_open(struct stk__row_groups *rows, const struct stk__paths *paths,
                         const struct stk__record_scan *scan, struct stk_error *err)
{
    int code = stk__record_files_open(paths, scan, &rows->groups, err);
    if (code)
        return code;
    size_t n = rows->groups->files->n;
    rows->first_row = calloc(n + 1, sizeof *rows->first_row);
    rows->group_rows = calloc(n + 1, sizeof *rows->group_rows);
    return rows->first_row && rows->group_rows ? STK_OK : stk__out_of_memory(err);
}

void stk__row_groups_free(struct stk__row_groups *rows)
{
    stk__record_files_free(rows->groups);
    free(rows->first_row);
    free(rows->group_rows);
}

size_t stk__row_groups_bytes(const struct stk__row_groups *rows)
{
    if (!rows->groups)
        return 0;
    return stk__record_files_bytes(rows->groups) +
           rows->groups->files->n * (sizeof *rows->first_row + sizeof *rows->group_rows);
}

/* Rows of the last group, which may have fewer than others. */
static int count_last(struct stk__row_groups *rows, struct stk__file_place place,
                      stk__count_rows_fn count, const void *context, uint64_t *n,
                      struct stk_error *err)
{
    struct stk__data_files *files = rows->groups->files;
    uint8_t *data = malloc(place.bytes + STK__WINDOW_TAIL);
    if (!data)
        return stk__out_of_memory(err);
    memset(data + place.bytes, 0, STK__WINDOW_TAIL);
    int code = stk__data_file_read(files, place, data, err);
    if (code)
        stk__error_prefix(err, "'%s': ", files->item[place.file].path);
    else
        *n = count(context, data, place.bytes);
    free(data);
    return code;
}

int stk__row_groups_count(struct stk__row_groups *rows, size_t file, int group_rows,
                          stk__count_rows_fn count, const void *context, struct stk_error *err)
{
    const struct stk__record_index *index = rows->groups->index[file];
    uint64_t n_groups = stk__record_index_count(index), n = 0;
    struct stk__file_place last = { .file = (uint32_t)file };
    int code = STK_OK;
    rows->group_rows[file] = group_rows;
    if (n_groups) {
        stk__record_index_at(index, n_groups - 1, &last);
        code = count_last(rows, last, count, context, &n, err);
        n += (n_groups - 1) * (uint64_t)group_rows;
    }
    rows->first_row[file + 1] = rows->first_row[file] + n;
    return code;
}

int64_t stk__row_groups_total(const struct stk__row_groups *rows)
{
    return rows->groups ? (int64_t)rows->first_row[rows->groups->files->n] : STK_UNKNOWN_COUNT;
}

/* The group of a row, in a file; returns how many rows of the group come before it. */
static uint64_t find_group(const struct stk__row_groups *rows, uint64_t row, size_t *file,
                           uint64_t *group)
{
    *file = stk__file_of(rows->first_row, rows->groups->files->n, row, *file);
    uint64_t in_file = row - rows->first_row[*file];
    *group = in_file / (uint64_t)rows->group_rows[*file];
    return in_file % (uint64_t)rows->group_rows[*file];
}

void stk__row_groups_locate(const struct stk__row_groups *rows, int n, const uint64_t *index,
                            struct stk__file_place *out)
{
    size_t file = 0;
    uint64_t group;
    for (int i = 0; i < n; i++) {
        find_group(rows, index[i], &file, &group);
        out[i].file = (uint32_t)file;
        stk__record_index_at(rows->groups->index[file], group, &out[i]);
    }
}

/* True if row i comes behind the one before it in the piece of memory that ends at `end`. A group that
 * several rows wanted may have been read several times, and the copies may lie side by side: that its
 * bytes come next does not make it the next group. */
static bool is_behind(const struct stk__row_groups *rows, const struct stk_rows *r,
                      const uint64_t *index, int i, const struct stk__row_run *run)
{
    if (r->mask[i] != STK_LIVE || index[i] != index[i - 1] + 1 ||
        index[i] >= rows->first_row[run->file + 1] ||
        r->inside->fetched[i].owner != r->inside->fetched[i - 1].owner)
        return false;
    uint64_t in_file = index[i] - rows->first_row[run->file];
    bool is_new_group = in_file % (uint64_t)rows->group_rows[run->file] == 0;
    const uint8_t *end = run->data + run->bytes;
    return r->inside->fetched[i].data == (is_new_group ? end : r->inside->fetched[i - 1].data);
}

struct stk__row_run stk__row_groups_run(const struct stk__row_groups *rows,
                                        const struct stk_rows *r, const uint64_t *index, int from)
{
    const struct stk_span *fetched = r->inside->fetched;
    struct stk__row_run run = {
        .from = from, .n = 1, .data = fetched[from].data, .bytes = fetched[from].bytes
    };
    struct stk__file_place place;
    uint64_t group;
    run.first = find_group(rows, index[from], &run.file, &group);
    stk__record_index_at(rows->groups->index[run.file], group, &place);
    run.offset = place.offset;
    int i = from + 1;
    for (; i < r->n && is_behind(rows, r, index, i, &run); i++)
        run.bytes = (size_t)(fetched[i].data - run.data) + fetched[i].bytes;
    run.n = i - from;
    return run;
}
