/* SPDX-License-Identifier: Apache-2.0 */
/* mixup.c: images of a batch faded into each other. */
#include "kernel/kernel.h"
#include "op/augment/batch_mix.h"

struct mixup {
    struct stk__mix_words mix;
};

static const struct stk_param params[] = { STK__MIX_ROWS(mixup), STK_ROWS_END };

static bool is_pile(const struct stk_field *field)
{
    return (field->kind == STK_FIXED || field->kind == STK_SHAPED) && field->rank == 4 &&
           (field->dtype == STK_U8 || field->dtype == STK_F32);
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct mixup *call = inf->params;
    return stk__mix_infer(inf, &call->mix, is_pile,
                          "a batch of images (four dimensions) of uint8 or float32", err);
}

static int mix_images(struct stk_rows *rows, int row, const struct stk__mix *mix, double share)
{
    const struct stk__image_kernels *kernels = &stk__kernels()->image;
    struct stk__pile pile = stk__pile_get(rows, mix->images, row);
    uint8_t *dst = stk__pile_put(rows, mix->images, row, &pile);
    if (!dst)
        return STK_MEMORY;
    const float weight[2] = { (float)(1 - share), (float)share };
    bool is_u8 = rows->in_type->field[mix->images].dtype == STK_U8;
    int32_t n = pile.dims[0];
    for (int32_t i = 0; i < n; i++, dst += pile.image_bytes) {
        const uint8_t *own = pile.data + (size_t)i * pile.image_bytes;
        const uint8_t *before = pile.data + (size_t)(i ? i - 1 : n - 1) * pile.image_bytes;
        if (is_u8)
            kernels->mix_u8(dst, before, own, weight, pile.image_bytes);
        else
            kernels->mix_f32((float *)(void *)dst, (const float *)(const void *)before,
                             (const float *)(const void *)own, weight,
                             pile.image_bytes / sizeof(float));
    }
    return STK_OK;
}

static int run(struct stk_rows *rows)
{
    const struct mixup *call = rows->params;
    const struct stk__mix *mix = rows->state;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__dice dice = stk__dice_of(rows, i, call->mix.seed);
        double share = stk__mix_draw(&dice, &call->mix);
        int rc = mix_images(rows, i, mix, share);
        if (!rc)
            rc = stk__mix_labels(rows, i, mix, share);
        if (rc)
            return rc;
    }
    return STK_OK;
}

static const char doc[] =
    "Goes behind batch: fades each image of a batch into the one before it (the first into the\n"
    "last), as torchvision.transforms.v2.MixUp does. A share is drawn for the batch from\n"
    "Beta(alpha, alpha); an image becomes share * image + (1 - share) * the one before, and its\n"
    "label the same mixture of shares of classes, in float32: [batch, num_classes]. Labels that\n"
    "are numbers need num_classes. uint8 images are rounded, half to even. Shuffle before batch:\n"
    "neighbours are mixed.\n"
    "\n"
    "Which batches are mixed, and how, depends on the seeds, the epoch and the batch's first\n"
    "element. One random word is drawn for the chance, then as many as the share needs.\n"
    "\n"
    "    image_folder('train').decode().resize(64, 64).batch(8).mixup(0.2, num_classes=10)\n";

const struct stk__op stk__op_mixup = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "mixup", 1, "Fade images of a batch into each other, and their labels.", doc, params,
              sizeof(struct mixup) },
    .flags = STK_OP_RANDOM | STK_OP_HEAVY | STK__OP_KEEPS_CLASSES,
    .infer = infer,
    .row = { .run = run },
};
