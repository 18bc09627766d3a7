/* SPDX-License-Identifier: Apache-2.0 */
/* cutmix.c: parts of images of a batch put into each other. */
#include "op/augment/batch_mix.h"

#include <math.h>
#include <string.h>

enum order { NHWC, NCHW };
static const char *const order_names[] = { "NHWC", "NCHW", NULL };

struct cutmix {
    struct stk__mix_words mix;
    int layout;
};

static const struct stk_param params[] = {
    STK__MIX_ROWS(cutmix),
    STK_CHOICE_ROW(cutmix, layout, order_names, NHWC, 0, "where the batch has its channels"),
    STK_ROWS_END,
};

static bool is_pile(const struct stk_field *field)
{
    return (field->kind == STK_FIXED || field->kind == STK_SHAPED) && field->rank == 4;
}

static int infer(struct stk_infer *inf, struct stk_error *err)
{
    const struct cutmix *call = inf->params;
    return stk__mix_infer(inf, &call->mix, is_pile, "a batch of images (four dimensions)", err);
}

/* A part of every image. */
struct part {
    int32_t top, left, bottom, right;
};

/* Around a random pixel, as large as the share says, as far as it is inside. */
static struct part draw_part(struct stk__dice *dice, double share, int32_t height, int32_t width)
{
    int32_t x = (int32_t)stk__dice_whole(dice, 0, width);
    int32_t y = (int32_t)stk__dice_whole(dice, 0, height);
    double radius = 0.5 * sqrt(1 - share);
    int32_t half_width = (int32_t)(radius * width), half_height = (int32_t)(radius * height);
    return (struct part){ y - half_height > 0 ? y - half_height : 0,
                          x - half_width > 0 ? x - half_width : 0,
                          y + half_height < height ? y + half_height : height,
                          x + half_width < width ? x + half_width : width };
}

/* From one image into another: planes of rows of pixels of so many bytes. */
static void copy_part(uint8_t *dst, const uint8_t *src, const struct part *part,
                      const int32_t planes_height_width[3], size_t pixel_bytes)
{
    size_t row_bytes = (size_t)planes_height_width[2] * pixel_bytes;
    size_t part_bytes = (size_t)(part->right - part->left) * pixel_bytes;
    for (int32_t p = 0; p < planes_height_width[0]; p++) {
        size_t plane = (size_t)p * (size_t)planes_height_width[1] * row_bytes;
        for (int32_t y = part->top; y < part->bottom; y++) {
            size_t at = plane + (size_t)y * row_bytes + (size_t)part->left * pixel_bytes;
            memcpy(dst + at, src + at, part_bytes);
        }
    }
}

/* What stays of an image, or -1 when out of memory. */
static double mix_images(struct stk_rows *rows, int row, struct stk__dice *dice)
{
    const struct cutmix *call = rows->params;
    const struct stk__mix *mix = rows->state;
    struct stk__pile pile = stk__pile_get(rows, mix->images, row);
    uint8_t *dst = stk__pile_put(rows, mix->images, row, &pile);
    if (!dst)
        return -1;
    bool has_planes = call->layout == NCHW;
    const int32_t size[3] = { has_planes ? pile.dims[1] : 1, pile.dims[has_planes ? 2 : 1],
                              pile.dims[has_planes ? 3 : 2] };
    size_t value_bytes = stk_dtype_bytes(rows->in_type->field[mix->images].dtype);
    size_t pixel_bytes = value_bytes * (size_t)(has_planes ? 1 : pile.dims[3]);
    double share = stk__mix_draw(dice, &call->mix);
    struct part part = draw_part(dice, share, size[1], size[2]);
    int32_t n = pile.dims[0];
    memcpy(dst, pile.data, (size_t)n * pile.image_bytes);
    for (int32_t i = 0; i < n; i++)
        copy_part(dst + (size_t)i * pile.image_bytes,
                  pile.data + (size_t)(i ? i - 1 : n - 1) * pile.image_bytes, &part, size,
                  pixel_bytes);
    double area = (double)(part.right - part.left) * (part.bottom - part.top);
    return size[1] && size[2] ? 1 - area / ((double)size[1] * size[2]) : 1;
}

static int run(struct stk_rows *rows)
{
    const struct cutmix *call = rows->params;
    for (int i = 0; i < rows->n; i++) {
        if (rows->mask[i] != STK_LIVE)
            continue;
        struct stk__dice dice = stk__dice_of(rows, i, call->mix.seed);
        double share = mix_images(rows, i, &dice);
        int rc = share < 0 ? STK_MEMORY : stk__mix_labels(rows, i, rows->state, share);
        if (rc)
            return rc;
    }
    return STK_OK;
}

static const char doc[] =
    "Goes behind batch: puts a part of each image of a batch into the next one (of the last into\n"
    "the first), at the same place, as torchvision.transforms.v2.CutMix does. A share is drawn "
    "for\n"
    "the batch from Beta(alpha, alpha), and a pixel; the part lies around it, covers 1 - share of\n"
    "the image, and ends where the image ends. Labels become shares of classes, as for mixup, by\n"
    "what is left of each image. Images can be of any dtype. Shuffle before batch.\n"
    "\n"
    "Random words are drawn as for mixup, then one for the column and one for the row.\n"
    "\n"
    "    image_folder('train').decode().resize(64, 64).batch(8).cutmix(num_classes=10)\n"
    "    image_folder('train').decode().resize(64, 64).layout(NCHW).batch(8)"
    ".cutmix(num_classes=10, layout=NCHW)\n";

const struct stk__op stk__op_cutmix = {
    .subject = STK__ABOUT_IMAGE_VALUES,
    .decl = { "cutmix", 1, "Put parts of images of a batch into each other, and mix labels.", doc,
              params, sizeof(struct cutmix) },
    .flags = STK_OP_RANDOM | STK_OP_HEAVY | STK__OP_KEEPS_CLASSES,
    .infer = infer,
    .row = { .run = run },
};
