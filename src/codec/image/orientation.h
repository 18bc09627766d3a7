/* SPDX-License-Identifier: Apache-2.0 */
/* orientation.h: which way a picture is to be turned, from all that a file may say about it; private
 * to this room. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was found so far, 0: nothing. EXIF data, or where there are none those in a profile of
 * ImageMagick's, come before XMP: the order of Pillow's getexif. */
struct stk__orientation {
    bool has_exif;
    int exif, profile, xmp;
};

/* EXIF data: a TIFF block, perhaps behind "Exif" and two zeros. */
void stk__orientation_exif(struct stk__orientation *found, const uint8_t *bytes, size_t n);

/* A packet of XMP. */
void stk__orientation_xmp(struct stk__orientation *found, const uint8_t *bytes, size_t n);

/* A chunk of a PNG file: eXIf, and the texts tEXt, zTXt and iTXt, of which the first 128 KiB count.
 * Others say nothing. */
void stk__orientation_png(struct stk__orientation *found, const uint8_t name[4],
                          const uint8_t *bytes, size_t n);

/* 1 to 8; 1 where nothing sensible was said. */
int stk__orientation_of(const struct stk__orientation *found);
