/* SPDX-License-Identifier: Apache-2.0 */
/* make_shapes.c: makes a data set of JPEGs of drawn shapes, one directory per class.
 *
 *     make_shapes DIR [COUNT] [SEED] [THREADS]
 *
 * Sizes and qualities are like those of photographs on the web: about 500×375, a quarter of them
 * upright, quality 75 to 95, chroma at full or half resolution. Each image has a gradient with cloudy
 * texture behind, clutter, one shape of its class, and noise. Image i depends on SEED and i alone,
 * so any number of threads (one per core, unless it is given) draws the same files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>

#define PI 3.14159265f

enum { MAX_SIDE = 704, GRID = 12, MAX_THREADS = 64 };

struct color {
    float r, g, b;
};

struct random {
    uint64_t state;
};

struct image {
    int width, height;
    struct random random;
    float *rgb;      /* [height][width][3], 0 to 255 */
    uint8_t *pixels; /* the same, rounded */
};

/* Distance to the border of a shape of about unit size, negative inside. */
typedef float (*distance_function)(float x, float y);

/* A shape, and how far it reaches from its middle. */
struct shape {
    const char *name;
    distance_function distance;
    float half_width, half_height;
};

/* A shape on an image: where, how large, how turned, and what it looks like. */
struct stamp {
    const struct shape *shape;
    float x, y, size, alpha;
    float cosine, sine;    /* of the angle it is turned by */
    struct color from, to; /* top to bottom of the shape */
};

/* fminf and fmaxf are calls, which take a quarter of the time. */
static float lesser(float a, float b)
{
    return a < b ? a : b;
}

static float greater(float a, float b)
{
    return a > b ? a : b;
}

