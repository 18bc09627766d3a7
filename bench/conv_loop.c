/* SPDX-License-Identifier: Apache-2.0 */
/* conv_loop.c: GFLOP/s of every candidate for the convolutions of known models, one thread, as if all did the
 * products of a direct convolution.
 *
 *     conv_loop [--cpu=LEVEL] [--seconds=S] [TEXT]     only rows whose name has TEXT
 *     conv_loop --load                                 what opening a library costs
 */
#define _GNU_SOURCE /* clock_gettime */
#include "base/clock.h"
#include "base/cpu.h"
#include "train/conv/candidate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape {
    const char *name;
    int side, channels, filters, kernel, stride, pad, n_images;
};

static const struct shape shapes[] = {
    { "m1 conv1", 224, 3, 32, 3, 1, 0, 1 },
    { "m1 conv2", 111, 32, 64, 3, 1, 0, 1 },
    { "m2 conv1", 32, 3, 32, 3, 1, 0, 4 },
    { "m2 conv2", 15, 32, 64, 3, 1, 0, 4 },
    { "m2 conv3", 6, 64, 64, 3, 1, 0, 8 },
    { "m3 conv1", 224, 3, 32, 3, 2, 1, 1 },
    { "m3 point1", 112, 32, 64, 1, 1, 0, 1 },
    { "m3 point2", 56, 64, 128, 1, 1, 0, 1 },
    { "m3 point3", 56, 128, 128, 1, 1, 0, 1 },
    { "m3 point4", 28, 128, 256, 1, 1, 0, 1 },
    { "m3 point5", 28, 256, 256, 1, 1, 0, 1 },
    { "m4 conv1", 224, 3, 32, 3, 1, 1, 1 },
    { "m4 point", 112, 32, 64, 1, 1, 0, 1 },
    { "resnet18 conv1", 224, 3, 64, 7, 2, 3, 1 },
    { "resnet18 56", 56, 64, 64, 3, 1, 1, 1 },
    { "resnet18 56 down", 56, 64, 128, 3, 2, 1, 1 },
    { "resnet18 56 short", 56, 64, 128, 1, 2, 0, 1 },
    { "resnet18 28", 28, 128, 128, 3, 1, 1, 1 },
    { "resnet18 28 down", 28, 128, 256, 3, 2, 1, 1 },
    { "resnet18 14", 14, 256, 256, 3, 1, 1, 4 },
    { "resnet18 14 down", 14, 256, 512, 3, 2, 1, 4 },
    { "resnet18 7", 7, 512, 512, 3, 1, 1, 8 },
    { "mobilenet 112", 112, 32, 16, 1, 1, 0, 1 },
    { "mobilenet 112 up", 112, 16, 96, 1, 1, 0, 1 },
    { "mobilenet 56 down", 56, 96, 24, 1, 1, 0, 1 },
    { "mobilenet 56 up", 56, 24, 144, 1, 1, 0, 1 },
    { "mobilenet 28 down", 28, 144, 32, 1, 1, 0, 1 },
    { "mobilenet 28 up", 28, 32, 192, 1, 1, 0, 1 },
    { "mobilenet 14 down", 14, 384, 64, 1, 1, 0, 4 },
    { "mobilenet 14 up", 14, 64, 384, 1, 1, 0, 4 },
    { "mobilenet 7 down", 7, 960, 160, 1, 1, 0, 8 },
    { "mobilenet 7 up", 7, 160, 960, 1, 1, 0, 8 },
    { "mobilenet last", 7, 320, 1280, 1, 1, 0, 8 },
};

static struct stk__conv conv_of(const struct shape *s)
{
    int out = (s->side + 2 * s->pad - s->kernel) / s->stride + 1;
    return (struct stk__conv){ s->side,   s->side,   s->channels, out,       out, s->filters,
                               s->kernel, s->kernel, s->stride,   s->stride, 1,   1,
                               s->pad,    s->pad,    s->pad,      s->pad,    1 };
}

/* Bands as a step has them: about 192 KB of the output. */
static int band_rows(const struct stk__conv *c)
{
    int rows = (192 << 10) / (int)sizeof(float) / c->out_width / c->filters;
    return rows < 1 ? 1 : rows;
}

