/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_loop.c: our JPEG decoder beside libjpeg-turbo, in one thread.
 *
 *     jpeg_loop FOLDER [ROUNDS [WORDS]]
 *
 * Every file of the folder is decoded by both in turn, in each round; with WORDS in the rows whose
 * names have them, and only in those. Times are of the processor, per picture; a ratio is that of
 * one round, and the median of the rounds is printed. Both decode to RGB with the same transform (the
 * accurate one unless a row says otherwise) and smooth upsampling, so their pixels are equal, which is
 * checked first. The region is that of a
 * random resized crop (area 8 to 100 %, sides 3:4 to 4:3); libjpeg's own means for it are
 * jpeg_crop_scanline and jpeg_skip_scanlines.
 */
#define _POSIX_C_SOURCE 200809L
#include "base/cpu.h"
#include "base/hash.h"
#include "codec/image/codec.h"
#include "kernel/kernel.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

enum sampling { GRAY, S444, S422, S420, OTHER, N_SAMPLINGS };

struct file {
    uint8_t *bytes;
    size_t n_bytes;
    uint32_t width, height;
    enum sampling sampling;
    struct stk__region region;
};

struct bench {
    struct file *files;
    int n_files;
    struct jpeg_decompress_struct library;
    struct jpeg_error_mgr faults;
    struct stk__codec *codec;
    uint8_t *pixels, *more_pixels;
    int scale;
    bool is_fast;                      /* the transform */
    struct stk__jpeg_kernels portable; /* the loop over bits in plain C, pixels as in force */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double uniform(void)
{
    static uint64_t state = 1;
    state = stk__hash_mix(state, 1);
    return (double)(state >> 11) * 0x1p-53;
}

/* ---- the library ---- */

static void start_library(struct bench *bench, const struct file *file)
{
    struct jpeg_decompress_struct *cinfo = &bench->library;
    jpeg_mem_src(cinfo, file->bytes, file->n_bytes);
    jpeg_read_header(cinfo, TRUE);
    cinfo->out_color_space = JCS_RGB;
    cinfo->dct_method = bench->is_fast ? JDCT_IFAST : JDCT_ISLOW;
    cinfo->scale_num = 1;
    cinfo->scale_denom = (unsigned)bench->scale;
    jpeg_start_decompress(cinfo);
}

static void read_rows(struct jpeg_decompress_struct *cinfo, uint8_t *dst, uint32_t end)
{
    enum { N_ROWS = 16 };
    size_t stride = (size_t)cinfo->output_width * 3;
    uint32_t first = cinfo->output_scanline;
    while (cinfo->output_scanline < end) {
        JSAMPROW rows[N_ROWS];
        uint32_t y = cinfo->output_scanline, n = end - y < N_ROWS ? end - y : N_ROWS;
        for (uint32_t i = 0; i < n; i++)
            rows[i] = dst + (y - first + i) * stride;
        jpeg_read_scanlines(cinfo, rows, n);
    }
    jpeg_abort_decompress(cinfo);
}

static void decode_library(struct bench *bench, const struct file *file)
{
    start_library(bench, file);
    read_rows(&bench->library, bench->more_pixels, bench->library.output_height);
}

static void decode_library_region(struct bench *bench, const struct file *file)
{
    JDIMENSION x = file->region.x, width = file->region.width;
    start_library(bench, file);
    jpeg_crop_scanline(&bench->library, &x, &width);
    if (file->region.y)
        jpeg_skip_scanlines(&bench->library, file->region.y);
    read_rows(&bench->library, bench->more_pixels, file->region.y + file->region.height);
}

/* ---- ours ---- */

static struct bench *the_bench;
static const struct file *the_file;

static int place(void *ctx, struct stk__image *image, struct stk_error *err)
{
    (void)ctx, (void)err;
    image->data = the_bench->pixels;
    return STK_OK;
}

static void choose(void *ctx, uint32_t width, uint32_t height, struct stk__region *region)
{
    (void)ctx, (void)width, (void)height;
    *region = the_file->region;
}

static void decode_ours_part(struct bench *bench, const struct file *file, bool is_region)
{
    struct stk__decode_request request = { .bytes = file->bytes,
                                           .n_bytes = file->n_bytes,
                                           .channels = 3,
                                           .scale = bench->scale,
                                           .is_fast_dct = bench->is_fast,
                                           .max_pixels = 1 << 30,
                                           .choose = is_region ? choose : NULL,
                                           .place = place };
    struct stk__image image;
    struct stk_error err;
    the_bench = bench;
    the_file = file;
    if (stk__codec_decode(bench->codec, &request, &image, &err)) {
        fprintf(stderr, "jpeg_loop: %s\n", err.text);
        exit(1);
    }
}

static void decode_ours(struct bench *bench, const struct file *file)
{
    decode_ours_part(bench, file, false);
}

static void decode_ours_region(struct bench *bench, const struct file *file)
{
    decode_ours_part(bench, file, true);
}

static void decode_portable(struct bench *bench, const struct file *file)
{
    stk__codec_use_kernels(bench->codec, &bench->portable);
    decode_ours_part(bench, file, false);
    stk__codec_use_kernels(bench->codec, NULL);
}

static void decode_scalar(struct bench *bench, const struct file *file)
{
    stk__codec_use_kernels(bench->codec, &stk__kernels_at(STK__CPU_SCALAR)->jpeg);
    decode_ours_part(bench, file, false);
    stk__codec_use_kernels(bench->codec, NULL);
}

/* ---- files ---- */

/* torchvision's RandomResizedCrop with its default scale and ratio. */
static struct stk__region random_region(uint32_t width, uint32_t height)
{
    for (int i = 0; i < 10; i++) {
        double area = (double)width * height * (0.08 + 0.92 * uniform());
        double ratio = exp(log(0.75) + (log(4 / 3.) - log(0.75)) * uniform());
        long w = lround(sqrt(area * ratio)), h = lround(sqrt(area / ratio));
        if (w > 0 && w <= (long)width && h > 0 && h <= (long)height)
            return (struct stk__region){ (uint32_t)(uniform() * (double)(width - w + 1)),
                                         (uint32_t)(uniform() * (double)(height - h + 1)),
                                         (uint32_t)w, (uint32_t)h };
    }
    return (struct stk__region){ 0, 0, width, height };
}

static enum sampling sampling_of(const struct jpeg_decompress_struct *cinfo)
{
    int across = cinfo->comp_info[0].h_samp_factor, down = cinfo->comp_info[0].v_samp_factor;
    if (cinfo->num_components == 1)
        return GRAY;
    if (down == 1)
        return across == 1 ? S444 : across == 2 ? S422 : OTHER;
    return down == 2 && across == 2 ? S420 : OTHER;
}

static bool load(struct file *file, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    fseek(f, 0, SEEK_END);
    file->n_bytes = (size_t)ftell(f);
    rewind(f);
    file->bytes = malloc(file->n_bytes + 1);
    bool is_read = file->bytes && fread(file->bytes, 1, file->n_bytes, f) == file->n_bytes;
    fclose(f);
    return is_read && file->n_bytes > 2 && file->bytes[0] == 0xff && file->bytes[1] == 0xd8;
}

static void add_file(struct bench *bench, const char *path)
{
    struct file file;
    if (!load(&file, path))
        return;
    start_library(bench, &file);
    file.width = bench->library.image_width;
    file.height = bench->library.image_height;
    file.sampling = sampling_of(&bench->library);
    file.region = random_region(file.width, file.height);
    jpeg_abort_decompress(&bench->library);
    bench->files = realloc(bench->files, (size_t)(bench->n_files + 1) * sizeof file);
    bench->files[bench->n_files++] = file;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_folder(struct bench *bench, const char *folder)
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        add_file(bench, path);
    }
}

