/* SPDX-License-Identifier: Apache-2.0 */
/* candidate.h: ways to carry out a convolution, each behind one small table.
 *
 * A task is one convolution in one direction, known when a plan is compiled. A way is a candidate
 * that was opened for a task, and says how much memory it wants. It then runs by bands of rows:
 *
 *     forward      rows [from, to) of the output are written, from rows of the image
 *     to image     rows [from, to) of the image's gradient, from rows of the output's gradient
 *     to weights   rows [from, to) of the output's gradient are read, and added to sums
 *
 * What a band reads must be there, zeros where the layer pads: a frame as stk__conv_image and
 * stk__conv_output say, or wider. No candidate reads outside it. Rows lie anywhere: those of a band
 * may be in scratch of the caller, those of an image in a tensor with a frame of its own.
 *
 *     once per step    pack(weights) ▸ packed; sums are set to 0
 *     per band         run(job), any number of threads, each with its scratch and its sums
 *     end of a step    unpack(sums of all threads) ▸ gradient, added in their order
 *
 * Results of candidates agree within the tolerance that each states; one candidate at one level gives
 * the same bits every time, and bands cut elsewhere give the same bits where cuts are at multiples
 * of `row_unit`.
 */
#pragma once
#include "base/error.h"
#include "train/conv/conv.h"
#include "train/kernel/map.h"

#include <stdbool.h>

enum stk__direction { STK__FORWARD, STK__TO_IMAGE, STK__TO_WEIGHTS, STK__N_DIRECTIONS };

/* Rows in memory, channels innermost. */
struct stk__rows {
    float *at;                       /* the first pixel of row `first`, right of the frame */
    int first;                       /* which row that is; the image's own is 0 */
    int64_t across;                  /* floats to the next pixel: channels, or more */
    int64_t down;                    /* to the next row */
    int64_t apart;                   /* to the same place of the next image */
    struct stk__write_halves halves; /* instead of `at`, where the way takes them */
};

struct stk__conv_task {
    struct stk__conv conv;
    enum stk__direction direction;
    int cpu_level;
    int n_images;                   /* of a job, at most */
    int n_rows;                     /* of most bands, or up to a unit less; 0: whole images */
    int n_threads;                  /* that run a way at once, at most; 0: one */
    bool is_half;                   /* the image or the output is: small errors do not count */
    struct stk__rows image, output; /* as the jobs' will be, apart from `at` and `first` */
};

struct stk__conv_job {
    int n_images, from, to;
    struct stk__rows image;  /* or its gradient */
    struct stk__rows output; /* or its gradient */
    const float *packed;     /* forward, to image */
    const float *bias;       /* forward: [filters], or NULL */
    float low, high;         /* forward: values are kept within these */
    float *sums;             /* to weights: of this thread */
    float *bias_sums;        /* to weights: [filters], or NULL */
    float *scratch;          /* of this thread, aligned to 64 bytes as packed and sums are */
};

struct stk__conv_way {
    struct stk__conv_task task;
    const struct stk__conv_candidate *candidate;
    size_t packed_floats;  /* of packed weights, or of sums */
    size_t scratch_floats; /* of a thread */
    int row_unit;          /* bands of a multiple of it are fastest */
    bool reads_halves;     /* of the image; gradients of outputs are floats */
    bool writes_halves;
    void *state; /* the candidate's own */
};

struct stk__conv_candidate {
    const char *name;
    double handicap;  /* 0, or what its time is multiplied by before it is compared */
    bool is_optional; /* `can` promises nothing: open may refuse, for the machine or the task */
    bool rehearses;   /* a way makes what it needs for bands when it first runs them: a step is
                         rehearsed before the first one */
    bool (*can)(const struct stk__conv_task *task);

    /* Fills in what a way says of itself; NULL state needs no close. */
    int (*open)(struct stk__conv_way *way, struct stk_error *err);
    void (*close)(struct stk__conv_way *way); /* or NULL */

    /* Weights are [kernel_height, kernel_width, channels / groups, filters]. Part `part` of n_parts, so
     * that threads may share it. */
    void (*pack)(const struct stk__conv_way *way, const float *weights, float *packed, int part,
                 int n_parts);

    /* The gradient is written. sums[0] may be changed. */
    void (*unpack)(const struct stk__conv_way *way, float *const *sums, int n_sums, float *weights,
                   int part, int n_parts);

    void (*run)(const struct stk__conv_way *way, const struct stk__conv_job *job);
};

extern const struct stk__conv_candidate stk__conv_direct, stk__conv_winograd, stk__conv_winograd_6;
extern const struct stk__conv_candidate stk__conv_onednn; /* not in every build */

/* All of them, the plainest first; ends with NULL. */
extern const struct stk__conv_candidate *const stk__conv_candidates[];

int stk__conv_way_open(struct stk__conv_way *way, const struct stk__conv_candidate *candidate,
                       const struct stk__conv_task *task, struct stk_error *err);
void stk__conv_way_close(struct stk__conv_way *way);

/* How long a way takes on this machine, on memory of its own. */
struct stk__way_cost {
    double run;  /* seconds of an image */
    double once; /* of packing weights, or unpacking sums, for a step */
};

/* Runs it for about so many seconds, at least twice, and takes the fastest. Bands of task.n_rows are
 * in memory for one band, as a step has them, images whole. */
int stk__way_measure(const struct stk__conv_way *way, double seconds, struct stk__way_cost *out,
                     struct stk_error *err);
