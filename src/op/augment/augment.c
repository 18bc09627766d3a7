/* SPDX-License-Identifier: Apache-2.0 */
/* augment.c: the changes that automatic augmentation chooses from. */
#include "op/augment/augment.h"

#include "op/dtype_value.h"

#include <math.h>

const struct stk__magnitudes stk__magnitudes_usual = {
    .shear = 0.3, .rotate = 30, .factor = 0.9, .translate = 150.0 / 331.0, .bits = 4
};
const struct stk__magnitudes stk__magnitudes_wide = {
    .shear = 0.99, .rotate = 135, .factor = 0.99, .pixels = 32, .bits = 6
};

/* ---- magnitudes ---- */

/* torch.linspace(from, to, n)[i]: float32, counted from the nearer end, each with one rounding. */
static double line_space(double from, double to, int64_t i, int64_t n)
{
    float first = (float)from, last = (float)to;
    if (n < 2)
        return (double)first;
    float step = (last - first) / (float)(n - 1);
    float at = i < n / 2 ? fmaf(step, (float)i, first) : fmaf(-step, (float)(n - 1 - i), last);
    return (double)at;
}

/* Bits that are left. */
static double posterize_bits(double bits, int64_t i, int64_t n)
{
    if (n < 2)
        return 8;
    return (double)nearbyintf(8 - (float)i / (float)((double)(n - 1) / bits));
}

static double most_of(const struct stk__magnitudes *most, enum stk__change change,
                      const struct stk__raster *raster)
{
    switch (change) {
    case STK__CHANGE_SHEAR_X:
    case STK__CHANGE_SHEAR_Y:
        return most->shear;
    case STK__CHANGE_TRANSLATE_X:
        return most->pixels ? most->pixels : most->translate * raster->width;
    case STK__CHANGE_TRANSLATE_Y:
        return most->pixels ? most->pixels : most->translate * raster->height;
    case STK__CHANGE_ROTATE:
        return most->rotate;
    case STK__CHANGE_BRIGHTNESS:
    case STK__CHANGE_COLOR:
    case STK__CHANGE_CONTRAST:
    case STK__CHANGE_SHARPNESS:
        return most->factor;
    default:
        return 0;
    }
}

struct stk__step stk__step_make(const struct stk__magnitudes *most, enum stk__change change,
                                const struct stk__raster *raster, int64_t bin, int64_t n,
                                bool is_negative)
{
    struct stk__step step = { change, 0 };
    if (change == STK__CHANGE_POSTERIZE)
        step.magnitude = posterize_bits(most->bits, bin, n);
    else if (change == STK__CHANGE_SOLARIZE)
        step.magnitude = line_space(1, 0, bin, n);
    else
        step.magnitude =
            line_space(0, most_of(most, change, raster), bin, n) * (is_negative ? -1 : 1);
    return step;
}

/* ---- one step ---- */

static double degrees(double radians)
{
    return radians * (180 / 3.141592653589793);
}

static int warp(struct stk__pixel_row *pixels, const struct stk__raster *raster,
                const struct stk__step *step)
{
    static const double corner[2] = { 0, 0 };
    const struct stk__augment *state = pixels->rows->state;
    struct stk_numbers center = { 0 };
    struct stk__affinity affinity = { .scale = 1 };
    struct stk__geometry g;
    _Alignas(float) uint8_t fill[3 * sizeof(float)];
    int value_bytes = raster->is_float ? 4 : 1;
    for (int c = 0; c < raster->channels && state->fill.n; c++)
        stk__dtype_put(raster->is_float ? STK_F32 : STK_U8,
                       state->fill.item[state->fill.n > 1 ? c : 0], fill + c * value_bytes);
    stk__geometry_identity(&g, raster->height, raster->width);
    if (step->change == STK__CHANGE_TRANSLATE_X || step->change == STK__CHANGE_TRANSLATE_Y)
        affinity.translate[step->change == STK__CHANGE_TRANSLATE_Y] = trunc(step->magnitude);
    else {
        affinity.shear[step->change == STK__CHANGE_SHEAR_Y] = degrees(atan(step->magnitude));
        center = (struct stk_numbers){ corner, 2, -1 };
    }
    if (step->change == STK__CHANGE_ROTATE)
        stk__geometry_rotate(&g, step->magnitude, (struct stk_numbers){ 0 }, false);
    else
        stk__geometry_affinity(&g, affinity, center);
    struct stk__drawing drawing = { raster->src, raster->channels, value_bytes, state->mode,
                                    state->fill.n ? fill : NULL };
    return stk__geometry_draw(pixels->rows, &g, &drawing, raster->dst);
}

