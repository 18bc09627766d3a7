/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h: what a pass over the data has found, field by field.
 *
 * Bytes are counted, so all that is said of them is exact. Other numbers are added up as doubles
 * in blocks, in the order of the batches, so the number of workers does not show.
 */
#pragma once
#include "base/counts.h"
#include "base/histogram.h"
#include "base/text.h"
#include "base/type.h"
#include "kernel/moments.h"

/* One channel, or all values of a field. */
struct stk__channel {
    uint64_t n; /* all values; NaN and infinities too */
    uint64_t n_nan, n_infinite;
    double lo, hi;
    double shift;         /* set by the first values */
    double sum, sum_rest; /* of value - shift; rest: what rounding took away */
    double square, square_rest;
};

static inline uint64_t stk__channel_n_finite(const struct stk__channel *channel)
{
    return channel->n - channel->n_nan - channel->n_infinite;
}
double stk__channel_mean(const struct stk__channel *channel);
double stk__channel_std(const struct stk__channel *channel); /* of the population: divides by n */

struct stk__field_stats {
    const struct stk_field *field; /* the dataset's */
    int n_lead;                    /* dimensions in front that count elements: 1 behind batch */
    int n_channels;
    struct stk__channel *channel;    /* [n_channels] */
    uint64_t *bytes;                 /* [n_channels][256]: values of uint8 and bool; NULL: others */
    struct stk__histogram histogram; /* of some values only where there are very many */
    struct stk__counts values;       /* texts; int64 of integers */
    bool counts_values;
    struct stk__channel length; /* of texts and lists */
    struct stk__histogram lengths;
    uint64_t n_long; /* texts too long to be counted */
};

struct stk__statistics {
    struct stk_dataset *dataset;
    int n_fields;
    struct stk__field_stats *field;
    uint64_t n_elements, n_batches;
    double *block; /* of converted values */
};

enum {
    STK__MOST_CHANNELS = 64,
    STK__MOST_CLASSES = 1000, /* of one integer per element */
    STK__FEW_CLASSES = 32,    /* of others, such as masks */
    STK__MOST_TEXTS = 1 << 16,
    STK__MOST_TEXT_BYTES = 1 << 24,
    STK__MOST_TEXT = 256, /* bytes of a text that is counted */
    STK__BLOCK_VALUES = 170 * STK__MOMENT_LANES,
};

/* Numbers of one field; `block` has room for STK__BLOCK_VALUES. STK_OK or STK_MEMORY. */
int stk__field_add_numbers(struct stk__field_stats *stats, const struct stk_view *view,
                           double *block);

/* One number more, for lengths. */
void stk__channel_add(struct stk__channel *channel, double value);

/* Fills in what counted bytes say, before printing. */
void stk__field_conclude(struct stk__field_stats *stats);

/* Values of integers that may be classes, and how often each occurs, in order; out has room for
 * STK__MOST_CLASSES. 0 where there are too many, or the field is none of integers. */
struct stk__class {
    int64_t value;
    uint64_t n;
};
size_t stk__field_classes(const struct stk__field_stats *stats, struct stk__class *out);

/* True for what `normalize` takes, and the divisor it applies first. */
bool stk__field_normalizes(const struct stk__field_stats *stats);
double stk__field_divisor(const struct stk__field_stats *stats);

/* The call of normalize that these numbers make; nothing where there is none. */
void stk__statistics_normalize(const struct stk__statistics *statistics,
                               const struct stk__field_stats *stats, struct stk__text *out);

/* STK_OK or STK_MEMORY. */
int stk__statistics_text(const struct stk__statistics *statistics, struct stk__text *out);
int stk__statistics_json(const struct stk__statistics *statistics, struct stk__text *out);
