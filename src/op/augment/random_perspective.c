/* SPDX-License-Identifier: Apache-2.0 */
/* random_perspective.c: images seen from random sides. */
#include "op/augment/geometric.h"

struct random_perspective {
    double distortion_scale, probability;
    int interpolation;
    struct stk_numbers fill;
    int64_t seed;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_REAL_ROW(random_perspective, distortion_scale, 0.5, 0, 1, 0,
                 "how far corners move, as a share of half the image"),
    STK_REAL_ROW(random_perspective, probability, 0.5, 0, 1, 0,
                 "share of the images that are changed"),
    STK__WARP_ROWS(random_perspective, STK__WARP_BILINEAR),
    STK__SEED_AND_FIELD_ROWS(random_perspective),
    STK__FOLLOW_ROWS(random_perspective),
    STK_ROWS_END,
};

/* Corners clockwise from the top left one; each moves inwards by a whole number of pixels. */
static void draw_corners(struct stk__dice *dice, double share, const struct stk__geometry *g,
                         double corner[8])
{
    int32_t width = g->src_width, height = g->src_height;
    int64_t bound_x = (int64_t)(share * (width / 2)) + 1;
    int64_t bound_y = (int64_t)(share * (height / 2)) + 1;
    for (int i = 0; i < 4; i++) {
        bool is_right = i == 1 || i == 2, is_bottom = i > 1;
        int64_t x = is_right ? width - bound_x : 0, y = is_bottom ? height - bound_y : 0;
        corner[2 * i] = (double)stk__dice_whole(dice, x, x + bound_x);
        corner[2 * i + 1] = (double)stk__dice_whole(dice, y, y + bound_y);
    }
}

/* An image of one row or column has no corners to move. */
static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct random_perspective *call = rows->params;
    struct stk__dice dice = stk__dice_of(rows, row, call->seed);
    if (!stk__dice_happens(&dice, call->probability))
        return true;
    double right = g->src_width - 1, bottom = g->src_height - 1, to[8], c[8];
    const double from[8] = { 0, 0, right, 0, right, bottom, 0, bottom };
    draw_corners(&dice, call->distortion_scale, g, to);
    if (stk__perspective_solve(to, from, c))
        stk__geometry_perspective(g, c);
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct random_perspective *call = inf->params;
    struct stk__geometric *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    struct stk__geometric_words words = { .field = call->field,
                                          .follow = call->follow,
                                          .interpolation = call->interpolation,
                                          .fill = call->fill };
    return stk__geometric_infer(inf, &words, map, state, err);
}

static const char doc[] =
    "Moves the corners of an image inwards by random numbers of pixels, as\n"
    "torchvision.transforms.v2.RandomPerspective does, and does what perspective does. Nine "
    "random\n"
    "words are drawn: whether the image is changed, and x and y of its corners, clockwise from the "
    "top\n"
    "left one. An image of which three corners would lie on a line, such as one of a single row, "
    "stays\n"
    "as it is.\n"
    "\n"
    "    files('*.jpg').decode().random_perspective(0.4, probability=0.8, fill=0)\n";

const struct stk__op stk__op_random_perspective = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "random_perspective", 1, "Draw images as seen from random sides.", doc, params,
              sizeof(struct random_perspective) },
    .flags = STK_OP_HEAVY | STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = stk__geometric_run },
};
