/* SPDX-License-Identifier: Apache-2.0 */
/* gaussian_noise.c: images with random numbers of a normal distribution added. */
#include "op/augment/pixel_op.h"

struct gaussian_noise {
    double mean, sigma;
    bool clip;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param params[] = {
    STK_REAL_ROW(gaussian_noise, mean, 0, -100, 100, 0, "of what is added; 1 is the whole range"),
    STK_REAL_ROW(gaussian_noise, sigma, 0.1, 0, 100, 0, "its standard deviation"),
    STK_BOOL_ROW(gaussian_noise, clip, true, 0, "keep values in range; uint8 wraps otherwise"),
    STK__CHANCE_ROWS(gaussian_noise),
    STK_ROWS_END,
};

/* Values made of one run of random words. */
enum { BLOCK = 256 };

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct gaussian_noise *call = inf->params;
    return stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
}

/* The block-th noise of a row. Its words come after the first four, which hold the chance. */
static void draw(const struct stk__pixel_row *pixels, uint32_t block, float noise[BLOCK])
{
    const struct stk__colour_kernels *kernels = &pixels->raster.kernels->colour;
    struct stk__dice_place place =
        stk__rows_place(pixels->rows, pixels->row, pixels->dice.user_seed, 1 + block * (BLOCK / 4));
    uint32_t words[BLOCK];
    kernels->random_words(words, place.counter, place.key, BLOCK / 4);
    kernels->normal_f32(noise, words, BLOCK);
}

static void add_to_floats(float *dst, const float *src, const float *noise, size_t n,
                          const struct gaussian_noise *call, float peak)
{
    float mean = (float)call->mean * peak, sigma = (float)call->sigma * peak;
    for (size_t i = 0; i < n; i++) {
        float value = src[i] + (mean + noise[i] * sigma);
        if (call->clip) {
            value = value > 0 ? value : 0;
            value = value < peak ? value : peak;
        }
        dst[i] = value;
    }
}

/* Noise is cut off before it is added. */
static void add_to_bytes(uint8_t *dst, const uint8_t *src, const float *noise, size_t n,
                         const struct gaussian_noise *call)
{
    float mean = (float)(call->mean * 255), sigma = (float)(call->sigma * 255);
    for (size_t i = 0; i < n; i++) {
        int32_t value = src[i] + (int32_t)(mean + noise[i] * sigma);
        if (call->clip)
            value = value < 0 ? 0 : value > 255 ? 255 : value;
        dst[i] = (uint8_t)value;
    }
}

static int change(struct stk__pixel_row *pixels)
{
    const struct gaussian_noise *call = pixels->rows->params;
    const struct stk__raster *raster = &pixels->raster;
    size_t n = stk__raster_values(raster);
    for (size_t i = 0; i < n; i += BLOCK) {
        float noise[BLOCK];
        size_t now = n - i < BLOCK ? n - i : BLOCK;
        draw(pixels, (uint32_t)(i / BLOCK), noise);
        if (raster->is_float)
            add_to_floats((float *)raster->dst + i, (const float *)raster->src + i, noise, now,
                          call, raster->peak);
        else
            add_to_bytes((uint8_t *)raster->dst + i, (const uint8_t *)raster->src + i, noise, now,
                         call);
    }
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct gaussian_noise *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change);
}

static const char doc[] =
    "Adds a random number to every value, as torchvision's GaussianNoise does. mean and sigma are\n"
    "parts of the range: sigma=0.1 is 25.5 steps of uint8, and of float32 that was made of it.\n"
    "The noise depends on the seeds, the epoch and the image alone.\n"
    "\n"
    "    files('*.jpg').decode().gaussian_noise(sigma=0.05, probability=0.5)\n";

const struct stk__op stk__op_gaussian_noise = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "gaussian_noise", 1, "Add random noise to images, all or some by chance.", doc,
              params, sizeof(struct gaussian_noise) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = run },
};
