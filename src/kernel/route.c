/* SPDX-License-Identifier: Apache-2.0 */
/* route.c: which arithmetic gives what a library gives. */
#include "kernel/resize_rows.h"

#include <float.h>
#include <math.h>

bool stk__resize_has(const struct stk__resize_way *way)
{
    enum stk__method method = way->method;
    switch (way->semantics) {
    case STK__TF:
        return method != STK__LANCZOS4 && method != STK__HAMMING;
    case STK__PILLOW:
        return method == STK__NEAREST ||
               (way->antialias &&
                (method == STK__BILINEAR || method == STK__BICUBIC || method == STK__AREA ||
                 method == STK__LANCZOS3 || method == STK__HAMMING));
    default:
        return !way->antialias &&
               (method == STK__NEAREST || method == STK__BILINEAR || method == STK__BICUBIC ||
                method == STK__AREA || method == STK__LANCZOS4);
    }
}

static void route_tf(struct stk__route *route)
{
    route->path = STK__SUM_YX;
    route->rule = STK__TF_SPAN;
    if (route->method == STK__NEAREST) {
        route->path = STK__PICK;
        route->rule = STK__TF_NEAREST;
    } else if (route->method == STK__AREA) {
        route->path = STK__SUM_XY;
        route->rule = STK__TF_AREA;
    } else if (route->method == STK__BILINEAR && !route->antialias) {
        route->path = STK__LERP;
        route->rule = STK__TF_LERP;
    } else if (route->method == STK__BICUBIC && !route->antialias) {
        route->rule = STK__TF_CUBIC;
    }
}

/* Since Pillow 13 the height goes first if it shrinks by more than twice as many pixels as the
 * width. */
static void route_pillow(struct stk__route *route)
{
    int less_rows = route->in.height - route->out.height;
    int less_columns = route->in.width - route->out.width;
    bool is_tall = less_rows > 0 && less_rows > 2 * (int64_t)less_columns;
    route->path = is_tall ? STK__FIXED_YX : STK__FIXED_XY;
    if (!route->src_is_u8)
        route->path = is_tall ? STK__SUM_YX : STK__SUM_XY;
    route->rule = STK__PILLOW_SPAN;
    if (route->method == STK__NEAREST) {
        route->path = STK__PICK;
        route->rule = STK__PILLOW_NEAREST;
    }
}

/* A factor of shrinking: a whole number, or 0. */
static int whole_factor(int n_in, int n_out)
{
    double scale = 1.0 / ((double)n_out / n_in), whole = rint(scale);
    return scale >= 1 && fabs(scale - whole) < DBL_EPSILON ? (int)whole : 0;
}

/* Area of bytes by whole factors: integers. By two: halves are rounded up, except with two channels
 * or more than four, which go the general way. */
static void route_blocks(struct stk__route *route, int channels)
{
    bool is_half = whole_factor(route->in.width, route->out.width) == 2 &&
                   whole_factor(route->in.height, route->out.height) == 2;
    route->path = is_half && channels != 2 && channels <= 4 ? STK__HALVE : STK__BLOCK;
    route->rule = STK__OPENCV_NEAREST;
}

static void route_opencv(struct stk__route *route, int channels)
{
    int across = whole_factor(route->in.width, route->out.width);
    int down = whole_factor(route->in.height, route->out.height);
    bool shrinks = route->in.width >= route->out.width && route->in.height >= route->out.height;
    bool is_area =
        route->method == STK__AREA || (route->method == STK__BILINEAR && across == 2 && down == 2);
    route->rule = STK__OPENCV_SPAN;
    if (route->method == STK__NEAREST) {
        route->path = STK__PICK;
        route->rule = STK__OPENCV_NEAREST;
    } else if (is_area && shrinks) {
        route->path = STK__SUM_XY;
        route->rule = STK__OPENCV_AREA;
        route->rounding = route->src_is_u8 ? STK__ROUND_EVEN : STK__ROUND_NOT;
        if (route->src_is_u8 && across && down)
            route_blocks(route, channels);
    } else {
        bool has_two = is_area || route->method == STK__BILINEAR;
        route->rule = is_area ? STK__OPENCV_GROW : STK__OPENCV_SPAN;
        route->path = !route->src_is_u8 ? STK__SUM_XY : has_two ? STK__BLEND : STK__WIDE;
    }
}

static int result_dtype(const struct stk__route *route)
{
    switch (route->path) {
    case STK__PICK:
        return route->src_is_u8 ? STK_U8 : STK_F32;
    case STK__LERP:
    case STK__SUM_XY:
    case STK__SUM_YX:
        return STK_F32;
    default:
        return STK_U8;
    }
}

struct stk__route stk__route_find(const struct stk__resize_way *way, struct stk__size in,
                                  struct stk__size out, int channels)
{
    struct stk__route route = { .method = way->method,
                                .antialias = way->antialias,
                                .src_is_u8 = way->src_is_u8,
                                .in = in,
                                .out = out };
    if (way->semantics == STK__TF)
        route_tf(&route);
    else if (way->semantics == STK__PILLOW)
        route_pillow(&route);
    else
        route_opencv(&route, channels);
    route.dtype = result_dtype(&route);
    return route;
}

static bool is_fixed(const struct stk__route *route)
{
    return route->path == STK__FIXED_XY || route->path == STK__FIXED_YX;
}

static struct stk__axis axis_of(const struct stk__route *route, struct stk__resize_wish wanted)
{
    int bits = 0;
    if (is_fixed(route))
        bits = 22;
    else if (route->path == STK__BLEND || route->path == STK__WIDE)
        bits = 11;
    return (struct stk__axis){ .rule = route->rule,
                               .method = route->method,
                               .antialias = route->antialias,
                               .bits = bits,
                               .from = wanted.from,
                               .n = wanted.n,
                               .is_reversed = wanted.is_reversed };
}

struct stk__axis stk__route_x(const struct stk__route *route, struct stk__resize_wish wanted)
{
    struct stk__axis axis = axis_of(route, wanted);
    axis.n_in = route->in.width;
    axis.n_out = route->out.width;
    bool reads_bytes = is_fixed(route) || route->path == STK__WIDE ||
                       (route->path == STK__SUM_XY && route->src_is_u8);
    if (route->path != STK__LERP)
        axis.multiple = reads_bytes ? 4 : 1;
    return axis;
}

struct stk__axis stk__route_y(const struct stk__route *route, struct stk__resize_wish wanted)
{
    struct stk__axis axis = axis_of(route, wanted);
    axis.n_in = route->in.height;
    axis.n_out = route->out.height;
    return axis;
}

enum stk__across_kind stk__route_across(const struct stk__route *route)
{
    switch (route->path) {
    case STK__PICK:
    case STK__HALVE:
    case STK__BLOCK:
        return STK__ACROSS_PICK;
    case STK__LERP:
    case STK__BLEND:
        return STK__ACROSS_LERP;
    default:
        return STK__ACROSS_SPAN;
    }
}

bool stk__route_is_uniform(const struct stk__route *route)
{
    return route->path != STK__WIDE && route->path != STK__HALVE && route->path != STK__BLOCK;
}
