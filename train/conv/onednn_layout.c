/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_layout.c: see onednn_layout.h. */
#include "train/conv/onednn_layout.h"

#include <stdlib.h>

enum { G, O, I, Y, X, N_AXES };
_Static_assert((int)N_AXES == (int)STK__ONEDNN_AXES, "axes of weights");

/* ---- places ---- */

/* Where blocks put an index of an axis. */
static size_t offset_of(const dnnl_memory_desc_t *desc, int axis, int64_t index)
{
    const dnnl_blocking_desc_t *b = &desc->format_desc.blocking;
    int64_t inner = 1, offset = 0;
    for (int k = b->inner_nblks - 1; k >= 0; k--) {
        if (b->inner_idxs[k] == axis) {
            offset += index % b->inner_blks[k] * inner;
            index /= b->inner_blks[k];
        }
        inner *= b->inner_blks[k];
    }
    return (size_t)(offset + index * b->strides[axis]);
}

bool stk__onednn_layout_make(struct stk__onednn_layout *l, const dnnl_memory_desc_t *weights)
{
    bool has_groups = weights->ndims == N_AXES;
    *l = (struct stk__onednn_layout){ 0 };
    for (int axis = 0; axis < N_AXES; axis++) {
        int theirs = has_groups ? axis : axis - 1;
        int n = theirs < 0 ? 1 : (int)weights->padded_dims[theirs];
        l->padded[axis] = n;
        l->offset[axis] = calloc((size_t)n, sizeof *l->offset[axis]);
        for (int i = 0; l->offset[axis] && theirs >= 0 && i < n; i++)
            l->offset[axis][i] = offset_of(weights, theirs, i);
        if (!l->offset[axis]) {
            stk__onednn_layout_free(l);
            return false;
        }
    }
    return true;
}

void stk__onednn_layout_free(struct stk__onednn_layout *l)
{
    for (int axis = 0; axis < N_AXES; axis++) {
        free(l->offset[axis]);
        l->offset[axis] = NULL;
    }
}

/* ---- lines ---- */

/* All filters of a group for one tap and channel. */
struct line {
    int group, channel;
    size_t packed; /* where it is, without its filters */
    size_t plain;
};

static struct line line_at(const struct stk__onednn_layout *l, const struct stk__conv *c,
                           int number)
{
    int channel = number % l->padded[I], tap = number / l->padded[I];
    int x = tap % c->kernel_width, y = tap / c->kernel_width % c->kernel_height;
    int group = tap / c->kernel_width / c->kernel_height;
    size_t channels = (size_t)(c->channels / c->groups);
    return (struct line){
        group, channel,
        l->offset[G][group] + l->offset[I][channel] + l->offset[Y][y] + l->offset[X][x],
        ((size_t)(y * c->kernel_width + x) * channels + (size_t)channel) * (size_t)c->filters +
            (size_t)group * (size_t)(c->filters / c->groups)
    };
}

/* Lines before a part, some of which only fill blocks up. */
static int lines_before(const struct stk__onednn_layout *l, int part, int n_parts)
{
    int n = l->padded[G] * l->padded[I] * l->padded[Y] * l->padded[X];
    return (int)((int64_t)n * part / n_parts);
}

static bool is_real(const struct stk__conv *c, const struct line *line)
{
    return line->group < c->groups && line->channel < c->channels / c->groups;
}

void stk__onednn_pack(const struct stk__onednn_layout *l, const struct stk__conv *c,
                      const float *weights, float *packed, int part, int n_parts)
{
    int end = lines_before(l, part + 1, n_parts), filters = c->filters / c->groups;
    for (int i = lines_before(l, part, n_parts); i < end; i++) {
        struct line line = line_at(l, c, i);
        int n = is_real(c, &line) ? filters : 0;
        for (int f = 0; f < n; f++)
            packed[line.packed + l->offset[O][f]] = weights[line.plain + (size_t)f];
        for (int f = n; f < l->padded[O]; f++)
            packed[line.packed + l->offset[O][f]] = 0;
    }
}

void stk__onednn_unpack(const struct stk__onednn_layout *l, const struct stk__conv *c,
                        float *const *sums, int n_sums, float *weights, int part, int n_parts)
{
    int end = lines_before(l, part + 1, n_parts), filters = c->filters / c->groups;
    for (int i = lines_before(l, part, n_parts); i < end; i++) {
        struct line line = line_at(l, c, i);
        for (int f = 0; f < filters && is_real(c, &line); f++) {
            size_t at = line.packed + l->offset[O][f];
            float sum = sums[0][at];
            for (int k = 1; k < n_sums; k++)
                sum += sums[k][at];
            weights[line.plain + (size_t)f] = sum;
        }
    }
}