static void check_file(struct bench *bench, const struct file *file)
{
    uint64_t n_before = stk__codec_n_own(bench->codec);
    decode_library(bench, file);
    decode_ours(bench, file);
    bool is_own = stk__codec_n_own(bench->codec) > n_before;
    bool is_equal =
        !memcmp(bench->pixels, bench->more_pixels, (size_t)file->width * file->height * 3);
    if (!is_own || !is_equal)
        printf("%u x %u pixels: %s\n", file->width, file->height,
               is_equal ? "left to the library" : "DIFFERENT");
}

/* ---- times ---- */

typedef void (*decoder)(struct bench *bench, const struct file *file);

struct contest {
    const char *name;
    decoder ours, theirs;
    int sampling; /* or -1: all */
    int scale;
    bool is_fast;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static double time_of(decoder decode, struct bench *bench, const struct file *file)
{
    double start = now();
    decode(bench, file);
    return now() - start;
}

enum { MAX_ROUNDS = 101 };

static void run_contest(struct bench *bench, const struct contest *contest, int n_rounds)
{
    double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], ratio[MAX_ROUNDS];
    int n = 0;
    bench->scale = contest->scale;
    bench->is_fast = contest->is_fast;
    for (int round = 0; round < n_rounds; round++) {
        ours[round] = theirs[round] = n = 0;
        for (int i = 0; i < bench->n_files; i++) {
            const struct file *file = &bench->files[i];
            if (contest->sampling >= 0 && contest->sampling != (int)file->sampling)
                continue;
            n++;
            theirs[round] += time_of(contest->theirs, bench, file);
            ours[round] += time_of(contest->ours, bench, file);
        }
        ratio[round] = theirs[round] / ours[round];
    }
    if (n)
        printf("%-34s %5d %10.4f %10.4f %8.2f\n", contest->name, n,
               median(theirs, n_rounds) / n * 1e3, median(ours, n_rounds) / n * 1e3,
               median(ratio, n_rounds));
}

