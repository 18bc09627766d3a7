/* SPDX-License-Identifier: Apache-2.0 */
/* input_group.c: images of the caller as the first layer reads them: in float32, in a frame. */
#include "train/step/strips.h"

static void read_bytes(const struct stk__step_work *work, const struct stk__step_image *to,
                       int64_t row_number)
{
    const struct stk__run *run = work->run;
    int64_t row = (int64_t)to->width * to->channels;
    run->kernels->pixel.from_bytes(
        &(struct stk__pixel_bytes){ .x = (const uint8_t *)run->images + row_number * row,
                                    .x_down = row,
                                    .y = stk__writes(to),
                                    .width = to->width,
                                    .height = to->height,
                                    .channels = to->channels,
                                    .scale = run->image_scale,
                                    .offset = run->image_offset });
}

/* Rows that begin with number row_number of all rows of the batch. */
static struct stk__step_image floats_at(const struct stk__step_work *work,
                                        const struct stk__map *to, int n, int64_t row_number)
{
    int64_t row = (int64_t)to->width * to->channels;
    return (struct stk__step_image){ .at = (float *)work->run->images + row_number * row,
                                     .down = row,
                                     .height = n,
                                     .width = to->width,
                                     .channels = to->channels };
}

static void read_image(const struct stk__step_work *work, const struct stk__step_group *group,
                       int i)
{
    struct stk__map to = stk__map_at(work, group->out, i);
    for (int at = 0, end; at < to.height; at = end) {
        end = stk__strip_end(group, at, to.height);
        int64_t number = (work->first + i) * to.height + at;
        struct stk__step_image rows;
        if (work->run->image_dtype == STK_U8) {
            rows = stk__rows_to(&to, at, end - at, stk__strip(work, group, 0));
            read_bytes(work, &rows, number);
        } else {
            rows = floats_at(work, &to, end - at, number);
        }
        stk__map_store(&to, at, &rows);
    }
}

static void read_images(const struct stk__step_work *work, const struct stk__step_group *group)
{
    for (int i = 0; i < work->n; i++)
        read_image(work, group, i);
    stk__clear_frames(work, group->out);
}

static const struct stk__part parts[] = { { read_images, STK__OUT, false }, { 0 } };

const struct stk__group_type stk__input_group = {
    .name = "input", .forward = parts, .use = parts, .n_strips = 1
};
