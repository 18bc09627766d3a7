/* SPDX-License-Identifier: Apache-2.0 */
/* fault_run.h: for tests of faults: a small run while the n-th call fails; what it shows, what it
 * leaves behind, and whether it hangs. */
#pragma once
#include "fault_wraps.h"
#include "file_tree.h"
#include "sanitized.h"

#include <dirent.h>
#include <signal.h>
#include <stoker/stoker.h>

enum { HANG_SECONDS = 20, MAX_ROWS = 200 };

/* ---- one run ---- */

struct settings {
    const char *chain, *workers, *on_error;
};

/* All that a run showed. */
struct outcome {
    int rc; /* STK_END: all is well */
    struct stk_error err;
    int n_rows;
    uint64_t sum[MAX_ROWS]; /* over the bytes of each row's batch */
    char origin[MAX_ROWS][64];
};

static inline int no_memory(struct stk_error *err)
{
    *err = (struct stk_error){ .code = STK_MEMORY, .text = "out of memory" };
    return STK_MEMORY;
}

static inline uint64_t sum_bytes(uint64_t sum, const void *data, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum = (sum ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return sum;
}

static inline uint64_t sum_batch(const struct stk_batch *batch)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (int f = 0; f < stk_batch_n_fields(batch); f++) {
        struct stk_view v;
        stk_batch_view_at(batch, f, &v);
        int64_t bytes = v.rank     ? v.shape[0] * v.strides[0]
                        : v.splits ? v.splits[v.n_splits - 1]
                                   : (int64_t)stk_dtype_bytes(v.dtype);
        sum = sum_bytes(sum, v.shape, v.rank * (int64_t)sizeof *v.shape);
        sum = sum_bytes(sum, v.splits, v.n_splits * (int64_t)sizeof *v.splits);
        sum = sum_bytes(sum, v.data, bytes);
    }
    return sum;
}

static inline int note_batch(struct stk_batch *batch, struct outcome *o)
{
    uint64_t sum = sum_batch(batch);
    int rc = STK_OK;
    for (int64_t i = 0; i < stk_batch_n_rows(batch) && o->n_rows < MAX_ROWS && !rc; i++) {
        char *origin = stk_batch_origin(batch, i);
        if (!origin) {
            rc = no_memory(&o->err);
            break;
        }
        o->sum[o->n_rows] = sum;
        snprintf(o->origin[o->n_rows++], sizeof o->origin[0], "%s", origin);
        stk_text_free(origin);
    }
    stk_batch_unref(batch);
    return rc;
}

static inline int read_batches(struct stk_dataset *data, const struct stk_options *options,
                               struct outcome *o)
{
    struct stk_iterator *it = NULL;
    struct stk_batch *batch;
    int rc = stk_iterator_new(data, options, &it, &o->err);
    while (!rc && !(rc = stk_iterator_next(it, &batch, &o->err)))
        rc = note_batch(batch, o);
    stk_iterator_free(it);
    return rc;
}

/* The texts a dataset can give. */
static inline int read_texts(struct stk_dataset *data, const struct stk_options *options,
                             struct outcome *o)
{
    char *text = stk_dataset_text(data, true), *plan = NULL;
    int rc = text ? STK_OK : no_memory(&o->err);
    for (int json = 0; json < 2 && !rc; json++) {
        rc = stk_dataset_plan(data, options, json, &plan, &o->err);
        stk_text_free(rc ? NULL : plan);
    }
    stk_text_free(text);
    return rc;
}

static inline void run(const struct settings *s, struct outcome *o)
{
    struct stk_options *options = stk_options_new();
    struct stk_dataset *data = NULL;
    memset(o, 0, sizeof *o);
    int rc = options ? STK_OK : no_memory(&o->err);
    if (!rc)
        rc = stk_options_set(options, "workers", s->workers, &o->err);
    if (!rc)
        rc = stk_options_set(options, "on_error", s->on_error, &o->err);
    if (!rc)
        rc = stk_options_set(options, "epochs", "2", &o->err);
    if (!rc)
        rc = stk_dataset_new(s->chain, NULL, &data, &o->err);
    if (!rc)
        rc = read_texts(data, options, o);
    if (!rc)
        rc = read_batches(data, options, o);
    stk_dataset_unref(data);
    stk_options_free(options);
    o->rc = rc;
}