static uint64_t next_word(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static float between(struct random *random, float low, float high)
{
    return low + (high - low) * (float)(next_word(random) >> 40) * 0x1p-24f;
}

static struct color any_color(struct random *random, float low, float high)
{
    float r = between(random, low, high), g = between(random, low, high);
    return (struct color){ r, g, between(random, low, high) };
}

static struct color blend(struct color a, struct color b, float t)
{
    return (struct color){ a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t };
}

static void turn_randomly(struct stamp *s, struct random *random)
{
    float angle = between(random, 0, 2 * PI);
    s->cosine = cosf(angle);
    s->sine = sinf(angle);
}

static float box(float x, float y, float half_width, float half_height)
{
    return greater(fabsf(x) - half_width, fabsf(y) - half_height);
}

static float circle(float x, float y)
{
    return sqrtf(x * x + y * y) - 0.9f;
}

static float crescent(float x, float y)
{
    return greater(circle(x, y), 0.75f - sqrtf((x - 0.45f) * (x - 0.45f) + y * y));
}

static float cross(float x, float y)
{
    return lesser(box(x, y, 0.95f, 0.3f), box(x, y, 0.3f, 0.95f));
}

static float bar(float x, float y)
{
    return box(x, y, 1.0f, 0.1f);
}

static float ring(float x, float y)
{
    return fabsf(circle(x, y) + 0.2f) - 0.2f;
}

static float square(float x, float y)
{
    return box(x, y, 0.78f, 0.78f);
}

static float polygon(float x, float y, int n_corners)
{
    float sector = 2 * PI / (float)n_corners;
    float angle = atan2f(x, y);
    angle -= sector * roundf(angle / sector);
    return sqrtf(x * x + y * y) * cosf(angle) - cosf(sector / 2);
}

static float hexagon(float x, float y)
{
    return polygon(x, y, 6);
}

static float triangle(float x, float y)
{
    return polygon(x, y, 3);
}

/* Folded onto one half of one of its points, a star is what lies on one side of a line. */
static float star(float x, float y)
{
    float sector = 2 * PI / 5;
    float angle = atan2f(x, y);
    angle = fabsf(angle - sector * roundf(angle / sector));
    float radius = sqrtf(x * x + y * y);
    float px = radius * sinf(angle), py = radius * cosf(angle);
    float inner_x = 0.4f * sinf(sector / 2), inner_y = 0.4f * cosf(sector / 2);
    float along_x = inner_x, along_y = inner_y - 1;
    float length = sqrtf(along_x * along_x + along_y * along_y);
    return (px * -along_y + (py - 1) * along_x) / length;
}

static const struct shape classes[] = {
    { "circle", circle, 0.9f, 0.9f }, { "crescent", crescent, 0.9f, 0.9f },
    { "cross", cross, 0.95f, 0.95f }, { "hexagon", hexagon, 1, 1 },
    { "ring", ring, 0.9f, 0.9f },     { "square", square, 0.78f, 0.78f },
    { "star", star, 1, 1 },           { "triangle", triangle, 1, 1 },
};

enum { N_CLASSES = sizeof classes / sizeof *classes };

static void draw_pixel(struct image *image, const struct stamp *s, int x, int y)
{
    float dx = ((float)x - s->x) / s->size, dy = ((float)y - s->y) / s->size;
    float x_turned = s->cosine * dx + s->sine * dy, y_turned = s->cosine * dy - s->sine * dx;
    float distance = s->shape->distance(x_turned, y_turned) * s->size;
    float cover = lesser(greater(0.5f - distance, 0), 1) * s->alpha;
    if (cover == 0)
        return;
    float *p = image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
    struct color fill = blend(s->from, s->to, lesser(greater((dy + 1) / 2, 0), 1));
    struct color mixed = blend((struct color){ p[0], p[1], p[2] }, fill, cover);
    p[0] = mixed.r, p[1] = mixed.g, p[2] = mixed.b;
}

static void draw_stamp(struct image *image, const struct stamp *s)
{
    float along = s->size * s->shape->half_width, across = s->size * s->shape->half_height;
    float cosine = fabsf(s->cosine), sine = fabsf(s->sine);
    int reach_x = (int)(cosine * along + sine * across) + 3;
    int reach_y = (int)(sine * along + cosine * across) + 3;
    int left = (int)s->x - reach_x, right = (int)s->x + reach_x;
    int top = (int)s->y - reach_y, bottom = (int)s->y + reach_y;
    for (int y = top < 0 ? 0 : top; y < bottom && y < image->height; y++)
        for (int x = left < 0 ? 0 : left; x < right && x < image->width; x++)
            draw_pixel(image, s, x, y);
}

/* Four corner colours, and over them a coarse grid of brightness that makes clouds. */
static void draw_background(struct image *image)
{
    struct random *random = &image->random;
    struct color corner[4];
    float clouds[GRID + 1][GRID + 1], strength = between(random, 5, 40);
    for (int i = 0; i < 4; i++)
        corner[i] = any_color(random, 20, 235);
    for (int i = 0; i < (GRID + 1) * (GRID + 1); i++)
        clouds[i / (GRID + 1)][i % (GRID + 1)] = between(random, -strength, strength);
    float *p = image->rgb;
    for (int y = 0; y < image->height; y++) {
        float v = (float)y / (float)image->height;
        int row = (int)(v * GRID);
        float down = v * GRID - (float)row;
        struct color west = blend(corner[0], corner[2], v), east = blend(corner[1], corner[3], v);
        for (int x = 0; x < image->width; x++, p += 3) {
            float u = (float)x / (float)image->width;
            int column = (int)(u * GRID);
            float across = u * GRID - (float)column;
            const float *upper = clouds[row] + column, *lower = clouds[row + 1] + column;
            float above = upper[0] + (upper[1] - upper[0]) * across;
            float below = lower[0] + (lower[1] - lower[0]) * across;
            float cloud = above + (below - above) * down;
            struct color base = blend(west, east, u);
            p[0] = base.r + cloud, p[1] = base.g + cloud, p[2] = base.b + cloud;
        }
    }
}

static void draw_clutter(struct image *image)
{
    static const struct shape bars = { "bar", bar, 1, 0.1f };
    const struct shape *const kinds[] = { &bars, &bars, &classes[0], &classes[5] };
    struct random *random = &image->random;
    float side = (float)(image->width < image->height ? image->width : image->height);
    int n = 8 + (int)(next_word(random) % 16);
    for (int i = 0; i < n; i++) {
        const struct shape *kind = kinds[next_word(random) % 4];
        float size = kind == &bars ? between(random, 0.1f, 0.5f) : between(random, 0.01f, 0.06f);
        struct color color = any_color(random, 10, 245);
        struct stamp s = { .shape = kind, .size = size * side, .from = color, .to = color };
        s.x = between(random, 0, (float)image->width);
        s.y = between(random, 0, (float)image->height);
        turn_randomly(&s, random);
        s.alpha = between(random, 0.3f, 0.9f);
        draw_stamp(image, &s);
    }
}

static void draw_subject(struct image *image, const struct shape *shape)
{
    struct random *random = &image->random;
    float side = (float)(image->width < image->height ? image->width : image->height);
    struct stamp s = { .shape = shape, .alpha = 1 };
    s.size = side * between(random, 0.2f, 0.42f);
    s.x = between(random, s.size * 0.8f, (float)image->width - s.size * 0.8f);
    s.y = between(random, s.size * 0.8f, (float)image->height - s.size * 0.8f);
    turn_randomly(&s, random);
    bool is_bright = next_word(random) & 1;
    s.from = any_color(random, is_bright ? 130 : 0, is_bright ? 255 : 110);
    s.to = blend(s.from, any_color(random, 0, 255), 0.4f);
    struct stamp outline = s;
    outline.size *= 1.08f;
    outline.from = outline.to =
        is_bright ? (struct color){ 25, 20, 20 } : (struct color){ 240, 240, 235 };
    draw_stamp(image, &outline);
    draw_stamp(image, &s);
}

/* Rounds to bytes and adds noise: one word gives the three channels their triangular noise. */
static void add_noise(struct image *image)
{
    float strength = between(&image->random, 1, 14) / 512;
    size_t n = (size_t)image->width * (size_t)image->height * 3;
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        word = i % 3 ? word >> 18 : next_word(&image->random);
        float noise = (float)((int)(word & 511) - (int)(word >> 9 & 511)) * strength;
        float value = image->rgb[i] + noise + 0.5f;
        image->pixels[i] = (uint8_t)lesser(greater(value, 0), 255);
    }
}

