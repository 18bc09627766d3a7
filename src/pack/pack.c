/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c: stk_pack: runs the passes of a plan and hands every element to the writer. */
#define _GNU_SOURCE
#include "pack/pack.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 50 };

static const uint64_t progress_interval_ns = 100000000;

/* One call of stk_pack at work. */
struct packing {
    struct stk__pack *pack;
    struct stk__pack_writer *writer;
    struct stk_pack_progress progress;
    uint64_t next_progress; /* nanoseconds */
    uint64_t n_seen;        /* elements of all passes so far, where they are dealt out in turn */
    int64_t current;        /* the shard that is being filled, where there are ranges */
    uint64_t errors;        /* of the passes that are over */
};

static int say_stopped(struct stk_error *err)
{
    return stk_fail(err, STK_CANCELLED, "packing was stopped; the same call goes on with it");
}

static int tell(struct packing *p, struct stk_error *err)
{
    const struct stk_pack_options *wanted = p->pack->wanted;
    uint64_t now = stk__clock_ns();
    if (!wanted->progress || now < p->next_progress)
        return STK_OK;
    p->next_progress = now + progress_interval_ns;
    stk__pack_writer_count(p->writer, &p->progress);
    if (!wanted->progress(wanted->context, &p->progress))
        return STK_OK;
    return say_stopped(err);
}

/* ---- rows ---- */

static size_t row_bytes(const struct stk_view *view, const int64_t *shape, int rank)
{
    size_t bytes = stk_dtype_bytes(view->dtype);
    for (int d = 0; d < rank; d++)
        bytes *= (size_t)shape[d];
    return bytes;
}

/* A list of texts: one of a batch, or of the only element there is. */
static struct stk__record_value texts_of(const struct stk_view *view, int64_t row)
{
    struct stk__record_value value = { .data = view->data };
    int64_t first = view->row_splits ? view->row_splits[row] : 0;
    int64_t end = view->row_splits ? view->row_splits[row + 1] : view->n_splits - 1;
    value.splits = view->splits + first;
    value.shape[0] = end - first;
    value.bytes = (size_t)(view->splits[end] - view->splits[first]);
    return value;
}

/* Row `row` of a field of a batch, or the field of the only element there is. */
static struct stk__record_value row_of(const struct stk_view *view, int64_t row, bool is_batched)
{
    struct stk__record_value value = { 0 };
    const uint8_t *data = view->data;
    int lead = is_batched ? 1 : 0;
    if (view->row_splits || (view->kind == STK_BYTES && view->rank && !is_batched))
        return texts_of(view, row);
    if (view->splits) { /* bytes or lists; of one element, the only one */
        int64_t first = view->splits[row], n = view->splits[row + 1] - first;
        int64_t unit = view->kind == STK_BYTES ? 1 : view->strides[0];
        memcpy(value.shape + 1, view->shape + 1, (STK_MAX_RANK - 1) * sizeof *value.shape);
        value.shape[0] = n;
        value.data = data + first * unit;
        value.bytes = (size_t)(n * unit);
        return value;
    }
    memcpy(value.shape, view->shape + lead, (size_t)(view->rank - lead) * sizeof *value.shape);
    value.data = is_batched ? data + row * view->strides[0] : data;
    value.bytes = row_bytes(view, value.shape, view->rank - lead);
    return value;
}

static int check_rows(const struct stk_view *view, int64_t n_rows, struct stk_error *err)
{
    int64_t n = view->row_splits ? view->n_row_splits - 1
                : view->splits   ? view->n_splits - 1
                                 : view->shape[0];
    if (n == n_rows)
        return STK_OK;
    return stk_fail(err, STK_DATA,
                    "field '%s' has %lld rows in a batch of %lld, so batches cannot be stored "
                    "element by element",
                    view->name, (long long)n, (long long)n_rows);
}

static int write_element(struct packing *p, const struct stk__record_value *value, uint64_t number,
                         struct stk_error *err)
{
    struct stk__pack *pack = p->pack;
    int rc = STK_OK;
    if (!pack->is_ranged)
        p->current = (int64_t)(number % (uint64_t)pack->n_shards);
    while (!rc && pack->is_ranged && number >= pack->shard[p->current].end)
        rc = stk__pack_writer_end(p->writer, p->current++, err);
    if (rc || pack->shard[p->current].is_done)
        return rc;
    p->progress.elements++;
    return stk__pack_writer_add(p->writer, p->current, value, number, err);
}

