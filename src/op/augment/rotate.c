/* SPDX-License-Identifier: Apache-2.0 */
/* rotate.c: images turned by an angle. */
#include "op/augment/geometric.h"

struct rotate {
    double angle;
    int interpolation;
    bool expand;
    struct stk_numbers center, fill;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_REAL_ROW(rotate, angle, 0, -DBL_MAX, DBL_MAX, STK_REQUIRED, "degrees against the clock"),
    STK__WARP_ROWS(rotate, STK__WARP_NEAREST),
    STK_BOOL_ROW(rotate, expand, false, 0, "make the image large enough for all of it"),
    STK_NUMBERS_ROW(rotate, center, NULL, 2, 2, STK_TAKES_NONE,
                    "x and y of what stays where it is, in pixels; none: the middle"),
    STK_TEXT_ROW(rotate, field, NULL, STK_TAKES_NONE, "the image; none: the only one"),
    STK__FOLLOW_ROWS(rotate),
    STK_ROWS_END,
};

static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct rotate *call = rows->params;
    (void)row;
    stk__geometry_rotate(g, call->angle, call->center, call->expand);
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct rotate *call = inf->params;
    struct stk__geometric *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    struct stk__geometric_words words = { .field = call->field,
                                          .follow = call->follow,
                                          .interpolation = call->interpolation,
                                          .fill = call->fill,
                                          .height = call->expand ? -1 : 0,
                                          .width = call->expand ? -1 : 0 };
    return stk__geometric_infer(inf, &words, map, state, err);
}

static const char doc[] =
    "Turns images against the clock around their middle, or around center. With expand the result "
    "is\n"
    "as large as the turned image needs (around the middle; its size then differs between images "
    "of\n"
    "different sizes); otherwise the size stays. Multiples of 90 degrees around the middle only "
    "move\n"
    "pixels, if the size allows it.\n"
    "\n"
    "The results are those of torchvision.transforms.v2.functional.rotate on tensors, bit for bit "
    "as\n"
    "PyTorch computes them with AVX2, so interpolation is nearest by default. fill=none is its\n"
    "fill=None: zeros. With fill=0, the default of RandomRotation, bilinear pixels on the edge "
    "are\n"
    "mixed with the fill once more, as there. nearest takes every dtype.\n"
    "\n"
    "Masks (nearest), boxes and keypoints follow with fields=: boxes are the boxes around their "
    "turned\n"
    "corners.\n"
    "\n"
    "    files('*.jpg').decode().rotate(30, bilinear)\n"
    "    files('*.jpg').decode().rotate(10, fill=128, expand=true)\n";

const struct stk__op stk__op_rotate = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "rotate", 1, "Turn images by an angle.", doc, params, sizeof(struct rotate) },
    .flags = STK_OP_HEAVY,
    .infer = infer,
    .row = { .run = stk__geometric_run },
};
