/* SPDX-License-Identifier: Apache-2.0 */
/* statistics_json.c: statistics for programs. docs/stats.md says what is where. */
#include "look/statistics.h"

#include "graph/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WRITTEN_TEXTS = 1000 };

static const char *const kinds[] = { "fixed", "shaped", "bytes", "ragged" };

static void add_real(struct stk__text *out, const char *name, double value)
{
    stk__text_add(out, ", \"%s\": ", name);
    if (isfinite(value))
        stk__text_add_real(out, value);
    else
        stk__text_add(out, isnan(value) ? "null" : value < 0 ? "-1e999" : "1e999");
}

static void add_channel(struct stk__text *out, const struct stk__channel *channel)
{
    stk__text_add(out, "\"count\": %" PRIu64 ", \"missing\": %" PRIu64 ", \"infinite\": %" PRIu64,
                  channel->n, channel->n_nan, channel->n_infinite);
    bool is_empty = channel->n == channel->n_nan;
    add_real(out, "min", is_empty ? (double)NAN : channel->lo);
    add_real(out, "max", is_empty ? (double)NAN : channel->hi);
    add_real(out, "mean", stk__channel_mean(channel));
    add_real(out, "std", stk__channel_std(channel));
}

static void add_histogram(struct stk__text *out, const struct stk__histogram *h)
{
    stk__text_add(out, ", \"histogram\": {\"edges\": [");
    for (int i = 0; i <= h->n_bins && h->n_bins; i++) {
        stk__text_add(out, "%s", i ? ", " : "");
        stk__text_add_real(out, stk__histogram_edge(h, i));
    }
    stk__text_add(out, "], \"counts\": [");
    for (int i = 0; i < h->n_bins; i++)
        stk__text_add(out, "%s%" PRIu64, i ? ", " : "", h->count[i]);
    stk__text_add(out, "]}");
}

static void add_list(struct stk__text *out, const struct stk__field_stats *stats, bool is_std)
{
    for (int c = 0; c < stats->n_channels; c++) {
        const struct stk__channel *channel = &stats->channel[c];
        double value = is_std ? stk__channel_std(channel) : stk__channel_mean(channel);
        stk__text_add(out, "%s", c ? ", " : "");
        stk__text_add_real(out, value / stk__field_divisor(stats));
    }
}

static void add_normalize(struct stk__text *out, const struct stk__statistics *s,
                          const struct stk__field_stats *stats)
{
    struct stk__text call = { 0 };
    stk__statistics_normalize(s, stats, &call);
    if (call.len) {
        stk__text_add(out, ",\n   \"normalize\": {\"mean\": [");
        add_list(out, stats, false);
        stk__text_add(out, "], \"std\": [");
        add_list(out, stats, true);
        stk__text_add(out, "], \"call\": ");
        stk__text_add_json(out, call.data, call.len);
        stk__text_add(out, "}");
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
    if (n)
        stk__text_add(out, ",\n   \"classes\": [");
    for (size_t i = 0; i < n; i++) {
        const char *name = stk_dataset_class_name(s->dataset, stats->field->name, class[i].value);
        stk__text_add(out, "%s{\"value\": %" PRId64 ", ", i ? ",\n     " : "", class[i].value);
        if (name) {
            stk__text_add(out, "\"name\": ");
            stk__text_add_json(out, name, strlen(name));
            stk__text_add(out, ", ");
        }
        stk__text_add(out, "\"count\": %" PRIu64, class[i].n);
        add_real(out, "weight", (double)all / ((double)n * (double)class[i].n));
        stk__text_add(out, "}");
    }
    stk__text_add(out, n ? "]" : "");
}

static void add_numbers(struct stk__text *out, const struct stk__statistics *s,
                        const struct stk__field_stats *stats, struct stk__class *class)
{
    stk__text_add(out, ",\n   \"channels\": [");
    for (int c = 0; c < stats->n_channels; c++) {
        stk__text_add(out, "%s{", c ? ",\n     " : "");
        add_channel(out, &stats->channel[c]);
        stk__text_add(out, "}");
    }
    stk__text_add(out, "]");
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
    stk__text_add(out, ",\n   \"distinct\": %zu, \"is_complete\": %s, \"vocabulary\": [",
                  stats->values.n, stats->values.n_left_out || stats->n_long ? "false" : "true");
    for (size_t i = 0; i < stats->values.n && i < WRITTEN_TEXTS; i++) {
        stk__text_add(out, "%s{\"value\": ", i ? ",\n     " : "");
        stk__text_add_json(out, sorted[i].data, sorted[i].bytes);
        stk__text_add(out, ", \"count\": %" PRIu64 "}", sorted[i].n);
    }
    stk__text_add(out, "]");
    free(sorted);
    return STK_OK;
}

static int add_field(struct stk__text *out, const struct stk__statistics *s,
                     const struct stk__field_stats *stats, struct stk__class *class)
{
    int rc = STK_OK;
    stk__text_add_json(out, stats->field->name, strlen(stats->field->name));
    stk__text_add(out, ": {\"kind\": \"%s\", \"type\": \"", kinds[stats->field->kind]);
    stk__field_text(stats->field, out);
    stk__text_add(out, "\"");
    if (stats->field->kind == STK_BYTES || stats->field->kind == STK_RAGGED) {
        stk__text_add(out, ",\n   \"length\": {");
        add_channel(out, &stats->length);
        add_histogram(out, &stats->lengths);
        stk__text_add(out, "}");
    }
    if (stats->field->kind == STK_BYTES)
        rc = add_vocabulary(out, stats);
    else
        add_numbers(out, s, stats, class);
    stk__text_add(out, "}");
    return rc;
}

int stk__statistics_json(const struct stk__statistics *s, struct stk__text *out)
{
    struct stk__class *class = malloc(STK__MOST_CLASSES * sizeof *class);
    char *chain = stk_dataset_text(s->dataset, false);
    int rc = class && chain ? STK_OK : STK_MEMORY;
    stk__text_add(out, "{\"elements\": %" PRIu64 ", \"batches\": %" PRIu64 ", \"chain\": ",
                  s->n_elements, s->n_batches);
    if (chain)
        stk__text_add_json(out, chain, strlen(chain));
    stk__text_add(out, ",\n \"fields\": {");
    for (int f = 0; f < s->n_fields && !rc; f++) {
        stk__text_add(out, "%s", f ? ",\n  " : "");
        rc = add_field(out, s, &s->field[f], class);
    }
    stk__text_add(out, "}}");
    stk_text_free(chain);
    free(class);
    return rc;
}
