/* SPDX-License-Identifier: Apache-2.0 */
/* tones.c: adjustments of an image that are a table of 256 entries for bytes. */
#include "kernel/adjust.h"

#include <math.h>
#include <string.h>

typedef float (*tone_fn)(float value, const void *ctx);

/* One function of a value for all values. */
static void map_floats(const struct stk__raster *raster, tone_fn tone, const void *ctx)
{
    const float *src = raster->src;
    float *dst = raster->dst;
    size_t n = stk__raster_values(raster);
    for (size_t i = 0; i < n; i++)
        dst[i] = tone(src[i], ctx);
}

static void map_bytes(const struct stk__raster *raster, const uint8_t table[256])
{
    raster->kernels->colour.map_u8(raster->dst, raster->src, stk__raster_values(raster), table);
}

/* ---- solarize, invert, posterize ---- */

struct solarize {
    float threshold, peak;
};

static float solarized(float value, const void *ctx)
{
    const struct solarize *s = ctx;
    return value >= s->threshold ? s->peak - value : value;
}

void stk__adjust_solarize(const struct stk__raster *raster, double threshold)
{
    const struct solarize s = { (float)threshold, raster->peak };
    uint8_t table[256];
    if (raster->is_float) {
        map_floats(raster, solarized, &s);
        return;
    }
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)solarized((float)i, &s);
    map_bytes(raster, table);
}

void stk__adjust_invert(const struct stk__raster *raster)
{
    stk__adjust_solarize(raster, -(double)INFINITY);
}

struct posterize {
    float in, out, most;
};

static float posterized(float value, const void *ctx)
{
    const struct posterize *p = ctx;
    float level = floorf(value * p->in);
    level = level > 0 ? level : 0;
    return (level < p->most ? level : p->most) * p->out;
}

void stk__adjust_posterize(const struct stk__raster *raster, int bits)
{
    float levels = (float)(1 << bits);
    const struct posterize p = { levels / raster->peak, raster->peak / levels, levels - 1 };
    uint8_t table[256];
    if (raster->is_float) {
        map_floats(raster, posterized, &p);
        return;
    }
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(i & 0xff00 >> bits);
    map_bytes(raster, table);
}

/* ---- gamma ---- */

struct gamma {
    double gamma, gain;
    float peak;
};

static float to_gamma(float value, const void *ctx)
{
    const struct gamma *g = ctx;
    float power = (float)pow((double)(value / g->peak), g->gamma);
    if (g->gain != 1) {
        power *= (float)g->gain;
        power = power > 0 ? power : 0;
        power = power < 1 ? power : 1;
    }
    return power * g->peak;
}

void stk__adjust_gamma(const struct stk__raster *raster, double gamma, double gain)
{
    const struct gamma g = { gamma, gain, raster->is_float ? raster->peak : 1 };
    uint8_t table[256];
    if (raster->is_float) {
        map_floats(raster, to_gamma, &g);
        return;
    }
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(to_gamma((float)i * (1.0f / 255.0f), &g) * 255.999f);
    map_bytes(raster, table);
}

/* ---- a table per channel ---- */

struct tables {
    uint8_t channel[STK__ADJUST_CHANNELS][256];
};

/* Floats are looked up as bytes, and results divided by 255. */
static uint8_t as_byte(float value, float peak)
{
    value = value * (255.999f / peak);
    value = value > 0 ? value : 0;
    return (uint8_t)(value < 255 ? value : 255);
}

static void map_channel(const struct stk__raster *raster, int c, const uint8_t table[256])
{
    size_t n = stk__raster_values(raster), step = (size_t)raster->channels;
    const uint8_t *bytes = raster->src;
    const float *floats = raster->src;
    if (raster->is_float) {
        float scale = raster->peak / 255, *dst = raster->dst;
        for (size_t i = (size_t)c; i < n; i += step)
            dst[i] = (float)table[as_byte(floats[i], raster->peak)] * scale;
    } else {
        uint8_t *dst = raster->dst;
        for (size_t i = (size_t)c; i < n; i += step)
            dst[i] = table[bytes[i]];
    }
}

static void map_rgb(const struct stk__raster *raster, const struct tables *tables)
{
    size_t n = stk__raster_values(raster);
    const uint8_t *src = raster->src;
    uint8_t *dst = raster->dst;
    for (size_t i = 0; i < n; i += 3) {
        uint8_t r = tables->channel[0][src[i]], g = tables->channel[1][src[i + 1]];
        dst[i + 2] = tables->channel[2][src[i + 2]];
        dst[i] = r;
        dst[i + 1] = g;
    }
}

