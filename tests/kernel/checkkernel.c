/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel.c: every version of every kernel against the scalar one, and beside it.
 *
 *     checkkernel [NAME]             compares on random and extreme data; fails when a bit differs,
 *                                    or more than the tolerance in the training step
 *     checkkernel --bench [NAME]     prints the times, scalar and the level's
 *
 * NAME keeps the kernels whose name contains it. Levels this machine does not have are named and
 * skipped.
 */
#define _POSIX_C_SOURCE 200809L
#include "checkkernel.h"
#include "checkkernel_trial.h"

#include "base/cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct job *const lists[] = { image_jobs, resample_jobs, warp_jobs, colour_jobs,
                                           moments_jobs };
enum { N_LISTS = sizeof lists / sizeof *lists };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double time_call(void (*call)(void *ctx), void *ctx)
{
    enum { ROUNDS = 15 };
    double best = 1e18;
    int n = 1;
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_ns();
        for (int k = 0; k < n; k++)
            call(ctx);
        double ns = (now_ns() - start) / n;
        best = ns < best ? ns : best;
        if (i == 0 && ns < 1e5)
            n = (int)(1e5 / ns) + 1;
    }
    return best;
}

void print_time(const char *name, const char *unit, double per_scalar, double per_level)
{
    printf("  %-36s %10.3f %10.3f ns per %s  %5.1fx\n", name, per_scalar, per_level, unit,
           per_scalar / per_level);
}

bool is_wanted(const char *name, const char *filter)
{
    return !filter || strstr(name, filter);
}

/* ---- comparing ---- */

static bool same(const struct job *job, uint8_t *a, uint8_t *b, size_t bytes)
{
    for (size_t i = 0; job->gives_floats && i + 4 <= bytes; i += 4) {
        float x, y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (isnan(x) && isnan(y))
            memcpy(b + i, a + i, sizeof x);
    }
    return !memcmp(a, b, bytes);
}

static int check_job(const struct job *job, const struct input *in, int level)
{
    size_t bytes = output_bytes(in), offset = random_word() % 16 * 8;
    uint8_t *a = malloc(bytes + offset), *b = malloc(bytes + offset);
    if (!a || !b)
        exit(2);
    memset(a, 0x5a, bytes + offset);
    memset(b, 0x5a, bytes + offset);
    job->run(stk__kernels_at(0), in, a + offset);
    job->run(stk__kernels_at(level), in, b + offset);
    bool is_same = same(job, a, b, bytes + offset);
    if (!is_same)
        printf("FAIL %s: %d to %d pixels of %d channels, %d rows\n", job->name, in->n_in, in->n_out,
               in->channels, in->height);
    free(a);
    free(b);
    return !is_same;
}

/* Sizes 1 to 70, and now and then a source far larger than the output, or twice as large, or rows
 * like those of photographs. */
static struct size random_size(void)
{
    struct size size = { 1 + (int)(random_word() % 70), 1 + (int)(random_word() % 70),
                         1 + (int)(random_word() % 5), 1 + (int)(random_word() % 12) };
    if (random_word() % 8 == 0)
        size.n_in *= 20;
    if (random_word() % 8 == 0)
        size.n_in = size.height = 2 * size.n_out;
    if (random_word() % 24 == 0) {
        size.n_in = 256 + (int)(random_word() % 244);
        size.n_out = 120 + (int)(random_word() % 48);
    }
    return size;
}

static int check_images(int level, const char *filter)
{
    int n_bad = 0;
    for (int round = 0; round < 600 && n_bad < 20; round++) {
        struct input in;
        make_input(&in, random_size(), round % 4 == 3);
        for (int i = 0; i < N_LISTS; i++)
            for (const struct job *job = lists[i]; job->name; job++)
                n_bad += is_wanted(job->name, filter) ? check_job(job, &in, level) : 0;
        free_input(&in);
    }
    return n_bad;
}

/* ---- timing ---- */

struct timed {
    const struct job *job;
    const struct input *in;
    int level;
    void *out;
};

static void run_timed(void *ctx)
{
    struct timed *timed = ctx;
    timed->job->run(stk__kernels_at(timed->level), timed->in, timed->out);
}

static void bench_job(const struct job *job, const struct input *in, int level, void *out)
{
    struct timed scalar = { job, in, 0, out }, other = { job, in, level, out };
    bool across = strstr(job->name, "_x_") != NULL;
    double n = job->is_image ? 1000 : across ? in->n_out * in->channels : in->n;
    const char *unit = job->is_image ? "image / 1000" : "value";
    print_time(job->name, unit, time_call(run_timed, &scalar) / n,
               time_call(run_timed, &other) / n);
}

/* An ImageNet image, and permute over a million. */
static void bench_images(int level, const char *filter)
{
    struct input in;
    make_input(&in, (struct size){ 500, 224, 3, 375 }, false);
    in.count = 1000000;
    for (int i = 0; i < in.n; i++)
        in.position[i] = (uint64_t)i;
    void *out = malloc(output_bytes(&in));
    if (!out)
        exit(2);
    memset(out, 0, output_bytes(&in));
    for (int i = 0; i < N_LISTS; i++)
        for (const struct job *job = lists[i]; job->name; job++)
            if (is_wanted(job->name, filter))
                bench_job(job, &in, level, out);
    free(out);
    free_input(&in);
}

int main(int argc, char **argv)
{
    bool bench = argc > 1 && !strcmp(argv[1], "--bench");
    const char *filter = argc > 1 + bench ? argv[1 + bench] : NULL;
    int n_bad = 0;
    for (int level = STK__CPU_SCALAR + 1; level < STK__N_CPU_LEVELS; level++) {
        if (level > (int)stk__cpu_best()) {
            printf("%s: skipped, this machine does not have it\n", stk__cpu_level_names[level]);
            continue;
        }
        printf("%s\n", stk__cpu_level_names[level]);
        if (bench) {
            bench_images(level, filter);
            bench_elementwise(level, filter);
            bench_jpeg(level, filter);
            bench_csv(level, filter);
            bench_train(level, filter);
            bench_layers(level, filter);
            bench_activations(level, filter);
        } else {
            n_bad += check_images(level, filter) + check_elementwise(level, filter) +
                     check_jpeg(level, filter) + check_csv(level, filter) +
                     check_train(level, filter) + check_layers(level, filter) +
                     check_activations(level, filter);
        }
    }
    if (!bench)
        printf("%d differences\n", n_bad);
    return n_bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
