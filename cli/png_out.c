/* SPDX-License-Identifier: Apache-2.0 */
/* png_out.c: images to PNG files, through libpng's simplified interface. */
#include "png_out.h"

#include "complain.h"
#include "value_text.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Whether the first dimension counts rows. */
static bool has_rows(const struct stk_view *view, int64_t n_rows)
{
    return view->rank > 3 && view->shape[0] == n_rows;
}

/* Frames of a row; 1 of a plain image. */
static int64_t n_frames(const struct stk_view *view, int64_t n_rows)
{
    int n_before = view->rank - 3 - has_rows(view, n_rows);
    return n_before ? view->shape[view->rank - 4] : 1;
}

bool cli_png_is_image(const struct stk_view *view, int64_t n_rows)
{
    if (view->kind == STK_BYTES || view->kind == STK_RAGGED || view->rank < 3)
        return false;
    bool is_counted = has_rows(view, n_rows);
    int n_before = view->rank - 3 - is_counted;
    if (n_before > 1 || (!is_counted && n_rows != 1) ||
        n_frames(view, n_rows) > INT32_MAX / 16 / (view->shape[view->rank - 3] + 1))
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

/* Of bytes in one channel that are few numbers, as masks are, nothing could be told apart. */
static struct levels choose_levels(const struct stk_view *view, double lo, double hi)
{
    enum { FEW = 32 };
    if (view->dtype == STK_U8 && view->shape[view->rank - 1] == 1 && hi > 0 && hi < FEW)
        return (struct levels){ 255 / hi, 0, " (stretched from 0..max)" };
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

static bool write_file(const char *path, const struct stk_view *view, int64_t frames,
                       const png_byte *pixels)
{
    const int64_t *shape = view->shape + view->rank - 3;
    png_image image = { .version = PNG_IMAGE_VERSION };
    image.width = (png_uint_32)shape[1];
    image.height = (png_uint_32)(shape[0] * frames);
    image.format = shape[2] == 1   ? PNG_FORMAT_GRAY
                   : shape[2] == 3 ? PNG_FORMAT_RGB
                                   : PNG_FORMAT_RGBA;
    errno = 0;
    if (png_image_write_to_file(&image, path, 0, pixels, 0, NULL))
        return true;
    cli_complain("cannot write %s: %s", path, errno ? strerror(errno) : image.message);
    return false;
}

static void make_path(char *path, size_t size, const char *dir, int64_t number, const char *field)
{
    snprintf(path, size, "%s/%03lld_%s.png", dir, (long long)number, field);
    for (char *c = path + strlen(dir) + 1; *c; c++)
        *c = *c == '/' ? '_' : *c;
}

const char *cli_png_write(const char *dir, const struct stk_view *view, struct cli_png_rows rows,
                          double lo, double hi)
{
    const int64_t *shape = view->shape + view->rank - 3;
    int64_t frames = n_frames(view, rows.n), row_step = view->strides[0];
    int64_t frame_step = frames > 1 ? view->strides[view->rank - 4] : 0;
    size_t frame_bytes = (size_t)(shape[0] * shape[1] * shape[2]);
    struct levels levels = choose_levels(view, lo, hi);
    png_byte *pixels = calloc((size_t)frames, frame_bytes);
    bool is_good = pixels != NULL;
    if (!is_good)
        cli_complain("out of memory for an image of %lld x %lld", (long long)shape[1],
                     (long long)(shape[0] * frames));
    for (int64_t i = 0; is_good && i < rows.n; i++) {
        char path[4096];
        const char *image = (const char *)view->data + i * row_step;
        make_path(path, sizeof path, dir, rows.first + i, view->name);
        for (int64_t f = 0; f < frames; f++)
            fill_pixels(pixels + (size_t)f * frame_bytes, view, image + f * frame_step, levels);
        is_good = write_file(path, view, frames, pixels);
    }
    free(pixels);
    return is_good ? levels.note : NULL;
}
