/* SPDX-License-Identifier: Apache-2.0 */
/* sheet.c: a contact sheet with captions. The font has small letters, digits and a few signs, seven rows of
 * five dots each. */
#include "sheet.h"

#include "complain.h"

#include <ctype.h>
#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 6, FRAME = 2, GLYPH_WIDTH = 6, GLYPH_HEIGHT = 7, PAPER = 245 };
enum {
    LINE = 9,
    CAPTION = 3 + 2 * LINE
}; /* of text, and the room for two of them below an image */
enum { WANTED_SIDE = 96 };

static const struct {
    char character;
    uint8_t rows[GLYPH_HEIGHT];
} font[] = {
    { 'a', { 0, 0, 0x0e, 0x01, 0x0f, 0x11, 0x0f } },
    { 'b', { 0x10, 0x10, 0x1e, 0x11, 0x11, 0x11, 0x1e } },
    { 'c', { 0, 0, 0x0e, 0x10, 0x10, 0x11, 0x0e } },
    { 'd', { 0x01, 0x01, 0x0f, 0x11, 0x11, 0x11, 0x0f } },
    { 'e', { 0, 0, 0x0e, 0x11, 0x1f, 0x10, 0x0e } },
    { 'f', { 0x06, 0x09, 0x08, 0x1c, 0x08, 0x08, 0x08 } },
    { 'g', { 0, 0x0f, 0x11, 0x11, 0x0f, 0x01, 0x0e } },
    { 'h', { 0x10, 0x10, 0x16, 0x19, 0x11, 0x11, 0x11 } },
    { 'i', { 0x04, 0, 0x0c, 0x04, 0x04, 0x04, 0x0e } },
    { 'j', { 0x02, 0, 0x06, 0x02, 0x02, 0x12, 0x0c } },
    { 'k', { 0x10, 0x10, 0x12, 0x14, 0x18, 0x14, 0x12 } },
    { 'l', { 0x0c, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e } },
    { 'm', { 0, 0, 0x1a, 0x15, 0x15, 0x11, 0x11 } },
    { 'n', { 0, 0, 0x16, 0x19, 0x11, 0x11, 0x11 } },
    { 'o', { 0, 0, 0x0e, 0x11, 0x11, 0x11, 0x0e } },
    { 'p', { 0, 0, 0x1e, 0x11, 0x1e, 0x10, 0x10 } },
    { 'q', { 0, 0, 0x0d, 0x13, 0x0f, 0x01, 0x01 } },
    { 'r', { 0, 0, 0x16, 0x19, 0x10, 0x10, 0x10 } },
    { 's', { 0, 0, 0x0e, 0x10, 0x0e, 0x01, 0x1e } },
    { 't', { 0x08, 0x08, 0x1c, 0x08, 0x08, 0x09, 0x06 } },
    { 'u', { 0, 0, 0x11, 0x11, 0x11, 0x13, 0x0d } },
    { 'v', { 0, 0, 0x11, 0x11, 0x11, 0x0a, 0x04 } },
    { 'w', { 0, 0, 0x11, 0x11, 0x15, 0x15, 0x0a } },
    { 'x', { 0, 0, 0x11, 0x0a, 0x04, 0x0a, 0x11 } },
    { 'y', { 0, 0, 0x11, 0x11, 0x0f, 0x01, 0x0e } },
    { 'z', { 0, 0, 0x1f, 0x02, 0x04, 0x08, 0x1f } },
    { '0', { 0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e } },
    { '1', { 0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e } },
    { '2', { 0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f } },
    { '3', { 0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e } },
    { '4', { 0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02 } },
    { '5', { 0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e } },
    { '6', { 0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e } },
    { '7', { 0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08 } },
    { '8', { 0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e } },
    { '9', { 0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c } },
    { '.', { 0, 0, 0, 0, 0, 0x0c, 0x0c } },
    { '-', { 0, 0, 0, 0x1f, 0, 0, 0 } },
    { '_', { 0, 0, 0, 0, 0, 0, 0x1f } },
    { '%', { 0x18, 0x19, 0x02, 0x04, 0x08, 0x13, 0x03 } },
    { ' ', { 0 } },
};

static int cell_width(const struct cli_sheet *s)
{
    return s->width * s->scale + 2 * FRAME + GAP;
}

static int cell_height(const struct cli_sheet *s)
{
    return s->height * s->scale + 2 * FRAME + CAPTION + GAP;
}

