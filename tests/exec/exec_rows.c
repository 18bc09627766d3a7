/* SPDX-License-Identifier: Apache-2.0 */
/* exec_rows.c: what each call makes of the rows of its inputs, in arrays and loops, one pass at a
 * time. Of stoker it uses the mixing of words, Philox and the permutation, nothing else. */
#include "exec_rows.h"

#include "base/hash.h"
#include "base/rng.h"
#include "exec_ops.h"
#include "kernel/permute.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

void *model_take(struct model *m, size_t bytes)
{
    struct block *block = calloc(1, sizeof *block + bytes);
    if (!block)
        abort();
    block->next = m->out->blocks;
    m->out->blocks = block;
    return block->data;
}

const char *model_text(struct model *m, const char *format, ...)
{
    char text[STK_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t size = len < STK_ERROR_TEXT ? (size_t)len + 1 : STK_ERROR_TEXT;
    return memcpy(model_take(m, size), text, size);
}

static void push(struct model *m, struct rows *r, const struct row *row)
{
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        struct row *grown = model_take(m, sizeof *grown * (size_t)r->cap);
        if (r->n)
            memcpy(grown, r->row, sizeof *grown * (size_t)r->n);
        r->row = grown;
    }
    r->row[r->n++] = *row;
}

/* No rows yet, and the same end. */
static struct rows ended_as(const struct rows *in)
{
    return (struct rows){
        .is_all = in->is_all, .has_broken = in->has_broken, .code = in->code, .broken = in->broken
    };
}

static void set_number(struct model *m, struct cell *cell, int64_t number)
{
    int64_t *item = model_take(m, sizeof *item);
    *item = number;
    *cell = (struct cell){ .item = item, .n = 1 };
}

/* ---- sources ---- */

static void source_row(struct model *m, const struct call *c, uint64_t path, uint64_t i,
                       struct row *row)
{
    *row = (struct row){
        .key = stk__key_make(c->ordinal, path, i), .source = c, .index = i, .where = i
    };
    set_number(m, &row->cell[0], (int64_t)i);
    if (c->kind == CALL_NAMES)
        set_number(m, &row->cell[1], test_file_of((int64_t)i));
}