/* A batch or an element; `number` is that of its first one. */
static int write_batch(struct packing *p, const struct stk_batch *batch, uint64_t number,
                       int64_t variant, struct stk_error *err)
{
    const struct stk__pack *pack = p->pack;
    struct stk_view view[STK_MAX_FIELDS];
    struct stk__record_value value[STK_MAX_FIELDS];
    int n_fields = stk_batch_n_fields(batch), rc = STK_OK;
    int64_t n_rows = pack->is_batched ? stk_batch_n_rows(batch) : 1;
    for (int f = 0; f < n_fields && !rc; f++) {
        stk_batch_view_at(batch, f, &view[f]);
        rc = pack->is_batched ? check_rows(&view[f], n_rows, err) : STK_OK;
    }
    for (int64_t row = 0; row < n_rows && !rc; row++) {
        for (int f = 0; f < n_fields; f++)
            value[f] = row_of(&view[f], row, pack->is_batched);
        if (pack->has_variant)
            value[n_fields] =
                (struct stk__record_value){ .data = &variant, .bytes = sizeof variant };
        rc = write_element(p, value, number + (uint64_t)row, err);
    }
    p->n_seen += (uint64_t)n_rows;
    if (rc && rc != STK_CANCELLED && rc != STK_IO && n_rows == 1) {
        char *origin = stk_batch_origin(batch, 0);
        stk__error_prefix(err, "%s: ", origin ? origin : "?");
        stk_text_free(origin);
    }
    return rc;
}

/* ---- runs ---- */

/* Elements that an iterator delivers from number `first` on. */
static int drain(struct packing *p, struct stk_iterator *it, uint64_t first, int64_t variant,
                 struct stk_error *err)
{
    int rc = STK_OK;
    while (rc == STK_OK || rc == STK_AGAIN) {
        struct stk_batch *batch = NULL;
        struct stk_position position;
        struct stk_stats stats;
        rc = stk_iterator_poll(it, PATIENCE_MS, &batch, err);
        if (rc == STK_CANCELLED)
            return say_stopped(err);
        if (!rc) {
            stk_batch_position(batch, &position);
            uint64_t number = p->pack->is_ranged ? first + position.rows - 1 : p->n_seen;
            rc = write_batch(p, batch, number, variant, err);
            stk_batch_unref(batch);
        }
        if ((rc == STK_OK || rc == STK_AGAIN) && stk__clock_ns() >= p->next_progress) {
            stk_iterator_stats(it, &stats);
            p->progress.errors = p->errors + stats.errors;
            int told = tell(p, err);
            rc = told ? told : rc;
        }
    }
    return rc == STK_END ? STK_OK : rc;
}

/* `n` elements of a pass from its element `from` on. */
static int run_part(struct packing *p, const struct stk__pack_pass *pass, uint64_t from, uint64_t n,
                    struct stk_error *err)
{
    struct stk__options options = p->pack->options;
    struct stk_dataset *part = stk_dataset_ref(pass->dataset);
    struct stk_iterator *it = NULL;
    struct stk_stats stats = { 0 };
    char calls[64];
    int rc = STK_OK;
    options.epoch = pass->epoch;
    options.epochs = 1;
    if (pass->count >= 0 && n < (uint64_t)pass->count) {
        snprintf(calls, sizeof calls, "skip(%llu).take(%llu)", (unsigned long long)from,
                 (unsigned long long)n);
        stk_dataset_unref(part);
        part = NULL;
        rc = stk_dataset_then(pass->dataset, calls, NULL, &part, err);
    }
    if (!rc)
        rc = stk__iterator_start(part, &options, &it, err);
    if (!rc) {
        rc = drain(p, it, pass->first + from, pass->variant, err);
        stk_iterator_stats(it, &stats);
    }
    p->errors += stats.errors;
    p->progress.errors = p->errors;
    stk_iterator_free(it);
    if (part)
        stk_dataset_unref(part);
    return rc;
}

