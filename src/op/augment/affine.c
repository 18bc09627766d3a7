/* SPDX-License-Identifier: Apache-2.0 */
/* affine.c: images turned, moved, scaled and sheared. */
#include "op/augment/geometric.h"

struct affine {
    double angle;
    struct stk_numbers translate;
    double scale;
    struct stk_numbers shear;
    int interpolation;
    struct stk_numbers fill, center;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_REAL_ROW(affine, angle, 0, -DBL_MAX, DBL_MAX, 0, "degrees with the clock"),
    STK_NUMBERS_ROW(affine, translate, NULL, 2, 2, STK_TAKES_NONE,
                    "pixels to the right and down; none: 0"),
    STK_REAL_ROW(affine, scale, 1, 1e-6, 1e6, 0, "how much larger it becomes"),
    STK_NUMBERS_ROW(affine, shear, NULL, 1, 2, STK_TAKES_NONE,
                    "degrees along x, and along y; none: 0"),
    STK__WARP_ROWS(affine, STK__WARP_NEAREST),
    STK_NUMBERS_ROW(affine, center, NULL, 2, 2, STK_TAKES_NONE,
                    "x and y of what stays where it is, in pixels; none: the middle"),
    STK_TEXT_ROW(affine, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK__FOLLOW_ROWS(affine),
    STK_ROWS_END,
};

static double number_at(struct stk_numbers numbers, int i)
{
    return i < numbers.n ? numbers.item[i] : 0;
}

static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct affine *call = rows->params;
    struct stk__affinity affinity = {
        .angle = call->angle,
        .translate = { number_at(call->translate, 0), number_at(call->translate, 1) },
        .scale = call->scale,
        .shear = { number_at(call->shear, 0), number_at(call->shear, 1) }
    };
    (void)row;
    stk__geometry_affinity(g, affinity, call->center);
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct affine *call = inf->params;
    struct stk__geometric *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    struct stk__geometric_words words = { .field = call->field,
                                          .follow = call->follow,
                                          .interpolation = call->interpolation,
                                          .fill = call->fill };
    return stk__geometric_infer(inf, &words, map, state, err);
}

static const char doc[] = "Shears, scales and turns images around their middle (or center), then "
                          "moves them; the size stays.\n"
                          "The results are those of torchvision.transforms.v2.functional.affine on "
                          "tensors, with the same\n"
                          "parameters; interpolation, fill and the fields that follow are as for "
                          "rotate. Mind that a positive\n"
                          "angle turns with the clock here and against it in rotate, as there.\n"
                          "\n"
                          "    files('*.jpg').decode().affine(10, [5, 0], 1.1, [8, 0], bilinear)\n"
                          "    files('*.jpg').decode().affine(translate=[-20, 10], fill=128)\n";

const struct stk__op stk__op_affine = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "affine", 1, "Turn, move, scale and shear images.", doc, params,
              sizeof(struct affine) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .row = { .run = stk__geometric_run },
};
