/* SPDX-License-Identifier: Apache-2.0 */
/* codec_loop.c: decoding PNG and WebP by way of our codec beside the libraries as such.
 *
 *     codec_loop FOLDER [ROUNDS]
 *
 * Every file of the folder is decoded to RGB by all in turn, in each round, into memory that is
 * there already. Times are of the processor, per picture, the fastest round of each file; the ratio
 * is the library's time by ours. Pixels are compared first.
 */
#define _POSIX_C_SOURCE 200809L
#include "codec/image/codec.h"

#include <dirent.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <webp/decode.h>
#ifdef HAVE_SPNG
#include <spng.h>
#endif

struct file {
    uint8_t *bytes;
    size_t n_bytes;
    struct stk__image_info info;
};

struct bench {
    struct file *files;
    int n_files;
    struct stk__codec *codec;
    uint8_t *pixels, *more_pixels;
};

typedef bool decoder(struct bench *bench, const struct file *file, uint8_t *dst);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t stride_of(const struct file *file)
{
    return (size_t)file->info.width * 3;
}

/* ---- decoders ---- */

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    (void)err;
    image->data = ctx;
    return STK_OK;
}

static bool by_codec(struct bench *bench, const struct file *file, uint8_t *dst)
{
    struct stk__decode_request request = { .bytes = file->bytes,
                                           .n_bytes = file->n_bytes,
                                           .channels = 3,
                                           .max_pixels = INT64_MAX,
                                           .place = place,
                                           .ctx = dst };
    struct stk__image image;
    return !stk__codec_decode(bench->codec, &request, &image, NULL);
}

struct source {
    const uint8_t *at;
};

static void read_bytes(png_structp png, png_bytep dst, size_t n)
{
    struct source *source = png_get_io_ptr(png);
    memcpy(dst, source->at, n);
    source->at += n;
}

static void say_nothing(png_structp png, const char *text)
{
    (void)png, (void)text;
}

static bool by_libpng(struct bench *bench, const struct file *file, uint8_t *dst)
{
    (void)bench;
    struct source source = { file->bytes };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, say_nothing);
    png_infop info = png_create_info_struct(png);
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_read_struct(&png, &info, NULL);
        return false;
    }
    png_set_read_fn(png, &source, read_bytes);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
    int n_passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    while (n_passes-- > 0)
        for (uint32_t y = 0; y < file->info.height; y++)
            png_read_row(png, dst + y * stride_of(file), NULL);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
    return true;
}

#ifdef HAVE_SPNG
static bool by_libspng(struct bench *bench, const struct file *file, uint8_t *dst)
{
    (void)bench;
    spng_ctx *ctx = spng_ctx_new(0);
    spng_set_png_buffer(ctx, file->bytes, file->n_bytes);
    int code = spng_decode_image(ctx, dst, stride_of(file) * file->info.height, SPNG_FMT_RGB8, 0);
    spng_ctx_free(ctx);
    return !code;
}
#endif

static bool by_libwebp(struct bench *bench, const struct file *file, uint8_t *dst)
{
    (void)bench;
    return WebPDecodeRGBInto(file->bytes, file->n_bytes, dst, stride_of(file) * file->info.height,
                             (int)stride_of(file));
}

/* ---- files ---- */

static bool load(const char *path, struct file *file)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    file->n_bytes = n > 0 ? (size_t)n : 0;
    file->bytes = malloc(file->n_bytes + 1);
    bool is_read = file->bytes && fread(file->bytes, 1, file->n_bytes, f) == file->n_bytes;
    fclose(f);
    if (is_read && !stk__image_info(file->bytes, file->n_bytes, &file->info, NULL) &&
        (file->info.format == STK__FORMAT_PNG || file->info.format == STK__FORMAT_WEBP))
        return true;
    free(file->bytes);
    return false;
}

static bool load_folder(struct bench *bench, const char *folder)
{
    DIR *dir = opendir(folder);
    size_t largest = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[4096];
        struct file file;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (!load(path, &file))
            continue;
        struct file *files =
            realloc(bench->files, (size_t)(bench->n_files + 1) * sizeof *bench->files);
        if (!files)
            return false;
        bench->files = files;
        bench->files[bench->n_files++] = file;
        size_t bytes = stride_of(&file) * file.info.height;
        largest = bytes > largest ? bytes : largest;
    }
    if (dir)
        closedir(dir);
    bench->codec = stk__codec_new();
    bench->pixels = malloc(largest + 1);
    bench->more_pixels = malloc(largest + 1);
    return bench->n_files && bench->codec && bench->pixels && bench->more_pixels;
}

/* ---- times ---- */

static const struct {
    const char *name;
    enum stk__format format;
    decoder *decode;
} libraries[] = {
    { "libpng", STK__FORMAT_PNG, by_libpng },
#ifdef HAVE_SPNG
    { "libspng", STK__FORMAT_PNG, by_libspng },
#endif
    { "libwebp", STK__FORMAT_WEBP, by_libwebp },
};

static double time_of(struct bench *bench, const struct file *file, decoder *decode)
{
    double begin = now();
    decode(bench, file, bench->pixels);
    return now() - begin;
}

static bool is_equal(struct bench *bench, const struct file *file, decoder *decode)
{
    return by_codec(bench, file, bench->pixels) && decode(bench, file, bench->more_pixels) &&
           !memcmp(bench->pixels, bench->more_pixels, stride_of(file) * file->info.height);
}

static bool compare(struct bench *bench, int library, int n_rounds)
{
    double ours = 0, theirs = 0;
    int n = 0;
    for (int i = 0; i < bench->n_files; i++) {
        const struct file *file = &bench->files[i];
        if (file->info.format != libraries[library].format)
            continue;
        if (!is_equal(bench, file, libraries[library].decode)) {
            printf("file %d: pixels differ from %s's\n", i, libraries[library].name);
            return false;
        }
        double our_best = 1e9, their_best = 1e9;
        for (int round = 0; round < n_rounds; round++) {
            double our_time = time_of(bench, file, by_codec);
            double their_time = time_of(bench, file, libraries[library].decode);
            our_best = our_time < our_best ? our_time : our_best;
            their_best = their_time < their_best ? their_time : their_best;
        }
        ours += our_best;
        theirs += their_best;
        n++;
    }
    if (n)
        printf("%-8s %4d files   codec %7.3f ms   %s %7.3f ms   ratio %.3f\n",
               libraries[library].name, n, ours / n * 1e3, libraries[library].name,
               theirs / n * 1e3, theirs / ours);
    return true;
}

int main(int argc, char **argv)
{
    struct bench bench = { 0 };
    int n_rounds = argc > 2 ? atoi(argv[2]) : 10;
    if (argc < 2 || !load_folder(&bench, argv[1])) {
        fprintf(stderr, "usage: codec_loop FOLDER [ROUNDS], with PNG or WebP files in it\n");
        return 2;
    }
    bool is_good = true;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        is_good &= compare(&bench, (int)i, n_rounds);
    return !is_good;
}