static struct rows source_pass(struct model *m, const struct call *c, uint64_t path)
{
    struct rows out = { .is_all = true };
    int64_t n = c->a;
    if (c->kind == CALL_STREAM && c->b >= 0 && c->b <= n) {
        n = c->b;
        out.has_broken = true;
        out.code = STK_IO;
        out.broken = model_text(m, "test_stream: breaks before row %lld", (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        struct row row;
        source_row(m, c, path, (uint64_t)i, &row);
        push(m, &out, &row);
    }
    return out;
}

/* ---- row ops ---- */

static void set_fault(struct model *m, struct row *row, int code, const char *op, const char *text)
{
    struct fault *fault = model_take(m, sizeof *fault);
    *fault = (struct fault){ code, op, text };
    row->fault = fault;
}

static void change_numbers(struct model *m, const struct call *c, struct row *row)
{
    struct cell *cell = &row->cell[0];
    int64_t *item = model_take(m, sizeof *item * (size_t)(cell->n + 1));
    uint64_t k = stk__hash_mix(stk__hash_mix((uint64_t)m->chain->seed, c->ordinal), (uint64_t)c->a);
    const uint32_t key[2] = { (uint32_t)k, (uint32_t)(k >> 32) };
    for (int i = 0; i < cell->n; i++) {
        uint32_t counter[4] = { (uint32_t)row->key.lo, (uint32_t)(row->key.lo >> 32),
                                (uint32_t)row->key.hi, (uint32_t)i },
                 words[4];
        stk__philox(counter, key, words);
        uint64_t x = (uint64_t)cell->item[i];
        item[i] = (int64_t)(c->kind == CALL_MAP ? x + (uint64_t)c->a : x ^ words[0]);
    }
    cell->item = item;
}

static void vary(struct model *m, const struct call *c, struct row *row)
{
    struct cell *cell = &row->cell[c->n_fields - 1];
    int64_t x = row->cell[0].item[0], *item = model_take(m, 4 * sizeof *item);
    *cell = (struct cell){ .item = item, .n = test_vary_len(x, c->a) };
    cell->dims[0] = cell->n;
    for (int i = 0; i < cell->n; i++)
        item[i] = (int64_t)((uint64_t)x + (uint64_t)i);
}

static void read_file(struct model *m, const struct call *c, struct row *row)
{
    int f = 0;
    while (c->field[f] != FIELD_BYTES)
        f++;
    if (test_file_kind(row->cell[f].item[0]) == TEST_FILE_MISSING)
        set_fault(m, row, STK_IO, "read",
                  model_text(m, "cannot open the file: %s", strerror(ENOENT)));
}

static void parse(struct model *m, const struct call *c, struct row *row)
{
    const struct call *in = c->input[0];
    int f = 0;
    while (in->field[f] != FIELD_BYTES)
        f++;
    int64_t file = row->cell[f].item[0];
    if (test_file_kind(file) == TEST_FILE_BAD) {
        set_fault(m, row, STK_DATA, "test_parse", "'bad' is no number");
        return;
    }
    set_number(m, &row->cell[0], test_parsed(row->cell[0].item[0], file));
    size_t behind = (size_t)(in->n_fields - 1 - f);
    memmove(row->cell + f, row->cell + f + 1, sizeof *row->cell * behind);
}

/* False: the row is dropped. */
static bool change_row(struct model *m, const struct call *c, struct row *row)
{
    int64_t x = row->cell[0].n ? row->cell[0].item[0] : 0;
    switch (c->kind) {
    case CALL_MAP:
    case CALL_NOISE:
        change_numbers(m, c, row);
        break;
    case CALL_FAIL:
        if (test_is_failing(x, c->a, c->b))
            set_fault(m, row, STK_DATA, "test_fail", model_text(m, "x is %lld", (long long)x));
        break;
    case CALL_VARY:
        vary(m, c, row);
        break;
    case CALL_NAME:
        set_number(m, &row->cell[c->n_fields - 1], test_file_of(x));
        break;
    case CALL_READ:
        read_file(m, c, row);
        break;
    case CALL_PARSE:
        parse(m, c, row);
        break;
    case CALL_FILTER:
        return x % c->a != 0;
    default:
        break;
    }
    return true;
}

static struct rows row_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    struct rows out = { 0 };
    for (int64_t wanted = limit; !out.is_all && out.n < limit; wanted *= 2) {
        struct rows in = model_pass(m, c->input[0], path, wanted);
        out = ended_as(&in);
        for (int64_t i = 0; i < in.n; i++) {
            struct row row = in.row[i];
            if (row.fault || change_row(m, c, &row))
                push(m, &out, &row);
        }
        if (wanted == 0)
            break;
    }
    return out;
}

/* ---- order ---- */

static uint64_t shuffle_key(const struct model *m, const struct call *c, int64_t user_seed,
                            uint64_t path)
{
    uint64_t seed =
        stk__hash_mix(stk__hash_mix((uint64_t)m->chain->seed, c->ordinal), (uint64_t)user_seed);
    return stk__hash_mix(seed, c->flag ? path : 0);
}

static uint64_t permuted(uint64_t n, uint64_t key, uint64_t position)
{
    stk__permute_scalar(&position, 1, n, key);
    return position;
}

static struct rows shuffle_pass(struct model *m, const struct call *c, const struct rows *in,
                                uint64_t path)
{
    struct rows out = { .is_all = true };
    uint64_t n = (uint64_t)in->n, key = shuffle_key(m, c, c->a, path);
    for (uint64_t i = 0; i < n; i++)
        push(m, &out, &in->row[permuted(n, key, i)]);
    return out;
}

static struct rows buffer_pass(struct model *m, const struct call *c, const struct rows *in,
                               uint64_t path)
{
    struct rows out = ended_as(in);
    struct row *held = model_take(m, sizeof *held * (size_t)c->a);
    uint64_t key = shuffle_key(m, c, c->b, path), draws = 0, n = 0;
    for (int64_t i = 0; i < in->n; i++) {
        if (n < (uint64_t)c->a) {
            held[n++] = in->row[i];
            continue;
        }
        uint64_t pick = stk__below(stk__hash_mix(key, draws++), n);
        push(m, &out, &held[pick]);
        held[pick] = in->row[i];
    }
    while (in->is_all && n) {
        uint64_t pick = stk__below(stk__hash_mix(key, draws++), n);
        push(m, &out, &held[pick]);
        held[pick] = held[--n];
    }
    return out;
}

static struct rows split_pass(struct model *m, const struct call *c, const struct rows *in)
{
    static const double fraction[] = { 0.5, 0.3, 0.2 };
    struct rows out = { .is_all = true };
    double sum = 0;
    for (int64_t p = 0; p < c->a; p++)
        sum += fraction[p];
    uint64_t n = (uint64_t)in->n, key = stk__hash_mix(0x73706c6974, (uint64_t)c->b);
    uint64_t first = (uint64_t)floor((double)n * sum + 0.5);
    uint64_t end = (uint64_t)floor((double)n * (sum + fraction[c->a]) + 0.5);
    for (uint64_t i = first; i < end && i < n; i++)
        push(m, &out, &in->row[permuted(n, key, i)]);
    return out;
}

static struct rows take_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    int64_t wanted = c->a < 0 || c->a > limit ? limit : c->a;
    struct rows r = model_pass(m, c->input[0], path, wanted);
    r.n = c->a >= 0 && r.n > c->a ? c->a : r.n;
    if (r.n == c->a) { /* whatever lies behind is nobody's */
        r.is_all = true;
        r.has_broken = false;
    }
    return r;
}

