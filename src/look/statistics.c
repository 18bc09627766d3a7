/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.c: stk_dataset_statistics: batches in, text out. */
#define _GNU_SOURCE
#include "look/statistics.h"

#include "base/clock.h"
#include "base/error.h"
#include "graph/graph.h"

#include <math.h>
#include <stdlib.h>

enum { PATIENCE_MS = 50 };

static const uint64_t progress_interval_ns = 50000000;

/* ---- what is kept of a field ---- */

static bool is_batched(const struct stk__node *node)
{
    while (!(node->op->flags & STK__OP_BATCH)) {
        if (!node->n_inputs || node->op->flags & STK__OP_EXPANDS)
            return false;
        node = node->input[0];
    }
    return true;
}

/* The last dimension of images and of short vectors; other numbers are one channel. */
static int channels_of(const struct stk_field *field, int n_lead)
{
    int rank = field->rank - n_lead;
    int64_t last = rank == 1 || rank >= 3 ? field->shape[field->rank - 1] : 1;
    return last >= 1 && last <= STK__MOST_CHANNELS ? (int)last : 1;
}

static int begin_field(struct stk__field_stats *stats, const struct stk_field *field, int n_lead)
{
    bool is_array = field->kind == STK_FIXED || field->kind == STK_SHAPED;
    bool is_text = field->kind == STK_BYTES, is_byte = stk_dtype_bytes(field->dtype) == 1;
    stats->field = field;
    stats->n_lead = is_array ? n_lead : 0;
    stats->n_channels = is_array ? channels_of(field, n_lead) : 1;
    stats->histogram.is_whole = stk__dtype_kind(field->dtype) != 'f';
    stats->lengths.is_whole = true;
    stats->channel = calloc((size_t)stats->n_channels, sizeof *stats->channel);
    if (!stats->channel)
        return STK_MEMORY;
    if (is_text) {
        stats->counts_values = true;
        stk__counts_begin(&stats->values, STK__MOST_TEXTS, STK__MOST_TEXT_BYTES);
    } else if (is_byte && field->dtype != STK_I8) {
        stats->bytes = calloc((size_t)stats->n_channels * 256, sizeof *stats->bytes);
        return stats->bytes ? STK_OK : STK_MEMORY;
    } else if (stk__dtype_kind(field->dtype) != 'f' && stats->n_channels == 1) {
        stats->counts_values = true;
        stk__counts_begin(&stats->values, STK__MOST_CLASSES, STK__MOST_CLASSES * sizeof(int64_t));
    }
    return STK_OK;
}

static int begin(struct stk__statistics *s)
{
    const struct stk__node *root = s->dataset->root;
    int n_lead = is_batched(root), rc = STK_OK;
    s->field = calloc((size_t)root->type.n_fields + 1, sizeof *s->field);
    s->block = malloc(STK__BLOCK_VALUES * sizeof *s->block);
    if (!s->field || !s->block)
        return STK_MEMORY;
    for (int f = 0; f < root->type.n_fields && !rc; f++, s->n_fields = f)
        rc = begin_field(&s->field[f], &root->type.field[f], n_lead);
    return rc;
}

static void clear(struct stk__statistics *s)
{
    for (int f = 0; f < s->n_fields; f++) {
        free(s->field[f].channel);
        free(s->field[f].bytes);
        stk__counts_free(&s->field[f].values);
    }
    free(s->field);
    free(s->block);
}

/* ---- batches in ---- */

static void add_length(struct stk__field_stats *stats, int64_t length)
{
    stk__channel_add(&stats->length, (double)length);
    stk__histogram_add(&stats->lengths, (double)length, 1);
}

static int add_texts(struct stk__field_stats *stats, const struct stk_view *view)
{
    int rc = STK_OK;
    for (int64_t i = 0; i + 1 < view->n_splits && !rc; i++) {
        int64_t bytes = view->splits[i + 1] - view->splits[i];
        add_length(stats, bytes);
        if (bytes > STK__MOST_TEXT)
            stats->n_long++;
        else
            rc = stk__counts_add(&stats->values, (const char *)view->data + view->splits[i],
                                 (size_t)bytes);
    }
    return rc;
}

static void add_lists(struct stk__field_stats *stats, const struct stk_view *view)
{
    if (!view->splits)
        add_length(stats, view->shape[0]);
    for (int64_t i = 0; i + 1 < view->n_splits; i++)
        add_length(stats, view->splits[i + 1] - view->splits[i]);
}

static int add_batch(struct stk__statistics *s, const struct stk_batch *batch,
                     struct stk_error *err)
{
    int rc = STK_OK;
    for (int f = 0; f < s->n_fields && !rc; f++) {
        struct stk_view view;
        struct stk__field_stats *stats = &s->field[f];
        stk_batch_view_at(batch, f, &view);
        if (stats->field->kind == STK_RAGGED)
            add_lists(stats, &view);
        if (stats->field->kind == STK_BYTES)
            rc = add_texts(stats, &view);
        else
            rc = stk__field_add_numbers(stats, &view, s->block);
    }
    s->n_elements += (uint64_t)stk_batch_n_rows(batch);
    s->n_batches++;
    return rc ? stk__out_of_memory(err) : STK_OK;
}

