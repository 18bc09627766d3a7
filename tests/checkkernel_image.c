/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_image.c: operands and jobs for image kernels and permute. */
#include "checkkernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_word(void)
{
    static uint64_t state = 1;
    state += 0x9e3779b97f4a7c15u;
    return stk__mix(state, 0);
}

static void *take(struct input *in, size_t bytes, size_t offset)
{
    uint8_t *block = malloc(bytes + offset + !bytes);
    if (!block) {
        fprintf(stderr, "checkkernel: out of memory\n");
        exit(2);
    }
    in->block[in->n_blocks++] = block;
    return block + offset;
}

static float random_float(bool extreme)
{
    uint32_t word = (uint32_t)random_word();
    float any;
    memcpy(&any, &word, sizeof any);
    return extreme ? any : (float)(int32_t)word * 0x1p-23f;
}

static float *random_floats(struct input *in, size_t n, bool extreme)
{
    float *all = take(in, n * sizeof *all, random_word() % 16 * sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = random_float(extreme);
    return all;
}

static void make_taps(struct input *in, struct stk__taps *taps, enum stk__taps_kind kind, int n_in)
{
    void *memory = malloc(stk__taps_bytes(kind, n_in, in->n_out));
    if (!memory || in->n_blocks >= 16)
        exit(2);
    in->block[in->n_blocks++] = memory;
    stk__taps_init(taps, kind, n_in, in->n_out, memory);
}

static void make_tables(struct input *in)
{
    make_taps(in, &in->lerp, STK__LERP, in->n_in);
    make_taps(in, &in->area, STK__AREA, in->n_in);
    make_taps(in, &in->triangle, STK__TRIANGLE, in->n_in);
    make_taps(in, &in->nearest, STK__NEAREST, in->n_in);
    make_taps(in, &in->lerp_y, STK__LERP, in->height);
    make_taps(in, &in->area_y, STK__AREA, in->height);
    make_taps(in, &in->triangle_y, STK__TRIANGLE, in->height);
    make_taps(in, &in->nearest_y, STK__NEAREST, in->height);
    void *row = take(in, stk__lerp_row_bytes(in->n_out, in->channels), 0);
    stk__lerp_row_init(&in->row, &in->lerp, in->channels, row);
    float mul[16], add[16];
    for (int c = 0; c < in->channels; c++) {
        mul[c] = random_float(false);
        add[c] = random_float(false);
    }
    void *period = take(in, stk__affine_bytes(in->channels), 0);
    stk__affine_init(&in->affine, mul, add, in->channels, period);
}

void make_input(struct input *in, struct size size, bool extreme)
{
    *in = (struct input){ .n_in = size.n_in,
                          .n_out = size.n_out,
                          .channels = size.channels,
                          .height = size.height,
                          .n = size.n_in * size.channels };
    size_t all = (size_t)in->n * (size_t)in->height;
    in->bytes = take(in, all, random_word() % 64);
    for (size_t i = 0; i < all; i++)
        in->bytes[i] = extreme ? (uint8_t) - (random_word() & 1) : (uint8_t)random_word();
    in->floats = random_floats(in, all, extreme);
    in->more = random_floats(in, (size_t)in->n, extreme);
    in->weight = random_float(extreme);
    make_tables(in);
    size_t row_values = (size_t)(in->n_in + in->n_out) * (size_t)in->channels;
    float *work = take(in, row_values * 3 * sizeof *work, 0);
    for (int i = 0; i < 3; i++)
        in->work[i] = work + (size_t)i * row_values;
    in->count = 1 + random_word() % (UINT64_C(1) << random_word() % 57);
    in->key = random_word();
    in->position = take(in, (size_t)in->n * sizeof *in->position, 0);
    for (int i = 0; i < in->n; i++)
        in->position[i] = random_word() % in->count;
}

void free_input(struct input *in)
{
    for (int i = 0; i < in->n_blocks; i++)
        free(in->block[i]);
}

size_t output_bytes(const struct input *in)
{
    size_t pixels = (size_t)in->n_in + (size_t)in->n_out * (size_t)in->n_out;
    return pixels * (size_t)in->channels * 8 + 64;
}

/* ---- jobs ---- */

static void lerp_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.lerp_x_u8(out, in->bytes, &in->row);
}

static void lerp_x_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.lerp_x_f32(out, in->floats, &in->row);
}

static void lerp_y_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.lerp_y_f32(out, in->floats, in->more, in->weight, in->n);
}

static void area_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.sum_x_u8(out, in->bytes, &in->area, in->channels);
}

static void area_x_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.sum_x_f32(out, in->floats, &in->area, in->channels);
}

static void triangle_x_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.sum_x_u8(out, in->bytes, &in->triangle, in->channels);
}

static void triangle_x_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.sum_x_f32(out, in->floats, &in->triangle, in->channels);
}

