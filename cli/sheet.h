/* SPDX-License-Identifier: Apache-2.0 */
/* sheet.h: images side by side with one or two lines of text under each, as one PNG file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { CLI_SHEET_COLUMNS = 8, CLI_SHEET_MOST = 64 };

/* Cells are filled one after the other. */
struct cli_sheet {
    int width, height, channels; /* of an image */
    int scale;                   /* pixels of the sheet for one of an image */
    int cells, n;
    uint8_t *rgb;
};

/* Room for so many images; false when memory is short. */
bool cli_sheet_begin(struct cli_sheet *sheet, int height, int width, int channels, int cells);

/* The next image, values from 0 to 255, with a caption of up to two lines, in green or, where it is wrong, in
 * red. */
void cli_sheet_add(struct cli_sheet *sheet, const float *image, const char *caption, bool is_wrong);

/* Writes the file; complains and returns false if it cannot. */
bool cli_sheet_write(const struct cli_sheet *sheet, const char *path);
void cli_sheet_free(struct cli_sheet *sheet);
