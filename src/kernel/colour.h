/* SPDX-License-Identifier: Apache-2.0 */
/* colour.h: kernels on the colours of an image.
 *
 * Values are bytes, or floats from 0 to `peak`. Kernels that count pixels want three interleaved
 * channels: red, green, blue. dst may be src, except where a kernel looks at neighbours. The
 * arithmetic is torchvision's on tensors, step by step, with a fused multiplication and addition
 * where PyTorch has one.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* What is made of a value and another: value * ratio + other * rest, within 0..peak. */
struct stk__blend {
    float ratio, rest, peak;
};

struct stk__colour_kernels {
    /* dst = table[src]. */
    void (*map_u8)(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t table[256]);
    /* A blend with one value for all. */
    void (*blend_f32)(float *dst, const float *src, size_t n, const struct stk__blend *blend,
                      float other);

    /* ---- pixels ---- */
    /* The sum of the grays, which bytes have without fractions. */
    double (*gray_sum_u8)(const uint8_t *src, size_t n);
    double (*gray_sum_f32)(const float *src, size_t n);
    /* One value per pixel; dst is not src. */
    void (*gray_u8)(uint8_t *dst, const uint8_t *src, size_t n);
    void (*gray_f32)(float *dst, const float *src, size_t n);
    /* A blend of each pixel with its gray. */
    void (*saturate_u8)(uint8_t *dst, const uint8_t *src, size_t n, const struct stk__blend *blend);
    void (*saturate_f32)(float *dst, const float *src, size_t n, const struct stk__blend *blend);
    /* Turns hues by -0.5 to 0.5 of the circle. */
    void (*turn_hue_u8)(uint8_t *dst, const uint8_t *src, size_t n, float turn);
    void (*turn_hue_f32)(float *dst, const float *src, size_t n, float turn, float peak);

    /* ---- neighbours ---- */
    /* A blend of n values with the mean of 3 x 3 pixels in which the middle one counts five times;
     * `step` values apart along the row, rows[1] is the middle one, and a value before and behind
     * is read. */
    void (*sharpen_u8)(uint8_t *dst, const uint8_t *const rows[3], size_t n, size_t step,
                       const struct stk__blend *blend);
    void (*sharpen_f32)(float *dst, const float *const rows[3], size_t n, size_t step,
                        const struct stk__blend *blend);

    /* ---- noise ---- */
    /* n (a multiple of 64) times the four words of stk__philox (base/rng.h), for counters whose last
     * word counts up. */
    void (*random_words)(uint32_t *words, const uint32_t counter[4], const uint32_t key[2],
                         size_t n);
    /* n (even) values of a normal distribution from n random words. */
    void (*normal_f32)(float *dst, const uint32_t *words, size_t n);
};

void stk__colour_fill_scalar(struct stk__colour_kernels *kernels);
void stk__colour_fill_avx2(struct stk__colour_kernels *kernels);
void stk__colour_fill_avx512(struct stk__colour_kernels *kernels);
