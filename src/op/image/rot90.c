/* SPDX-License-Identifier: Apache-2.0 */
/* rot90.c: turns images by quarters. */
#include "op/augment/geometric.h"

#include <math.h>

struct rot90 {
    struct stk_numbers k;
    double probability;
    int64_t seed;
    const char *field;
    struct stk__follow_words follow;
};

static const struct stk_param params[] = {
    STK_NUMBERS_ROW(rot90, k, NULL, 1, 16, STK_TAKES_NONE,
                    "quarters against the clock; of a list one is drawn for each image; none is 1"),
    STK_REAL_ROW(rot90, probability, 1, 0, 1, 0, "share of the images that are turned"),
    STK__SEED_AND_FIELD_ROWS(rot90),
    STK__FOLLOW_ROWS(rot90),
    STK_ROWS_END,
};

static bool map(struct stk_rows *rows, int row, struct stk__geometry *g)
{
    const struct rot90 *call = rows->params;
    struct stk__dice dice = stk__dice_of(rows, row, call->seed);
    bool is_turned = stk__dice_happens(&dice, call->probability);
    int64_t i = stk__dice_whole(&dice, 0, call->k.n);
    if (is_turned)
        stk__geometry_rot90(g, call->k.n ? (int)call->k.item[i] : 1);
    return true;
}

static int check_quarters(const struct rot90 *call, struct stk_error *err)
{
    for (int i = 0; i < call->k.n; i++)
        if (fabs(call->k.item[i]) > 1e6 || floor(call->k.item[i]) != call->k.item[i])
            return stk_fail(err, STK_VALUE, "k is a number of quarters, but there is %g",
                            call->k.item[i]);
    return STK_OK;
}

/* Height and width change places for every image or for none; otherwise they can be any. */
static void turn_size(const struct rot90 *call, const struct stk_field *field,
                      struct stk__geometric_words *words)
{
    int n = call->k.n ? call->k.n : 1, n_odd = 0;
    for (int i = 0; i < n; i++)
        n_odd += call->k.n ? (int)call->k.item[i] % 2 != 0 : 1;
    bool is_square = field->shape[0] >= 0 && field->shape[0] == field->shape[1];
    if (!n_odd || is_square)
        return;
    bool always = n_odd == n && call->probability >= 1;
    words->height = always ? field->shape[1] : -1;
    words->width = always ? field->shape[0] : -1;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct rot90 *call = inf->params;
    struct stk_error local;
    struct stk__geometric *state = stk_arena_alloc(inf->arena, sizeof *state);
    if (!state)
        return stk_fail(err, STK_MEMORY, "out of memory");
    struct stk__geometric_words words = { .field = call->field, .follow = call->follow };
    int field, code = check_quarters(call, err);
    if (!code)
        code =
            stk__image_infer(inf, stk__follow_image(inf, call->field, &call->follow, stk__is_image),
                             stk__is_image, &field, err ? err : &local);
    if (code)
        return code;
    turn_size(call, &inf->in[0]->field[field], &words);
    return stk__geometric_infer(inf, &words, map, state, err);
}

static const char doc[] =
    "Turns images of any dtype by k quarters of a circle against the clock, as tf.image.rot90\n"
    "does; negative k turns with the clock. Of a list of k each image gets one by chance, each\n"
    "with the same probability. Masks, boxes and keypoints follow with fields=.\n"
    "\n"
    "For each image two random words are drawn: whether it is turned, and how far.\n"
    "\n"
    "    files('*.jpg').decode().rot90()\n"
    "    files('*.jpg').decode().resize(224, 224).rot90([0, 1, 2, 3])\n";

const struct stk__op stk__op_rot90 = {
    .subject = STK__ABOUT_IMAGE_SHAPE,
    .decl = { "rot90", 1, "Turn images by quarters of a circle.", doc, params,
              sizeof(struct rot90) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = stk__geometric_run },
};