int main(int argc, char **argv)
{
    static struct bench bench;
    static const struct contest contests[] = {
        { "whole pictures", decode_ours, decode_library, -1, 1, false },
        { "whole pictures, 4:2:0", decode_ours, decode_library, S420, 1, false },
        { "whole pictures, 4:4:4", decode_ours, decode_library, S444, 1, false },
        { "random resized crop", decode_ours_region, decode_library_region, -1, 1, false },
        { "2 times smaller", decode_ours, decode_library, -1, 2, false },
        { "4 times smaller", decode_ours, decode_library, -1, 4, false },
        { "8 times smaller", decode_ours, decode_library, -1, 8, false },
        { "portable loop over bits", decode_portable, decode_library, -1, 1, false },
        { "plain C throughout", decode_scalar, decode_library, -1, 1, false },
        { "fast transform", decode_ours, decode_library, -1, 1, true },
    };
    int n_rounds = argc > 2 ? atoi(argv[2]) : 11;
    n_rounds = n_rounds < 1 ? 1 : n_rounds > MAX_ROUNDS ? MAX_ROUNDS : n_rounds;
    if (argc < 2) {
        fprintf(stderr, "usage: jpeg_loop FOLDER [ROUNDS [WORDS]]\n");
        return 2;
    }
    bench.library.err = jpeg_std_error(&bench.faults);
    jpeg_create_decompress(&bench.library);
    bench.codec = stk__codec_new();
    bench.scale = 1;
    bench.portable = stk__kernels()->jpeg;
    stk__jpeg_fill_scan_scalar(&bench.portable);
    load_folder(&bench, argv[1]);
    size_t most = 0;
    for (int i = 0; i < bench.n_files; i++) {
        size_t bytes = (size_t)bench.files[i].width * bench.files[i].height * 3;
        most = bytes > most ? bytes : most;
    }
    bench.pixels = calloc(most + 1, 1);
    bench.more_pixels = calloc(most + 1, 1);
    for (int i = 0; i < 2 * bench.n_files; i++) {
        bench.is_fast = i % 2;
        check_file(&bench, &bench.files[i / 2]);
    }
    printf("%-34s %5s %10s %10s %8s\n", "ms per picture", "files", "libjpeg", "ours", "ratio");
    for (size_t i = 0; i < sizeof contests / sizeof *contests; i++)
        if (argc < 4 || strstr(contests[i].name, argv[3]))
            run_contest(&bench, &contests[i], n_rounds);
    return 0;
}
