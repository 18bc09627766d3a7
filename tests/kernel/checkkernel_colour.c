/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_colour.c: jobs for the colour kernels. Images of other than three channels are taken
 * for rows of three. */
#include "checkkernel.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t n_pixels(const struct input *in)
{
    return (size_t)in->n / 3;
}

/* In the range of real factors, and not round. */
static struct stk__blend blend_of(const struct input *in, float peak)
{
    float ratio = (float)(in->key % 3001) * 0.001f;
    return (struct stk__blend){ ratio, 1 - ratio, peak };
}

static float turn_of(const struct input *in)
{
    return (float)(in->key % 1001) * 0.001f - 0.5f;
}

static void map_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    uint8_t table[256];
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)((uint64_t)(i * i + 3 * i) * in->key >> 9);
    k->colour.map_u8(out, in->bytes, (size_t)in->n, table);
}

static void blend_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__blend blend = blend_of(in, 255);
    k->colour.blend_f32(out, in->floats, (size_t)in->n, &blend, in->weight);
}

static void gray_sum_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    double sum = k->colour.gray_sum_u8(in->bytes, n_pixels(in));
    memcpy(out, &sum, sizeof sum);
}

static void gray_sum_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    double sum = k->colour.gray_sum_f32(in->floats, n_pixels(in));
    sum = sum == sum ? sum : 0;
    memcpy(out, &sum, sizeof sum);
}

static void gray_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->colour.gray_u8(out, in->bytes, n_pixels(in));
}

static void gray_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->colour.gray_f32(out, in->floats, n_pixels(in));
}

static void saturate_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__blend blend = blend_of(in, 255);
    k->colour.saturate_u8(out, in->bytes, n_pixels(in), &blend);
}

static void saturate_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__blend blend = blend_of(in, 1);
    k->colour.saturate_f32(out, in->floats, n_pixels(in), &blend);
}

static void turn_hue_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->colour.turn_hue_u8(out, in->bytes, n_pixels(in), turn_of(in));
}

static void turn_hue_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->colour.turn_hue_f32(out, in->floats, n_pixels(in), turn_of(in), 255);
}

static void sharpen_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__blend blend = blend_of(in, 255);
    const uint8_t *src = in->bytes + in->channels;
    const uint8_t *rows[3] = { src, src + (in->height > 1) * in->n, src };
    if (in->n_in > 2)
        k->colour.sharpen_u8(out, rows, (size_t)(in->n - 2 * in->channels), (size_t)in->channels,
                             &blend);
}

static void sharpen_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__blend blend = blend_of(in, 1);
    const float *src = in->floats + in->channels;
    const float *rows[3] = { src, src + (in->height > 1) * in->n, src };
    if (in->n_in > 2)
        k->colour.sharpen_f32(out, rows, (size_t)(in->n - 2 * in->channels), (size_t)in->channels,
                              &blend);
}

/* Every version, the plain one too, against the generator itself. */
static void random_words(const struct stk__kernels *k, const struct input *in, void *out)
{
    enum { N = 128 };
    uint32_t counter[4] = { 1, (uint32_t)in->n, UINT32_MAX, UINT32_MAX - (uint32_t)in->n_out };
    const uint32_t key[2] = { 7, (uint32_t)in->n_in << 20 };
    uint32_t words[4 * N], expected[4];
    (void)out;
    k->colour.random_words(words, counter, key, N);
    for (int i = 0; i < N; i++, counter[3]++) {
        stk__philox(counter, key, expected);
        if (memcmp(words + 4 * i, expected, sizeof expected)) {
            printf("FAIL random_words: the words of counter %u\n", counter[3]);
            exit(1);
        }
    }
}

static void normal_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->colour.normal_f32(out, (const uint32_t *)(const void *)in->position, (size_t)in->n * 2);
}

const struct job colour_jobs[] = {
    { "map_u8", map_u8, false, false },
    { "blend_f32", blend_f32, true, false },
    { "gray_sum_u8", gray_sum_u8, false, false },
    { "gray_sum_f32", gray_sum_f32, false, false },
    { "gray_u8", gray_u8, false, false },
    { "gray_f32", gray_f32, true, false },
    { "saturate_u8", saturate_u8, false, false },
    { "saturate_f32", saturate_f32, true, false },
    { "turn_hue_u8", turn_hue_u8, false, false },
    { "turn_hue_f32", turn_hue_f32, true, false },
    { "sharpen_u8", sharpen_u8, false, false },
    { "sharpen_f32", sharpen_f32, true, false },
    { "normal_f32", normal_f32, true, false },
    { "random_words", random_words, false, false },
    { NULL, NULL, false, false },
};