static bool write_jpeg(const struct image *image, const char *path, int quality, bool half_chroma)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct jpeg = { .err = jpeg_std_error(&errors) };
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)image->width;
    jpeg.image_height = (JDIMENSION)image->height;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, quality, TRUE);
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = half_chroma ? 2 : 1;
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = image->pixels + (size_t)jpeg.next_scanline * (size_t)image->width * 3;
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return fclose(file) == 0;
}

static bool make_image(struct image *image, const char *dir, uint64_t seed, int index)
{
    struct random *random = &image->random;
    random->state = seed;
    random->state = next_word(random) ^ (uint64_t)index << 20;
    next_word(random);
    float scale = between(random, 0.75f, 1.3f);
    int longer = (int)(500 * scale), shorter = (int)(500 * scale * between(random, 0.62f, 0.9f));
    bool is_upright = next_word(random) % 4 == 0;
    image->width = is_upright ? shorter : longer;
    image->height = is_upright ? longer : shorter;
    draw_background(image);
    draw_clutter(image);
    draw_subject(image, &classes[index % N_CLASSES]);
    add_noise(image);

    char path[4096];
    int len =
        snprintf(path, sizeof path, "%s/%s/%05d.jpg", dir, classes[index % N_CLASSES].name, index);
    if (len >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    int quality = 75 + (int)(next_word(random) % 21);
    return write_jpeg(image, path, quality, next_word(random) % 2);
}

struct job {
    const char *dir;
    uint64_t seed;
    int count, n_threads;
    bool is_terminal;
    atomic_int next, n_done, failure; /* failure: an errno, 0 while all is well */
};

/* On a terminal a bar, elsewhere a line for each tenth. */
static void show_progress(struct job *job)
{
    static const char full[] = "########################################";
    static const char empty[] = "                                        ";
    enum { CELLS = sizeof full - 1 };
    int n_done = atomic_fetch_add(&job->n_done, 1) + 1;
    int filled = (int)((int64_t)n_done * CELLS / job->count);
    bool is_tenth = (int64_t)n_done * 10 / job->count > (int64_t)(n_done - 1) * 10 / job->count;
    if (job->is_terminal && (n_done % 10 == 0 || is_tenth))
        fprintf(stderr, "\rdrawing [%.*s%.*s] %d of %d", filled, full, CELLS - filled, empty,
                n_done, job->count);
    else if (!job->is_terminal && is_tenth)
        fprintf(stderr, "drawn %d of %d\n", n_done, job->count);
}

static void *work(void *context)
{
    struct job *job = context;
    struct image image = { .rgb = malloc(sizeof(float) * MAX_SIDE * MAX_SIDE * 3),
                           .pixels = malloc((size_t)MAX_SIDE * MAX_SIDE * 3) };
    int index, none = 0;
    if (!image.rgb || !image.pixels)
        atomic_compare_exchange_strong(&job->failure, &none, ENOMEM);
    while (!atomic_load(&job->failure) && (index = atomic_fetch_add(&job->next, 1)) < job->count) {
        none = 0;
        if (!make_image(&image, job->dir, job->seed, index))
            atomic_compare_exchange_strong(&job->failure, &none, errno);
        show_progress(job);
    }
    free(image.rgb);
    free(image.pixels);
    return NULL;
}

static void run_threads(struct job *job)
{
    pthread_t threads[MAX_THREADS];
    int n_started = 0;
    while (n_started < job->n_threads - 1 && !pthread_create(&threads[n_started], NULL, work, job))
        n_started++;
    work(job);
    for (int i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
    if (job->is_terminal)
        fputc('\n', stderr);
}

static bool make_directories(const char *dir)
{
    char path[4096];
    if (mkdir(dir, 0777) && errno != EEXIST)
        return false;
    for (int i = 0; i < N_CLASSES; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, classes[i].name);
        if (mkdir(path, 0777) && errno != EEXIST)
            return false;
    }
    return true;
}

/* The cores that this process may use, at most as many as there can be threads. */
static int count_cores(void)
{
    cpu_set_t cores;
    int n = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    return n > MAX_THREADS ? MAX_THREADS : n;
}

/* The number among the arguments, or what it is without one; false and a message if it is out of range. */
static bool read_number(char **argv, int argc, int place, const char *name, int most, int *out)
{
    long value = argc > place ? strtol(argv[place], NULL, 10) : *out;
    if (value < 1 || value > most) {
        fprintf(stderr, "make_shapes: %s is %s; it must be 1 to %d\n", name, argv[place], most);
        return false;
    }
    *out = (int)value;
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 5) {
        fprintf(stderr, "usage: make_shapes DIR [COUNT] [SEED] [THREADS]\n");
        return 2;
    }
    struct job job = { .dir = argv[1], .count = 2000, .seed = 1, .is_terminal = isatty(2) };
    job.n_threads = count_cores();
    if (argc > 3)
        job.seed = strtoull(argv[3], NULL, 10);
    if (!read_number(argv, argc, 2, "COUNT", 10000000, &job.count) ||
        !read_number(argv, argc, 4, "THREADS", MAX_THREADS, &job.n_threads))
        return 2;
    if (make_directories(job.dir))
        run_threads(&job);
    else
        job.failure = errno;
    if (job.failure) {
        fprintf(stderr, "make_shapes: cannot write below %s: %s\n", job.dir, strerror(job.failure));
        return 1;
    }
    printf("%d images in %d classes\n", job.count, N_CLASSES);
    return 0;
}
