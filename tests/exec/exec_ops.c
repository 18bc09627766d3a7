/* SPDX-License-Identifier: Apache-2.0 */
/* exec_ops.c: see exec_ops.h. */
#define _GNU_SOURCE
#include "exec_ops.h"
#include "temporary.h"

#include "base/hash.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[TEMPORARY_PATH];
static atomic_int n_threads_open; /* pairs with itself: relaxed, read when all threads are gone */

/* ---- files ---- */

enum test_file test_file_kind(int64_t file)
{
    uint64_t word = stk__hash_mix((uint64_t)file, 99) % 12;
    return word == 0 ? TEST_FILE_MISSING : word == 1 ? TEST_FILE_BAD : TEST_FILE_GOOD;
}

int64_t test_file_of(int64_t x)
{
    return (int64_t)((uint64_t)x % TEST_N_FILES);
}

void test_file_path(int64_t file, char *path, size_t size)
{
    snprintf(path, size, "%s/%d", folder, (int)file);
}

int test_file_content(int64_t file, char *content, size_t size)
{
    return snprintf(content, size, test_file_kind(file) == TEST_FILE_BAD ? "bad" : "%d", (int)file);
}

static int write_files(void)
{
    if (!make_temporary_directory(folder, "stoker_exec"))
        return perror("mkdtemp"), 1;
    for (int file = 0; file < TEST_N_FILES; file++) {
        char path[300], content[32];
        if (test_file_kind(file) == TEST_FILE_MISSING)
            continue;
        test_file_path(file, path, sizeof path);
        int len = test_file_content(file, content, sizeof content);
        FILE *f = fopen(path, "we");
        if (!f || fwrite(content, 1, (size_t)len, f) != (size_t)len || fclose(f))
            return perror(path), 1;
    }
    return 0;
}

static void remove_files(void)
{
    for (int file = 0; file < TEST_N_FILES; file++) {
        char path[300];
        test_file_path(file, path, sizeof path);
        unlink(path);
    }
    rmdir(folder);
}

/* ---- what several ops need ---- */

/* The numbers of field f of one row: a scalar, a fixed vector or a shaped one. */
static int64_t *numbers(const struct stk_type *type, int f, const struct stk_column *column,
                        int row, int *n)
{
    if (type->field[f].kind == STK_FIXED) {
        *n = (int)(stk_field_bytes(&type->field[f]) / sizeof(int64_t));
        return (int64_t *)(void *)(column[f].data + (size_t)row * column[f].stride);
    }
    *n = column[f].dims[row];
    return (int64_t *)(void *)column[f].span[row].data;
}

/* Room for n numbers in a field that an op writes. */
static int64_t *room(struct stk_rows *rows, int f, int row, int n)
{
    struct stk_column *out = &rows->out[f];
    if (rows->out_type->field[f].kind == STK_FIXED)
        return (int64_t *)(void *)(out->data + (size_t)row * out->stride);
    size_t bytes = (size_t)n * sizeof(int64_t);
    out->span[row] = (struct stk_span){ .data = stk_rows_alloc(rows, bytes), .bytes = bytes };
    out->dims[row] = n;
    return (int64_t *)(void *)out->span[row].data;
}

static void add_field(struct stk_infer *inf, const struct stk_field *field)
{
    inf->from[inf->out->n_fields] = -1;
    inf->out->field[inf->out->n_fields++] = *field;
}

static const struct stk_field field_x = { .name = "x", .kind = STK_FIXED, .dtype = STK_I64 };
static const struct stk_field field_path = {
    .name = "path", .kind = STK_BYTES, .dtype = STK_U8, .flags = STK_FIELD_PATH
};
static const struct stk_field field_y = {
    .name = "y", .kind = STK_SHAPED, .dtype = STK_I64, .rank = 1, .shape = { -1 }
};

static int infer_pass(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    return STK_OK;
}

/* ---- test_stream ---- */

struct stream {
    int64_t count, break_at;
};

struct streaming {
    const struct stream *params;
    int64_t at;
};

