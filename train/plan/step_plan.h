/* SPDX-License-Identifier: Apache-2.0 */
/* step_plan.h: a model as what is done in a step, in which order, and in which memory.
 *
 *     nodes ─▶ groups ─▶ tensors ─▶ a program: parts in order ─▶ segments ─▶ places in one arena
 *
 * A *group* is nodes that are carried out together: a convolution with its activation and pool. Each kind
 * is a table (struct stk__group_type, one file in train/step) and has *parts*: what it does in the forward
 * and in the backward pass. A part works on a lot of images of one thread, or is *joint*: all threads do it
 * together for the whole batch, because it must know all images (batch statistics) or because weights are
 * too large to be read for every lot (dense layers).
 *
 *     conv2d, pool   conv2d, pool ║ dense ║ dense, loss, dense ║ dense ║ conv2d, pool   conv2d, pool
 *     ───────── forward ───────── ║ joint ║                    ║ joint ║ ───────── backward ────────
 *
 * Parts between two joint ones are a *segment*: a thread carries a lot of few images through all of them
 * before it takes the next lot. A tensor that is used in one segment alone lies in the workspace of a
 * thread and has room for a lot; all others have room for the batch. Where models have no joint part at all,
 * forward, loss and backward pass are one segment.
 *
 *     arena   │ tensor of the batch │ workspace: thread 0 │ thread 1 │ …
 *                                     ╰ tensors of a lot, scratch
 *
 * Tensors of the batch, and the workspaces of each segment, share memory where segments that use them do not
 * overlap; within a workspace tensors do, where parts that use them do not.
 *
 * Outputs may have a *frame*: zeros around each image, as wide as any layer that reads it pads. So nothing is
 * copied to be padded. Gradients have none.
 *
 * In mixed precision maps and their gradients are float16 or bfloat16; what is put out, features of dense layers
 * and all sums are float32. Parts see rows in float32 (step/strips.h).
 */
#pragma once
#include "base/memory/arena.h"
#include "train/model/node_kind.h"

struct stk__step_work;
struct stk__step_group;
struct stk__step_plan;

struct stk__tensor {
    const char *name; /* of its node */
    const char *what; /* "output", "gradient", "cells", "parts" */
    int height, width, channels;
    int top, left, bottom, right; /* the frame */
    int dtype;
    int64_t row_values; /* from a row to the next */
    size_t image_bytes; /* whole, in multiples of 64 */
};

/* What parts use of their group. */
enum {
    STK__IN = 1,
    STK__OUT = 2,
    STK__D_IN = 4,
    STK__D_OUT = 8,
    STK__CELLS = 16,
    STK__SCRATCH = 32,
};

typedef void stk__part_fn(const struct stk__step_work *work, const struct stk__step_group *group);

struct stk__part {
    stk__part_fn *run; /* NULL: behind the last one */
    unsigned uses;
    bool is_joint;
};

struct stk__group_type {
    const char *name;
    /* Says what it needs: cells, scratch, packed weights, sums, `spares`. State is in the plan's arena. */
    int (*open)(struct stk__step_plan *plan, struct stk__step_group *group, struct stk_error *err);
    void (*close)(struct stk__step_group *group);     /* or NULL */
    const struct stk__part *forward, *backward, *use; /* use: outside of training */
    const struct stk__part *late; /* updates of weights that were put off; joint; or NULL */
    int n_strips;         /* that parts want of scratch, where a tensor is in half precision */
    bool wants_long_lots; /* reads its weights once for each lot */
    /* Of this thread, or NULL: packs weights for a step; adds up the threads' sums as gradients; makes
     * statistics part of the weights. */
    stk__part_fn *pack, *collect, *keep;
};

struct stk__step_group {
    const struct stk__group_type *type;
    int number;
    int node, activation, pool, last; /* of the model; -1: has none */
    int n_inputs;
    int *in, *d_in; /* tensors; -1: the gradient is not wanted */
    bool *adds;     /* the gradient is added to what is there */
    int out, d_out, cells;
    bool has_gradient;              /* of its weights, or of an input */
    bool is_merged;                 /* into the loss: not in the program of training */
    unsigned spares;                /* what parts of the backward pass use in others of its type */
    size_t scratch_bytes;           /* of a thread, while a part runs that uses it */
    int n_strips, strip_rows;       /* rows of a strip: all, where no tensor is in half precision */
    size_t strip_floats, strips_at; /* of a strip; in scratch */
    size_t packed_floats, packed_at; /* of weights as kernels read them */
    size_t sums_floats, sums_at;     /* of a thread, 0 when a step begins */
    const char
        *how[3]; /* of each direction of a convolution: what carries it out, and why; or NULL */
    void *state;
};

