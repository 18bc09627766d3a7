/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c: steps that are needed run one after the other through a row in the first cache level;
 * the last one writes to the destination. */
#include "kernel/finish.h"

#include <string.h>

/* A row under way. */
struct line {
    const struct stk__kernels *kernels;
    const void *data;
    int dtype;
    int n;            /* values */
    uint8_t *room[2]; /* where it may go next: the one it does not lie in */
};

static size_t room_bytes(int n)
{
    return ((size_t)n * sizeof(float) + 63) / 64 * 64;
}

size_t stk__finish_bytes(int n)
{
    return 2 * room_bytes(n);
}

bool stk__finish_is_none(const struct stk__finish *finish, int dtype)
{
    bool is_rounded = finish->rounding && dtype == STK_F32;
    return finish->dtype == dtype && !is_rounded && !finish->affine && !finish->is_planar;
}

static void *next_room(const struct line *line)
{
    return line->data == line->room[0] ? line->room[1] : line->room[0];
}

static void set(struct line *line, void *data, int dtype)
{
    line->data = data;
    line->dtype = dtype;
}

static void round_line(struct line *line, enum stk__rounding rounding, void *dst)
{
    const struct stk__image_kernels *image = &line->kernels->image;
    (rounding == STK__ROUND_UP ? image->round_u8 : image->round_even_u8)(dst, line->data, line->n);
    set(line, dst, STK_U8);
}

static void multiply_line(struct line *line, const struct stk__affine *affine, void *dst)
{
    if (line->dtype == STK_U8)
        line->kernels->image.affine_u8(dst, line->data, line->n, affine);
    else
        line->kernels->image.affine_f32(dst, line->data, line->n, affine);
    set(line, dst, STK_F32);
}

static void convert_line(struct line *line, int dtype, void *dst)
{
    line->kernels->elementwise.convert[line->dtype][dtype](dst, line->data, NULL, NULL,
                                                           (size_t)line->n);
    set(line, dst, dtype);
}

void stk__finish_row(const struct stk__finish *finish, const struct stk__kernels *kernels,
                     struct stk__finish_pixels row, void *work, uint8_t *dst, size_t plane_bytes)
{
    struct line line = { kernels, row.data, row.dtype, row.n * finish->channels, { work, NULL } };
    uint8_t *last = finish->is_planar ? NULL : dst; /* where the last step but planes writes */
    line.room[1] = line.room[0] + room_bytes(line.n);
    bool is_half = finish->dtype == STK_F16 || finish->dtype == STK_BF16;
    if (finish->rounding && line.dtype == STK_F32)
        round_line(&line, finish->rounding,
                   last && finish->dtype == STK_U8 && !finish->affine ? last : next_room(&line));
    if (finish->affine)
        multiply_line(&line, finish->affine,
                      last && finish->dtype == STK_F32 ? last : next_room(&line));
    if (is_half && line.dtype == STK_U8)
        convert_line(&line, STK_F32, next_room(&line));
    if (line.dtype != finish->dtype)
        convert_line(&line, finish->dtype, last ? last : next_room(&line));
    size_t value_bytes = stk_dtype_bytes(line.dtype);
    if (finish->is_planar)
        kernels->image.split_planes(dst, plane_bytes, line.data, row.n, finish->channels,
                                    (int)value_bytes);
    else if (line.data != dst)
        memcpy(dst, line.data, (size_t)line.n * value_bytes);
}

/* ---- affine ---- */

static int affine_period(int channels)
{
    int period = channels;
    while (period % 16)
        period *= 2;
    return period;
}

size_t stk__affine_bytes(int channels)
{
    return (size_t)affine_period(channels) * 2 * sizeof(float);
}

void stk__affine_init(struct stk__affine *affine, const float *mul, const float *add, int channels,
                      void *memory)
{
    int period = affine_period(channels);
    float *all_mul = memory, *all_add = all_mul + period;
    for (int i = 0; i < period; i++) {
        all_mul[i] = mul[i % channels];
        all_add[i] = add[i % channels];
    }
    *affine = (struct stk__affine){ period, all_mul, all_add };
}
