/* SPDX-License-Identifier: Apache-2.0 */
/* import.c: whether a file fits a model, and its values in the model's order. */
#include "train/file/import.h"

#include "kernel/kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAULTS = 4 }; /* that are told */

void stk__import_fault(struct stk__import_plan *plan, const char *format, ...)
{
    char text[256];
    va_list args;
    if (plan->n_faults++ >= MOST_FAULTS)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    stk__text_add(&plan->faults, "%s%s", plan->n_faults > 1 ? "; " : "", text);
}

/* ---- the order of features ---- */

/* The image whose flattened values a node puts out in order, or NULL: the order is the same in both.
 * *is_mixed: features of several chains are side by side, some of them of an image. */
static const struct stk__shape *flattened(const struct stk__model *model, int which, bool *is_mixed)
{
    const struct stk__model_node *node = &model->node[which];
    const struct stk__shape *from, *image = NULL;
    switch (node->kind->order) {
    case STK__ORDER_OWN:
        break;
    case STK__ORDER_FLATTENED:
        from = &model->node[node->input[0]].shape;
        if (from->is_flat)
            return flattened(model, node->input[0], is_mixed);
        return from->channels > 1 && from->height * from->width > 1 ? from : NULL;
    case STK__ORDER_KEPT:
        return node->shape.is_flat ? flattened(model, node->input[0], is_mixed) : NULL;
    case STK__ORDER_JOINED:
        for (int i = 0; node->shape.is_flat && i < node->n_inputs && !image; i++)
            image = flattened(model, node->input[i], is_mixed);
        *is_mixed |= image != NULL;
    }
    return NULL;
}

/* ---- shapes ---- */

/* The shape that PyTorch gives a weight. */
static int torch_shape(const struct stk__model *model, const struct stk__weight *weight,
                       int64_t shape[4])
{
    const struct stk__torch_layer *torch = model->node[weight->node].kind->torch;
    if (weight->role == STK__KERNEL && torch && torch->kernel_shape)
        return torch->kernel_shape(weight->shape, shape);
    memcpy(shape, weight->shape, sizeof weight->shape);
    return weight->rank;
}

static bool is_same(const struct stk__saved_tensor *tensor, const int64_t *shape, int rank)
{
    return tensor->rank == rank && !memcmp(tensor->shape, shape, sizeof *shape * (size_t)rank);
}

static bool is_readable(int dtype)
{
    return dtype == STK_F32 || dtype == STK_F64 || dtype == STK_F16 || dtype == STK_BF16;
}

static void check_weight(struct stk__import_plan *plan, int which, bool is_torch)
{
    const struct stk__weight *weight = &plan->model->weight[which];
    const struct stk__saved_tensor *tensor = plan->tensor[which];
    const struct stk__model_node *node = &plan->model->node[weight->node];
    char want[STK__SHAPE_TEXT], got[STK__SHAPE_TEXT];
    int64_t shape[4];
    int rank = weight->rank;
    bool is_mixed = false;
    if (!tensor)
        return;
    memcpy(shape, weight->shape, sizeof shape);
    if (is_torch)
        rank = torch_shape(plan->model, weight, shape);
    if (!is_same(tensor, shape, rank))
        stk__import_fault(plan, "%s is %s, but %s would be %s", tensor->name,
                          stk__sides_text(tensor->shape, tensor->rank, got), weight->name,
                          stk__sides_text(shape, rank, want));
    else if (!is_readable(tensor->dtype))
        stk__import_fault(plan, "%s is of type %s", tensor->name, stk_dtype_name(tensor->dtype));
    if (is_torch && node->n_inputs)
        flattened(plan->model, node->input[0], &is_mixed);
    if (is_mixed && weight->role == STK__KERNEL && stk__module_of(node) == STK__MODULE_DENSE)
        stk__import_fault(plan,
                          "%s takes flattened images beside other features, whose order in PyTorch "
                          "is not known",
                          node->name);
}

/* ---- values ---- */

static int read_values(const struct stk__import_plan *plan, const struct stk__saved_tensor *tensor,
                       void *raw, float *out, struct stk_error *err)
{
    const struct stk__elementwise_kernels *kernels = &stk__kernels()->elementwise;
    size_t n = tensor->bytes / stk_dtype_bytes(tensor->dtype);
    int rc = stk__safetensors_copy(plan->file, tensor, tensor->dtype == STK_F32 ? out : raw, err);
    if (!rc && tensor->dtype != STK_F32)
        kernels->convert[tensor->dtype][STK_F32](out, raw, NULL, NULL, n);
    return rc;
}

int64_t stk__torch_place(const struct stk__shape *image, int64_t feature)
{
    if (!image)
        return feature;
    int64_t pixel = feature / image->channels, channel = feature % image->channels;
    return channel * image->height * image->width + pixel;
}

