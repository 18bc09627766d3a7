/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel_trial.h: kernels of layers, on one shape at a time.
 *
 * A trial is a shape with operands of just the size that it needs. Results are floats in one block, with
 * what must not be touched among them. Versions agree within a part of the sum of the terms' sizes: the
 * scalar kernel finds that sum when it is run on the operands' sizes.
 */
#pragma once
#include "checkkernel.h"
#include "train/kernel/train_kernel.h"

/* What a job is run on; each takes what it needs. */
struct shape {
    int width, height, channels; /* of the output, or of pixels; dense: n, k, m */
    int kernel_y, kernel_x, stride_y, stride_x, dilation, multiplier;
    int pad_top, pad_left;
    int loose; /* values between pixels, rows, and before the first */
    float low, high;
    int variant; /* any bits */
};

enum { N_OPERANDS = 4 };

struct trial {
    struct shape shape;
    size_t n[N_OPERANDS], n_out; /* floats; set by `measure` */
    float *in[N_OPERANDS], *out;
};

struct layer_job {
    const char *name;
    double tolerance;
    /* Sets n and n_out, and mends the shape where the kernel would not take it. */
    void (*measure)(struct trial *t);
    void (*run)(const struct stk__train_kernels *kernels, const struct trial *t);
    /* Changes random operands, and their sizes, where not all will do; or NULL. */
    void (*prepare)(const struct trial *t, bool is_sizes);
    const struct shape *timed;             /* shapes of known models, until a width of 0 */
    double (*work)(const struct shape *s); /* floating point operations of a timed shape */
};

/* Each ends with a NULL name. */
extern const struct layer_job depthwise_jobs[], pool_jobs[], norm_jobs[], pixel_jobs[],
    dense_jobs[];

/* All jobs at one level; returns the number that differ. */
int check_layers(int level, const char *filter);
void bench_layers(int level, const char *filter);

/* Activations, against the C library's doubles. */
int check_activations(int level, const char *filter);
void bench_activations(int level, const char *filter);

float random_real(float size);

/* What `map` needs for rows of pixels. */
size_t map_floats(const struct shape *s, int width, int height, int channels);
struct stk__read_map read_map(const struct shape *s, const float *block, int width, int channels);
struct stk__write_map write_map(const struct shape *s, float *block, int width, int channels);
