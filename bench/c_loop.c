/* SPDX-License-Identifier: Apache-2.0 */
/* c_loop.c: the work of a loader in the plainest C, to compare with: files → batches of float32.
 *
 *     c_loop --list FILE --side N --batch N --threads N --epochs N
 *            [--shuffle] [--crop N] [--normalize]
 *
 * Each thread makes whole batches: it reads a file, decodes it with libjpeg-turbo, resizes it to
 * side x side (bilinear, pixel centres at halves, no antialiasing), keeps the middle crop x crop,
 * and scales it to 0..1 or by ImageNet's mean and deviation. Nobody consumes the batches, nothing
 * is delivered in order, and a file that cannot be decoded ends the program. Prints one JSON object
 * with the names that `stoker run --json` has.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <jpeglib.h>

enum { CHANNELS = 3, MAX_THREADS = 256 };

struct options {
    const char *list;
    int side, crop, batch, threads, epochs;
    bool shuffle, normalize;
};

/* What one side of the result takes from the source: two neighbours and the share of the second. */
struct tap {
    int first, second;
    float share;
};

/* What a thread keeps between images. */
struct scratch {
    uint8_t *file, *pixels;
    size_t file_bytes, pixel_bytes;
    struct tap *columns;
    float *batch;
};

static struct options options = { .batch = 32, .threads = 2, .epochs = 3 };
static char **paths, **order;
static int n_paths;
static atomic_int next_batch;
static _Atomic double first_batch; /* when the first batch was complete; 0: not yet */
static float factor[CHANNELS], offset[CHANNELS];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what, const char *which)
{
    fprintf(stderr, "c_loop: %s: %s\n", what, which);
    exit(1);
}

static void *grown(void *old, size_t *bytes, size_t wanted)
{
    if (wanted <= *bytes)
        return old;
    *bytes = wanted + wanted / 2;
    old = realloc(old, *bytes);
    if (!old)
        die("out of memory", "");
    return old;
}

static size_t read_file(struct scratch *s, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die("cannot open", path);
    setvbuf(file, NULL, _IONBF, 0);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    if (size <= 0)
        die("cannot read", path);
    s->file = grown(s->file, &s->file_bytes, (size_t)size);
    if (fread(s->file, 1, (size_t)size, file) != (size_t)size)
        die("cannot read", path);
    fclose(file);
    return (size_t)size;
}

static void decode(struct scratch *s, size_t bytes, int *width, int *height)
{
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors; /* its default ends the program with a message */
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, s->file, bytes);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    *width = (int)jpeg.output_width;
    *height = (int)jpeg.output_height;
    size_t stride = (size_t)*width * CHANNELS;
    s->pixels = grown(s->pixels, &s->pixel_bytes, stride * (size_t)*height);
    while (jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW row = s->pixels + stride * jpeg.output_scanline;
        jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
}

static struct tap tap_at(int position, int source, int side)
{
    float at = ((float)position + 0.5f) * (float)source / (float)side - 0.5f;
    at = at < 0 ? 0 : at;
    int first = (int)at < source - 1 ? (int)at : source - 1;
    int second = first + 1 < source ? first + 1 : first;
    return (struct tap){ first, second, at - (float)first };
}

static void resize_row(const struct scratch *s, const uint8_t *top, const uint8_t *bottom,
                       float share, float *out)
{
    for (int x = 0; x < options.crop; x++) {
        struct tap t = s->columns[x];
        for (int c = 0; c < CHANNELS; c++) {
            float a = top[t.first + c], b = top[t.second + c];
            float d = bottom[t.first + c], e = bottom[t.second + c];
            float upper = a + (b - a) * t.share, lower = d + (e - d) * t.share;
            out[x * CHANNELS + c] = (upper + (lower - upper) * share) * factor[c] + offset[c];
        }
    }
}

static void resize(struct scratch *s, int width, int height, float *out)
{
    int margin = (options.side - options.crop) / 2;
    size_t stride = (size_t)width * CHANNELS;
    for (int x = 0; x < options.crop; x++) {
        struct tap t = tap_at(x + margin, width, options.side);
        s->columns[x] = (struct tap){ t.first * CHANNELS, t.second * CHANNELS, t.share };
    }
    for (int y = 0; y < options.crop; y++) {
        struct tap t = tap_at(y + margin, height, options.side);
        resize_row(s, s->pixels + stride * (size_t)t.first, s->pixels + stride * (size_t)t.second,
                   t.share, out + (size_t)y * (size_t)options.crop * CHANNELS);
    }
}

static void make_batch(struct scratch *s, int number)
{
    size_t image_floats = (size_t)options.crop * (size_t)options.crop * CHANNELS;
    for (int i = 0; i < options.batch && number * options.batch + i < n_paths; i++) {
        int width, height;
        size_t bytes = read_file(s, order[number * options.batch + i]);
        decode(s, bytes, &width, &height);
        resize(s, width, height, s->batch + image_floats * (size_t)i);
    }
}

static void *make_batches(void *argument)
{
    struct scratch *s = argument;
    int n_batches = (n_paths + options.batch - 1) / options.batch;
    for (int number; (number = atomic_fetch_add(&next_batch, 1)) < n_batches;) {
        make_batch(s, number);
        double none = 0;
        atomic_compare_exchange_strong(&first_batch, &none, now());
    }
    return NULL;
}

static uint64_t next_word(void)
{
    static uint64_t state;
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 31;
}