static const struct stk_param stream_params[] = {
    STK_INT_ROW(stream, count, 0, 0, INT32_MAX, STK_REQUIRED, "rows"),
    STK_INT_ROW(stream, break_at, -1, -1, INT32_MAX, 0, "breaks before this row"),
    STK_ROWS_END,
};

static int stream_infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 0;
    add_field(inf, &field_x);
    return STK_OK;
}

static int stream_begin(const struct stk__source_start *b, void **run, struct stk_error *err)
{
    struct streaming *s = calloc(1, sizeof *s);
    if (!s)
        return stk_fail(err, STK_MEMORY, "out of memory");
    s->params = b->params;
    *run = s;
    return STK_OK;
}

static int stream_rewind(void *run, struct stk_error *err)
{
    (void)err;
    ((struct streaming *)run)->at = 0;
    return STK_OK;
}

/* Sometimes stops before `out` is full, as readers do at the end of a block. */
static int stream_next(void *run, struct stk__chunk *out, struct stk_error *err)
{
    struct streaming *s = run;
    int before = out->n;
    while (out->n < out->cap && s->at < s->params->count && s->at != s->params->break_at) {
        *(int64_t *)(void *)(out->column[0].data + (size_t)out->n++ * out->column[0].stride) =
            s->at++;
        if (s->at % 17 == 0)
            return STK_OK;
    }
    if (out->n > before)
        return STK_OK;
    if (s->at == s->params->break_at)
        return stk_fail(err, STK_IO, "breaks before row %lld", (long long)s->at);
    return STK_END;
}

static void stream_describe(const void *state, uint64_t index, char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "stream row %llu", (unsigned long long)index);
}

static const struct stk__op test_stream = {
    .decl = { "test_stream", 1, "", "", stream_params, sizeof(struct stream) },
    .flags = STK__OP_ROOT,
    .infer = stream_infer,
    .source = { .begin = stream_begin,
                .rewind = stream_rewind,
                .next = stream_next,
                .end = free,
                .describe = stream_describe },
};

/* ---- test_names ---- */

struct names {
    int64_t count;
};

struct name_table {
    int64_t count;
    char path[TEST_N_FILES][300];
};

static const struct stk_param names_params[] = {
    STK_INT_ROW(names, count, 0, 0, INT32_MAX, STK_REQUIRED, "rows"),
    STK_ROWS_END,
};

static int names_open(const void *params, struct stk_arena *arena, void **state,
                      struct stk_error *err)
{
    struct name_table *table = stk_arena_alloc(arena, sizeof *table);
    if (!table)
        return stk_fail(err, STK_MEMORY, "out of memory");
    table->count = ((const struct names *)params)->count;
    for (int file = 0; file < TEST_N_FILES; file++)
        test_file_path(file, table->path[file], sizeof table->path[file]);
    *state = table;
    return STK_OK;
}

static int names_infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    inf->out->n_fields = 0;
    add_field(inf, &field_x);
    add_field(inf, &field_path);
    return STK_OK;
}

static int64_t names_count(const void *state)
{
    return ((const struct name_table *)state)->count;
}

static int names_rows(struct stk_rows *rows, const uint64_t *index)
{
    const struct name_table *table = rows->state;
    for (int i = 0; i < rows->n; i++) {
        char *path = (char *)(uintptr_t)table->path[test_file_of((int64_t)index[i])];
        *(uint64_t *)(void *)(rows->out[0].data + (size_t)i * rows->out[0].stride) = index[i];
        rows->out[1].span[i] = (struct stk_span){ .data = (uint8_t *)path, .bytes = strlen(path) };
    }
    return STK_OK;
}

static void names_describe(const void *state, uint64_t index, char *text, size_t size)
{
    (void)state;
    snprintf(text, size, "name %llu", (unsigned long long)index);
}

static const struct stk__op test_names = {
    .decl = { "test_names", 1, "", "", names_params, sizeof(struct names) },
    .flags = STK__OP_ROOT,
    .open = names_open,
    .infer = names_infer,
    .source = { .count = names_count, .rows = names_rows, .describe = names_describe },
};

/* ---- test_name and test_parse: a path from x, a number from bytes ---- */

