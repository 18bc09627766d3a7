/* SPDX-License-Identifier: Apache-2.0 */
/* colour_body.h: the loops of colour.h, compiled once per instruction set by the file that includes
 * this one and vectorised by the compiler. That file has split_bytes and join_bytes, which take
 * BLOCK pixels of three bytes apart and put them together. Pixels go through planes of BLOCK
 * floats, in the first cache level.
 */
#include "kernel/colour.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct planes {
    float r[BLOCK], g[BLOCK], b[BLOCK];
};

static inline float clamp(float value, float peak)
{
    value = value > 0 ? value : 0;
    return value < peak ? value : peak;
}

/* PyTorch's a.mul(ratio).add(b, alpha=rest). */
static inline float mix(float value, float other, const struct stk__blend *blend)
{
    return clamp(fmaf(other, blend->rest, value * blend->ratio), blend->peak);
}

static inline float gray(float r, float g, float b)
{
    return fmaf(b, 0.114f, fmaf(g, 0.587f, r * 0.2989f));
}

/* ---- values ---- */

static void blend_f32(float *dst, const float *src, size_t n, const struct stk__blend *blend,
                      float other)
{
    const struct stk__blend all = *blend;
    for (size_t i = 0; i < n; i++)
        dst[i] = mix(src[i], other, &all);
}

/* ---- pixels in and out ---- */

static inline size_t block_at(size_t i, size_t n)
{
    return n - i < BLOCK ? n - i : BLOCK;
}

static inline void widen(float *restrict dst, const uint8_t *restrict src)
{
    for (int i = 0; i < BLOCK; i++)
        dst[i] = src[i];
}

static void load_u8(struct planes *p, const uint8_t *src, size_t n)
{
    uint8_t bytes[3 * BLOCK], plane[3][BLOCK];
    if (n < BLOCK) {
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, src, 3 * n);
        src = bytes;
    }
    split_bytes(plane, src);
    widen(p->r, plane[0]);
    widen(p->g, plane[1]);
    widen(p->b, plane[2]);
}

static inline void narrow(uint8_t *restrict dst, const float *restrict src)
{
    for (int i = 0; i < BLOCK; i++)
        dst[i] = (uint8_t)(int32_t)src[i];
}

static void store_u8(uint8_t *dst, const struct planes *p, size_t n)
{
    uint8_t bytes[3 * BLOCK], plane[3][BLOCK];
    narrow(plane[0], p->r);
    narrow(plane[1], p->g);
    narrow(plane[2], p->b);
    join_bytes(n < BLOCK ? bytes : dst, (const uint8_t(*)[BLOCK])plane);
    if (n < BLOCK)
        memcpy(dst, bytes, 3 * n);
}

static void load_f32(struct planes *p, const float *src, size_t n)
{
    if (n < BLOCK)
        memset(p, 0, sizeof *p);
    for (size_t i = 0; i < n; i++) {
        p->r[i] = src[3 * i];
        p->g[i] = src[3 * i + 1];
        p->b[i] = src[3 * i + 2];
    }
}

static void store_f32(float *dst, const struct planes *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[3 * i] = p->r[i];
        dst[3 * i + 1] = p->g[i];
        dst[3 * i + 2] = p->b[i];
    }
}

/* ---- gray and saturation ---- */

static double gray_sum_u8(const uint8_t *src, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i += BLOCK) { /* pixels beyond the end are black */
        struct planes p;
        int32_t part = 0;
        load_u8(&p, src + 3 * i, block_at(i, n));
        for (int k = 0; k < BLOCK; k++)
            part += (int32_t)gray(p.r[k], p.g[k], p.b[k]);
        sum += (uint64_t)part;
    }
    return (double)sum;
}

/* In as many lanes as a block has pixels: the order of the additions is the same everywhere. */
static double gray_sum_f32(const float *src, size_t n)
{
    double lane[BLOCK] = { 0 }, sum = 0;
    for (size_t i = 0; i < n; i += BLOCK) {
        struct planes p;
        load_f32(&p, src + 3 * i, block_at(i, n));
        for (int k = 0; k < BLOCK; k++)
            lane[k] += (double)gray(p.r[k], p.g[k], p.b[k]);
    }
    for (int k = 0; k < BLOCK; k++)
        sum += lane[k];
    return sum;
}

static void gray_u8(uint8_t *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        struct planes p;
        uint8_t bytes[BLOCK];
        load_u8(&p, src + 3 * i, block_at(i, n));
        for (int k = 0; k < BLOCK; k++)
            p.r[k] = gray(p.r[k], p.g[k], p.b[k]);
        narrow(bytes, p.r);
        memcpy(dst + i, bytes, block_at(i, n));
    }
}

static void gray_f32(float *dst, const float *src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = gray(src[3 * i], src[3 * i + 1], src[3 * i + 2]);
}

