/* SPDX-License-Identifier: Apache-2.0 */
/* checkkernel.h: what the parts of the kernel harness share. A job runs one kernel of a table on
 * prepared input; the harness runs it with the scalar table and with another and wants equal
 * bytes.
 */
#pragma once
#include "kernel/kernel.h"
#include "kernel/resize_rows.h"

#include <stdbool.h>
#include <stddef.h>

/* Taps of one way, for the kernels of its path. */
struct prepared {
    struct stk__route route;
    struct stk__across x;
    struct stk__taps y;
};

enum { N_PREPARED = 20, MAX_BLOCKS = 64 };

/* Operands of every job. Blocks end where their values end, so that a sanitizer sees a read too
 * far. */
struct input {
    int n_in, n_out, channels, height; /* pixels of a source and an output row; source rows */
    int n;                             /* values of a source row */
    uint8_t *bytes;                    /* [n * height] */
    uint8_t *padded;                   /* the same, with 7 bytes behind */
    float *floats;                     /* [n * height] */
    float *more;                       /* [n] */
    float weight;
    struct prepared way[N_PREPARED]; /* n_in x height to n_out x n_out; see resample_ways */
    struct stk__affine affine;
    void *work;
    const void **rows;  /* [height] */
    uint64_t *position; /* [n] below count */
    uint64_t count, key;
    void *block[MAX_BLOCKS];
    int n_blocks;
};

struct job {
    const char *name;
    void (*run)(const struct stk__kernels *kernels, const struct input *in, void *out);
    bool gives_floats; /* NaNs are equal whatever their bits */
    bool is_image;     /* benchmarks count an image, not its values */
};

/* Each ends with a NULL name. */
extern const struct job colour_jobs[], image_jobs[], moments_jobs[], resample_jobs[], warp_jobs[];

/* Bytes that any job may write. */
size_t output_bytes(const struct input *in);

struct size {
    int n_in, n_out, channels, height;
};

/* Random operands; extreme: any bits as floats. */
void make_input(struct input *in, struct size size, bool extreme);
void free_input(struct input *in);

/* A block of in->block that starts `offset` bytes in. */
void *take(struct input *in, size_t bytes, size_t offset);

/* Taps of every way, and work space; floats, bytes and the affine are there. */
void make_ways(struct input *in);

uint64_t random_word(void);

/* Elementwise kernels, which share one signature: all of them at one level. Returns the number
 * that differ. */
int check_elementwise(int level, const char *filter);
void bench_elementwise(int level, const char *filter);

/* The same for the JPEG decoder's. */
int check_jpeg(int level, const char *filter);
void bench_jpeg(int level, const char *filter);

/* And for delimited text. */
int check_csv(int level, const char *filter);
void bench_csv(int level, const char *filter);

/* And for the training step, whose kernels agree within a tolerance. */
int check_train(int level, const char *filter);
void bench_train(int level, const char *filter);

/* Nanoseconds of the fastest of many calls. */
double time_call(void (*call)(void *ctx), void *ctx);
void print_time(const char *name, const char *unit, double per_scalar, double per_level);
bool is_wanted(const char *name, const char *filter);
