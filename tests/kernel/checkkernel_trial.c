/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_trial.c: trials of layers: random shapes, comparing, timing. */
#include "checkkernel_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct layer_job *const lists[] = { depthwise_jobs, pool_jobs, norm_jobs, pixel_jobs,
                                                 dense_jobs };
enum { N_LISTS = sizeof lists / sizeof *lists };

/* ---- maps ---- */

size_t map_floats(const struct shape *s, int width, int height, int channels)
{
    struct stk__read_map map = read_map(s, NULL, width, channels);
    return (size_t)(s->loose + (height - 1) * map.down + (width - 1) * map.across + channels);
}

struct stk__read_map read_map(const struct shape *s, const float *block, int width, int channels)
{
    int64_t across = channels + s->loose;
    return (struct stk__read_map){ .at = block ? block + s->loose : NULL,
                                   .across = across,
                                   .down = width * across + 2 * s->loose };
}

struct stk__write_map write_map(const struct shape *s, float *block, int width, int channels)
{
    struct stk__read_map map = read_map(s, NULL, width, channels);
    return (
        struct stk__write_map){ .at = block + s->loose, .across = map.across, .down = map.down };
}

/* ---- trials ---- */

static int one_of(const int *values, int n)
{
    return values[random_word() % (uint64_t)n];
}

static int up_to(int n)
{
    return 1 + (int)(random_word() % (uint64_t)n);
}

static struct shape random_shape(void)
{
    static const int channels[] = { 1, 3, 7, 8, 16, 17, 24, 32, 33, 48, 70 };
    struct shape s = { .width = up_to(20),
                       .height = up_to(7),
                       .channels = one_of(channels, 11),
                       .kernel_y = up_to(4),
                       .kernel_x = up_to(4),
                       .stride_y = up_to(3),
                       .stride_x = up_to(3),
                       .dilation = 1,
                       .multiplier = random_word() % 4 ? 1 : up_to(3),
                       .loose = random_word() % 2 ? 0 : up_to(5),
                       .low = random_word() % 2 ? 0 : -INFINITY,
                       .high = random_word() % 3 ? INFINITY : 0.5f,
                       .variant = (int)(random_word() % 1024) };
    if (random_word() % 2)
        s.kernel_y = s.kernel_x = 3;
    if (random_word() % 2)
        s.stride_x = s.stride_y = up_to(2);
    if (random_word() % 4 == 0)
        s.kernel_y = s.kernel_x = s.stride_y = s.stride_x = 2;
    if (s.stride_x == 1 && s.stride_y == 1 && random_word() % 4 == 0)
        s.dilation = up_to(3);
    s.pad_top = (int)(random_word() % (uint64_t)s.kernel_y);
    s.pad_left = (int)(random_word() % (uint64_t)s.kernel_x);
    return s;
}

static float *random_block(size_t n)
{
    float *block = malloc((n ? n : 1) * sizeof *block);
    if (!block)
        exit(2);
    for (size_t i = 0; i < n; i++)
        block[i] = random_real(1);
    return block;
}

static void make_trial(struct trial *t, const struct layer_job *job, const struct shape *shape)
{
    *t = (struct trial){ .shape = *shape };
    job->measure(t);
    for (int i = 0; i < N_OPERANDS; i++)
        t->in[i] = random_block(t->n[i]);
    t->out = random_block(t->n_out);
    if (job->prepare)
        job->prepare(t, false);
}

static void free_trial(struct trial *t)
{
    for (int i = 0; i < N_OPERANDS; i++)
        free(t->in[i]);
    free(t->out);
}

