/* SPDX-License-Identifier: Apache-2.0 */
/* record_files.c: opening, scanning and counting. */
#include "io/record_files.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCANNERS = 8 };
static const uint64_t worth_a_sidecar = 16 << 20; /* smaller files are scanned in a moment */

/* Files that threads take one by one. */
struct scanning {
    struct stk__record_files *records;
    const struct stk__record_scan *scan;
    atomic_size_t next;
    pthread_mutex_t lock; /* guards what follows */
    size_t failed;        /* the first file that failed; else the number of files */
    int code;
    struct stk_error error;
};

static bool is_word(const char *home, const char *word)
{
    return home && !strcmp(home, word);
}

static int scan_file(struct scanning *s, size_t file, struct stk_error *err)
{
    struct stk__record_files *records = s->records;
    const char *home = s->scan->home;
    bool is_beside = is_word(home, "auto");
    const struct stk__sidecar sidecar = { .file = &records->files->item[file],
                                          .format = s->scan->format,
                                          .parameters = s->scan->parameters,
                                          .directory = is_beside ? NULL : home };
    bool has_sidecar =
        home && !is_word(home, "none") && (!is_beside || sidecar.file->bytes >= worth_a_sidecar);
    if (has_sidecar && (records->index[file] = stk__sidecar_load(&sidecar)))
        return STK_OK;
    if (!(records->index[file] = stk__record_index_new()))
        return stk__out_of_memory(err);
    int code = s->scan->scan(s->scan->context, records->files, file, records->index[file], err);
    if (!code && has_sidecar && !stk__record_index_is_private(records->index[file]))
        stk__sidecar_save(&sidecar, records->index[file]);
    return code;
}

static void *scan_some(void *arg)
{
    struct scanning *s = arg;
    for (size_t file; (file = atomic_fetch_add(&s->next, 1)) < s->records->files->n;) {
        struct stk_error err = { 0 };
        int code = scan_file(s, file, &err);
        if (!code)
            continue;
        pthread_mutex_lock(&s->lock);
        if (file < s->failed) {
            s->failed = file;
            s->code = code;
            s->error = err;
        }
        pthread_mutex_unlock(&s->lock);
        atomic_store(&s->next, s->records->files->n);
    }
    return NULL;
}

/* The caller scans too; threads that cannot be had are not needed. */
static int scan_all(struct stk__record_files *records, const struct stk__record_scan *scan,
                    struct stk_error *err)
{
    size_t n = records->files->n, most = n < MAX_SCANNERS ? n : MAX_SCANNERS, n_threads = 0;
    pthread_t thread[MAX_SCANNERS];
    struct scanning s = { .records = records, .scan = scan, .failed = n };
    pthread_mutex_init(&s.lock, NULL);
    while (n_threads + 1 < most && !pthread_create(&thread[n_threads], NULL, scan_some, &s))
        n_threads++;
    scan_some(&s);
    for (size_t i = 0; i < n_threads; i++)
        pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&s.lock);
    if (s.code && err)
        *err = s.error;
    return s.code;
}

static int add_files(struct stk__record_files *records, const struct stk__paths *paths,
                     struct stk_error *err)
{
    if (!(records->files = stk__data_files_new()))
        return stk__out_of_memory(err);
    int code = STK_OK;
    for (size_t i = 0; i < paths->n && !code; i++)
        code = stk__data_files_add(records->files, stk__paths_at(paths, i), err);
    records->index = calloc(paths->n + 1, sizeof *records->index);
    records->first = calloc(paths->n + 1, sizeof *records->first);
    if (!code && (!records->index || !records->first))
        code = stk__out_of_memory(err);
    return code;
}

int stk__record_files_open(const struct stk__paths *paths, const struct stk__record_scan *scan,
                           struct stk__record_files **out, struct stk_error *err)
{
    struct stk__record_files *records = calloc(1, sizeof *records);
    if (!records)
        return stk__out_of_memory(err);
    int code = add_files(records, paths, err);
    if (!code)
        code = scan_all(records, scan, err);
    if (code) {
        stk__record_files_free(records);
        return code;
    }
    for (size_t i = 0; i < paths->n; i++)
        records->first[i + 1] = records->first[i] + stk__record_index_count(records->index[i]);
    *out = records;
    return STK_OK;
}

void stk__record_files_free(struct stk__record_files *records)
{
    if (!records)
        return;
    for (size_t i = 0; records->index && i < records->files->n; i++)
        stk__record_index_free(records->index[i]);
    stk__data_files_free(records->files);
    free(records->index);
    free(records->first);
    free(records);
}

size_t stk__record_files_bytes(const struct stk__record_files *records)
{
    size_t n = records->files->n;
    size_t bytes = n * (sizeof *records->index + sizeof *records->first);
    for (size_t i = 0; i < n; i++)
        bytes += stk__record_index_bytes(records->index[i]);
    return bytes + stk__data_files_bytes(records->files);
}

uint64_t stk__record_files_count(const struct stk__record_files *records)
{
    return records->first[records->files->n];
}

void stk__record_files_locate(const struct stk__record_files *records, int n,
                              const uint64_t *record, struct stk__file_place *out)
{
    size_t file = 0;
    for (int i = 0; i < n; i++) {
        file = stk__file_of(records->first, records->files->n, record[i], file);
        out[i].file = (uint32_t)file;
        stk__record_index_at(records->index[file], record[i] - records->first[file], &out[i]);
    }
}

void stk__record_files_describe(const struct stk__record_files *records, uint64_t record,
                                const char *noun, char *text, size_t size)
{
    struct stk__file_place place;
    if (record >= stk__record_files_count(records)) {
        snprintf(text, size, "?");
        return;
    }
    size_t file = stk__file_of(records->first, records->files->n, record, 0);
    uint64_t in_file = record - records->first[file];
    stk__record_index_at(records->index[file], in_file, &place);
    snprintf(text, size, "%s, %s %llu at byte %llu", records->files->item[file].path, noun,
             (unsigned long long)in_file, (unsigned long long)place.offset);
}