static void shuffle(void)
{
    for (int i = n_paths - 1; i > 0; i--) {
        int j = (int)(next_word() % (uint64_t)(i + 1));
        char *path = order[i];
        order[i] = order[j];
        order[j] = path;
    }
}

static double run_epoch(struct scratch *scratch)
{
    pthread_t threads[MAX_THREADS];
    double start = now();
    if (options.shuffle)
        shuffle();
    atomic_store(&next_batch, 0);
    for (int i = 0; i < options.threads; i++)
        if (pthread_create(&threads[i], NULL, make_batches, &scratch[i]))
            die("cannot start a thread", "");
    for (int i = 0; i < options.threads; i++)
        pthread_join(threads[i], NULL);
    return now() - start;
}

static void read_list(void)
{
    FILE *file = fopen(options.list, "r");
    if (!file)
        die("cannot open", options.list);
    char *line = NULL;
    size_t line_bytes = 0, list_bytes = 0;
    for (ssize_t n; (n = getline(&line, &line_bytes, file)) > 0;) {
        line[n - 1] = line[n - 1] == '\n' ? 0 : line[n - 1];
        paths = grown(paths, &list_bytes, sizeof(*paths) * (size_t)(n_paths + 1));
        paths[n_paths++] = strdup(line);
    }
    free(line);
    fclose(file);
    if (!n_paths)
        die("no files in", options.list);
    order = malloc(sizeof(*order) * (size_t)n_paths);
    if (!order)
        die("out of memory", "");
    memcpy(order, paths, sizeof(*order) * (size_t)n_paths);
}

static bool parse_word(const char *name, const char *value)
{
    struct {
        const char *name;
        int *at;
    } numbers[] = { { "--side", &options.side },
                    { "--crop", &options.crop },
                    { "--batch", &options.batch },
                    { "--threads", &options.threads },
                    { "--epochs", &options.epochs } };
    for (size_t i = 0; value && i < sizeof(numbers) / sizeof(*numbers); i++)
        if (!strcmp(name, numbers[i].name))
            return *numbers[i].at = atoi(value), *numbers[i].at > 0;
    if (value && !strcmp(name, "--list"))
        return options.list = value, true;
    return false;
}

static bool parse(int n_words, char **words)
{
    for (int i = 1; i < n_words; i++) {
        if (!strcmp(words[i], "--shuffle"))
            options.shuffle = true;
        else if (!strcmp(words[i], "--normalize"))
            options.normalize = true;
        else if (!parse_word(words[i], i + 1 < n_words ? words[i + 1] : NULL))
            return false;
        else
            i++;
    }
    options.crop = options.crop ? options.crop : options.side;
    return options.list && options.side && options.crop <= options.side &&
           options.threads <= MAX_THREADS;
}

static void set_scaling(void)
{
    const float mean[CHANNELS] = { 0.485f, 0.456f, 0.406f };
    const float deviation[CHANNELS] = { 0.229f, 0.224f, 0.225f };
    for (int c = 0; c < CHANNELS; c++) {
        factor[c] = options.normalize ? 1 / (255 * deviation[c]) : 1.0f / 255;
        offset[c] = options.normalize ? -mean[c] / deviation[c] : 0;
    }
}

static struct scratch *new_scratch(void)
{
    struct scratch *all = calloc((size_t)options.threads, sizeof(*all));
    size_t image_floats = (size_t)options.crop * (size_t)options.crop * CHANNELS;
    for (int i = 0; all && i < options.threads; i++) {
        all[i].columns = malloc(sizeof(struct tap) * (size_t)options.crop);
        all[i].batch = malloc(sizeof(float) * image_floats * (size_t)options.batch);
        if (!all[i].columns || !all[i].batch)
            die("out of memory", "");
    }
    if (!all)
        die("out of memory", "");
    return all;
}

static void free_all(struct scratch *all)
{
    for (int i = 0; i < options.threads; i++) {
        free(all[i].file);
        free(all[i].pixels);
        free(all[i].columns);
        free(all[i].batch);
    }
    free(all);
    for (int i = 0; i < n_paths; i++)
        free(paths[i]);
    free(paths);
    free(order);
}

static void print_result(double start, double seconds, double best)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    long n = (long)n_paths * options.epochs;
    printf("{\"elements\":%ld,\"epochs\":%d,\"seconds\":%.6f,\"elements_per_s\":%.3f,"
           "\"best_epoch_elements_per_s\":%.3f,\"first_batch_s\":%.6f,\"peak_rss_mb\":%.3f,"
           "\"cpu_seconds\":%.6f}\n",
           n, options.epochs, seconds, (double)n / seconds, n_paths / best,
           atomic_load(&first_batch) - start, (double)usage.ru_maxrss / 1024, cpu);
}

int main(int n_words, char **words)
{
    double start = now();
    if (!parse(n_words, words)) {
        fprintf(stderr, "usage: c_loop --list FILE --side N --batch N --threads N --epochs N "
                        "[--shuffle] [--crop N] [--normalize]\n");
        return 2;
    }
    set_scaling();
    read_list();
    struct scratch *scratch = new_scratch();
    double best = 1e30, seconds = 0;
    for (int i = 0; i < options.epochs; i++) {
        double took = run_epoch(scratch);
        seconds += took;
        best = took < best ? took : best;
    }
    print_result(start, seconds, best);
    free_all(scratch);
    return 0;
}