static inline void saturate(struct planes *p, const struct stk__blend *blend, bool is_whole)
{
    const struct stk__blend all = *blend;
    for (int k = 0; k < BLOCK; k++) {
        float other = gray(p->r[k], p->g[k], p->b[k]);
        if (is_whole)
            other = (float)(int32_t)other;
        p->r[k] = mix(p->r[k], other, &all);
        p->g[k] = mix(p->g[k], other, &all);
        p->b[k] = mix(p->b[k], other, &all);
    }
}

static void saturate_u8(uint8_t *dst, const uint8_t *src, size_t n, const struct stk__blend *blend)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        struct planes p;
        load_u8(&p, src + 3 * i, block_at(i, n));
        saturate(&p, blend, true);
        store_u8(dst + 3 * i, &p, block_at(i, n));
    }
}

static void saturate_f32(float *dst, const float *src, size_t n, const struct stk__blend *blend)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        struct planes p;
        load_f32(&p, src + 3 * i, block_at(i, n));
        saturate(&p, blend, false);
        store_f32(dst + 3 * i, &p, block_at(i, n));
    }
}

/* ---- hue ---- */

/* Values 0..1 times `in` to hue, saturation and value, turned, and back, times `out`. Of the two
 * quotients that make a hue only their numerators depend on which channel is the greatest. Choices
 * are written one by one, as compilers make vectors of them. */
static inline void turn_hue(struct planes *p, float turn, float in, float out)
{
    for (int k = 0; k < BLOCK; k++) {
        float r = p->r[k] * in, g = p->g[k] * in, b = p->b[k] * in;
        float most = r > g ? r : g, least = r < g ? r : g;
        most = most > b ? most : b;
        least = least < b ? least : b;
        float range = most - least;
        float s = range / (range == 0 ? 1 : most), divisor = range == 0 ? 1 : range;
        float plus = most == g ? r : g, minus = most == g ? b : r;
        float sector = most == g ? 2.0f : 4.0f;
        plus = most == r ? b : plus;
        minus = most == r ? g : minus;
        sector = most == r ? 0.0f : sector;
        float h = ((most - plus) / divisor + sector) - (most - minus) / divisor;
        h = h * (1.0f / 6.0f) + 1.0f;
        h = h < 1 ? h : h - 1.0f;
        h = h + turn;
        float above = h - 1.0f, below = h + 1.0f;
        h = h < 1 ? h : above;
        h = h < 0 ? below : h;
        h = h * 6.0f;
        float i = floorf(h), f = h - i;
        float sf = s * f, rest = 1.0f - s;
        float down = clamp((1.0f - sf) * most, 1), up = clamp((sf + rest) * most, 1);
        float low = clamp(rest * most, 1);
        i = i < 6 ? i : 0;
        r = i == 1 ? down : most; /* most, down, low, low, up, most */
        r = i == 2 ? low : r;
        r = i == 3 ? low : r;
        r = i == 4 ? up : r;
        g = i == 0 ? up : low; /* up, most, most, down, low, low */
        g = i == 1 ? most : g;
        g = i == 2 ? most : g;
        g = i == 3 ? down : g;
        b = i == 2 ? up : low; /* low, low, up, most, most, down */
        b = i == 3 ? most : b;
        b = i == 4 ? most : b;
        b = i == 5 ? down : b;
        p->r[k] = r * out;
        p->g[k] = g * out;
        p->b[k] = b * out;
    }
}

static void turn_hue_u8(uint8_t *dst, const uint8_t *src, size_t n, float turn)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        struct planes p;
        load_u8(&p, src + 3 * i, block_at(i, n));
        turn_hue(&p, turn, 1.0f / 255.0f, 255.999f);
        store_u8(dst + 3 * i, &p, block_at(i, n));
    }
}

static void turn_hue_f32(float *dst, const float *src, size_t n, float turn, float peak)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        struct planes p;
        load_f32(&p, src + 3 * i, block_at(i, n));
        turn_hue(&p, turn, 1.0f / peak, peak);
        store_f32(dst + 3 * i, &p, block_at(i, n));
    }
}

/* ---- neighbours ---- */

/* A whole number of thirteenths is never half way, so the mean is rounded in integers: times
 * 5042 / 65536 is a division by 13 for all sums there are. */
static void sharpen_u8(uint8_t *restrict dst, const uint8_t *const rows[3], size_t n, size_t step,
                       const struct stk__blend *blend)
{
    const uint8_t *a = rows[0] - step, *b = rows[1] - step, *c = rows[2] - step;
    const struct stk__blend all = *blend;
    for (size_t i = 0; i < n; i++) {
        uint32_t sum = (uint32_t)a[i] + a[i + step] + a[i + 2 * step] + b[i] + b[i + 2 * step] +
                       c[i] + c[i + step] + c[i + 2 * step] + 5u * b[i + step];
        float mean = (float)(int32_t)((sum + 6) * 5042 >> 16), value = b[i + step];
        dst[i] = (uint8_t)(int32_t)clamp(fmaf(mean - value, all.rest, value), all.peak);
    }
}

