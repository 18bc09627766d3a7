/* SPDX-License-Identifier: Apache-2.0 */
/* png_out.h: fields that are images, as PNG files. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stoker/stoker.h>

/* One image is [h, w, 1|3|4] of uint8 or floats, one with frames has them in front; a batch of n_rows
 * of them has one more dimension before. */
bool cli_png_is_image(const struct stk_view *view, int64_t n_rows);

/* Elements of a view: the number of the first, and how many. */
struct cli_png_rows {
    int64_t first, n;
};

/* Writes each image of the field to dir/NNN_field.png, its frames one below the other. Floats in
 * 0..1 and 0..255 are recognised, others are stretched, and so are bytes that are few numbers.
 * Returns "" or a note that says so; NULL after a complaint. */
const char *cli_png_write(const char *dir, const struct stk_view *view, struct cli_png_rows rows,
                          double lo, double hi);