static void turn(const struct stk__model *model, const struct stk__weight *weight,
                 const float *from, float *to)
{
    const struct stk__model_node *node = &model->node[weight->node];
    const struct stk__torch_layer *torch = node->kind->torch;
    bool is_mixed;
    const struct stk__shape *image =
        node->shape.is_flat ? flattened(model, node->input[0], &is_mixed) : NULL;
    if (weight->role == STK__KERNEL && torch && torch->turn_kernel)
        torch->turn_kernel(from, weight->shape, image, to);
    else if (torch && torch->is_by_feature && image)
        for (int64_t i = 0; i < weight->n_values; i++)
            to[i] = from[stk__torch_place(image, i)];
    else
        memcpy(to, from, (size_t)weight->n_values * sizeof *to);
}

static int read_all(struct stk__import_plan *plan, const struct stk__weights *into, bool is_torch,
                    struct stk_error *err)
{
    int64_t most = 1;
    int rc = STK_OK;
    for (int i = 0; i < plan->model->n_weights; i++)
        if (plan->model->weight[i].n_values > most)
            most = plan->model->weight[i].n_values;
    /* what is converted, up to 8 bytes a value, and behind it what is turned */
    char *room = malloc((size_t)most * 12);
    if (!room)
        return stk__out_of_memory(err);
    float *values = (float *)(void *)(room + (size_t)most * 8);
    for (int i = 0; i < plan->model->n_weights && !rc; i++) {
        float *to = into->value[i];
        rc = read_values(plan, plan->tensor[i], room, is_torch ? values : to, err);
        if (!rc && is_torch)
            turn(plan->model, &plan->model->weight[i], values, to);
    }
    free(room);
    return rc;
}

/* ---- the whole ---- */

/* Weights under their own names; true if the file has any of them. */
static bool take_own_names(struct stk__import_plan *plan)
{
    bool is_ours = false;
    for (int i = 0; i < plan->model->n_weights; i++) {
        plan->tensor[i] = stk__safetensors_find(plan->file, plan->model->weight[i].name);
        if (plan->tensor[i])
            plan->is_used[plan->tensor[i] - plan->file->tensor] = true;
        is_ours |= plan->tensor[i] != NULL;
    }
    for (int i = 0; i < plan->model->n_weights && is_ours; i++)
        if (!plan->tensor[i])
            stk__import_fault(plan, "it has no %s", plan->model->weight[i].name);
    return is_ours;
}

/* Of our own files the optimizer's state is left; of PyTorch's, counts of batches. */
static void check_rest(struct stk__import_plan *plan)
{
    static const char counts[] = "num_batches_tracked", state[] = "optimizer/";
    for (int i = 0; i < plan->file->n_tensors; i++) {
        const char *name = plan->file->tensor[i].name;
        const char *last = strrchr(name, '.');
        if (!plan->is_used[i] && strcmp(last ? last + 1 : name, counts) != 0 &&
            strncmp(name, state, sizeof state - 1) != 0)
            stk__import_fault(plan, "no weight of the model is %s", name);
    }
}

static int conclude(const struct stk__import_plan *plan, struct stk_error *err)
{
    if (plan->faults.failed || plan->failed)
        return stk__out_of_memory(err);
    if (!plan->n_faults)
        return STK_OK;
    char more[48] = "";
    if (plan->n_faults > MOST_FAULTS)
        snprintf(more, sizeof more, "; and %d more", plan->n_faults - MOST_FAULTS);
    return stk_fail(err, STK_TYPE, "%s does not fit the model: %.400s%s", plan->file->path,
                    plan->faults.data, more);
}

static int find_tensors(struct stk__import_plan *plan, const struct stk_pairs *map, bool *is_torch,
                        struct stk_error *err)
{
    size_t n = (size_t)plan->model->n_weights + 1;
    plan->tensor = stk_arena_alloc(&plan->arena, n * sizeof *plan->tensor);
    plan->is_used = stk_arena_alloc(&plan->arena, (size_t)plan->file->n_tensors + 1);
    if (!plan->tensor || !plan->is_used)
        return stk__out_of_memory(err);
    *is_torch = (map && map->n) || !take_own_names(plan);
    int rc = *is_torch ? stk__import_by_map(plan, map, err) : STK_OK;
    if (!rc && *is_torch)
        rc = stk__import_by_order(plan, err);
    for (int i = 0; i < plan->model->n_weights; i++)
        check_weight(plan, i, *is_torch);
    check_rest(plan);
    return rc ? rc : conclude(plan, err);
}

int stk__import_weights(const struct stk__safetensors *file, const struct stk_pairs *map,
                        const struct stk__weights *into, struct stk_error *err)
{
    struct stk__import_plan plan = { .file = file, .model = into->model };
    bool is_torch = false;
    stk__arena_init(&plan.arena, 1 << 14);
    int rc = find_tensors(&plan, map, &is_torch, err);
    if (!rc)
        rc = read_all(&plan, into, is_torch, err);
    stk__text_free(&plan.faults);
    stk__arena_free(&plan.arena);
    return rc;
}