struct nothing {
    char none;
};

static const struct stk_param no_params[] = { STK_ROWS_END };

static int name_infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    add_field(inf, &field_path);
    return STK_OK;
}

static int name_run(struct stk_rows *rows)
{
    int f = rows->out_type->n_fields - 1;
    for (int i = 0; i < rows->n; i++) {
        int n;
        if (rows->mask[i] != STK_LIVE)
            continue;
        char *path = stk_rows_alloc(rows, 300);
        if (!path)
            return STK_MEMORY;
        test_file_path(test_file_of(*numbers(rows->in_type, 0, rows->in, i, &n)), path, 300);
        rows->out[f].span[i] = (struct stk_span){ .data = (uint8_t *)path, .bytes = strlen(path) };
    }
    return STK_OK;
}

static const struct stk__op test_name = {
    .decl = { "test_name", 1, "", "", no_params, sizeof(struct nothing) },
    .infer = name_infer,
    .row = { .run = name_run },
};

static int parse_infer(struct stk_infer *inf, struct stk_error *err)
{
    int bytes = stk_type_find(inf->in[0], "bytes"), path = stk_type_find(inf->in[0], "path");
    if (bytes < 0 && path < 0)
        return stk_fail(err, STK_TYPE, "needs bytes");
    if (bytes < 0)
        return stk_infer_read(inf, path, err);
    inf->out->n_fields = 0;
    for (int f = 0; f < inf->in[0]->n_fields; f++) {
        if (f == bytes)
            continue;
        inf->from[inf->out->n_fields] = f ? f : -1;
        inf->out->field[inf->out->n_fields++] = inf->in[0]->field[f];
    }
    return STK_OK;
}

static int parse_run(struct stk_rows *rows)
{
    int f = stk_type_find(rows->in_type, "bytes"), n;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        char text[32], *end;
        const struct stk_span *span = &rows->in[f].span[i];
        snprintf(text, sizeof text, "%.*s", (int)span->bytes, (const char *)span->data);
        long number = strtol(text, &end, 10);
        if (*end || end == text) {
            stk_rows_fail(rows, i, STK_DATA, "'%s' is no number", text);
            continue;
        }
        int64_t x = *numbers(rows->in_type, 0, rows->in, i, &n);
        *room(rows, 0, i, 1) = test_parsed(x, number);
    }
    return STK_OK;
}

static const struct stk__op test_parse = {
    .decl = { "test_parse", 1, "", "", no_params, sizeof(struct nothing) },
    .infer = parse_infer,
    .row = { .run = parse_run },
};

/* ---- test_fail ---- */

struct fail {
    int64_t rate, salt;
};

static const struct stk_param fail_params[] = {
    STK_INT_ROW(fail, rate, 1, 1, INT32_MAX, STK_REQUIRED, "one row in so many"),
    STK_INT_ROW(fail, salt, 0, 0, INT32_MAX, 0, "which ones"),
    STK_ROWS_END,
};

bool test_is_failing(int64_t x, int64_t rate, int64_t salt)
{
    return stk__hash_mix((uint64_t)x, (uint64_t)salt) % (uint64_t)rate == 0;
}

static int fail_run(struct stk_rows *rows)
{
    const struct fail *p = rows->params;
    for (int i = 0, n; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        int64_t x = *numbers(rows->in_type, 0, rows->in, i, &n);
        if (test_is_failing(x, p->rate, p->salt))
            stk_rows_fail(rows, i, STK_DATA, "x is %lld", (long long)x);
    }
    return STK_OK;
}

static const struct stk__op test_fail = {
    .decl = { "test_fail", 1, "", "", fail_params, sizeof(struct fail) },
    .infer = infer_pass,
    .row = { .run = fail_run },
};

/* ---- test_spin: has a state per thread, to see that each is closed ---- */

struct spin {
    int64_t rounds;
};

static const struct stk_param spin_params[] = {
    STK_INT_ROW(spin, rounds, 0, 0, INT32_MAX, STK_REQUIRED, "work per row"),
    STK_ROWS_END,
};