static void measure(const struct stk__conv_candidate *candidate, const struct stk__conv_task *task,
                    double seconds)
{
    const struct stk__conv *c = &task->conv;
    struct stk__conv_way way;
    struct stk__way_cost cost;
    double products = (double)c->out_height * c->out_width * c->filters * c->kernel_height *
                      c->kernel_width * c->channels;
    if (!candidate->can(task)) {
        printf(" %8s %7s", "-", "");
        return;
    }
    if (stk__conv_way_open(&way, candidate, task, NULL) ||
        stk__way_measure(&way, seconds, &cost, NULL)) {
        printf(" %8s %7s", "failed", "");
        return;
    }
    printf(" %8.1f %7.2f", 2e-9 * products / cost.run, 1e3 * cost.once);
    stk__conv_way_close(&way);
}

static void print_shape(const struct shape *s, int level, double seconds)
{
    static const char *const words[] = { "forward", "to image", "to weights" };
    for (int direction = 0; direction < STK__N_DIRECTIONS; direction++) {
        struct stk__conv_task task = { .conv = conv_of(s),
                                       .direction = (enum stk__direction)direction,
                                       .cpu_level = level,
                                       .n_images = s->n_images,
                                       .is_half = true }; /* whatever can */
        task.n_rows = s->n_images > 1 ? 0 : band_rows(&task.conv);
        if (direction == STK__TO_IMAGE && s->channels == 3)
            continue; /* no step needs it */
        printf("%-18s %-10s", s->name, words[direction]);
        for (int i = 0; stk__conv_candidates[i]; i++)
            measure(stk__conv_candidates[i], &task, seconds);
        printf("\n");
        fflush(stdout);
    }
}

/* ---- opening ---- */

static double resident_mb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * 4096e-6;
}

/* Opens a way; what that took in time and memory. */
static void print_open(const char *what, const struct stk__conv_candidate *candidate,
                       const struct stk__conv_task *task, struct stk__conv_way *way)
{
    double memory = resident_mb();
    uint64_t begin = stk__clock_ns();
    struct stk_error err = { 0 };
    int rc = stk__conv_way_open(way, candidate, task, &err);
    printf("%-28s %8.2f ms %8.2f MB%s%s\n", what, (double)(stk__clock_ns() - begin) * 1e-6,
           resident_mb() - memory, rc ? ": " : "", rc ? err.text : "");
}

static void print_loading(const struct stk__conv_candidate *candidate, int level)
{
    struct stk__conv_task task = { .conv = conv_of(&shapes[0]), .cpu_level = level, .n_images = 1 };
    struct stk__conv_way way[3];
    printf("%s\n", candidate->name);
    print_open("the library, a first way", candidate, &task, &way[0]);
    task.conv = conv_of(&shapes[1]);
    print_open("another convolution", candidate, &task, &way[1]);
    print_open("the same again", candidate, &task, &way[2]);
    for (int i = 0; i < 3; i++)
        stk__conv_way_close(&way[i]);
}

int main(int argc, char **argv)
{
    int level = (int)stk__cpu_best();
    double seconds = 0.03;
    const char *text = "";
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--cpu=", 6))
            level = !strcmp(argv[i] + 6, "avx2") ? STK__CPU_AVX2 : STK__CPU_SCALAR;
        else if (!strncmp(argv[i], "--seconds=", 10))
            seconds = atof(argv[i] + 10);
        else
            text = argv[i];
    for (int i = 0; stk__conv_candidates[i] && !strcmp(text, "--load"); i++)
        if (stk__conv_candidates[i]->is_optional)
            print_loading(stk__conv_candidates[i], level);
    if (!strcmp(text, "--load"))
        return 0;
    printf("%-18s %-10s", "GFLOP/s", "");
    for (int i = 0; stk__conv_candidates[i]; i++)
        printf(" %8s %7s", stk__conv_candidates[i]->name, "once ms");
    printf("\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strstr(shapes[i].name, text))
            print_shape(&shapes[i], level, seconds);
    return 0;
}
