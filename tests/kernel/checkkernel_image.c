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
    return stk__hash_mix(state, 0);
}

void *take(struct input *in, size_t bytes, size_t offset)
{
    uint8_t *block = malloc(bytes + offset + !bytes);
    if (!block) {
        fprintf(stderr, "checkkernel: out of memory\n");
        exit(2);
    }
    if (in->n_blocks == MAX_BLOCKS)
        exit(2);
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

static void make_affine(struct input *in)
{
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
    in->padded = take(in, all + 7, random_word() % 64);
    memcpy(in->padded, in->bytes, all);
    in->floats = random_floats(in, all, extreme);
    in->more = random_floats(in, (size_t)in->n, extreme);
    in->weight = random_float(extreme);
    make_affine(in);
    make_ways(in);
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

static void round_even_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.round_even_u8(out, in->floats, in->n);
}

static void mix_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    const float weight[2] = { in->weight, 1 - in->weight };
    k->image.mix_f32(out, in->floats, in->more, weight, (size_t)in->n);
}

static void mix_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    const float weight[2] = { in->weight / 256, 1 - in->weight / 256 };
    const uint8_t *other = in->bytes + (size_t)in->n * (size_t)(in->height - 1);
    k->image.mix_u8(out, in->bytes, other, weight, (size_t)in->n);
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
    k->image.pick_pixels(out, in->bytes, in->way[0].x.taps.first, in->n_out, in->channels);
}

static void permute(const struct stk__kernels *k, const struct input *in, void *out)
{
    memcpy(out, in->position, (size_t)in->n * sizeof *in->position);
    k->permute(out, in->n, in->count, in->key);
}

static void split_u8(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.split_planes(out, (size_t)in->n_in, in->bytes, in->n_in, in->channels, 1);
}

/* The floats as values of this size. */
static void split(const struct stk__kernels *k, const struct input *in, void *out, int bytes)
{
    k->image.split_planes(out, (size_t)in->n_in * (size_t)bytes, (const uint8_t *)in->floats,
                          in->n_in, in->channels, bytes);
}

static void split_u16(const struct stk__kernels *k, const struct input *in, void *out)
{
    split(k, in, out, 2);
}

static void split_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    split(k, in, out, 4);
}

static void join_f32(const struct stk__kernels *k, const struct input *in, void *out)
{
    k->image.join_planes(out, (const uint8_t *)in->floats, (size_t)in->n_in * 4, in->n_in,
                         in->channels, 4);
}

const struct job image_jobs[] = {
    { "mul_f32", mul_f32, true, false },
    { "affine_u8", affine_u8, true, false },
    { "affine_f32", affine_f32, true, false },
    { "round_u8", round_u8, false, false },
    { "round_even_u8", round_even_u8, false, false },
    { "mix_f32", mix_f32, true, false },
    { "mix_u8", mix_u8, false, false },
    { "reverse_pixels u8", reverse_u8, false, false },
    { "reverse_pixels f32", reverse_f32, false, false },
    { "pick_pixels u8", pick_u8, false, false },
    { "split_planes u8", split_u8, false, false },
    { "split_planes u16", split_u16, false, false },
    { "split_planes f32", split_f32, false, false },
    { "join_planes f32", join_f32, false, false },
    { "permute", permute, false, false },
    { NULL, NULL, false, false },
};