static int sheet_width(const struct cli_sheet *s)
{
    int columns = s->cells < CLI_SHEET_COLUMNS ? s->cells : CLI_SHEET_COLUMNS;
    return columns * cell_width(s) + GAP;
}

static int sheet_height(const struct cli_sheet *s)
{
    return (s->cells + CLI_SHEET_COLUMNS - 1) / CLI_SHEET_COLUMNS * cell_height(s) + GAP;
}

bool cli_sheet_begin(struct cli_sheet *sheet, int height, int width, int channels, int cells)
{
    int longer = height > width ? height : width;
    *sheet = (struct cli_sheet){ width, height, channels, 1, cells, 0, NULL };
    sheet->scale = longer < WANTED_SIDE ? (WANTED_SIDE + longer - 1) / longer : 1;
    size_t bytes = (size_t)sheet_width(sheet) * (size_t)sheet_height(sheet) * 3;
    sheet->rgb = malloc(bytes);
    if (sheet->rgb)
        memset(sheet->rgb, PAPER, bytes);
    return sheet->rgb;
}

static void put(const struct cli_sheet *s, int x, int y, const uint8_t *rgb)
{
    if (x < sheet_width(s) && y < sheet_height(s))
        memcpy(s->rgb + ((size_t)y * (size_t)sheet_width(s) + (size_t)x) * 3, rgb, 3);
}

static void write_line(const struct cli_sheet *s, int left, int top, const char *text,
                       const uint8_t *ink)
{
    int room = cell_width(s) - GAP;
    for (int at = 0; text[at] && text[at] != '\n' && (at + 1) * GLYPH_WIDTH <= room; at++)
        for (size_t i = 0; i < sizeof font / sizeof *font; i++) {
            if (font[i].character != tolower((unsigned char)text[at]))
                continue;
            for (int y = 0; y < GLYPH_HEIGHT; y++)
                for (int x = 0; x < 5; x++)
                    if (font[i].rows[y] >> (4 - x) & 1)
                        put(s, left + at * GLYPH_WIDTH + x, top + y, ink);
        }
}

static void write_caption(const struct cli_sheet *s, int left, int top, const char *text,
                          const uint8_t *ink)
{
    const char *second = strchr(text, '\n');
    write_line(s, left, top, text, ink);
    if (second)
        write_line(s, left, top + LINE, second + 1, ink);
}

static uint8_t level(float value)
{
    return value > 0 ? value < 255 ? (uint8_t)(value + 0.5f) : 255 : 0;
}

void cli_sheet_add(struct cli_sheet *s, const float *image, const char *caption, bool is_wrong)
{
    static const uint8_t green[3] = { 30, 120, 50 }, red[3] = { 200, 30, 30 };
    const uint8_t *ink = is_wrong ? red : green;
    if (s->n >= s->cells)
        return;
    int left = s->n % CLI_SHEET_COLUMNS * cell_width(s) + GAP;
    int top = s->n / CLI_SHEET_COLUMNS * cell_height(s) + GAP;
    int wide = s->width * s->scale + 2 * FRAME, high = s->height * s->scale + 2 * FRAME;
    for (int y = 0; y < high; y++)
        for (int x = 0; x < wide; x++)
            put(s, left + x, top + y, ink);
    for (int y = 0; y < s->height * s->scale; y++)
        for (int x = 0; x < s->width * s->scale; x++) {
            const float *p =
                image + ((size_t)(y / s->scale) * (size_t)s->width + (size_t)(x / s->scale)) *
                            (size_t)s->channels;
            const int second = s->channels > 2 ? 1 : 0, third = s->channels > 2 ? 2 : 0;
            const uint8_t rgb[3] = { level(p[0]), level(p[second]), level(p[third]) };
            put(s, left + FRAME + x, top + FRAME + y, rgb);
        }
    write_caption(s, left, top + high + 3, caption, ink);
    s->n++;
}

bool cli_sheet_write(const struct cli_sheet *sheet, const char *path)
{
    png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
    image.width = (png_uint_32)sheet_width(sheet);
    image.height = (png_uint_32)sheet_height(sheet);
    errno = 0;
    if (png_image_write_to_file(&image, path, 0, sheet->rgb, 0, NULL))
        return true;
    cli_complain("cannot write %s: %s", path, errno ? strerror(errno) : image.message);
    return false;
}

void cli_sheet_free(struct cli_sheet *sheet)
{
    free(sheet->rgb);
    sheet->rgb = NULL;
}
