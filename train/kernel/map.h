/* SPDX-License-Identifier: Apache-2.0 */
/* map.h: where the pixels of an image lie. A pixel's channels are side by side; pixels and rows are any
 * distance apart, so that rows of an image with a frame, of a band, or every second pixel are maps.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Values in half precision, STK_F16 or STK_BF16, instead of floats: where `at` is NULL there are none. Kernels
 * that take them say so. */
struct stk__read_halves {
    const uint16_t *at;
    int dtype;
};

struct stk__write_halves {
    uint16_t *at;
    int dtype;
};

struct stk__read_map {
    const float *at;      /* the first pixel */
    int64_t across, down; /* values from a pixel to the next one, and to the one below */
    struct stk__read_halves halves;
};

struct stk__write_map {
    float *at;
    int64_t across, down;
    struct stk__write_halves halves;
};
