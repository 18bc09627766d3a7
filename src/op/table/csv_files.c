/* SPDX-License-Identifier: Apache-2.0 */
/* csv_files.c: headers, and where groups of rows begin. */
#include "base/error.h"
#include "base/hash.h"
#include "op/table/csv_table.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 64 << 10 };

static const char bom[] = "\xef\xbb\xbf";

/* ---- the beginning of a file ---- */

/* Behind the line that begins at `at`; false if it does not end in what is there. */
static bool pass_line(const struct stk__csv_head *head, size_t *at)
{
    size_t i = *at;
    while (i < head->n && head->bytes[i] != '\n' && head->bytes[i] != '\r')
        i++;
    bool is_pair = i + 1 < head->n && head->bytes[i] == '\r' && head->bytes[i + 1] == '\n';
    if (i + 1 >= head->n && !head->is_all)
        return false;
    *at = i < head->n ? i + 1 + is_pair : i;
    return true;
}

/* A row from *at on, which is moved behind it. */
static bool pass_row(const struct stk__csv_format *format, const struct stk__csv_head *head,
                     size_t *at, struct stk__csv_row *row)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    struct stk__csv_scan scan;
    stk__csv_scan_begin(&scan, &format->dialect, false, mark, STK__CSV_LEAST_ROOM);
    stk__csv_scan_data(&scan, head->bytes + *at, head->n - *at);
    bool is_found = stk__csv_next_row(&scan, row);
    if (is_found) {
        row->start += (uint32_t)*at;
        row->stop += (uint32_t)*at;
    }
    *at += scan.at;
    return is_found;
}

bool stk__csv_head_find(const struct stk__csv_format *format, struct stk__csv_head *head)
{
    struct stk__csv_row first;
    size_t at = head->n >= 3 && !memcmp(head->bytes, bom, 3) ? 3 : 0;
    for (int64_t i = 0; i < format->skip_rows && at < head->n; i++)
        if (!pass_line(head, &at))
            return false;
    head->has_names = format->has_header && pass_row(format, head, &at, &head->header);
    if (format->has_header && !head->is_all && (!head->has_names || !head->header.is_ended))
        return false;
    head->begin = at;
    bool is_found = pass_row(format, head, &at, &first);
    if (!head->is_all && (!is_found || !first.is_ended) && head->n - head->begin < STK__LARGE_ROW)
        return false;
    bool is_large = is_found && first.stop - first.start >= STK__LARGE_ROW;
    head->group_rows = is_large ? 1 : STK__GROUP_ROWS;
    return true;
}

void stk__csv_head_free(struct stk__csv_head *head)
{
    free(head->bytes);
    head->bytes = NULL;
}

int stk__csv_head_read(const struct stk__csv_format *format, struct stk__data_files *files,
                       size_t file, size_t least, struct stk__csv_head *out, struct stk_error *err)
{
    uint64_t all = files->item[file].bytes;
    size_t n = least > HEAD_BYTES ? least : HEAD_BYTES;
    for (;; n *= 2) {
        *out = (struct stk__csv_head){ .n = n < all ? n : (size_t)all, .is_all = n >= all };
        if (!(out->bytes = malloc(out->n + STK__CSV_TAIL)))
            return stk__out_of_memory(err);
        memset(out->bytes + out->n, 0, STK__CSV_TAIL);
        const struct stk__file_place place = { 0, out->n, (uint32_t)file };
        int code = stk__data_file_read(files, place, out->bytes, err);
        if (code)
            stk__error_prefix(err, "'%s': ", files->item[file].path);
        if (!code && stk__csv_head_find(format, out))
            return STK_OK;
        stk__csv_head_free(out);
        if (code)
            return code;
        if (n > 2 * STK__CSV_MAX_ROW)
            return stk_fail(err, STK_DATA, "'%s' has no header within its first %d MiB",
                            files->item[file].path, 2 * STK__CSV_MAX_ROW >> 20);
    }
}

/* ---- groups ---- */

static int fail_row(const struct stk__file_window *w, const struct stk__csv_row *row)
{
    return stk_fail(w->err, STK_DATA, "'%s': the row at byte %llu is longer than %d MiB%s",
                    w->files->item[w->file].path, (unsigned long long)(w->offset + row->start),
                    STK__CSV_MAX_ROW >> 20, row->is_open ? "; a quote in it does not end" : "");
}

