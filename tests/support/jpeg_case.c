/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_case.c: see jpeg_case.h. */
#include "jpeg_case.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { SPARE = 37, UNTOUCHED = 0xa7 };

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

unsigned draw(unsigned n)
{
    static uint64_t state = 7;
    state += 0x9e3779b97f4a7c15u;
    return (unsigned)(stk__hash_mix(state, 0) >> 32) % n;
}

/* ---- making files ---- */

static uint8_t scene_value(int x, int y, int c)
{
    unsigned noise = (unsigned)(stk__hash_mix((uint64_t)y << 32 | (unsigned)x, (uint64_t)c) >> 59);
    int value = x * (3 + c) + y * (5 - c) / 2 + ((x / 11 + y / 7) & 1) * 90 + (int)noise;
    return (uint8_t)value;
}

static uint8_t motif_value(enum jpeg_motif motif, int x, int y, int c)
{
    uint64_t any = stk__hash_mix((uint64_t)y << 32 | (unsigned)x, (uint64_t)c + 9);
    if (motif == MOTIF_SCENE)
        return scene_value(x, y, c);
    return motif == MOTIF_NOISE ? (uint8_t)(any >> 40) : any >> 63 ? 255 : 0;
}

static int n_components(const struct jpeg_recipe *recipe)
{
    return recipe->colours == JPEG_GRAY ? 1 : recipe->colours == JPEG_CMYK ? 4 : 3;
}

static void set_up(struct jpeg_compress_struct *cinfo, const struct jpeg_recipe *recipe)
{
    static const J_COLOR_SPACE spaces[] = { JCS_GRAYSCALE, JCS_YCbCr, JCS_RGB, JCS_CMYK };
    cinfo->image_width = (JDIMENSION)recipe->width;
    cinfo->image_height = (JDIMENSION)recipe->height;
    cinfo->input_components = n_components(recipe);
    cinfo->in_color_space = spaces[recipe->colours];
    jpeg_set_defaults(cinfo);
    jpeg_set_colorspace(cinfo, spaces[recipe->colours]);
    jpeg_set_quality(cinfo, recipe->quality, TRUE);
    cinfo->optimize_coding = recipe->is_optimized;
    cinfo->arith_code = recipe->is_arithmetic;
    cinfo->restart_interval = (unsigned)recipe->restart;
    if (recipe->is_progressive)
        jpeg_simple_progression(cinfo);
    if (recipe->has_no_marker)
        cinfo->write_JFIF_header = cinfo->write_Adobe_marker = FALSE;
    for (int c = 0; c < cinfo->num_components; c++)
        cinfo->comp_info[c].h_samp_factor = cinfo->comp_info[c].v_samp_factor = 1;
    cinfo->comp_info[0].h_samp_factor = recipe->across;
    cinfo->comp_info[0].v_samp_factor = recipe->down;
}

struct jpeg_file make_jpeg(const struct jpeg_recipe *recipe)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr faults;
    unsigned char *bytes = NULL;
    unsigned long n_bytes = 0;
    int n = n_components(recipe);
    uint8_t *row = must(malloc((size_t)recipe->width * (size_t)n));
    cinfo.err = jpeg_std_error(&faults);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &bytes, &n_bytes);
    set_up(&cinfo, recipe);
    jpeg_start_compress(&cinfo, TRUE);
    for (int y = 0; y < recipe->height; y++) {
        for (int i = 0; i < recipe->width * n; i++)
            row[i] = motif_value(recipe->motif, i / n, y, i % n);
        jpeg_write_scanlines(&cinfo, &row, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    free(row);
    struct jpeg_file file = copy_bytes(bytes, n_bytes);
    free(bytes);
    return file;
}

struct jpeg_file copy_bytes(const uint8_t *bytes, size_t n)
{
    struct jpeg_file file = { must(malloc(n ? n : 1)), n };
    memcpy(file.bytes, bytes, n);
    return file;
}

/* ---- decoding them ---- */

struct target {
    const struct jpeg_wish *wish;
    uint8_t *memory;
};

static void choose(void *ctx, uint32_t width, uint32_t height, struct stk__region *region)
{
    const struct target *target = ctx;
    (void)width, (void)height;
    *region = target->wish->region;
}

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    struct target *target = ctx;
    (void)err;
    image->stride += SPARE;
    free(target->memory);
    target->memory = image->data = must(malloc(image->stride * image->height));
    memset(image->data, UNTOUCHED, image->stride * image->height);
    return STK_OK;
}

static size_t row_bytes(const struct stk__image *image)
{
    return (size_t)image->width * (size_t)image->channels;
}

static void check_spare(const struct stk__image *image)
{
    for (uint32_t y = 0; y < image->height; y++)
        for (size_t x = row_bytes(image); x < image->stride; x++)
            if (image->data[y * image->stride + x] != UNTOUCHED) {
                fprintf(stderr, "written behind the end of row %u\n", y);
                abort();
            }
}

struct jpeg_shot decode_jpeg(struct stk__codec *codec, struct jpeg_file file,
                             const struct jpeg_wish *wish)
{
    struct target target = { wish, NULL };
    struct jpeg_shot shot = { 0 };
    struct stk__decode_request request = { .bytes = file.bytes,
                                           .n_bytes = file.n,
                                           .channels = wish->channels,
                                           .scale = wish->scale,
                                           .is_oriented = wish->is_oriented,
                                           .is_by_library = wish->is_by_library,
                                           .is_fast_dct = wish->is_fast,
                                           .on_truncated = wish->on_truncated,
                                           .max_pixels = 1 << 24,
                                           .choose = wish->region.width ? choose : NULL,
                                           .place = place,
                                           .ctx = &target };
    uint64_t n_own = stk__codec_n_own(codec);
    stk__codec_use_kernels(codec, wish->kernels);
    shot.code = stk__codec_decode(codec, &request, &shot.image, &shot.err);
    shot.is_own = stk__codec_n_own(codec) > n_own;
    shot.image.data = target.memory;
    if (target.memory)
        check_spare(&shot.image);
    return shot;
}

void free_shot(struct jpeg_shot *shot)
{
    free(shot->image.data);
}

static bool is_same_shape(const struct stk__image *a, const struct stk__image *b)
{
    return a->height == b->height && a->width == b->width && a->channels == b->channels;
}

bool is_same_shot(const struct jpeg_shot *a, const struct jpeg_shot *b)
{
    if (a->code || b->code)
        return a->code == b->code && !strcmp(a->err.text, b->err.text);
    return is_same_shape(&a->image, &b->image) &&
           !memcmp(a->image.data, b->image.data, a->image.stride * a->image.height);
}

bool is_part_of(const struct jpeg_shot *part, const struct jpeg_shot *whole,
                const struct stk__region *region)
{
    const struct stk__image *a = &part->image, *b = &whole->image;
    if (part->code || whole->code || a->height != region->height || a->width != region->width ||
        a->channels != b->channels)
        return false;
    for (uint32_t y = 0; y < a->height; y++)
        if (memcmp(a->data + y * a->stride,
                   b->data + (y + region->y) * b->stride + region->x * (size_t)b->channels,
                   row_bytes(a)))
            return false;
    return true;
}
