/* SPDX-License-Identifier: Apache-2.0 */
/* statistics_json.c: statistics for programs. docs/stats.md says what is where. */
#include "look/statistics.h"

#include "base/json_out.h"
#include "graph/graph.h"

#include <math.h>
#include <stdlib.h>

enum { WRITTEN_TEXTS = 1000 };

static const char *const kinds[] = { "fixed", "shaped", "bytes", "ragged" };

static void add_channel(struct stk__text *out, const struct stk__channel *channel)
{
    stk__json_count(out, "count", channel->n);
    stk__json_count(out, "missing", channel->n_nan);
    stk__json_count(out, "infinite", channel->n_infinite);
    bool is_empty = channel->n == channel->n_nan;
    stk__json_exact(out, "min", is_empty ? (double)NAN : channel->lo);
    stk__json_exact(out, "max", is_empty ? (double)NAN : channel->hi);
    stk__json_exact(out, "mean", stk__channel_mean(channel));
    stk__json_exact(out, "std", stk__channel_std(channel));
}

static void add_histogram(struct stk__text *out, const struct stk__histogram *h)
{
    stk__json_open(out, "histogram", '{');
    stk__json_open(out, "edges", '[');
    for (int i = 0; i <= h->n_bins && h->n_bins; i++) {
        stk__json_name(out, NULL);
        stk__text_add_real(out, stk__histogram_edge(h, i));
    }
    stk__json_close(out, ']');
    stk__json_open(out, "counts", '[');
    for (int i = 0; i < h->n_bins; i++)
        stk__json_count(out, NULL, h->count[i]);
    stk__json_close(out, ']');
    stk__json_close(out, '}');
}

static void add_list(struct stk__text *out, const struct stk__field_stats *stats, bool is_std)
{
    stk__json_open(out, is_std ? "std" : "mean", '[');
    for (int c = 0; c < stats->n_channels; c++) {
        const struct stk__channel *channel = &stats->channel[c];
        double value = is_std ? stk__channel_std(channel) : stk__channel_mean(channel);
        stk__json_name(out, NULL);
        stk__text_add_real(out, value / stk__field_divisor(stats));
    }
    stk__json_close(out, ']');
}

static void add_normalize(struct stk__text *out, const struct stk__statistics *s,
                          const struct stk__field_stats *stats)
{
    struct stk__text call = { 0 };
    stk__statistics_normalize(s, stats, &call);
    if (call.len) {
        stk__json_line(out, 3);
        stk__json_open(out, "normalize", '{');
        add_list(out, stats, false);
        add_list(out, stats, true);
        stk__json_bytes(out, "call", call.data, call.len);
        stk__json_close(out, '}');
    }
    out->failed |= call.failed;
    stk__text_free(&call);
}

static void add_classes(struct stk__text *out, const struct stk__statistics *s,
                        const struct stk__field_stats *stats, struct stk__class *class)
{
    size_t n = stk__field_classes(stats, class);
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += class[i].n;
    if (!n)
        return;
    stk__json_line(out, 3);
    stk__json_open(out, "classes", '[');
    for (size_t i = 0; i < n; i++) {
        const char *name = stk_dataset_class_name(s->dataset, stats->field->name, class[i].value);
        if (i)
            stk__json_line(out, 5);
        stk__json_open(out, NULL, '{');
        stk__json_whole(out, "value", class[i].value);
        if (name)
            stk__json_string(out, "name", name);
        stk__json_count(out, "count", class[i].n);
        stk__json_exact(out, "weight", (double)all / ((double)n * (double)class[i].n));
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
}

static void add_numbers(struct stk__text *out, const struct stk__statistics *s,
                        const struct stk__field_stats *stats, struct stk__class *class)
{
    stk__json_line(out, 3);
    stk__json_open(out, "channels", '[');
    for (int c = 0; c < stats->n_channels; c++) {
        if (c)
            stk__json_line(out, 5);
        stk__json_open(out, NULL, '{');
        add_channel(out, &stats->channel[c]);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
    add_histogram(out, &stats->histogram);
    add_classes(out, s, stats, class);
    if (stk__field_normalizes(stats))
        add_normalize(out, s, stats);
}

static int add_vocabulary(struct stk__text *out, const struct stk__field_stats *stats)
{
    struct stk__count *sorted = stk__counts_sorted(&stats->values);
    if (!sorted)
        return STK_MEMORY;
    stk__json_line(out, 3);
    stk__json_count(out, "distinct", stats->values.n);
    stk__json_bool(out, "is_complete", !stats->values.n_left_out && !stats->n_long);
    stk__json_open(out, "vocabulary", '[');
    for (size_t i = 0; i < stats->values.n && i < WRITTEN_TEXTS; i++) {
        if (i)
            stk__json_line(out, 5);
        stk__json_open(out, NULL, '{');
        stk__json_bytes(out, "value", sorted[i].data, sorted[i].bytes);
        stk__json_count(out, "count", sorted[i].n);
        stk__json_close(out, '}');
    }
    stk__json_close(out, ']');
    free(sorted);
    return STK_OK;
}

static int add_field(struct stk__text *out, const struct stk__statistics *s,
                     const struct stk__field_stats *stats, struct stk__class *class)
{
    int rc = STK_OK;
    struct stk__text type = { 0 };
    stk__field_text(stats->field, &type);
    stk__json_open(out, stats->field->name, '{');
    stk__json_string(out, "kind", kinds[stats->field->kind]);
    stk__json_string(out, "type", type.data ? type.data : "");
    out->failed |= type.failed;
    stk__text_free(&type);
    if (stats->field->kind == STK_BYTES || stats->field->kind == STK_RAGGED) {
        stk__json_line(out, 3);
        stk__json_open(out, "length", '{');
        add_channel(out, &stats->length);
        add_histogram(out, &stats->lengths);
        stk__json_close(out, '}');
    }
    if (stats->field->kind == STK_BYTES)
        rc = add_vocabulary(out, stats);
    else
        add_numbers(out, s, stats, class);
    stk__json_close(out, '}');
    return rc;
}

int stk__statistics_json(const struct stk__statistics *s, struct stk__text *out)
{
    struct stk__class *class = malloc(STK__MOST_CLASSES * sizeof *class);
    char *chain = stk_dataset_text(s->dataset, false);
    int rc = class && chain ? STK_OK : STK_MEMORY;
    stk__json_open(out, NULL, '{');
    stk__json_count(out, "elements", s->n_elements);
    stk__json_count(out, "batches", s->n_batches);
    stk__json_string(out, "chain", chain);
    stk__json_line(out, 1);
    stk__json_open(out, "fields", '{');
    for (int f = 0; f < s->n_fields && !rc; f++) {
        if (f)
            stk__json_line(out, 2);
        rc = add_field(out, s, &s->field[f], class);
    }
    stk__json_close(out, '}');
    stk__json_close(out, '}');
    stk_text_free(chain);
    free(class);
    return rc;
}