/* Adds the rows of the window; *kept is where to go on. */
static int add_rows(struct stk__file_window *w, struct stk__csv_scan *scan, int group_rows,
                    uint64_t *n_rows, struct stk__record_index *out)
{
    struct stk__csv_row row;
    stk__csv_scan_data(scan, w->data, w->filled);
    while (stk__csv_next_row(scan, &row)) {
        if (row.stop - row.start > STK__CSV_MAX_ROW)
            return fail_row(w, &row);
        if (!row.is_ended && !w->is_last) {
            scan->at = row.start;
            return STK_OK;
        }
        if ((*n_rows)++ % (uint64_t)group_rows == 0 &&
            stk__record_index_add(out, w->offset + row.start))
            return stk__out_of_memory(w->err);
    }
    return STK_OK;
}

static int scan_window(struct stk__file_window *w, const struct stk__csv_format *format,
                       int group_rows, struct stk__record_index *out)
{
    uint32_t mark[STK__CSV_LEAST_ROOM];
    struct stk__csv_scan scan;
    uint64_t n_rows = 0;
    int code = STK_OK;
    stk__csv_scan_begin(&scan, &format->dialect, false, mark, STK__CSV_LEAST_ROOM);
    while (!code) {
        code = add_rows(w, &scan, group_rows, &n_rows, out);
        if (code || w->is_last)
            break;
        code = stk__file_window_move(w, scan.at);
    }
    if (!code && stk__record_index_close(out, w->files->item[w->file].bytes))
        code = stk__out_of_memory(w->err);
    return code;
}

static int scan_file(const void *context, struct stk__data_files *files, size_t file,
                     struct stk__record_index *out, struct stk_error *err)
{
    const struct stk__csv_format *format = context;
    struct stk__csv_head head;
    struct stk__file_window w;
    int code = stk__csv_head_read(format, files, file, 0, &head, err);
    if (code)
        return code;
    stk__csv_head_free(&head);
    code = stk__file_window_open(&w, files, file, head.begin, err);
    if (!code)
        code = scan_window(&w, format, head.group_rows, out);
    stk__file_window_close(&w);
    return code;
}

/* ---- counting ---- */

static uint64_t count_rows(const void *context, const uint8_t *data, size_t bytes)
{
    const struct stk__csv_head part = { .bytes = (uint8_t *)(uintptr_t)data, .n = bytes };
    struct stk__csv_row row;
    uint64_t n = 0;
    for (size_t at = 0; pass_row(context, &part, &at, &row);)
        n++;
    return n;
}

int stk__csv_check_header(const struct stk__csv_table *table, size_t file,
                          const struct stk__csv_head *head, struct stk_error *err)
{
    const struct stk__paths *paths = &table->list->paths;
    size_t len = head->header.stop - head->header.start;
    char text[400];
    if (!table->format.has_header)
        return STK_OK;
    const char *name = stk__byte_stream_name(stk__paths_at(paths, file), text, sizeof text);
    if (!head->has_names)
        return stk_fail(err, STK_DATA, "%s has no header (header=false says so)", name);
    if (len == table->header.len &&
        !memcmp(head->bytes + head->header.start, table->header.text, len))
        return STK_OK;
    return stk_fail(err, STK_DATA, "the header of %s is not that of '%s'", name,
                    stk__paths_at(paths, 0));
}

static int check_file(struct stk__csv_table *table, size_t file, struct stk_error *err)
{
    struct stk__csv_head head;
    int code = stk__csv_head_read(&table->format, table->found.groups->files, file, 0, &head, err);
    if (code)
        return code;
    code = stk__csv_check_header(table, file, &head, err);
    stk__csv_head_free(&head);
    return code ? code
                : stk__row_groups_count(&table->found, file, head.group_rows, count_rows,
                                        &table->format, err);
}

int stk__csv_files_count(struct stk__csv_table *table, struct stk_error *err)
{
    int code = STK_OK;
    for (size_t i = 0; i < table->found.groups->files->n && !code; i++)
        code = check_file(table, i, err);
    return code;
}

/* Sidecars made under other rules are not believed. */
static uint64_t hash_of(const struct stk__csv_format *format)
{
    const struct stk__csv_dialect *d = &format->dialect;
    const uint8_t rules[] = {
        d->delimiter,         d->quote, d->comment, format->has_header, STK__GROUP_ROWS,
        STK__LARGE_ROW / 256, 1
    };
    uint64_t h = stk__hash_bytes(0, rules, sizeof rules);
    return stk__hash_mix(h, (uint64_t)format->skip_rows);
}

int stk__csv_files_open(struct stk__csv_table *table, const char *index_home, struct stk_error *err)
{
    const struct stk__record_scan scan = { .scan = scan_file,
                                           .context = &table->format,
                                           .format = "csv",
                                           .parameters = hash_of(&table->format),
                                           .home = index_home };
    int code = stk__row_groups_open(&table->found, &table->list->paths, &scan, err);
    if (!code && !(table->lines = stk__line_counts_new(table->found.groups->files)))
        code = stk__out_of_memory(err);
    return code;
}
