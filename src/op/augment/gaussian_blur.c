/* SPDX-License-Identifier: Apache-2.0 */
/* gaussian_blur.c: images blurred by a Gaussian kernel. */
#include "op/augment/pixel_op.h"

struct gaussian_blur {
    struct stk_numbers kernel_size, sigma;
    double probability;
    int64_t seed;
    const char *field;
};

enum { MOST_SIZE = 999 };

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(gaussian_blur, kernel_size, NULL, 1, 2, STK_REQUIRED,
                    "pixels that are mixed, an odd number; or [along a row, along a column]"),
    STK_NUMBERS_ROW(gaussian_blur, sigma, NULL, 1, 2, STK_TAKES_NONE,
                    "deviation in pixels, or [least, greatest] to draw from; none: [0.1, 2]"),
    STK__CHANCE_ROWS(gaussian_blur),
    STK_ROWS_END,
};

struct state {
    struct stk__pixel_state pixel; /* first */
    int size[2];
    struct stk__range sigma;
};

static int read_sizes(struct state *state, const struct gaussian_blur *call, struct stk_error *err)
{
    for (int i = 0; i < 2; i++) {
        double size = call->kernel_size.item[call->kernel_size.n == 2 ? i : 0];
        if (!(size >= 1 && size <= MOST_SIZE) || size != (int)size || (int)size % 2 == 0)
            return stk_fail(err, STK_VALUE, "kernel_size must be odd, from 1 to %d", MOST_SIZE);
        state->size[i] = (int)size;
    }
    return STK_OK;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct gaussian_blur *call = inf->params;
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_ANY, err);
    if (code)
        return code;
    struct state *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    state->pixel = *(const struct stk__pixel_state *)inf->state;
    state->sigma = (struct stk__range){ 0.1, 2 };
    inf->state = state;
    code = read_sizes(state, call, err);
    if (!code && call->sigma.n)
        code = stk__range_of(&call->sigma, "sigma", (struct stk__range){ 1e-3, 1e6 }, &state->sigma,
                             err);
    return code;
}

static int change(struct stk__pixel_row *pixels)
{
    const struct state *state = pixels->rows->state;
    const struct stk__raster *raster = &pixels->raster;
    double sigma = stk__dice_in(&pixels->dice, state->sigma);
    struct stk__blur blur = { .sigma = { sigma, sigma } };
    blur.size[0] = state->size[0];
    blur.size[1] = state->size[1];
    if (blur.size[0] / 2 >= raster->width || blur.size[1] / 2 >= raster->height) {
        stk_rows_fail(pixels->rows, pixels->row, STK_DATA,
                      "the image is %d x %d pixels (height x width), too small for a kernel of "
                      "%d x %d, which is reflected at its edges",
                      raster->height, raster->width, blur.size[1], blur.size[0]);
        return STK_OK;
    }
    blur.work = stk_rows_alloc(pixels->rows, stk__blur_bytes(raster, blur.size));
    if (!blur.work)
        return STK_MEMORY;
    stk__adjust_blur(raster, &blur);
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct gaussian_blur *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change);
}

static const char doc[] =
    "Mixes pixels by the weights of a normal distribution, the image reflected at its edges, as\n"
    "torchvision's GaussianBlur does on tensors. One sigma is drawn for both directions. Sums are\n"
    "float32, rounded to even for uint8; where torchvision, which adds in another order, comes to\n"
    "the other side of a half, a uint8 differs by 1.\n"
    "\n"
    "    files('*.jpg').decode().gaussian_blur(23, [0.1, 2], probability=0.5)\n"
    "    files('*.jpg').decode().gaussian_blur(5, sigma=1.5)\n";

const struct stk__op stk__op_gaussian_blur = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "gaussian_blur", 1, "Blur images, all or some by chance.", doc, params,
              sizeof(struct gaussian_blur) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = run },
};
