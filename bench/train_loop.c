/* SPDX-License-Identifier: Apache-2.0 */
/* train_loop.c: how fast steps of a model are, and where their time goes.
 *
 *     train_loop MODEL [BATCH [THREADS [SECONDS [float32|uint8 [PRECISION]]]]]
 *
 * Steps are timed one by one on random images; the rate is that of the fastest. The table has the time of
 * each group for one step, summed over threads, of a second run of as many seconds.
 */
#define _GNU_SOURCE
#include <stoker/stoker.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct loop {
    struct stk_trainer *trainer;
    struct stk_view images, labels;
    int64_t batch;
    double loss;
};

static int fail(const struct stk_error *err)
{
    fprintf(stderr, "train_loop: %s\n", err->text);
    return 1;
}

/* Random images, and labels below the count of outputs. */
static int make_batch(struct loop *loop, bool are_bytes)
{
    int64_t shape[4] = { loop->batch }, outputs;
    stk_trainer_shapes(loop->trainer, shape + 1, &outputs);
    size_t n = (size_t)(shape[0] * shape[1] * shape[2] * shape[3]);
    void *images = malloc(n * (are_bytes ? 1 : sizeof(float)));
    int32_t *labels = malloc((size_t)loop->batch * sizeof *labels);
    uint32_t state = 1;
    if (!images || !labels)
        return 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        if (are_bytes)
            ((uint8_t *)images)[i] = (uint8_t)(state >> 24);
        else
            ((float *)images)[i] = (float)(state >> 8) / (float)(1 << 24);
    }
    for (int64_t i = 0; i < loop->batch; i++)
        labels[i] = (int32_t)(i * 7 % outputs);
    loop->images = stk_view_rows(images, are_bytes ? STK_U8 : STK_F32, 4, shape);
    loop->labels = stk_view_rows(labels, STK_I32, 1, shape);
    return 0;
}

/* The seconds of the fastest step, or a negative number. */
static double fastest(struct loop *loop, double seconds, int *n_steps)
{
    double begin = now(), best = INFINITY;
    struct stk_error err = { 0 };
    struct stk_step step;
    for (*n_steps = 0; *n_steps < 3 || now() - begin < seconds; (*n_steps)++) {
        double at = now();
        if (stk_trainer_step(loop->trainer, &loop->images, &loop->labels, &step, &err)) {
            fail(&err);
            return -1;
        }
        best = fmin(best, now() - at);
        loop->loss = step.loss;
    }
    return best;
}

static void print_memory(const struct loop *loop)
{
    struct stk_trainer_bytes bytes;
    stk_trainer_memory(loop->trainer, &bytes);
    printf("weights %.1f MB, gradients %.1f, optimizer %.1f, packed %.1f, activations %.1f, "
           "scratch %.1f\n",
           (double)bytes.weights / 1e6, (double)bytes.gradients / 1e6,
           (double)bytes.optimizer / 1e6, (double)bytes.packed / 1e6,
           (double)bytes.activations / 1e6, (double)bytes.scratch / 1e6);
}

/* A line of the JSON is a group; the times are those of all steps. */
static void print_times(struct loop *loop, double seconds)
{
    int n_steps;
    char *times = stk_trainer_times_json(loop->trainer);
    stk_text_free(times);
    if (fastest(loop, seconds, &n_steps) < 0)
        return;
    times = stk_trainer_times_json(loop->trainer);
    printf("%-40s %10s %10s   (ms per step, of all threads)\n", "group", "forward", "backward");
    for (char *line = times ? strtok(times, "\n") : NULL; line; line = strtok(NULL, "\n")) {
        char name[200];
        double forward, backward;
        if (sscanf(line, "%*[^:]:\"%199[^\"]\",\"forward\":%lf,\"backward\":%lf", name, &forward,
                   &backward) == 3)
            printf("%-40s %10.3f %10.3f\n", name, 1e3 * forward / n_steps,
                   1e3 * backward / n_steps);
    }
    stk_text_free(times);
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "m2";
    struct loop loop = { .batch = argc > 2 ? atoll(argv[2]) : 32 };
    struct stk_trainer_options options = { .max_batch = loop.batch,
                                           .threads = argc > 3 ? atoi(argv[3]) : 0,
                                           .precision = argc > 6 ? argv[6] : NULL };
    double seconds = argc > 4 ? atof(argv[4]) : 3;
    struct stk_model *model;
    struct stk_error err = { 0 };
    int n_steps;
    if (stk_model_new(text, &model, &err) || stk_trainer_new(model, &options, &loop.trainer, &err))
        return fail(&err);
    if (make_batch(&loop, argc > 5 && !strcmp(argv[5], "uint8")))
        return 1;
    double best = fastest(&loop, seconds, &n_steps);
    if (best < 0)
        return 1;
    printf("%s: %.2f ms per step of %lld, %.1f images/s, loss %.4f after %d steps\n", text,
           1e3 * best, (long long)loop.batch, (double)loop.batch / best, loop.loss, n_steps);
    print_memory(&loop);
    print_times(&loop, seconds);
    free(loop.images.data);
    free(loop.labels.data);
    stk_trainer_free(loop.trainer);
    stk_model_free(model);
    return 0;
}
