/* SPDX-License-Identifier: Apache-2.0 */
/* flip.c: mirrors images, all of them or some by chance. */
#include "op/augment/geometric.h"

enum axis { HORIZONTAL, VERTICAL, BOTH };
static const char *const axis_names[] = { "horizontal", "vertical", "both", NULL };

struct flip {
    int axis;
    double probability;
    int64_t seed;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_CHOICE_ROW(flip, axis, axis_names, HORIZONTAL, 0,
                   "horizontal: left and right change places; vertical: top and bottom"),
    STK_REAL_ROW(flip, probability, 1, 0, 1, 0, "share of the images that are flipped"),
    STK__SEED_AND_FIELD_ROWS(flip),
    STK__FOLLOW_ROWS(flip),
    STK_ROWS_END,
};

/* torchvision counts keypoints of a mirrored image by pixels: 0 becomes the last one. */
static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct flip *flip = rows->params;
    struct stk__dice dice = stk__dice_of(rows, row, flip->seed);
    if (flip->probability < 1 && !stk__dice_happens(&dice, flip->probability))
        return true;
    g->x.is_reversed = flip->axis != VERTICAL;
    g->y.is_reversed = flip->axis != HORIZONTAL;
    g->keypoint_x = g->x.is_reversed ? -1 : 0;
    g->keypoint_y = g->y.is_reversed ? -1 : 0;
    stk__geometry_fit(g);
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct flip *flip = inf->params;
    struct stk__geometric *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    struct stk__geometric_words words = { .field = flip->field, .follow = flip->follow };
    return stk__geometric_infer(inf, &words, map, state, err);
}

static bool finish(const void *call, const void *given, struct stk__op_finish *out)
{
    const struct flip *flip = call;
    const struct stk__geometric *state = given;
    out->kind = STK__FINISH_FLIP;
    out->field = state->field;
    out->flips_x = flip->axis != VERTICAL;
    out->flips_y = flip->axis != HORIZONTAL;
    out->probability = flip->probability;
    out->user_seed = stk__user_seed(flip->seed);
    return true;
}

static const char doc[] =
    "Mirrors images of any dtype. With a probability below 1 each image is flipped or left as\n"
    "it is by chance; which ones depends on the seeds, the epoch and the image alone, not on\n"
    "workers or batches. With axis=both an image is turned by half a circle or not at all; for\n"
    "independent flips write two.\n"
    "\n"
    "Other fields follow with fields=, here and in every op that moves pixels: masks (images or\n"
    "[height, width], by the nearest pixel), boxes [n, 4] as xyxy, xywh or cxcywh, keypoints\n"
    "[n, 2]; in pixels, or with _normalized behind in shares of width and height. Boxes are "
    "clipped\n"
    "to the image. With visibility above 0 those of which a smaller share is left are dropped, "
    "and\n"
    "what is named as labels loses the same items; the lists then differ in length. No field that\n"
    "follows is taken for the image, so field= is needed only where others are left. Keypoints "
    "are\n"
    "mirrored by pixels here, as in torchvision: 0 becomes width - 1.\n"
    "\n"
    "    files('*.jpg').decode().flip()\n"
    "    files('*.jpg').decode().flip(probability=0.5).flip(vertical, probability=0.5)\n"
    "    values({image: [[[[1], [2]]]], boxes: [[[0, 0, 1, 1]]]}).flip(fields={boxes: xyxy})\n";

const struct stk__op stk__op_flip = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "flip", 1, "Mirror images, all or some by chance.", doc, params,
              sizeof(struct flip) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .finish = finish,
    .row = { .run = stk__geometric_run },
};