/* Calls the caller back when it is time. */
static int tell(const struct stk__statistics *s, const struct stk_statistics_options *wanted,
                uint64_t *next, struct stk_error *err)
{
    uint64_t now = stk__clock_ns();
    if (!wanted->progress || now < *next)
        return STK_OK;
    *next = now + progress_interval_ns;
    if (!wanted->progress(wanted->context, s->n_elements, s->n_batches))
        return STK_OK;
    return stk_fail(err, STK_CANCELLED, "stopped after %llu batches",
                    (unsigned long long)s->n_batches);
}

static int add_all(struct stk__statistics *s, struct stk_iterator *it,
                   const struct stk_statistics_options *wanted, struct stk_error *err)
{
    uint64_t next = 0;
    int rc = STK_OK;
    while ((!rc || rc == STK_AGAIN) &&
           (!wanted->batches || s->n_batches < (uint64_t)wanted->batches)) {
        struct stk_batch *batch = NULL;
        rc = stk_iterator_poll(it, PATIENCE_MS, &batch, err);
        if (!rc) {
            rc = add_batch(s, batch, err);
            stk_batch_unref(batch);
        }
        int told = !rc || rc == STK_AGAIN ? tell(s, wanted, &next, err) : STK_OK;
        rc = told ? told : rc;
    }
    return rc == STK_END || rc == STK_AGAIN ? STK_OK : rc;
}

/* ---- text out ---- */

/* As many as leave the mean exact to some hundred-thousandths of the deviation. */
static int digits_of_mean(double mean, double std)
{
    double digits = 5 + ceil(log10(fabs(mean) / std));
    return digits > 17 ? 17 : digits > 6 ? (int)digits : 6;
}

static void add_numbers(struct stk__text *out, const struct stk__field_stats *stats, bool is_std)
{
    double divisor = stk__field_divisor(stats);
    for (int c = 0; c < stats->n_channels; c++) {
        const struct stk__channel *channel = &stats->channel[c];
        double mean = stk__channel_mean(channel), std = stk__channel_std(channel);
        stk__text_add(out, "%s", c ? ", " : "");
        stk__text_add_rounded(out, (is_std ? std : mean) / divisor,
                              is_std ? 6 : digits_of_mean(mean, std));
    }
}

void stk__statistics_normalize(const struct stk__statistics *s,
                               const struct stk__field_stats *stats, struct stk__text *out)
{
    int n_fitting = 0;
    for (int c = 0; c < stats->n_channels; c++)
        if (!(stk__channel_std(&stats->channel[c]) > 0))
            return;
    for (int f = 0; f < s->n_fields; f++)
        n_fitting += stk__field_normalizes(&s->field[f]);
    stk__text_add(out, "normalize(mean=[");
    add_numbers(out, stats, false);
    stk__text_add(out, "], std=[");
    add_numbers(out, stats, true);
    stk__text_add(out, "]");
    if (n_fitting > 1)
        stk__text_add(out, ", field='%s'", stats->field->name);
    stk__text_add(out, ")");
}

static int print(struct stk__statistics *s, struct stk_statistics *out, struct stk_error *err)
{
    struct stk__text text = { 0 }, json = { 0 };
    for (int f = 0; f < s->n_fields; f++)
        stk__field_conclude(&s->field[f]);
    int rc = stk__statistics_text(s, &text);
    if (!rc)
        rc = stk__statistics_json(s, &json);
    out->text = rc ? NULL : stk__text_take(&text);
    out->json = rc ? NULL : stk__text_take(&json);
    stk__text_free(&text);
    stk__text_free(&json);
    if (out->text && out->json)
        return STK_OK;
    stk_text_free(out->text);
    stk_text_free(out->json);
    out->text = out->json = NULL;
    return stk__out_of_memory(err);
}

int stk_dataset_statistics(struct stk_dataset *dataset, const struct stk_options *options,
                           const struct stk_statistics_options *wanted, struct stk_statistics *out,
                           struct stk_error *err)
{
    static const struct stk_statistics_options all;
    struct stk__statistics s = { .dataset = dataset };
    struct stk_iterator *it = NULL;
    struct stk_stats run = { 0 };
    *out = (struct stk_statistics){ 0 };
    int rc = begin(&s) ? stk__out_of_memory(err) : STK_OK;
    if (!rc)
        rc = stk_iterator_new(dataset, options, &it, err);
    if (!rc)
        rc = add_all(&s, it, wanted ? wanted : &all, err);
    if (it)
        stk_iterator_stats(it, &run);
    stk_iterator_free(it);
    out->elements = s.n_elements;
    out->batches = s.n_batches;
    out->errors = run.errors;
    if (!rc)
        rc = print(&s, out, err);
    clear(&s);
    return rc;
}
