/* SPDX-License-Identifier: Apache-2.0 */
/* statistics_numbers.c: numbers of a field, added up. */
#include "kernel/kernel.h"
#include "look/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLED = 1 << 14 };

/* ---- sums ---- */

/* Neumaier's: what an addition rounds away is kept. */
static void add(double *sum, double *rest, double value)
{
    double total = *sum + value;
    *rest += fabs(*sum) >= fabs(value) ? (*sum - total) + value : (value - total) + *sum;
    *sum = total;
}

static double mean_difference(const struct stk__channel *channel)
{
    return (channel->sum + channel->sum_rest) / (double)stk__channel_n_finite(channel);
}

double stk__channel_mean(const struct stk__channel *channel)
{
    return stk__channel_n_finite(channel) ? channel->shift + mean_difference(channel) : (double)NAN;
}

double stk__channel_std(const struct stk__channel *channel)
{
    uint64_t n = stk__channel_n_finite(channel);
    if (!n)
        return (double)NAN;
    double d = mean_difference(channel);
    double variance = (channel->square + channel->square_rest) / (double)n - d * d;
    return variance > 0 ? sqrt(variance) : 0;
}

static void widen_range(struct stk__channel *channel, double lo, double hi)
{
    bool is_first = channel->n == channel->n_nan;
    channel->lo = is_first || lo < channel->lo ? lo : channel->lo;
    channel->hi = is_first || hi > channel->hi ? hi : channel->hi;
}

void stk__channel_add(struct stk__channel *channel, double value)
{
    widen_range(channel, value, value);
    if (!channel->n++)
        channel->shift = value;
    add(&channel->sum, &channel->sum_rest, value - channel->shift);
    add(&channel->square, &channel->square_rest,
        (value - channel->shift) * (value - channel->shift));
}

/* ---- blocks of values ---- */

/* Values as floats or doubles. */
struct block {
    const float *f32; /* or */
    const double *f64;
    size_t n;
};

static double value_at(const struct block *block, size_t i)
{
    return block->f32 ? (double)block->f32[i] : block->f64[i];
}

static void take_moments(const struct block *block, int channels, const double *shift,
                         struct stk__moments *out)
{
    const struct stk__moment_kernels *kernels = &stk__kernels()->moments;
    if (block->f32)
        kernels->of_f32(block->f32, block->n, channels, shift, out);
    else
        kernels->of_f64(block->f64, block->n, channels, shift, out);
}

static uint64_t n_of_channel(const struct block *block, int channels, int c)
{
    return (block->n + (size_t)(channels - 1 - c)) / (size_t)channels;
}

/* Whole numbers stay whole when a whole number is subtracted. */
static void set_shifts(struct stk__field_stats *stats, const struct block *block)
{
    static const double none[STK__MOST_CHANNELS];
    struct stk__moments moments[STK__MOST_CHANNELS];
    take_moments(block, stats->n_channels, none, moments);
    for (int c = 0; c < stats->n_channels; c++) {
        uint64_t n = n_of_channel(block, stats->n_channels, c) - moments[c].n_bad;
        double mean = n ? moments[c].sum / (double)n : 0;
        if (!stats->channel[c].n)
            stats->channel[c].shift = !isfinite(mean)                               ? 0
                                      : stk__dtype_kind(stats->field->dtype) == 'f' ? mean
                                                                                    : floor(mean);
    }
}

/* Rarely needed, so a pass of its own. */
static void count_nan(struct stk__field_stats *stats, const struct block *block)
{
    for (size_t i = 0; i < block->n; i++) {
        struct stk__channel *channel = &stats->channel[i % (size_t)stats->n_channels];
        double value = value_at(block, i);
        channel->n_nan += isnan(value) != 0;
        channel->n_infinite += isinf(value) != 0;
    }
}

static void add_moments(struct stk__field_stats *stats, const struct block *block)
{
    struct stk__moments moments[STK__MOST_CHANNELS];
    double shift[STK__MOST_CHANNELS];
    uint64_t n_bad = 0;
    if (!stats->channel[0].n)
        set_shifts(stats, block);
    for (int c = 0; c < stats->n_channels; c++)
        shift[c] = stats->channel[c].shift;
    take_moments(block, stats->n_channels, shift, moments);
    for (int c = 0; c < stats->n_channels; c++) {
        struct stk__channel *channel = &stats->channel[c];
        if (moments[c].lo <= moments[c].hi)
            widen_range(channel, moments[c].lo, moments[c].hi);
        channel->n += n_of_channel(block, stats->n_channels, c);
        add(&channel->sum, &channel->sum_rest, moments[c].sum);
        add(&channel->square, &channel->square_rest, moments[c].square);
        n_bad += moments[c].n_bad;
    }
    if (n_bad)
        count_nan(stats, block);
}

static int count_integers(struct stk__field_stats *stats, const void *src, size_t n)
{
    int64_t block[256];
    enum { N = sizeof block / sizeof *block };
    stk__elementwise_fn convert = stk__kernels()->elementwise.convert[stats->field->dtype][STK_I64];
    size_t bytes = stk_dtype_bytes(stats->field->dtype);
    int rc = STK_OK;
    for (size_t done = 0, now; done < n && !rc; done += now) {
        now = n - done < N ? n - done : N;
        const void *from = (const char *)src + done * bytes;
        if (stats->field->dtype == STK_I64)
            memcpy(block, from, now * sizeof *block);
        else
            convert(block, from, NULL, NULL, now);
        for (size_t i = 0; i < now && !rc; i++)
            rc = stk__counts_add(&stats->values, &block[i], sizeof block[i]);
    }
    /* no classes but numbers */
    if (stats->values.n_left_out) {
        stk__counts_free(&stats->values);
        stats->counts_values = false;
    }
    return rc;
}