static struct rows skip_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    if (c->a < 0)
        return (struct rows){ .is_all = true };
    struct rows r = model_pass(m, c->input[0], path, limit + c->a);
    int64_t n = r.n < c->a ? r.n : c->a;
    r.row = n ? r.row + n : r.row;
    r.n -= n;
    r.cap = r.n;
    return r;
}

static struct rows shard_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    int64_t n = c->a ? c->a : m->chain->world, index = c->a ? c->b : m->chain->rank;
    struct rows in = model_pass(m, c->input[0], path, limit * n);
    struct rows out = ended_as(&in);
    for (int64_t i = index; i < in.n; i += n)
        push(m, &out, &in.row[i]);
    return out;
}

/* Ends after `count` passes; an endless one also after a pass without rows. */
static struct rows repeat_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    struct rows out = { 0 };
    for (int64_t r = 0;; r++) {
        out.is_all = r == c->a || out.has_broken;
        if (out.is_all || out.n >= limit)
            return out;
        struct rows in =
            model_pass(m, c->input[0], stk__hash_mix(path, (uint64_t)r), limit - out.n);
        for (int64_t i = 0; i < in.n; i++)
            push(m, &out, &in.row[i]);
        if (!in.is_all)
            return out;
        out.has_broken = in.has_broken;
        out.code = in.code;
        out.broken = in.broken;
        if (c->a < 0 && in.n == 0) {
            out.is_all = true;
            return out;
        }
    }
}

static struct rows concatenate_pass(struct model *m, const struct call *c, uint64_t path,
                                    int64_t limit)
{
    struct rows out = { .is_all = true };
    for (int k = 0; k < 2 && out.is_all && !out.has_broken; k++) {
        struct rows in = model_pass(m, c->input[k], path, limit - out.n);
        for (int64_t i = 0; i < in.n; i++)
            push(m, &out, &in.row[i]);
        out.is_all = in.is_all;
        out.has_broken = in.has_broken;
        out.code = in.code;
        out.broken = in.broken;
        if (out.n >= limit && k == 0 && out.is_all && !out.has_broken) {
            out.is_all = false; /* the second was not looked at */
            break;
        }
    }
    return out;
}

/* The first input that has no more rows ends the pass, and says how. */
static struct rows zip_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    struct rows a = model_pass(m, c->input[0], path, limit); /* the second alone may be endless */
    struct rows b = model_pass(m, c->input[1], path, a.is_all && a.n < limit ? a.n : limit);
    const struct rows *ends = a.n <= b.n ? &a : &b;
    struct rows out = ended_as(ends);
    for (int64_t i = 0; i < a.n && i < b.n; i++) {
        struct row row = a.row[i];
        row.cell[c->n_fields - 1] = b.row[i].cell[0];
        row.key = stk__key_join(row.key, b.row[i].key);
        if (!row.fault)
            row.fault = b.row[i].fault;
        push(m, &out, &row);
    }
    return out;
}

/* ---- batches that are rows ---- */

bool same_dims(const struct cell *a, const struct cell *b)
{
    return !memcmp(a->dims, b->dims, sizeof a->dims);
}

