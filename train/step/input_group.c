/* SPDX-License-Identifier: Apache-2.0 */
/* input_group.c: images of the caller as the first layer reads them: in float32, in a frame. */
#include "train/step/step.h"

static void read_bytes(const struct stk__work *work, const struct stk__image *to, int64_t image)
{
    const struct stk__run *run = work->run;
    int64_t row = (int64_t)to->width * to->channels;
    run->kernels->pixel.from_bytes(
        &(struct stk__pixel_bytes){ .x = (const uint8_t *)run->images + image * row * to->height,
                                    .x_down = row,
                                    .y = stk__writes(to),
                                    .width = to->width,
                                    .height = to->height,
                                    .channels = to->channels,
                                    .scale = run->image_scale,
                                    .offset = run->image_offset });
}

static void read_floats(const struct stk__work *work, const struct stk__image *to, int64_t image)
{
    struct stk__image from = *to;
    from.down = (int64_t)to->width * to->channels;
    from.at = (float *)work->run->images + image * from.down * to->height;
    if (from.at != to->at)
        stk__put_rows(work->run->kernels, &from, to, false);
}

static void read_images(const struct stk__work *work, const struct stk__group *group)
{
    for (int i = 0; i < work->n; i++) {
        struct stk__image to = stk__image_at(work, group->out, i);
        if (work->run->image_dtype == STK_U8)
            read_bytes(work, &to, work->first + i);
        else
            read_floats(work, &to, work->first + i);
    }
    stk__clear_frames(work, group->out);
}

static const struct stk__part parts[] = { { read_images, STK__OUT, false }, { 0 } };

const struct stk__group_type stk__input_group = { .name = "input", .forward = parts, .use = parts };
