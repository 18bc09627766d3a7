/* SPDX-License-Identifier: Apache-2.0 */
/* png_out.c: images to PNG files, through libpng's simplified interface. */
#include "png_out.h"

#include "report.h"
#include "values.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

bool cli_png_is_image(const struct stk_view *view, int64_t n_rows)
{
    bool is_one = view->rank == 3 && n_rows == 1;
    bool is_many = view->rank == 4 && view->shape[0] == n_rows;
    if (view->kind == STK_BYTES || view->kind == STK_RAGGED || !(is_one || is_many))
        return false;
    const int64_t *hwc = view->shape + view->rank - 3;
    bool has_channels = hwc[2] == 1 || hwc[2] == 3 || hwc[2] == 4;
    bool has_size =
        hwc[0] > 0 && hwc[1] > 0 && hwc[0] <= INT32_MAX / 16 && hwc[1] <= INT32_MAX / 16;
    return has_channels && has_size &&
           (view->dtype == STK_U8 || cli_dtype_kind(view->dtype) == 'f');
}

/* value * factor + offset is the grey level. */
struct levels {
    double factor, offset;
    const char *note;
};

static struct levels choose_levels(const struct stk_view *view, double lo, double hi)
{
    if (view->dtype == STK_U8 || (lo >= 0 && hi > 1 && hi <= 255))
        return (struct levels){ 1, 0, "" };
    if (lo >= 0 && hi <= 1)
        return (struct levels){ 255, 0, "" };
    double factor = hi > lo ? 255 / (hi - lo) : 0;
    return (struct levels){ factor, -lo * factor, " (stretched from min..max)" };
}

static png_byte to_byte(double level)
{
    return level > 0 ? level < 255 ? (png_byte)lround(level) : 255 : 0; /* NaN is black */
}

static void fill_pixels(png_byte *out, const struct stk_view *view, const char *image,
                        struct levels levels)
{
    const int64_t *shape = view->shape + view->rank - 3, *strides = view->strides + view->rank - 3;
    for (int64_t y = 0; y < shape[0]; y++)
        for (int64_t x = 0; x < shape[1]; x++)
            for (int64_t c = 0; c < shape[2]; c++) {
                const char *p = image + y * strides[0] + x * strides[1] + c * strides[2];
                *out++ = to_byte(cli_value_read(view->dtype, p) * levels.factor + levels.offset);
            }
}

static bool write_file(const char *path, const struct stk_view *view, const png_byte *pixels)
{
    const int64_t *shape = view->shape + view->rank - 3;
    png_image image = { .version = PNG_IMAGE_VERSION };
    image.width = (png_uint_32)shape[1];
    image.height = (png_uint_32)shape[0];
    image.format = shape[2] == 1   ? PNG_FORMAT_GRAY
                   : shape[2] == 3 ? PNG_FORMAT_RGB
                                   : PNG_FORMAT_RGBA;
    if (png_image_write_to_file(&image, path, 0, pixels, 0, NULL))
        return true;
    cli_complain("cannot write %s: %s", path, image.message);
    return false;
}

static void make_path(char *path, size_t size, const char *dir, int64_t number, const char *field)
{
    snprintf(path, size, "%s/%03lld_%s.png", dir, (long long)number, field);
    for (char *c = path + strlen(dir) + 1; *c; c++)
        *c = *c == '/' ? '_' : *c;
}

const char *cli_png_write(const char *dir, const struct stk_view *view, int64_t first, double lo,
                          double hi)
{
    const int64_t *shape = view->shape + view->rank - 3;
    int64_t n_images = view->rank == 4 ? view->shape[0] : 1;
    struct levels levels = choose_levels(view, lo, hi);
    png_byte *pixels = calloc((size_t)(shape[0] * shape[1]), (size_t)shape[2]);
    bool is_good = pixels != NULL;
    if (!is_good)
        cli_complain("out of memory for an image of %lld x %lld", (long long)shape[1],
                     (long long)shape[0]);
    for (int64_t i = 0; is_good && i < n_images; i++) {
        char path[4096];
        const char *image = (const char *)view->data + (view->rank == 4 ? i * view->strides[0] : 0);
        make_path(path, sizeof path, dir, first + i, view->name);
        fill_pixels(pixels, view, image, levels);
        is_good = write_file(path, view, pixels);
    }
    free(pixels);
    return is_good ? levels.note : NULL;
}