/* One thing that is done. */
struct stk__step_op {
    int group; /* -1: the loss */
    bool is_backward;
    const struct stk__part *part;
};

struct stk__segment {
    int first, behind; /* ops */
    bool is_joint;
    int lot;                /* images */
    size_t scratch_bytes;   /* the most that a part of it wants: the end of a workspace */
    size_t workspace_bytes; /* of a thread */
    size_t workspace_at;    /* in the arena; those of all threads side by side */
};

struct stk__tensor_place {
    int first, last; /* ops; first > last: not used */
    bool is_shared;  /* has room for the batch */
    size_t at;       /* in the arena, or in the workspace */
};

struct stk__step_program {
    int n_ops, n_segments;
    int n_late; /* segments at the end, for when gradients are known to be finite */
    struct stk__step_op *op;
    struct stk__segment *segment;
    struct stk__tensor_place *place;  /* of each tensor */
    size_t arena_bytes, tensor_bytes; /* with scratch, and without */
};

struct stk__step_plan {
    struct stk_arena *arena;
    const struct stk__model *model;
    int n_threads;
    bool trains;
    bool deterministic;
    bool puts_off; /* updates that a backward pass could do wait until all gradients are known */
    bool wants_rehearsal;              /* a candidate has yet to see the bands of a step */
    int dtype;                         /* of maps */
    int64_t max_batch;                 /* that it was made for */
    struct stk__conv_choices *choices; /* while it is made */
    int cpu_level;
    int n_groups, n_tensors, tensor_cap;
    struct stk__step_group *group;
    struct stk__tensor *tensor;
    int *tensor_of;             /* of each node, or -1 */
    int *gradient_of;           /* of each tensor, or -1 */
    int input, logits, outputs; /* tensors; outputs are logits unless the last layer is merged */
    size_t packed_floats, sums_floats;
    struct stk__step_program train, use;
};

struct stk__step_plan_options {
    int64_t max_batch;
    int n_threads;
    bool trains;
    bool merges_last; /* the loss is computed from what goes into the last layer */
    bool deterministic;
    bool puts_off;
    int dtype; /* of maps: STK_F32, STK_F16 or STK_BF16 */
};

/* Makes groups, tensors and programs, and lays them out for batches of that size. Everything is in the
 * arena, but for what types close. */
int stk__step_plan_make(struct stk__step_plan *plan, const struct stk__model *model,
                        const struct stk__step_plan_options *options, struct stk_arena *arena,
                        struct stk_error *err);
void stk__step_plan_close(struct stk__step_plan *plan);

/* Lays a program out again for batches of another size. */
int stk__program_layout(const struct stk__step_plan *plan, struct stk__step_program *program,
                        int64_t max_batch, struct stk_error *err);

/* Appends what the plan says to people. */
struct stk__text;
void stk__step_plan_text(const struct stk__step_plan *plan, int64_t max_batch,
                         struct stk__text *out);

/* ---- for the parts of it ---- */

/* Nodes that are carried out together, in order. */
int stk__step_plan_groups(struct stk__step_plan *plan, bool merges_last, struct stk_error *err);
/* Tensors of outputs and gradients; opens groups, and adds their cells. */
int stk__step_plan_tensors(struct stk__step_plan *plan, struct stk_error *err);
int stk__step_plan_program(const struct stk__step_plan *plan, bool trains,
                           struct stk__step_program *out, struct stk_error *err);
/* A new tensor; its sizes are those given. -1: out of memory. */
int stk__step_plan_tensor(struct stk__step_plan *plan, const struct stk__tensor *tensor);

/* Memory for things that are there from `first` to `last`: lowest places first, large ones first. Returns
 * how much it is. */
struct stk__stay {
    int first, last;
    size_t bytes, at;
};
size_t stk__stays_place(struct stk__stay *stay, int n);

/* ---- of groups ---- */

static inline const struct stk__model_node *stk__group_node(const struct stk__step_plan *plan,
                                                            const struct stk__step_group *group)
{
    return &plan->model->node[group->node];
}

/* What its activation is; linear where it has none. */
struct stk__activation stk__group_activation(const struct stk__step_plan *plan,
                                             const struct stk__step_group *group);

/* The number of its weight of a role, or -1. */
int stk__group_weight(const struct stk__step_plan *plan, const struct stk__step_group *group,
                      enum stk__weight_role role);

extern const struct stk__group_type stk__input_group, stk__conv_group, stk__depthwise_group,
    stk__dense_group, stk__wide_dense_group, stk__norm_group, stk__activation_group,
    stk__maxpool_group, stk__avgpool_group, stk__mean_group, stk__flatten_group, stk__dropout_group,
    stk__add_group, stk__concat_group;
extern const struct stk__part stk__loss_part, stk__use_loss_part;
