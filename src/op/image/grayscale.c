/* SPDX-License-Identifier: Apache-2.0 */
/* grayscale.c: images without colour. */
#include "op/augment/pixel_op.h"

struct grayscale {
    int64_t num_output_channels;
    double probability;
    int64_t seed;
    const char *field;
};

static const struct stk_param params[] = {
    STK_INT_ROW(grayscale, num_output_channels, STK_NONE, 1, 3, STK_TAKES_NONE,
                "1, or 3 that are equal; none: as many as there are"),
    STK__CHANCE_ROWS(grayscale),
    STK_ROWS_END,
};

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct grayscale *call = inf->params;
    int64_t wanted = call->num_output_channels;
    int code = stk__pixel_infer(inf, call->field, STK__PIXEL_COLOURS, err);
    if (code || wanted == STK_NONE)
        return code;
    const struct stk__pixel_state *state = inf->state;
    struct stk_field *field = &inf->out->field[state->field];
    if (wanted == 2)
        return stk_fail(err, STK_VALUE, "num_output_channels must be 1 or 3");
    if (call->probability < 1 && field->shape[2] != wanted)
        return stk_fail(err, STK_VALUE,
                        "num_output_channels=%d would give some images another number of channels; "
                        "leave it out, or probability",
                        (int)wanted);
    field->shape[2] = wanted;
    stk__image_set_size(field, field->shape[0], field->shape[1]);
    return STK_OK;
}

static int change(struct stk__pixel_row *pixels)
{
    const struct grayscale *call = pixels->rows->params;
    int64_t wanted = call->num_output_channels;
    stk__adjust_gray(&pixels->raster, wanted == STK_NONE ? pixels->raster.channels : (int)wanted);
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct grayscale *call = rows->params;
    return stk__pixel_run(rows, call->probability, call->seed, change);
}

static const char doc[] =
    "Gives 0.2989 red + 0.587 green + 0.114 blue, cut off for uint8, in one channel or in three\n"
    "that are equal. Without num_output_channels it is torchvision's RandomGrayscale on tensors,\n"
    "with it Grayscale. (decode(channels=1) gives the grays of the JPEG format instead.)\n"
    "\n"
    "    files('*.jpg').decode(channels=3).grayscale(probability=0.1)\n"
    "    files('*.jpg').decode(channels=3).grayscale(1)\n";

const struct stk__op stk__op_grayscale = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "grayscale", 1, "Take the colour out of images, all or some by chance.", doc, params,
              sizeof(struct grayscale) },
    .flags = STK_OP_RANDOM,
    .infer = infer,
    .row = { .run = run },
};
