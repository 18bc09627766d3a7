/* SPDX-License-Identifier: Apache-2.0 */
/* pool_range.h: which cells windows have, and which windows a place is in. */
#pragma once
#include "train/kernel/pool_kernel.h"

/* Cells of windows along one way, those of the padding left out. */
struct stk__pool_range {
    int first, end;
};

static inline struct stk__pool_range stk__cells_of(int window, int size, int stride, int pad,
                                                   int limit)
{
    int begin = window * stride - pad, end = limit - begin;
    return (struct stk__pool_range){ begin < 0 ? -begin : 0, end < size ? end : size };
}

static inline struct stk__pool_range stk__cells_y(const struct stk__pooling *p, int row)
{
    return stk__cells_of(row, p->height, p->stride_y, p->pad_top, p->in_height);
}

static inline struct stk__pool_range stk__cells_x(const struct stk__pooling *p, int column)
{
    return stk__cells_of(column, p->width, p->stride_x, p->pad_left, p->in_width);
}

/* Windows along one way that a place is in. */
static inline struct stk__pool_range stk__windows_of(int place, int size, int stride, int pad,
                                                     int limit)
{
    int last = (place + pad) / stride, before = place + pad - size;
    return (struct stk__pool_range){ before < 0 ? 0 : before / stride + 1,
                                     last < limit ? last + 1 : limit };
}

static inline struct stk__pool_range stk__windows_y(const struct stk__pooling *p, int row)
{
    return stk__windows_of(row, p->height, p->stride_y, p->pad_top, p->out_height);
}

static inline struct stk__pool_range stk__windows_x(const struct stk__pooling *p, int column)
{
    return stk__windows_of(column, p->width, p->stride_x, p->pad_left, p->out_width);
}
