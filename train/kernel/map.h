/* SPDX-License-Identifier: Apache-2.0 */
/* map.h: where the pixels of an image lie. A pixel's channels are side by side; pixels and rows are any
 * distance apart, so that rows of an image with a frame, of a band, or every second pixel are maps.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct stk__read_map {
    const float *at;      /* the first pixel */
    int64_t across, down; /* values from a pixel to the next one, and to the one below */
};

struct stk__write_map {
    float *at;
    int64_t across, down;
};
