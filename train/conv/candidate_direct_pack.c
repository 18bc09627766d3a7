/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_direct_pack.c: weights in blocks of filters, or turned in blocks of channels. */
#include "train/conv/candidate_direct.h"

#include <string.h>

static int in_blocks(int n, int block)
{
    return (n + block - 1) / block * block;
}

static struct stk__taps_class class_of(int remainder, int size, int pad, int kernel, int stride)
{
    int first = ((remainder - pad) % stride + stride) % stride;
    return (struct stk__taps_class){ .first_tap = remainder,
                                     .n_taps = kernel > remainder
                                                   ? (kernel - remainder - 1) / stride + 1
                                                   : 0,
                                     .first = first,
                                     .n = size > first ? (size - first - 1) / stride + 1 : 0,
                                     .from = (first + pad - remainder) / stride };
}

struct stk__taps_class stk__class_y(const struct stk__conv *c, int remainder)
{
    return class_of(remainder, c->height, c->pad_top, c->kernel_height, c->stride_y);
}

struct stk__taps_class stk__class_x(const struct stk__conv *c, int remainder)
{
    return class_of(remainder, c->width, c->pad_left, c->kernel_width, c->stride_x);
}

static size_t group_terms(const struct stk__conv *c)
{
    return (size_t)c->kernel_height * (size_t)c->kernel_width * (size_t)(c->channels / c->groups);
}

size_t stk__direct_packed_floats(const struct stk__conv *c, int block)
{
    return (size_t)c->groups * (size_t)in_blocks(c->filters / c->groups, block) * group_terms(c);
}

/* Each tap is in one class, so the classes together have as many terms as the kernel. */
size_t stk__direct_turned_floats(const struct stk__conv *c, int block)
{
    return (size_t)c->groups * (size_t)in_blocks(c->channels / c->groups, block) *
           (size_t)(c->kernel_height * c->kernel_width) * (size_t)(c->filters / c->groups);
}

size_t stk__direct_class_floats(const struct stk__conv *c, int block, struct stk__taps_class y,
                                struct stk__taps_class x)
{
    return (size_t)(y.n_taps * x.n_taps) * (size_t)(c->filters / c->groups) *
           (size_t)in_blocks(c->channels / c->groups, block);
}

/* A block of some filters by all terms: where it begins in weights and in what is packed. */
struct block {
    const struct stk__conv *conv;
    int first, n, size;
    size_t at;
};

/* Calls `each` for every block. */
static void for_blocks(const struct stk__conv *c, int size,
                       void (*each)(const struct block *block, void *ctx), void *ctx)
{
    int filters = c->filters / c->groups;
    size_t at = 0;
    for (int first = 0; first < c->filters; first += filters)
        for (int done = 0; done < filters; done += size) {
            int n = filters - done < size ? filters - done : size;
            each(&(struct block){ c, first + done, n, size, at }, ctx);
            at += group_terms(c) * (size_t)size;
        }
}

struct packing {
    const float *weights;
    float *packed;
    int part, n_parts;
};

static size_t part_of(size_t n, int part, int n_parts)
{
    return n * (size_t)part / (size_t)n_parts;
}

static void pack_block(const struct block *b, void *ctx)
{
    const struct packing *p = ctx;
    size_t terms = group_terms(b->conv), end = part_of(terms, p->part + 1, p->n_parts);
    for (size_t i = part_of(terms, p->part, p->n_parts); i < end; i++) {
        float *to = p->packed + b->at + i * (size_t)b->size;
        memcpy(to, p->weights + i * (size_t)b->conv->filters + b->first, (size_t)b->n * sizeof *to);
        memset(to + b->n, 0, (size_t)(b->size - b->n) * sizeof *to);
    }
}

void stk__direct_pack(const struct stk__conv *c, int block, const float *weights, float *packed,
                      int part, int n_parts)
{
    struct packing packing = { weights, packed, part, n_parts };
    for_blocks(c, block, pack_block, &packing);
}

struct unpacking {
    float *const *sums;
    int n_sums;
    float *weights;
    int part, n_parts;
};

static void unpack_block(const struct block *b, void *ctx)
{
    const struct unpacking *u = ctx;
    size_t terms = group_terms(b->conv), end = part_of(terms, u->part + 1, u->n_parts);
    for (size_t i = part_of(terms, u->part, u->n_parts); i < end; i++) {
        size_t at = b->at + i * (size_t)b->size;
        float *to = u->weights + i * (size_t)b->conv->filters + b->first;
        memcpy(to, u->sums[0] + at, (size_t)b->n * sizeof *to);
        for (int s = 1; s < u->n_sums; s++)
            for (int f = 0; f < b->n; f++)
                to[f] += u->sums[s][at + (size_t)f];
    }
}

void stk__direct_unpack(const struct stk__conv *c, int block, float *const *sums, int n_sums,
                        float *weights, int part, int n_parts)
{
    struct unpacking unpacking = { sums, n_sums, weights, part, n_parts };
    for_blocks(c, block, unpack_block, &unpacking);
}

/* ---- turned ---- */

/* A block of channels of one group. */
struct turning {
    const struct stk__conv *conv;
    int block, group, done;
    const float *weights;
};

/* One tap: filters, each by the block. */
static void turn_tap(const struct turning *t, const float *tap, float *turned)
{
    const struct stk__conv *c = t->conv;
    int channels = c->channels / c->groups, filters = c->filters / c->groups;
    for (int f = 0; f < filters; f++)
        for (int i = 0; i < t->block; i++)
            *turned++ =
                t->done + i < channels
                    ? tap[(size_t)(t->done + i) * (size_t)c->filters + t->group * filters + f]
                    : 0;
}

/* Taps in the order in which outputs lie: backwards across. Returns what is behind them. */
static float *turn_class(const struct turning *t, struct stk__taps_class y,
                         struct stk__taps_class x, float *turned)
{
    const struct stk__conv *c = t->conv;
    size_t tap = (size_t)(c->channels / c->groups) * (size_t)c->filters;
    for (int j = 0; j < y.n_taps; j++)
        for (int i = x.n_taps - 1; i >= 0; i--) {
            int ky = y.first_tap + j * c->stride_y, kx = x.first_tap + i * c->stride_x;
            turn_tap(t, t->weights + (size_t)(ky * c->kernel_width + kx) * tap, turned);
            turned += (size_t)(c->filters / c->groups) * (size_t)t->block;
        }
    return turned;
}

/* Parts are shared by blocks, in turn. */
void stk__direct_turn(const struct stk__conv *c, int block, const float *weights, float *turned,
                      int part, int n_parts)
{
    int turn = 0;
    for (int a = 0; a < c->stride_y; a++)
        for (int b = 0; b < c->stride_x; b++)
            for (int group = 0; group < c->groups; group++)
                for (int done = 0; done < c->channels / c->groups; done += block) {
                    struct turning t = { c, block, group, done, weights };
                    struct stk__taps_class y = stk__class_y(c, a), x = stk__class_x(c, b);
                    if (turn++ % n_parts == part)
                        turn_class(&t, y, x, turned);
                    turned += (size_t)(y.n_taps * x.n_taps) * (size_t)(c->filters / c->groups) *
                              (size_t)block;
                }
}
