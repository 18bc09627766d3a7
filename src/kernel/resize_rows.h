/* SPDX-License-Identifier: Apache-2.0 */
/* resize_rows.h: a whole image, row by row, with the arithmetic of a library. */
#pragma once
#include "kernel/across.h"
#include "kernel/finish.h"

enum stk__semantics { STK__TF, STK__PILLOW, STK__OPENCV };

/* What is asked for. */
struct stk__resize_way {
    enum stk__semantics semantics;
    enum stk__method method;
    bool antialias;
    bool src_is_u8; /* else float32 */
};

/* False if the library has no such method, or has it only with (or only without) antialias. */
bool stk__resize_has(const struct stk__resize_way *way);

/* How pixels are computed; see resize_rows.c. */
enum stk__path {
    STK__PICK,
    STK__LERP,
    STK__SUM_XY,
    STK__SUM_YX,
    STK__FIXED_XY,
    STK__FIXED_YX,
    STK__BLEND,
    STK__WIDE,
    STK__HALVE,
    STK__BLOCK,
};

struct stk__size {
    int height, width;
};

/* How an image of one size becomes one of another. */
struct stk__route {
    enum stk__path path;
    enum stk__rule rule;
    enum stk__method method;
    bool antialias, src_is_u8;
    int dtype;                   /* of the result: STK_U8 or STK_F32 */
    enum stk__rounding rounding; /* of a result that is floats here but uint8 in the library */
    struct stk__size in, out;
};

/* The way must be one that there is. */
struct stk__route stk__route_find(const struct stk__resize_way *way, struct stk__size in,
                                  struct stk__size out, int channels);

/* Output pixels that are wanted along an axis, and in which order. */
struct stk__resize_wish {
    int from, n;
    bool is_reversed;
};

/* The axes of a route, to make taps for. */
struct stk__axis stk__route_x(const struct stk__route *route, struct stk__resize_wish wanted);
struct stk__axis stk__route_y(const struct stk__route *route, struct stk__resize_wish wanted);
enum stk__across_kind stk__route_across(const struct stk__route *route);

/* False if the taps along x must be made for all columns in their order, since values are made
 * differently depending on where they stand. */
bool stk__route_is_uniform(const struct stk__route *route);

struct stk__resize {
    const struct stk__route *route;
    const struct stk__across *x;
    const struct stk__taps *y;
    struct stk__resize_wish
        columns; /* those of x, or of all that x has if the route is not uniform */
    size_t src_row_bytes;
    const struct stk__finish *finish;
    void *work; /* of stk__resize_bytes, aligned to 64 */
};

size_t stk__resize_bytes(const struct stk__resize *resize);

/* Rows are written in order, each value once. */
void stk__resize_image(const struct stk__resize *resize, const struct stk__kernels *kernels,
                       const void *src, struct stk__target dst);
