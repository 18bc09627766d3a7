/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_place.h: at which byte of a JPEG file something is; private to this room.
 *
 * libjpeg tells how far it has read when it finds a fault. In front of the first scan that is
 * within the segment at fault, or right behind it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stk__jpeg_bytes {
    const uint8_t *at;
    size_t n;
};

/* The segment that a reader of so many bytes has begun, or what lies in the way of one. False: he is
 * in the data of a scan, or beyond. */
bool stk__jpeg_find_segment(struct stk__jpeg_bytes file, size_t n_read, size_t *place);

/* The segment that has the size. False: there is none in front of the first scan. */
bool stk__jpeg_find_frame(struct stk__jpeg_bytes file, size_t *place);

/* The first such marker from a byte of a scan's data on. */
bool stk__jpeg_find_marker(struct stk__jpeg_bytes file, size_t from, int marker, size_t *place);