static int take(struct stk__pixel_row *pixels, const struct stk__raster *raster,
                const struct stk__step *step)
{
    switch (step->change) {
    case STK__CHANGE_BRIGHTNESS:
        stk__adjust_brightness(raster, 1 + step->magnitude);
        return STK_OK;
    case STK__CHANGE_COLOR:
        stk__adjust_saturation(raster, 1 + step->magnitude);
        return STK_OK;
    case STK__CHANGE_CONTRAST:
        stk__adjust_contrast(raster, 1 + step->magnitude);
        return STK_OK;
    case STK__CHANGE_SHARPNESS:
        stk__adjust_sharpness(raster, 1 + step->magnitude);
        return STK_OK;
    case STK__CHANGE_POSTERIZE:
        stk__adjust_posterize(raster, (int)step->magnitude);
        return STK_OK;
    case STK__CHANGE_SOLARIZE:
        stk__adjust_solarize(raster, step->magnitude * (double)raster->peak);
        return STK_OK;
    case STK__CHANGE_AUTOCONTRAST:
        stk__adjust_autocontrast(raster);
        return STK_OK;
    case STK__CHANGE_EQUALIZE:
        stk__adjust_equalize(raster);
        return STK_OK;
    case STK__CHANGE_INVERT:
        stk__adjust_invert(raster);
        return STK_OK;
    default:
        return warp(pixels, raster, step);
    }
}

/* ---- all steps ---- */

/* Results but the last alternate between two images of scratch: a step may read a few bytes behind
 * its source, and behind the destination there may be a row of another worker. */
int stk__augment_image(struct stk__pixel_row *pixels, const struct stk__step *steps, int n)
{
    const struct stk__step *real[STK__MOST_STEPS];
    struct stk__raster raster = pixels->raster;
    void *between[2] = { NULL, NULL };
    int n_real = 0;
    for (int i = 0; i < n; i++)
        if (steps[i].change != STK__CHANGE_NONE)
            real[n_real++] = &steps[i];
    for (int i = 0; i < 2 && i + 1 < n_real; i++) {
        between[i] = stk_rows_alloc(pixels->rows, stk__raster_bytes(&raster));
        if (!between[i])
            return STK_MEMORY;
    }
    if (!n_real)
        stk__adjust_nothing(&raster);
    for (int i = 0; i < n_real; i++) {
        raster.dst = i + 1 < n_real ? between[i % 2] : pixels->raster.dst;
        int code = take(pixels, &raster, real[i]);
        if (code)
            return code;
        raster.src = raster.dst;
    }
    return STK_OK;
}

/* ---- infer ---- */

static int check_fill(const struct stk_field *field, struct stk_numbers fill, struct stk_error *err)
{
    if (fill.n > 1 && field->shape[2] != fill.n)
        return stk_fail(err, STK_VALUE,
                        "fill has %d numbers, but there are %lld channels (-1: any)", fill.n,
                        (long long)field->shape[2]);
    for (int i = 0; i < fill.n; i++)
        if (!stk__dtype_has(field->dtype, fill.item[i]))
            return stk_fail(err, STK_VALUE, "fill %g is no value of the image's dtype",
                            fill.item[i]);
    return STK_OK;
}

int stk__augment_infer(struct stk_infer *inf, const char *field, int interpolation,
                       struct stk_numbers fill, struct stk_error *err)
{
    int code = stk__pixel_infer(inf, field, STK__PIXEL_COLOURS, err);
    if (code)
        return code;
    struct stk__augment *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    state->pixel = *(const struct stk__pixel_state *)inf->state;
    state->mode = (enum stk__warp_mode)interpolation;
    state->fill = fill;
    inf->state = state;
    return check_fill(&inf->in[0]->field[state->pixel.field], fill, err);
}
