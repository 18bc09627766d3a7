/* SPDX-License-Identifier: Apache-2.0 */
/* step.h: what a part of a program sees while it runs: a thread and a lot of images. */
#pragma once
#include "train/kernel/train_kernel.h"
#include "train/loss/loss.h"
#include "train/optimizer/update.h"
#include "train/plan/step_plan.h"
#include "train/trainer/team.h"

/* What a thread found in a step; one line of cache apart from the others'. */
struct stk__found {
    _Alignas(64) double loss; /* the sum */
    int64_t top1, top5;
    bool is_infinite; /* a gradient that an update used was not finite */
    double squares;   /* of gradients that an update used and nobody stored */
    int bad_op;       /* the first with a result that is not finite, where that is looked for */
    int64_t bad_row;
};

/* A batch on its way; constant while it runs but for what pointers lead to. */
struct stk__run {
    const struct stk__step_plan *plan;
    const struct stk__step_program *program;
    const struct stk__train_kernels *kernels;
    struct stk__team *team;
    char *arena;
    float *const *used; /* by number: weights as layers read them (update.h) */
    float **weight,
        **gradient; /* statistics are kept in these; gradients are NULL where there are none */
    float *packed;
    int packed_for; /* what packed weights are good for: 0 nothing, 1 use, 2 training */
    bool settles;   /* weights have changed, and layers do not read them as they are */
    float **sums;   /* of each thread */
    struct stk__found *found;

    const void *images;
    int image_dtype;
    const float *image_scale, *image_offset; /* [channels] */
    int64_t rows;
    struct stk__loss_batch batch; /* targets of the whole batch; rows is 0: none */
    const struct stk__loss *loss;
    double loss_factor;
    float *outputs; /* where outputs go, or NULL */

    uint64_t seed;
    int64_t n_batches; /* before this one */
    bool looks_for_bad;
    double *seconds; /* of each op and thread, or NULL: [n_ops * threads] */

    /* Whether weights of a joint part are updated with their gradients, which are not stored then.
     * Where that is put off, late parts do it. */
    struct stk__updates *updates;
    bool updates_now, puts_off;
};

/* A lot, or the whole batch where a part is joint. */
struct stk__step_work {
    const struct stk__run *run;
    char *workspace;
    float *scratch; /* of this thread, for this part; 64-byte aligned */
    int thread, n_threads;
    int64_t first; /* image */
    int n;
};

/* Where the pixels of an image begin, right of its frame. */
struct stk__step_image {
    float *at;
    int64_t down; /* values to the next row */
    int height, width, channels;
};

/* The memory of a tensor for image i of the lot. */
void *stk__tensor_at(const struct stk__step_work *work, int tensor, int64_t i);
/* The type of its values: that of the caller's images, where they are read in place. */
int stk__dtype_of(const struct stk__step_work *work, int tensor);
/* An image of a tensor in float32. Others are loaded (strips.h). */
struct stk__step_image stk__image_at(const struct stk__step_work *work, int tensor, int64_t i);

/* Values from an image to the next one of the lot. */
int64_t stk__image_stride(const struct stk__step_work *work, int tensor);

static inline struct stk__read_map stk__reads(const struct stk__step_image *image)
{
    return (
        struct stk__read_map){ .at = image->at, .across = image->channels, .down = image->down };
}

static inline struct stk__write_map stk__writes(const struct stk__step_image *image)
{
    return (
        struct stk__write_map){ .at = image->at, .across = image->channels, .down = image->down };
}

/* Whether rows lie side by side. */
static inline bool stk__is_dense(const struct stk__step_image *image)
{
    return image->down == (int64_t)image->width * image->channels;
}

/* Zeros around the images of a lot. */
void stk__clear_frames(const struct stk__step_work *work, int tensor);

float *stk__packed_at(const struct stk__step_work *work, const struct stk__step_group *group);
float *stk__sums_at(const struct stk__step_work *work, const struct stk__step_group *group,
                    int thread);

/* Adds the sums of all threads, n floats from `at` on, up in order: this thread's part of a
 * gradient. */
void stk__collect_sums(const struct stk__step_work *work, const struct stk__step_group *group,
                       size_t at, int weight);

/* ---- activations ---- */

/* What values are kept within while they are written; infinite where the activation is none of
 * those. */
struct stk__bounds {
    float low, high;
};
struct stk__bounds stk__activation_bounds(const struct stk__activation *activation);

/* Whether bounds are all there is to it; linear ones, too. */
bool stk__activation_is_clamp(const struct stk__activation *activation);

/* Whether its gradient can be told from what it gave, value by value. */
bool stk__activation_is_simple(const struct stk__activation *activation);

/* Over a span, in place where x is y; not softmax. */
void stk__activation_apply(const struct stk__train_kernels *kernels,
                           const struct stk__activation *activation, const float *x, size_t n,
                           float *y);

/* dx from dy, of simple ones, from what they gave. */
void stk__activate_back(const struct stk__train_kernels *kernels,
                        const struct stk__activation *activation, const float *y, const float *dy,
                        size_t n, float *dx);

/* The gradient of a group's output, before its activation: in place, row by row by way of two
 * strips of a row (NULL: it is float32). Where the group is linear nothing is done. */
void stk__mask_gradient(const struct stk__step_work *work, const struct stk__step_group *group,
                        float *const strip[2]);

/* Rows of `from` into `to` by rows: copied, or added. */
void stk__put_rows(const struct stk__train_kernels *kernels, const struct stk__step_image *from,
                   const struct stk__step_image *to, bool adds);