static void sharpen_f32(float *restrict dst, const float *const rows[3], size_t n, size_t step,
                        const struct stk__blend *blend)
{
    const float *a = rows[0] - step, *b = rows[1] - step, *c = rows[2] - step;
    const struct stk__blend all = *blend;
    for (size_t i = 0; i < n; i++) {
        float value = b[i + step];
        float sum = a[i] + a[i + step] + a[i + 2 * step] + b[i] + b[i + 2 * step] + c[i] +
                    c[i + step] + c[i + 2 * step] + 5.0f * value;
        float mean = sum * (1.0f / 13.0f);
        dst[i] = clamp(fmaf(mean - value, all.rest, value), all.peak);
    }
}

/* ---- noise ---- */

/* Counters side by side, a round of all of them at a time. */
static void random_words(uint32_t *restrict words, const uint32_t counter[4], const uint32_t key[2],
                         size_t n)
{
    enum { LANES = 64 };
    for (size_t i = 0; i < n; i += LANES, words += 4 * LANES) {
        uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES], k0 = key[0], k1 = key[1];
        for (uint32_t lane = 0; lane < LANES; lane++) {
            c0[lane] = counter[0];
            c1[lane] = counter[1];
            c2[lane] = counter[2];
            c3[lane] = counter[3] + (uint32_t)i + lane;
        }
        for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u)
            for (int lane = 0; lane < LANES; lane++) {
                uint64_t p0 = (uint64_t)0xd2511f53u * c0[lane];
                uint64_t p1 = (uint64_t)0xcd9e8d57u * c2[lane];
                c0[lane] = (uint32_t)(p1 >> 32) ^ c1[lane] ^ k0;
                c2[lane] = (uint32_t)(p0 >> 32) ^ c3[lane] ^ k1;
                c1[lane] = (uint32_t)p1;
                c3[lane] = (uint32_t)p0;
            }
        for (int lane = 0; lane < LANES; lane++) {
            words[4 * lane] = c0[lane];
            words[4 * lane + 1] = c1[lane];
            words[4 * lane + 2] = c2[lane];
            words[4 * lane + 3] = c3[lane];
        }
    }
}

/* The natural logarithm of a float in (0, 1], within 1e-7 or one unit in the last place: the
 * polynomial of Cephes' logf. */
static inline float log_of(float x)
{
    union {
        float f;
        uint32_t u;
    } bits = { x };
    uint32_t shifted = bits.u - 0x3f3504f3u; /* the bits of sqrt(1/2): mantissa in 0.707..1.414 */
    int32_t exponent = (int32_t)shifted >> 23;
    bits.u = (shifted & 0x7fffffu) + 0x3f3504f3u;
    float m = bits.f - 1.0f, square = m * m, e = (float)exponent;
    float y = 7.0376836292e-2f;
    y = y * m - 1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m - 1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m - 1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m - 2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    y = y * m * square - 2.12194440e-4f * e - 0.5f * square;
    return m + y + 0.693359375f * e;
}

/* Sine and cosine of a turn in 0..1, by the nearest quarter. */
static inline void circle(float turn, float *sine, float *cosine)
{
    int32_t quarter = (int32_t)(turn * 4.0f + 0.5f);
    float x = (turn - (float)quarter * 0.25f) * 6.28318530718f, square = x * x;
    float s = x + x * square *
                      ((-1.9515295891e-4f * square + 8.3321608736e-3f) * square - 1.6666654611e-1f);
    float c = 1.0f - 0.5f * square +
              square * square *
                  ((2.443315711809948e-5f * square - 1.388731625493765e-3f) * square +
                   4.166664568298827e-2f);
    float first = quarter & 1 ? c : s, second = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -first : first;
    *cosine = (quarter + 1) & 2 ? -second : second;
}

/* Box and Muller: the first half of the words are radii, the second half angles. */
static void normal_f32(float *restrict dst, const uint32_t *restrict words, size_t n)
{
    size_t half = n / 2;
    for (size_t i = 0; i < half; i++) {
        float u = (float)(int32_t)((words[i] >> 8) + 1) * 0x1p-24f, sine, cosine;
        float radius = sqrtf(-2.0f * log_of(u));
        circle((float)(int32_t)(words[half + i] >> 8) * 0x1p-24f, &sine, &cosine);
        dst[i] = radius * cosine;
        dst[half + i] = radius * sine;
    }
}

static void fill_all(struct stk__colour_kernels *kernels)
{
    kernels->blend_f32 = blend_f32;
    kernels->gray_sum_u8 = gray_sum_u8;
    kernels->gray_sum_f32 = gray_sum_f32;
    kernels->gray_u8 = gray_u8;
    kernels->gray_f32 = gray_f32;
    kernels->saturate_u8 = saturate_u8;
    kernels->saturate_f32 = saturate_f32;
    kernels->turn_hue_u8 = turn_hue_u8;
    kernels->turn_hue_f32 = turn_hue_f32;
    kernels->sharpen_u8 = sharpen_u8;
    kernels->sharpen_f32 = sharpen_f32;
    kernels->random_words = random_words;
    kernels->normal_f32 = normal_f32;
}