static void add_y_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    memcpy(out, in->more, (size_t)in->n * sizeof(float));
    k->image.add_y_u8(out, in->bytes, in->weight, in->n);
}

static void add_y_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    memcpy(out, in->more, (size_t)in->n * sizeof(float));
    k->image.add_y_f32(out, in->floats, in->weight, in->n);
}

static void mul_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.mul_f32(out, in->floats, in->weight, in->n);
    k->image.mul_f32(out, out, in->weight, in->n);
}

static void affine_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.affine_u8(out, in->bytes, in->n, &in->affine);
}

static void affine_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.affine_f32(out, in->floats, in->n, &in->affine);
}

static void round_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.round_u8(out, in->floats, in->n);
}

static void reverse_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.reverse_pixels(out, in->bytes, in->n_in, in->channels);
}

static void reverse_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.reverse_pixels(out, (const uint8_t *)in->floats, in->n_in, in->channels * 4);
}

static void pick_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.pick_pixels(out, in->bytes, in->nearest.index, in->n_out, in->channels);
}

static void permute(const struct stk__kernels *k, const struct input *in, void *out)
{
    memcpy(out, in->position, (size_t)in->n * sizeof *in->position);
    k->permute(out, in->n, in->count, in->key);
}

static struct stk__resize resizer(const struct input *in, enum stk__taps_kind kind,
                                  const struct stk__taps *x, const struct stk__taps *y)
{
    return (struct stk__resize){ .kind = kind,
                                 .channels = in->channels,
                                 .src_is_u8 = true,
                                 .x = x,
                                 .y = y,
                                 .lerp_x = &in->row,
                                 .row = { in->work[0], in->work[1] },
                                 .sum = in->work[2] };
}

static void bilinear_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__LERP, &in->lerp, &in->lerp_y);
    stk__resize_image(&resize, &k->image, in->bytes, out);
}

static void bilinear_affine_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__LERP, &in->lerp, &in->lerp_y);
    resize.affine = &in->affine;
    stk__resize_image(&resize, &k->image, in->bytes, out);
}

static void bilinear_then_affine_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__LERP, &in->lerp, &in->lerp_y);
    stk__resize_image(&resize, &k->image, in->bytes, out);
    k->image.affine_f32(out, out, (int64_t)in->n_out * in->n_out * in->channels, &in->affine);
}

static void bilinear_to_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__LERP, &in->lerp, &in->lerp_y);
    resize.dst_is_u8 = true;
    stk__resize_image(&resize, &k->image, in->bytes, out);
}

static void bilinear_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__LERP, &in->lerp, &in->lerp_y);
    resize.src_is_u8 = false;
    stk__resize_image(&resize, &k->image, in->floats, out);
}

static void area_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__AREA, &in->area, &in->area_y);
    stk__resize_image(&resize, &k->image, in->bytes, out);
}

static void triangle_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__TRIANGLE, &in->triangle, &in->triangle_y);
    stk__resize_image(&resize, &k->image, in->bytes, out);
}

static void nearest_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    struct stk__resize resize = resizer(in, STK__NEAREST, &in->nearest, &in->nearest_y);
    resize.dst_is_u8 = true;
    stk__resize_image(&resize, &k->image, in->bytes, out);
}

const struct job image_jobs[] = {
    { "lerp_x_u8", lerp_x_u8, true, false },
    { "lerp_x_f32", lerp_x_f32, true, false },
    { "lerp_y_f32", lerp_y_f32, true, false },
    { "sum_x_u8 area", area_x_u8, true, false },
    { "sum_x_f32 area", area_x_f32, true, false },
    { "sum_x_u8 triangle", triangle_x_u8, true, false },
    { "sum_x_f32 triangle", triangle_x_f32, true, false },
    { "add_y_u8", add_y_u8, true, false },
    { "add_y_f32", add_y_f32, true, false },
    { "mul_f32", mul_f32, true, false },
    { "affine_u8", affine_u8, true, false },
    { "affine_f32", affine_f32, true, false },
    { "round_u8", round_u8, false, false },
    { "reverse_pixels u8", reverse_u8, false, false },
    { "reverse_pixels f32", reverse_f32, false, false },
    { "pick_pixels u8", pick_u8, false, false },
    { "permute", permute, false, false },
    { "resize bilinear u8", bilinear_u8, true, true },
    { "resize bilinear u8, affine in it", bilinear_affine_u8, true, true },
    { "resize bilinear u8, affine after it", bilinear_then_affine_u8, true, true },
    { "resize bilinear u8 to u8", bilinear_to_u8, false, true },
    { "resize bilinear f32", bilinear_f32, true, true },
    { "resize area u8", area_u8, true, true },
    { "resize triangle u8", triangle_u8, true, true },
    { "resize nearest u8", nearest_u8, false, true },
    { NULL, NULL, false, false },
};
