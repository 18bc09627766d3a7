/* SPDX-License-Identifier: Apache-2.0 */
/* statistics_text.c: statistics for people: tables and bars. */
#include "base/controls.h"
#include "look/statistics.h"

#include "graph/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 40, SHOWN_CLASSES = 40, SHOWN_TEXTS = 20, SHOWN_CHANNELS = 16, SHOWN_BYTES = 48 };

/* A bar in eighths of a character. */
static void add_bar(struct stk__text *out, uint64_t n, uint64_t most)
{
    static const char *const eighth[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    int length = (int)(8 * BAR * ((double)n / (double)most) + 0.5);
    length = length || !n ? length : 1;
    for (int i = 0; i < length / 8; i++)
        stk__text_add(out, "█");
    stk__text_add(out, "%s", eighth[length % 8]);
}

/* Pads what was written since `start` to a width, in front or behind. */
static void pad(struct stk__text *out, size_t start, int width, bool is_right)
{
    size_t len = out->len - start;
    int spaces = out->failed || (int)len >= width ? 0 : width - (int)len;
    stk__text_add(out, "%*s", spaces, "");
    if (out->failed || !spaces || !is_right)
        return;
    memmove(out->data + start + spaces, out->data + start, len);
    memset(out->data + start, ' ', (size_t)spaces);
}

static void add_cell(struct stk__text *out, double value, int width)
{
    size_t start = out->len;
    stk__text_add_rounded(out, value, 6);
    pad(out, start, width, true);
}

static void add_share(struct stk__text *out, uint64_t n, uint64_t all)
{
    stk__text_add(out, "%12" PRIu64 "  %5.1f %%  ", n, 100 * (double)n / (double)all);
}

static void add_histogram(struct stk__text *out, const struct stk__histogram *h)
{
    uint64_t most = 1;
    for (int i = 0; i < h->n_bins; i++)
        most = h->count[i] > most ? h->count[i] : most;
    for (int i = 0; i < h->n_bins && h->n_bins > 1; i++) {
        stk__text_add(out, "  from ");
        add_cell(out, stk__histogram_edge(h, i), 12);
        add_share(out, h->count[i], h->n);
        add_bar(out, h->count[i], most);
        stk__text_add(out, "\n");
    }
}

static void add_summary(struct stk__text *out, const struct stk__channel *channel)
{
    const struct {
        const char *name;
        double value;
    } item[] = { { "min", channel->lo },
                 { "max", channel->hi },
                 { "mean", stk__channel_mean(channel) },
                 { "std", stk__channel_std(channel) } };
    for (size_t i = 0; i < sizeof item / sizeof *item; i++) {
        stk__text_add(out, "%s%s ", i ? "  " : "", item[i].name);
        stk__text_add_rounded(out, item[i].value, 6);
    }
    if (channel->n_nan)
        stk__text_add(out, "  missing (NaN) %" PRIu64, channel->n_nan);
    if (channel->n_infinite)
        stk__text_add(out, "  infinite %" PRIu64, channel->n_infinite);
}

static void add_channels(struct stk__text *out, const struct stk__field_stats *stats)
{
    stk__text_add(out, "  channel         min         max        mean         std  missing\n");
    for (int c = 0; c < stats->n_channels && c < SHOWN_CHANNELS; c++) {
        const struct stk__channel *channel = &stats->channel[c];
        stk__text_add(out, "  %7d", c);
        add_cell(out, channel->lo, 12);
        add_cell(out, channel->hi, 12);
        add_cell(out, stk__channel_mean(channel), 12);
        add_cell(out, stk__channel_std(channel), 12);
        stk__text_add(out, "%9" PRIu64 "\n", channel->n_nan);
    }
    if (stats->n_channels > SHOWN_CHANNELS)
        stk__text_add(out, "  … and %d more\n", stats->n_channels - SHOWN_CHANNELS);
}

static void add_classes(struct stk__text *out, const struct stk__statistics *s,
                        const struct stk__field_stats *stats, const struct stk__class *class,
                        size_t n)
{
    uint64_t most = 1, all = 0;
    for (size_t i = 0; i < n; i++) {
        most = class[i].n > most ? class[i].n : most;
        all += class[i].n;
    }
    stk__text_add(out, "     value       count    share    weight\n");
    for (size_t i = 0; i < n; i++) {
        const char *name = stk_dataset_class_name(s->dataset, stats->field->name, class[i].value);
        stk__text_add(out, "  %8" PRId64, class[i].value);
        add_share(out, class[i].n, all);
        add_cell(out, (double)all / ((double)n * (double)class[i].n), 8);
        stk__text_add(out, "  ");
        add_bar(out, class[i].n, most);
        stk__text_add(out, "%s", name ? "  " : "");
        stk__text_add_shown(out, name ? name : "", 0);
        stk__text_add(out, "\n");
    }
}

static void add_numbers(struct stk__text *out, const struct stk__statistics *s,
                        const struct stk__field_stats *stats, struct stk__class *class)
{
    size_t n_classes = stk__field_classes(stats, class);
    if (!stats->channel[0].n) {
        stk__text_add(out, "  no values\n");
        return;
    }
    if (stats->n_channels > 1) {
        add_channels(out, stats);
    } else {
        stk__text_add(out, "  ");
        add_summary(out, &stats->channel[0]);
        stk__text_add(out, "\n");
    }
    if (n_classes > SHOWN_CLASSES)
        stk__text_add(out, "  %zu different values\n", n_classes);
    if (n_classes && n_classes <= SHOWN_CLASSES)
        add_classes(out, s, stats, class, n_classes);
    else
        add_histogram(out, &stats->histogram);
    if (!stk__field_normalizes(stats))
        return;
    size_t before = out->len;
    stk__text_add(out, "  ");
    stk__statistics_normalize(s, stats, out);
    if (!out->failed && out->len > before + 2)
        stk__text_add(out, "\n");
    else if (!out->failed)
        out->data[out->len = before] = 0;
}

static int add_texts(struct stk__text *out, const struct stk__field_stats *stats)
{
    struct stk__count *sorted = stk__counts_sorted(&stats->values);
    const struct stk__counts *values = &stats->values;
    if (!sorted)
        return STK_MEMORY;
    if (values->n)
        stk__text_add(out, "  %s%zu different value%s of up to %d bytes, most frequent first\n",
                      values->n_left_out ? "more than " : "", values->n, values->n == 1 ? "" : "s",
                      STK__MOST_TEXT);
    for (size_t i = 0; i < values->n && i < SHOWN_TEXTS && sorted[i].n + (i < 3) > 1; i++) {
        size_t shown = sorted[i].bytes < SHOWN_BYTES ? sorted[i].bytes : SHOWN_BYTES;
        stk__text_add(out, "  ");
        add_share(out, sorted[i].n, stats->length.n);
        stk__text_add_json(out, sorted[i].data, shown);
        stk__text_add(out, "%s\n", shown < sorted[i].bytes ? "…" : "");
    }
    if (stats->n_long)
        stk__text_add(out, "  %" PRIu64 " values are longer and were not compared\n",
                      stats->n_long);
    free(sorted);
    return STK_OK;
}

static int add_field(struct stk__text *out, const struct stk__statistics *s,
                     const struct stk__field_stats *stats, struct stk__class *class)
{
    uint64_t n = 0;
    for (int c = 0; c < stats->n_channels; c++)
        n += stats->channel[c].n;
    stk__text_add(out, "\n");
    stk__text_add_shown(out, stats->field->name, 0);
    stk__text_add(out, "  ");
    stk__field_text(stats->field, out);
    if (stats->field->kind != STK_BYTES)
        stk__text_add(out, "  %" PRIu64 " value%s", n, n == 1 ? "" : "s");
    stk__text_add(out, "\n");
    if (stats->length.n) {
        stk__text_add(out, "  length: ");
        add_summary(out, &stats->length);
        stk__text_add(out, "\n");
        add_histogram(out, &stats->lengths);
    }
    if (stats->field->kind == STK_BYTES)
        return add_texts(out, stats);
    add_numbers(out, s, stats, class);
    return STK_OK;
}

int stk__statistics_text(const struct stk__statistics *s, struct stk__text *out)
{
    struct stk__class *class = malloc(STK__MOST_CLASSES * sizeof *class);
    int rc = class ? STK_OK : STK_MEMORY;
    stk__text_add(out, "%" PRIu64 " element%s", s->n_elements, s->n_elements == 1 ? "" : "s");
    if (s->n_batches != s->n_elements)
        stk__text_add(out, " in %" PRIu64 " batch%s", s->n_batches, s->n_batches == 1 ? "" : "es");
    stk__text_add(out, "\n");
    for (int f = 0; f < s->n_fields && !rc; f++)
        rc = add_field(out, s, &s->field[f], class);
    free(class);
    return rc;
}