/* The passes' elements in [first, end), which belong to shards that are missing. */
static int run_range(struct packing *p, uint64_t first, uint64_t end, struct stk_error *err)
{
    int rc = STK_OK;
    for (int i = 0; i < p->pack->n_passes && !rc; i++) {
        const struct stk__pack_pass *pass = &p->pack->pass[i];
        uint64_t pass_end = pass->first + (uint64_t)pass->count;
        uint64_t from = first > pass->first ? first : pass->first;
        uint64_t to = end < pass_end ? end : pass_end;
        if (from < to)
            rc = run_part(p, pass, from - pass->first, to - from, err);
    }
    return rc;
}

static int run_ranges(struct packing *p, struct stk_error *err)
{
    struct stk__pack *pack = p->pack;
    int rc = STK_OK;
    for (int64_t s = 0, end; s < pack->n_shards && !rc; s = end) {
        end = s + 1;
        if (pack->shard[s].is_done)
            continue;
        while (end < pack->n_shards && !pack->shard[end].is_done)
            end++;
        p->current = s;
        rc = run_range(p, pack->shard[s].first, pack->shard[end - 1].end, err);
        while (!rc && p->current < end)
            rc = stk__pack_writer_end(p->writer, p->current++, err);
    }
    return rc;
}

static int run_in_turn(struct packing *p, struct stk_error *err)
{
    struct stk__pack *pack = p->pack;
    int rc = STK_OK;
    for (int i = 0; i < pack->n_passes && !rc; i++)
        rc = run_part(p, &pack->pass[i], 0, UINT64_MAX, err);
    for (int64_t s = 0; s < pack->n_shards && !rc; s++)
        if (!pack->shard[s].is_done)
            rc = stk__pack_writer_end(p->writer, s, err);
    return rc;
}

static void expect(struct packing *p)
{
    const struct stk__pack *pack = p->pack;
    p->progress.shards = pack->n_shards;
    p->progress.total = pack->is_ranged ? 0 : STK_UNKNOWN_COUNT;
    for (int64_t s = 0; s < pack->n_shards; s++)
        if (!pack->shard[s].is_done && pack->is_ranged)
            p->progress.total += (int64_t)(pack->shard[s].end - pack->shard[s].first);
}

static int write_shards(struct packing *p, int64_t n_missing, struct stk_error *err)
{
    struct stk_error spare;
    if (!n_missing)
        return STK_OK;
    expect(p);
    int rc = stk__pack_writer_new(p->pack, &p->writer, err);
    if (!rc)
        rc = p->pack->is_ranged ? run_ranges(p, err) : run_in_turn(p, err);
    if (!rc)
        return stk__pack_writer_finish(p->writer, false, err);
    stk__pack_writer_finish(p->writer, true, &spare);
    return rc;
}

static void sum_up(const struct packing *p, int64_t n_missing, struct stk_pack_result *out)
{
    *out = (struct stk_pack_result){ .errors = p->errors, .written = n_missing };
    for (int64_t s = 0; s < p->pack->n_shards; s++) {
        out->elements += p->pack->shard[s].n_elements;
        out->bytes += p->pack->shard[s].bytes;
    }
    out->kept = p->pack->n_shards - n_missing;
    out->manifest = p->pack->manifest_path; /* given away */
    p->pack->manifest_path = NULL;
}

int stk_pack(struct stk_dataset *dataset, const struct stk_options *options,
             const struct stk_pack_options *wanted, struct stk_pack_result *out,
             struct stk_error *err)
{
    struct stk__pack pack = { .wanted = wanted, .journal = -1 };
    struct packing p = { .pack = &pack };
    int64_t n_missing = 0;
    pack.options = options ? *stk__options_of(options) : stk__options_default();
    stk__arena_init(&pack.arena, 4096);
    *out = (struct stk_pack_result){ 0 };
    int rc = stk__options_resolve_world(&pack.options, err);
    if (!rc)
        rc = stk__pack_plan(&pack, dataset, err);
    if (!rc)
        rc = stk__pack_check_sources(&pack, dataset->value, err);
    if (!rc)
        rc = stk__pack_open_journal(&pack, err);
    for (int64_t s = 0; s < pack.n_shards && !rc; s++)
        n_missing += !pack.shard[s].is_done;
    if (!rc)
        rc = write_shards(&p, n_missing, err);
    if (!rc)
        rc = stk__pack_write_manifest(&pack, err);
    stk__pack_close_journal(&pack);
    if (!rc)
        sum_up(&p, n_missing, out);
    stk__pack_free(&pack);
    return rc;
}