/* The same shape with the sizes of all operands, and no limits. */
static struct trial sizes_of(const struct layer_job *job, const struct trial *t)
{
    struct trial sizes = *t;
    sizes.shape.low = -INFINITY;
    sizes.shape.high = INFINITY;
    for (int i = 0; i < N_OPERANDS; i++) {
        sizes.in[i] = random_block(t->n[i]);
        for (size_t k = 0; k < t->n[i]; k++)
            sizes.in[i][k] = fabsf(t->in[i][k]);
    }
    sizes.out = random_block(t->n_out);
    for (size_t k = 0; k < t->n_out; k++)
        sizes.out[k] = fabsf(t->out[k]);
    if (job->prepare)
        job->prepare(&sizes, true);
    return sizes;
}

/* ---- comparing ---- */

/* The same bits, for those that are bytes, or near. */
static bool agree(const struct layer_job *job, const float *a, const float *b, const float *sizes,
                  size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) &&
            !(fabs((double)a[i] - b[i]) <= job->tolerance * fabs(sizes[i]))) {
            printf("value %zu of %zu: %.9g, scalar %.9g, size %g\n", i, n, a[i], b[i], sizes[i]);
            return false;
        }
    return true;
}

static int check_job(const struct layer_job *job, int level)
{
    struct trial t;
    const struct shape shape = random_shape();
    make_trial(&t, job, &shape);
    struct trial sizes = sizes_of(job, &t), other = t;
    other.out = random_block(t.n_out);
    memcpy(other.out, t.out, t.n_out * sizeof *t.out);
    job->run(stk__train_kernels_at(0), &t);
    job->run(stk__train_kernels_at(level), &other);
    job->run(stk__train_kernels_at(0), &sizes);
    bool is_same = agree(job, other.out, t.out, sizes.out, t.n_out);
    const struct shape *s = &t.shape;
    if (!is_same)
        printf("FAIL %s: %dx%dx%d, kernel %dx%d, stride %d %d, dilation %d, multiplier %d, "
               "pad %d %d, loose %d, limits %g %g, variant %d\n",
               job->name, s->width, s->height, s->channels, s->kernel_y, s->kernel_x, s->stride_y,
               s->stride_x, s->dilation, s->multiplier, s->pad_top, s->pad_left, s->loose,
               (double)s->low, (double)s->high, s->variant);
    free(other.out);
    free_trial(&sizes);
    free_trial(&t);
    return !is_same;
}

int check_layers(int level, const char *filter)
{
    int n_bad = 0;
    for (int round = 0; round < 300 && n_bad < 20; round++)
        for (int i = 0; i < N_LISTS; i++)
            for (const struct layer_job *job = lists[i]; job->name; job++)
                n_bad += is_wanted(job->name, filter) ? check_job(job, level) : 0;
    return n_bad;
}

/* ---- timing ---- */

struct timed {
    const struct layer_job *job;
    const struct trial *trial;
    int level;
};

static void run_timed(void *ctx)
{
    struct timed *timed = ctx;
    timed->job->run(stk__train_kernels_at(timed->level), timed->trial);
}

/* Bytes are those of all operands and results, once. */
static void bench_shape(const struct layer_job *job, const struct shape *s, int level)
{
    struct trial t;
    char name[80];
    make_trial(&t, job, s);
    struct timed scalar = { job, &t, 0 }, other = { job, &t, level };
    double slow = time_call(run_timed, &scalar), fast = time_call(run_timed, &other);
    double bytes = 4 * (double)(t.n[0] + t.n[1] + t.n[2] + t.n[3] + t.n_out);
    snprintf(name, sizeof name, "%s %dx%dx%d/%d", job->name, s->height, s->width, s->channels,
             s->stride_x);
    printf("  %-46s %9.1f %9.1f us %6.1fx %7.1f GFLOP/s %7.1f GB/s\n", name, slow / 1e3, fast / 1e3,
           slow / fast, job->work(s) / fast, bytes / fast);
    free_trial(&t);
}

void bench_layers(int level, const char *filter)
{
    for (int i = 0; i < N_LISTS; i++)
        for (const struct layer_job *job = lists[i]; job->name; job++)
            for (const struct shape *s = job->timed; is_wanted(job->name, filter) && s->width; s++)
                bench_shape(job, s, level);
}
