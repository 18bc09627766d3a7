/* SPDX-License-Identifier: Apache-2.0 */
/* random_affine.c: images turned, moved, scaled and sheared at random. */
#include "op/augment/geometric.h"

#include <math.h>

struct random_affine {
    struct stk_numbers degrees, translate, scale, shear;
    int interpolation;
    struct stk_numbers fill, center;
    int64_t seed;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(random_affine, degrees, NULL, 1, 2, STK_REQUIRED,
                    "least and largest angle; one number: from minus to plus that"),
    STK_NUMBERS_ROW(random_affine, translate, NULL, 2, 2, STK_TAKES_NONE,
                    "shares of width and height it is moved by at most; none: 0"),
    STK_NUMBERS_ROW(random_affine, scale, NULL, 2, 2, STK_TAKES_NONE,
                    "least and largest factor; none: 1"),
    STK_NUMBERS_ROW(random_affine, shear, NULL, 1, 4, STK_TAKES_NONE,
                    "degrees along x, a number or a range; four numbers: also a range along y"),
    STK__WARP_ROWS(random_affine, STK__WARP_NEAREST),
    STK_NUMBERS_ROW(random_affine, center, NULL, 2, 2, STK_TAKES_NONE,
                    "x and y of what stays where it is, in pixels; none: the middle"),
    STK__SEED_AND_FIELD_ROWS(random_affine),
    STK__FOLLOW_ROWS(random_affine),
    STK_ROWS_END,
};

/* Whole pixels, half to even. */
static double draw_shift(struct stk__dice *dice, double share, int32_t size)
{
    double most = share * size;
    return nearbyint(stk__dice_between(dice, -most, most));
}

static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct random_affine *call = rows->params;
    struct stk__dice dice = stk__dice_of(rows, row, call->seed);
    struct stk__affinity affinity = { .angle = stk__dice_range(&dice, call->degrees), .scale = 1 };
    if (call->translate.n) {
        affinity.translate[0] = draw_shift(&dice, call->translate.item[0], g->src_width);
        affinity.translate[1] = draw_shift(&dice, call->translate.item[1], g->src_height);
    }
    if (call->scale.n)
        affinity.scale = stk__dice_range(&dice, call->scale);
    if (call->shear.n)
        affinity.shear[0] = stk__dice_range(&dice, call->shear);
    if (call->shear.n == 4)
        affinity.shear[1] = stk__dice_between(&dice, call->shear.item[2], call->shear.item[3]);
    stk__geometry_affinity(g, affinity, call->center);
    return true;
}

static int check(const struct random_affine *call, struct stk_error *err)
{
    int code = stk__check_range("degrees", call->degrees, err);
    if (!code)
        code = stk__check_range("scale", call->scale, err);
    if (!code)
        code = stk__check_range("shear", call->shear, err);
    for (int i = 0; i < call->translate.n && !code; i++)
        if (call->translate.item[i] < 0 || call->translate.item[i] > 1)
            code = stk_fail(err, STK_VALUE, "translate holds shares from 0 to 1, but there is %g",
                            call->translate.item[i]);
    if (!code && call->scale.n && call->scale.item[0] <= 0)
        code = stk_fail(err, STK_VALUE, "scale is above 0, but there is %g", call->scale.item[0]);
    if (!code && call->shear.n == 3)
        code = stk_fail(err, STK_VALUE, "shear has one, two or four numbers, not three");
    return code;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct random_affine *call = inf->params;
    struct stk__geometric *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    struct stk__geometric_words words = { .field = call->field,
                                          .follow = call->follow,
                                          .interpolation = call->interpolation,
                                          .fill = call->fill };
    int code = check(call, err);
    return code ? code : stk__geometric_infer(inf, &words, map, state, err);
}

static const char doc[] =
    "Draws for each image an angle, a shift in whole pixels, a factor and shears from ranges, as\n"
    "torchvision.transforms.v2.RandomAffine does, and does what affine does with them. Random "
    "words are\n"
    "drawn in this order, for those that are given: angle, shift in x and y, factor, shear in x "
    "and y.\n"
    "\n"
    "    files('*.jpg').decode().random_affine(15, translate=[0.1, 0.1], scale=[0.8, 1.2])\n"
    "    files('*.jpg').decode().random_affine(0, shear=[-10, 10, -5, 5], interpolation=bilinear, "
    "fill=0)\n";

const struct stk__op stk__op_random_affine = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "random_affine", 1, "Turn, move, scale and shear images at random.", doc, params,
              sizeof(struct random_affine) },
    .flags = STK_OP_HEAVY | STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = stk__geometric_run },
};
