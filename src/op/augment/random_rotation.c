/* SPDX-License-Identifier: Apache-2.0 */
/* random_rotation.c: images turned by random angles. */
#include "op/augment/geometric.h"

struct random_rotation {
    struct stk_numbers degrees;
    int interpolation;
    bool expand;
    struct stk_numbers center, fill;
    int64_t seed;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(random_rotation, degrees, NULL, 1, 2, STK_REQUIRED,
                    "least and largest angle; one number: from minus to plus that"),
    STK__WARP_ROWS(random_rotation, STK__WARP_NEAREST),
    STK_BOOL_ROW(random_rotation, expand, false, 0, "make the image large enough for all of it"),
    STK_NUMBERS_ROW(random_rotation, center, NULL, 2, 2, STK_TAKES_NONE,
                    "x and y of what stays where it is, in pixels; none: the middle"),
    STK__SEED_AND_FIELD_ROWS(random_rotation),
    STK__FOLLOW_ROWS(random_rotation),
    STK_ROWS_END,
};

static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct random_rotation *call = rows->params;
    struct stk__dice dice = stk__dice_of(rows, row, call->seed);
    double angle = stk__dice_range(&dice, call->degrees);
    stk__geometry_rotate(g, angle, call->center, call->expand);
    return true;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct random_rotation *call = inf->params;
    struct stk__geometric *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    int code = stk__check_range("degrees", call->degrees, err);
    if (code)
        return code;
    struct stk__geometric_words words = { .field = call->field,
                                          .follow = call->follow,
                                          .interpolation = call->interpolation,
                                          .fill = call->fill,
                                          .height = call->expand ? -1 : 0,
                                          .width = call->expand ? -1 : 0 };
    return stk__geometric_infer(inf, &words, map, state, err);
}

static const char doc[] = "Turns each image by an angle drawn from a range, as "
                          "torchvision.transforms.v2.RandomRotation does;\n"
                          "what rotate says holds here. The angle of an image depends on the "
                          "seeds, the epoch and the image\n"
                          "alone. One random word is drawn for it.\n"
                          "\n"
                          "    files('*.jpg').decode().random_rotation(30, bilinear, fill=0)\n"
                          "    files('*.jpg').decode().random_rotation([0, 90], seed=7)\n";

const struct stk__op stk__op_random_rotation = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "random_rotation", 1, "Turn images by random angles.", doc, params,
              sizeof(struct random_rotation) },
    .flags = STK_OP_HEAVY | STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = stk__geometric_run },
};