static int spin_thread_open(const void *params, const void *state, void **thread,
                            struct stk_error *err)
{
    (void)params, (void)state;
    if (!(*thread = calloc(1, sizeof(uint64_t))))
        return stk_fail(err, STK_MEMORY, "out of memory");
    atomic_fetch_add(&n_threads_open, 1);
    return STK_OK;
}

static void spin_thread_close(void *thread)
{
    atomic_fetch_sub(&n_threads_open, 1);
    free(thread);
}

static int spin_run(struct stk_rows *rows)
{
    const struct spin *p = rows->params;
    uint64_t *word = rows->thread;
    for (int i = 0; i < rows->n; i++)
        for (int64_t k = 0; k < p->rounds; k++)
            *word = stk__hash_mix(*word, (uint64_t)k);
    return STK_OK;
}

static const struct stk__op test_spin = {
    .decl = { "test_spin", 1, "", "", spin_params, sizeof(struct spin) },
    .infer = infer_pass,
    .row = { .thread_open = spin_thread_open, .thread_close = spin_thread_close, .run = spin_run },
};

/* ---- test_noise ---- */

struct noise {
    int64_t seed;
};

static const struct stk_param noise_params[] = {
    STK_INT_ROW(noise, seed, 0, 0, INT32_MAX, 0, "another sequence"),
    STK_ROWS_END,
};

static int noise_infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    inf->from[0] = -1;
    return STK_OK;
}

static int noise_run(struct stk_rows *rows)
{
    const struct noise *p = rows->params;
    for (int i = 0, n; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        const int64_t *in = numbers(rows->in_type, 0, rows->in, i, &n);
        int64_t *out = room(rows, 0, i, n);
        for (int k = 0; k < n; k++) {
            uint32_t words[4];
            stk_rows_random(rows, i, (uint64_t)p->seed, (uint32_t)k, words);
            out[k] = in[k] ^ (int64_t)words[0];
        }
    }
    return STK_OK;
}

static const struct stk__op test_noise = {
    .decl = { "test_noise", 1, "", "", noise_params, sizeof(struct noise) },
    .flags = STK_OP_RANDOM,
    .infer = noise_infer,
    .row = { .run = noise_run },
};

/* ---- test_vary ---- */

struct vary {
    int64_t salt;
};

static const struct stk_param vary_params[] = {
    STK_INT_ROW(vary, salt, 0, 0, INT32_MAX, 0, "other lengths"),
    STK_ROWS_END,
};

int test_vary_len(int64_t x, int64_t salt)
{
    return (int)(1 + stk__hash_mix((uint64_t)x, (uint64_t)salt) % 4);
}

static int vary_infer(struct stk_infer *inf, struct stk_error *err)
{
    (void)err;
    stk_infer_pass(inf);
    add_field(inf, &field_y);
    return STK_OK;
}

static int vary_run(struct stk_rows *rows)
{
    const struct vary *p = rows->params;
    for (int i = 0, n; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        int64_t x = *numbers(rows->in_type, 0, rows->in, i, &n);
        int len = test_vary_len(x, p->salt);
        int64_t *y = room(rows, rows->out_type->n_fields - 1, i, len);
        if (!y)
            return STK_MEMORY;
        for (int k = 0; k < len; k++)
            y[k] = (int64_t)((uint64_t)x + (uint64_t)k);
    }
    return STK_OK;
}

static const struct stk__op test_vary = {
    .decl = { "test_vary", 1, "", "", vary_params, sizeof(struct vary) },
    .infer = vary_infer,
    .row = { .run = vary_run },
};

/* ---- birth and death ---- */

int test_ops_begin(void)
{
    static const struct stk__op *const ops[] = { &test_stream, &test_names, &test_name,
                                                 &test_parse,  &test_fail,  &test_spin,
                                                 &test_noise,  &test_vary };
    struct stk_error err;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (stk__ops_add(&ops[i], 1, &err))
            return fprintf(stderr, "%s\n", err.text), 1;
    return write_files();
}

int test_ops_end(void)
{
    remove_files();
    return atomic_load(&n_threads_open);
}
