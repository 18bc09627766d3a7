/* SPDX-License-Identifier: Apache-2.0 */
/* contact_sheet.c: puts PNG images side by side.
 *
 *     contact_sheet OUT.png COLUMNS IN.png …
 *
 * Every cell is as large as the largest image; smaller ones lie in the middle of theirs.
 */
#include <png.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 4, CHANNELS = 3, PAPER = 245 };

struct picture {
    int width, height;
    uint8_t *rgb;
};

static bool read_picture(const char *path, struct picture *out)
{
    png_image png = { .version = PNG_IMAGE_VERSION };
    bool is_read = png_image_begin_read_from_file(&png, path);
    png.format = PNG_FORMAT_RGB;
    if (is_read) {
        *out = (struct picture){ (int)png.width, (int)png.height, malloc(PNG_IMAGE_SIZE(png)) };
        png_color paper = { PAPER, PAPER, PAPER };
        is_read = out->rgb && png_image_finish_read(&png, &paper, out->rgb, 0, NULL);
    }
    if (!is_read)
        fprintf(stderr, "contact_sheet: cannot read %s: %s\n", path, png.message);
    png_image_free(&png);
    return is_read;
}

static bool write_picture(const char *path, const struct picture *sheet)
{
    png_image png = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
    png.width = (png_uint_32)sheet->width;
    png.height = (png_uint_32)sheet->height;
    if (png_image_write_to_file(&png, path, 0, sheet->rgb, 0, NULL))
        return true;
    fprintf(stderr, "contact_sheet: cannot write %s: %s\n", path, png.message);
    return false;
}

static void place(struct picture *sheet, const struct picture *picture, int left, int top)
{
    for (int y = 0; y < picture->height; y++) {
        size_t at = (size_t)(top + y) * (size_t)sheet->width + (size_t)left;
        memcpy(sheet->rgb + at * CHANNELS,
               picture->rgb + (size_t)y * (size_t)picture->width * CHANNELS,
               (size_t)picture->width * CHANNELS);
    }
}

static bool make_sheet(const struct picture *pictures, int n, int columns, struct picture *sheet)
{
    int width = 0, height = 0;
    for (int i = 0; i < n; i++) {
        width = pictures[i].width > width ? pictures[i].width : width;
        height = pictures[i].height > height ? pictures[i].height : height;
    }
    columns = columns < n ? columns : n;
    int rows = (n + columns - 1) / columns;
    sheet->width = columns * (width + GAP) + GAP;
    sheet->height = rows * (height + GAP) + GAP;
    size_t bytes = (size_t)sheet->width * (size_t)sheet->height * CHANNELS;
    sheet->rgb = malloc(bytes);
    if (!sheet->rgb)
        return false;
    memset(sheet->rgb, PAPER, bytes);
    for (int i = 0; i < n; i++)
        place(sheet, &pictures[i],
              GAP + i % columns * (width + GAP) + (width - pictures[i].width) / 2,
              GAP + i / columns * (height + GAP) + (height - pictures[i].height) / 2);
    return true;
}

int main(int argc, char **argv)
{
    int n = argc - 3, columns = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (n < 1 || columns < 1) {
        fprintf(stderr, "usage: contact_sheet OUT.png COLUMNS IN.png ...\n");
        return 2;
    }
    struct picture sheet = { 0 }, *pictures = calloc((size_t)n, sizeof *pictures);
    bool is_made = pictures != NULL;
    for (int i = 0; is_made && i < n; i++)
        is_made = read_picture(argv[3 + i], &pictures[i]);
    is_made = is_made && make_sheet(pictures, n, columns, &sheet) && write_picture(argv[1], &sheet);
    for (int i = 0; pictures && i < n; i++)
        free(pictures[i].rgb);
    free(pictures);
    free(sheet.rgb);
    return is_made ? 0 : 1;
}
