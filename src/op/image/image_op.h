/* SPDX-License-Identifier: Apache-2.0 */
/* image_op.h: what ops on images [height, width, channels] share: the field they work on, and a
 * row of it. The field has the same place in input and output. */
#pragma once
#include "op/declaration.h"

/* Rank 3, fixed or shaped, of any dtype. */
bool stk__is_image(const struct stk_field *field);

/* Such a field of uint8 or float32. */
bool stk__is_image_u8_f32(const struct stk_field *field);

/* Passes all fields on except the image, which `fits` and which the op writes. */
int stk__image_infer(struct stk_infer *inf, const char *name,
                     bool (*fits)(const struct stk_field *), int *field, struct stk_error *err);

/* Gives an output field this height and width: fixed if the channels are known, else shaped. */
void stk__image_set_size(struct stk_field *field, int64_t height, int64_t width);

struct stk__picture {
    const uint8_t *data;
    int32_t height, width, channels;
};

/* The image of a live row. */
struct stk__picture stk__picture_get(const struct stk_rows *rows, int field, int row);

/* What the op that says `part` wants of an image of this size, asked in a run of another op. */
int stk__part_choose(const struct stk__image_part *part, const struct stk_rows *rows, int row,
                     const int32_t size[2], struct stk__image_region *out, struct stk_error *err);

/* How many times smaller that op makes an image of this size. */
double stk__part_shrink(const struct stk__image_part *part, const struct stk_rows *rows, int row,
                        const int32_t size[2]);

/* Where the row's result of these dimensions goes; NULL when out of memory. */
void *stk__picture_put(struct stk_rows *rows, int field, int row, struct stk__picture size);

/* The row's image stays as it is: copied to where it must be, or left where it lies. */
void stk__picture_keep(struct stk_rows *rows, int field, int row);
