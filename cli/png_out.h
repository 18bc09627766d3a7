/* SPDX-License-Identifier: Apache-2.0 */
/* png_out.h: fields that are images, as PNG files. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stoker/stoker.h>

/* One image is [h, w, 1|3|4] of uint8 or floats; a batch of n_rows of them has one more dimension
 * in front. */
bool cli_png_is_image(const struct stk_view *view, int64_t n_rows);

/* Writes each image of the field to dir/NNN_field.png, numbered from `first`. Floats in 0..1 and
 * 0..255 are recognised, others are stretched. Returns "" or a note that says so; NULL after a
 * complaint. */
const char *cli_png_write(const char *dir, const struct stk_view *view, int64_t first, double lo,
                          double hi);