static void sample_histogram(struct stk__field_stats *stats, const struct block *block, size_t step)
{
    for (size_t i = 0; i < block->n; i += step) {
        double value = value_at(block, i);
        if (isfinite(value))
            stk__histogram_add(&stats->histogram, value, 1);
    }
}

/* ---- views ---- */

static size_t n_values(const struct stk_view *view)
{
    size_t n = 1;
    for (int d = 0; d < view->rank; d++)
        n *= (size_t)view->shape[d];
    return n;
}

/* One of so many values; never only of one channel. */
static size_t sampling_step(size_t n, int channels)
{
    size_t step = n / MOST_SAMPLED + 1;
    while (step > 1 && channels > 1 && step % (size_t)channels == 0)
        step++;
    return step;
}

/* Values from `at` on, as they are or converted into `memory`. */
static struct block open_block(const struct stk_view *view, size_t at, size_t n, double *memory)
{
    const char *src = (const char *)view->data + at * stk_dtype_bytes(view->dtype);
    const struct stk__elementwise_kernels *kernels = &stk__kernels()->elementwise;
    if (view->dtype == STK_F32)
        return (struct block){ .f32 = (const float *)(const void *)src, .n = n };
    if (view->dtype == STK_F64)
        return (struct block){ .f64 = (const double *)(const void *)src, .n = n };
    bool is_half = view->dtype == STK_F16 || view->dtype == STK_BF16;
    kernels->convert[view->dtype][is_half ? STK_F32 : STK_F64](memory, src, NULL, NULL, n);
    return is_half ? (struct block){ .f32 = (const float *)(const void *)memory, .n = n }
                   : (struct block){ .f64 = memory, .n = n };
}

int stk__field_add_numbers(struct stk__field_stats *stats, const struct stk_view *view,
                           double *memory)
{
    size_t n = n_values(view), step = sampling_step(n, stats->n_channels);
    size_t most = STK__BLOCK_VALUES / (size_t)stats->n_channels * (size_t)stats->n_channels;
    if (stats->bytes) {
        stk__count_bytes(view->data, n, stats->n_channels, stats->bytes);
        return STK_OK;
    }
    for (size_t at = 0, now; at < n; at += now) {
        now = n - at < most ? n - at : most;
        struct block block = open_block(view, at, now, memory);
        add_moments(stats, &block);
        sample_histogram(stats, &block, step);
    }
    return stats->counts_values ? count_integers(stats, view->data, n) : STK_OK;
}

/* ---- bytes ---- */

static void conclude_channel(struct stk__channel *channel, const uint64_t count[256])
{
    uint64_t sum = 0, square = 0; /* of up to 2^48 values */
    *channel = (struct stk__channel){ 0 };
    for (unsigned value = 0; value < 256; value++) {
        if (!count[value])
            continue;
        widen_range(channel, value, value);
        channel->n += count[value];
        sum += count[value] * value;
        square += count[value] * value * value;
    }
    /* about a whole number near the mean, still in whole numbers */
    uint64_t shift = channel->n ? sum / channel->n : 0;
    channel->shift = (double)shift;
    channel->sum = (double)(sum - shift * channel->n);
    channel->square = (double)(square - 2 * shift * sum + shift * shift * channel->n);
}

void stk__field_conclude(struct stk__field_stats *stats)
{
    if (!stats->bytes)
        return;
    stats->histogram = (struct stk__histogram){ .is_whole = true };
    for (int c = 0; c < stats->n_channels; c++) {
        const uint64_t *count = stats->bytes + 256 * c;
        conclude_channel(&stats->channel[c], count);
        for (int value = 0; value < 256; value++)
            if (count[value])
                stk__histogram_add(&stats->histogram, value, count[value]);
    }
}

/* ---- classes ---- */

static int compare_classes(const void *a, const void *b)
{
    const struct stk__class *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static size_t byte_classes(const struct stk__field_stats *stats, struct stk__class *out)
{
    size_t n = 0;
    for (int value = 0; value < 256; value++)
        if (stats->bytes[value])
            out[n++] = (struct stk__class){ value, stats->bytes[value] };
    return n;
}

static size_t counted_classes(const struct stk__field_stats *stats, struct stk__class *out)
{
    for (size_t i = 0; i < stats->values.n; i++) {
        memcpy(&out[i].value, stats->values.text + stats->values.item[i].at, sizeof out[i].value);
        out[i].n = stats->values.item[i].n;
    }
    qsort(out, stats->values.n, sizeof *out, compare_classes);
    return stats->values.n;
}

size_t stk__field_classes(const struct stk__field_stats *stats, struct stk__class *out)
{
    bool is_one = stats->field->rank == stats->n_lead;
    size_t n = 0;
    if (stats->bytes && stats->n_channels == 1)
        n = byte_classes(stats, out);
    else if (stats->counts_values)
        n = counted_classes(stats, out);
    return is_one || n <= STK__FEW_CLASSES ? n : 0;
}

/* ---- normalize ---- */

bool stk__field_normalizes(const struct stk__field_stats *stats)
{
    const struct stk_field *field = stats->field;
    return (field->kind == STK_FIXED || field->kind == STK_SHAPED) && field->rank > stats->n_lead &&
           (field->dtype == STK_U8 || field->dtype == STK_F32);
}

double stk__field_divisor(const struct stk__field_stats *stats)
{
    return stats->field->dtype == STK_U8 || stats->field->flags & STK_FIELD_255 ? 255 : 1;
}