/* ---- watching ---- */

static const struct settings *watched;
static long watched_n;
static int watched_mode;

static inline void report_hang(int signal_number)
{
    char text[512];
    (void)signal_number;
    int len =
        snprintf(text, sizeof text, "hang: %s, workers=%s on_error=%s, fault %ld, mode %d\n",
                 watched->chain, watched->workers, watched->on_error, watched_n, watched_mode);
    if (write(2, text, (size_t)len) < 0)
        _exit(4);
    _exit(3);
}

static inline void watch(const struct settings *s, long n, int mode)
{
    watched = s;
    watched_n = n;
    watched_mode = mode;
    alarm(HANG_SECONDS);
}

static inline int count_open_files(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static int n_files_at_start;

static inline void check_nothing_left(const struct settings *s, long n, long before)
{
    if (count_open_files() != n_files_at_start)
        fail_msg("%s, workers=%s, fault %ld: a file stays open", s->chain, s->workers, n);
    if (fault_live_blocks() != before)
        fail_msg("%s, workers=%s, fault %ld: %ld blocks are left (one is allocation %ld)", s->chain,
                 s->workers, n, fault_live_blocks() - before, fault_live_ordinal());
}

static inline bool is_same(const struct outcome *a, const struct outcome *b)
{
    bool same = a->rc == b->rc && a->n_rows == b->n_rows;
    for (int i = 0; same && i < a->n_rows; i++)
        same = a->sum[i] == b->sum[i] && !strcmp(a->origin[i], b->origin[i]);
    return same;
}

/* ---- allocations ---- */

static struct outcome expected, found;

/* Twice, so that whatever is made once per process is there. */
static inline long warm_up(const struct settings *s)
{
    run(s, &expected);
    long before = fault_live_blocks();
    run(s, &expected);
    if (expected.rc != STK_END || !expected.n_rows)
        fail_msg("%s: %s", s->chain, expected.err.text);
    check_nothing_left(s, 0, before);
    return before;
}

static inline void check_memory_outcome(const struct settings *s, long n)
{
    if (found.rc == STK_END && is_same(&found, &expected))
        return;
    for (int i = 0; found.rc == STK_END && i < found.n_rows; i++)
        if (found.sum[i] != expected.sum[i] || strcmp(found.origin[i], expected.origin[i]))
            print_error("row %d is %s (%llx) instead of %s (%llx)\n", i, found.origin[i],
                        (unsigned long long)found.sum[i], expected.origin[i],
                        (unsigned long long)expected.sum[i]);
    if (found.rc != STK_MEMORY || found.err.code != found.rc || !strstr(found.err.text, "memory"))
        fail_msg("%s, workers=%s, allocation %ld: gives %d with %d rows: %s", s->chain, s->workers,
                 n, found.rc, found.n_rows, found.err.text);
}

static inline void fail_allocations(const struct settings *s, bool for_ever)
{
    long before = warm_up(s);
    bool has_failed = true;
    long n = 1 + (IS_SANITIZED && for_ever),
         step = IS_SANITIZED ? 5 : 1; /* not the same ones once and for ever */
    for (; has_failed; n += step) {
        watch(s, n, for_ever);
        fault_arm(FAULT_ALLOCATION, n, for_ever);
        run(s, &found);
        has_failed = fault_disarm();
        check_memory_outcome(s, n);
        check_nothing_left(s, n, before);
    }
    alarm(0);
    assert_true(is_same(&found, &expected));
    assert_true(n > 10);
}

/* Each of the chains, without workers and with two, one failure and all from then on. */
static inline void fail_each_allocation(const char *const *chain, size_t n, const char *on_error)
{
    for (size_t i = 0; i < n; i++) {
        for (int mode = 0; mode < 4; mode++) {
            const struct settings s = { chain[i], mode & 1 ? "2" : "0", on_error };
            fail_allocations(&s, mode & 2);
        }
    }
}

/* ---- file accesses ---- */

static inline const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
