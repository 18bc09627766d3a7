/* SPDX-License-Identifier: Apache-2.0 */
/* import.h: weights of a model from a file of named tensors: one of stoker's, or a state dict of
 * PyTorch.
 *
 * PyTorch's layers are found by what they have: a weight of four axes is a convolution, of two a
 * dense layer, running_mean a batch normalisation. Those of a kind are taken one after the other,
 * by their names with numbers in them as numbers, and given to the model's layers of that kind in
 * their order. Shapes must match, no tensor may be left over and no weight without one: what does
 * not fit is listed. A map, {layer: 'module'} or {'layer/kernel': 'module.weight'}, says it for
 * some or all of them.
 *
 * Kernels are turned: OIHW to HWIO, a dense layer's O×I to I×O, and where it takes the features of
 * an image, from PyTorch's order (channel, row, column) to ours (row, column, channel).
 */
#pragma once
#include "train/file/safetensors.h"
#include "train/model/node_kind.h"
#include "train/model/weights.h"

/* map may be NULL. Fails before the first weight is written, unless reading does. */
int stk__import_weights(const struct stk__safetensors *file, const struct stk_pairs *map,
                        const struct stk__weights *into, struct stk_error *err);

/* ---- what kinds of nodes say of PyTorch ---- */

enum stk__module_kind { STK__MODULE_CONV, STK__MODULE_DENSE, STK__MODULE_NORM, STK__MODULE_OTHER };

struct stk__torch_layer {
    enum stk__module_kind kind;
    /* The shape of its kernel there, from ours: returns the rank. And from that to ours, where
     * `image` is what the features that it takes are flattened of, or NULL. NULL: it has no kernel.
     */
    int (*kernel_shape)(const int64_t ours[4], int64_t theirs[4]);
    void (*turn_kernel)(const float *from, const int64_t *shape, const struct stk__shape *image,
                        float *to);
    bool is_by_feature; /* weights have a value for each feature that it takes */
};

/* The kind of a node's module. */
static inline enum stk__module_kind stk__module_of(const struct stk__model_node *node)
{
    return node->kind->torch ? node->kind->torch->kind : STK__MODULE_OTHER;
}

/* Where our feature is in PyTorch's order. */
int64_t stk__torch_place(const struct stk__shape *image, int64_t feature);

/* ---- between its files ---- */

/* A tensor for each weight of the model, NULL where nothing is known of it yet. */
struct stk__import_plan {
    const struct stk__safetensors *file;
    const struct stk__model *model;
    const struct stk__saved_tensor **tensor; /* [n_weights] */
    bool *is_used;                           /* [n_tensors] */
    struct stk_arena arena;
    struct stk__text faults; /* what does not fit, "; " between them */
    int n_faults;
    bool failed; /* an allocation did */
};

/* Adds to what does not fit; after a few they are only counted. */
void stk__import_fault(struct stk__import_plan *plan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fills in tensors by a map, and by the order of modules. */
int stk__import_by_map(struct stk__import_plan *plan, const struct stk_pairs *map,
                       struct stk_error *err);
int stk__import_by_order(struct stk__import_plan *plan, struct stk_error *err);