static void map_channels(const struct stk__raster *raster, const struct tables *tables)
{
    if (!raster->is_float && raster->channels == 3) {
        map_rgb(raster, tables);
        return;
    }
    for (int c = 0; c < raster->channels; c++)
        map_channel(raster, c, tables->channel[c]);
}

/* ---- histograms ---- */

struct histograms {
    uint32_t count[STK__ADJUST_CHANNELS][256];
};

static void count_rgb(const uint8_t *src, size_t n, struct histograms *all)
{
    for (size_t i = 0; i < n; i += 3) {
        all->count[0][src[i]]++;
        all->count[1][src[i + 1]]++;
        all->count[2][src[i + 2]]++;
    }
}

static void count_values(const struct stk__raster *raster, struct histograms *all)
{
    size_t n = stk__raster_values(raster), step = (size_t)raster->channels;
    const uint8_t *bytes = raster->src;
    const float *floats = raster->src;
    memset(all, 0, sizeof *all);
    if (!raster->is_float && step == 3) {
        count_rgb(bytes, n, all);
        return;
    }
    for (size_t i = 0; i < n; i++)
        all->count[i % step][raster->is_float ? as_byte(floats[i], raster->peak) : bytes[i]]++;
}

/* ---- equalize ---- */

/* Pillow's: steps of an equal number of pixels, those of the greatest value not counted. */
static void make_equal(uint8_t table[256], const uint32_t count[256])
{
    uint64_t total = 0, last = 0;
    for (int i = 0; i < 256; i++) {
        total += count[i];
        last = count[i] ? count[i] : last;
    }
    uint64_t step = (total - last) / 255, sum = step / 2;
    for (int i = 0; i < 256; i++) {
        uint64_t level = step ? sum / step : (uint64_t)i;
        table[i] = (uint8_t)(level < 255 ? level : 255);
        sum += count[i];
    }
}

void stk__adjust_equalize(const struct stk__raster *raster)
{
    struct histograms all;
    struct tables tables;
    count_values(raster, &all);
    for (int c = 0; c < raster->channels; c++)
        make_equal(tables.channel[c], all.count[c]);
    map_channels(raster, &tables);
}

/* ---- autocontrast ---- */

struct stretch {
    float least, divisor, peak;
};

static float stretched(float value, const struct stretch *s)
{
    float result = (value - s->least) / s->divisor;
    result = result > 0 ? result : 0;
    return result < s->peak ? result : s->peak;
}

static struct stretch stretch_between(float least, float most, float peak)
{
    if (least == most)
        return (struct stretch){ 0, 1, peak };
    return (struct stretch){ least, (most - least) * (1 / peak), peak };
}

static void stretch_floats(const struct stk__raster *raster, int c)
{
    size_t n = stk__raster_values(raster), step = (size_t)raster->channels;
    const float *src = raster->src;
    float *dst = raster->dst, least = src[c], most = src[c];
    for (size_t i = (size_t)c; i < n; i += step) {
        least = src[i] < least ? src[i] : least;
        most = src[i] > most ? src[i] : most;
    }
    struct stretch s = stretch_between(least, most, raster->peak);
    for (size_t i = (size_t)c; i < n; i += step)
        dst[i] = stretched(src[i], &s);
}

static void make_stretch(uint8_t table[256], const uint32_t count[256])
{
    int least = 0, most = 255;
    while (!count[least])
        least++;
    while (!count[most])
        most--;
    struct stretch s = stretch_between((float)least, (float)most, 255);
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)stretched((float)i, &s);
}

static void stretch_bytes(const struct stk__raster *raster)
{
    struct histograms all;
    struct tables tables;
    count_values(raster, &all);
    for (int c = 0; c < raster->channels; c++)
        make_stretch(tables.channel[c], all.count[c]);
    map_channels(raster, &tables);
}

void stk__adjust_autocontrast(const struct stk__raster *raster)
{
    if (!stk__raster_values(raster))
        return;
    if (!raster->is_float) {
        stretch_bytes(raster);
        return;
    }
    for (int c = 0; c < raster->channels; c++)
        stretch_floats(raster, c);
}