static void emit_batch(struct model *m, const struct call *c, const struct row *held, int n,
                       struct rows *out)
{
    struct row row = held[0];
    row.key = stk__key_make(held[0].key.hi, held[0].key.lo, c->ordinal);
    row.last_source = held[n - 1].source;
    row.last_index = held[n - 1].index;
    for (int f = 0; f < c->n_fields && !row.fault; f++) {
        struct cell *cell = &row.cell[f];
        int64_t *item = model_take(m, sizeof *item * (size_t)(n * held[0].cell[f].n + 1));
        for (int i = 0; i < n && !row.fault; i++) {
            if (!same_dims(&held[i].cell[f], &held[0].cell[f]))
                set_fault(m, &row, STK_DATA, "batch",
                          model_text(m, "rows of field '%s' differ in shape", f ? "y" : "x"));
            else
                memcpy(item + (size_t)i * (size_t)held[0].cell[f].n, held[i].cell[f].item,
                       sizeof *item * (size_t)held[0].cell[f].n);
        }
        *cell = (struct cell){ .item = item,
                               .n = n * held[0].cell[f].n,
                               .dims = { n, held[0].cell[f].dims[0] } };
    }
    push(m, out, &row);
}

/* The last batch judges rows: one that ends the run breaks the stream. An earlier one lets a bad
 * row pass in front of the batch it would have been in. What is left at a break is not handed on.
 */
static struct rows batch_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    struct rows in = model_pass(m, c->input[0], path, limit * c->a);
    struct rows out = ended_as(&in);
    struct row *held = model_take(m, sizeof *held * (size_t)c->a);
    int n = 0;
    if (c == m->judge)
        model_begin_pass(&m->out->inner);
    for (int64_t i = 0; i < in.n; i++) {
        const struct row *row = &in.row[i];
        const char *text;
        if (c == m->judge && !model_judge(m, &m->out->inner, row, &text)) {
            out.is_all = out.has_broken = true;
            out.code = row->fault->code;
            out.broken = text;
            return out;
        }
        if (row->fault && c != m->judge)
            push(m, &out, row);
        if (row->fault)
            continue;
        held[n++] = *row;
        if (n == c->a) {
            emit_batch(m, c, held, n, &out);
            n = 0;
        }
    }
    if (n && in.is_all && !in.has_broken && !c->flag)
        emit_batch(m, c, held, n, &out);
    const char *text = NULL;
    if (c == m->judge && in.is_all && !in.has_broken)
        text = model_end_pass(m, &m->out->inner);
    if (text) {
        out.has_broken = true;
        out.code = STK_DATA;
        out.broken = text;
    }
    return out;
}

static struct rows any_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    struct rows in;
    switch (c->kind) {
    case CALL_RANGE:
    case CALL_NAMES:
    case CALL_STREAM:
        return source_pass(m, c, path);
    case CALL_SHUFFLE:
        in = model_pass(m, c->input[0], path, INT32_MAX);
        return shuffle_pass(m, c, &in, path);
    case CALL_SPLIT:
        in = model_pass(m, c->input[0], path, INT32_MAX);
        return split_pass(m, c, &in);
    case CALL_BUFFER:
        in = model_pass(m, c->input[0], path, limit + c->a);
        return buffer_pass(m, c, &in, path);
    case CALL_TAKE:
        return take_pass(m, c, path, limit);
    case CALL_SKIP:
        return skip_pass(m, c, path, limit);
    case CALL_SHARD:
        return shard_pass(m, c, path, limit);
    case CALL_REPEAT:
        return repeat_pass(m, c, path, limit);
    case CALL_CONCATENATE:
        return concatenate_pass(m, c, path, limit);
    case CALL_ZIP:
        return zip_pass(m, c, path, limit);
    case CALL_BATCH:
        return batch_pass(m, c, path, limit);
    default:
        return row_pass(m, c, path, limit);
    }
}

struct rows model_pass(struct model *m, const struct call *c, uint64_t path, int64_t limit)
{
    struct rows r = any_pass(m, c, path, limit);
    if (c->class != STK__INDEXED)
        return r;
    struct rows out = { .is_all = r.is_all };
    for (int64_t i = 0; i < r.n; i++) {
        struct row row = r.row[i];
        row.where = (uint64_t)i; /* the outermost indexed call has the last word */
        push(m, &out, &row);
    }
    return out;
}
