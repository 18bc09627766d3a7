/* SPDX-License-Identifier: Apache-2.0 */
/* import_map.c: which tensor of a state dict is which weight. */
#include "train/file/import.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What PyTorch calls the weights of a module, by their roles. */
static const char *const parts[] = {
    [STK__KERNEL] = "weight",
    [STK__BIAS] = "bias",
    [STK__GAMMA] = "weight",
    [STK__BETA] = "bias",
    [STK__MOVING_MEAN] = "running_mean",
    [STK__MOVING_VARIANCE] = "running_var",
};

struct module {
    const char *name;
    enum stk__module_kind kind;
};

/* Names as people sort them: layer2 before layer10. */
static int natural_order(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *after_a, *after_b;
            unsigned long long x = strtoull(a, &after_a, 10), y = strtoull(b, &after_b, 10);
            if (x != y)
                return x < y ? -1 : 1;
            a = after_a;
            b = after_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != 0) - (*b != 0);
}

static int by_name(const void *a, const void *b)
{
    return natural_order(((const struct module *)a)->name, ((const struct module *)b)->name);
}

static int tensor_index(const struct stk__import_plan *plan, const char *name)
{
    const struct stk__saved_tensor *found = stk__safetensors_find(plan->file, name);
    return found ? (int)(found - plan->file->tensor) : -1;
}

static int part_index(struct stk__import_plan *plan, const char *module, const char *part)
{
    const char *name = *module ? stk__arena_printf(&plan->arena, "%s.%s", module, part) : part;
    plan->failed |= !name;
    return name ? tensor_index(plan, name) : -1;
}

/* ---- one layer ---- */

static void give(struct stk__import_plan *plan, int weight, int tensor)
{
    plan->tensor[weight] = &plan->file->tensor[tensor];
    plan->is_used[tensor] = true;
}

/* All weights of a node from the tensors of a module. */
static void give_module(struct stk__import_plan *plan, const struct stk__model_node *node,
                        const char *module)
{
    for (int i = node->first_weight; i < node->first_weight + node->n_weights; i++) {
        int tensor = part_index(plan, module, parts[plan->model->weight[i].role]);
        if (tensor >= 0)
            give(plan, i, tensor);
        else
            stk__import_fault(plan, "%s has no %s for %s", module,
                              parts[plan->model->weight[i].role], plan->model->weight[i].name);
    }
}

static bool is_given(const struct stk__import_plan *plan, const struct stk__model_node *node)
{
    for (int i = node->first_weight; i < node->first_weight + node->n_weights; i++)
        if (plan->tensor[i])
            return true;
    return false;
}

/* ---- the map ---- */

static int fail_entry(const char *name, const char *value, const char *why, struct stk_error *err)
{
    return stk_fail(err, STK_NAME, "the map says %s: '%s', but %s", name, value, why);
}

int stk__import_by_map(struct stk__import_plan *plan, const struct stk_pairs *map,
                       struct stk_error *err)
{
    for (int i = 0; map && i < map->n; i++) {
        const char *name = map->name[i], *value = map->value[i];
        int weight = stk__model_find_weight(plan->model, name);
        int node = stk__model_find_node(plan->model, name);
        int tensor = tensor_index(plan, value);
        if (weight < 0 && (node < 0 || !plan->model->node[node].n_weights))
            return fail_entry(name, value, "no layer with weights and no weight has that name",
                              err);
        if (weight >= 0 && tensor < 0)
            return fail_entry(name, value, "the file has no such tensor", err);
        if (weight >= 0)
            give(plan, weight, tensor);
        else
            give_module(plan, &plan->model->node[node], value);
    }
    return STK_OK;
}

/* ---- the order ---- */

static const char *module_of(struct stk__import_plan *plan, const char *tensor, const char **part)
{
    const char *dot = strrchr(tensor, '.');
    *part = dot ? dot + 1 : tensor;
    return dot ? stk__arena_text_n(&plan->arena, tensor, (size_t)(dot - tensor)) : "";
}

static enum stk__module_kind kind_of(struct stk__import_plan *plan, const char *module,
                                     const struct stk__saved_tensor *weight)
{
    if (part_index(plan, module, "running_mean") >= 0)
        return STK__MODULE_NORM;
    if (weight->rank == 4)
        return STK__MODULE_CONV;
    return weight->rank == 2 ? STK__MODULE_DENSE : STK__MODULE_OTHER;
}

/* Modules that no map has given to anybody, in the order of their names. A batch normalisation without
 * weight is known by its mean. */
static int list_modules(struct stk__import_plan *plan, struct module **out, struct stk_error *err)
{
    int n = 0;
    *out = stk_arena_alloc(&plan->arena, ((size_t)plan->file->n_tensors + 1) * sizeof **out);
    if (!*out)
        return stk__out_of_memory(err), -1;
    for (int i = 0; i < plan->file->n_tensors; i++) {
        const struct stk__saved_tensor *tensor = &plan->file->tensor[i];
        const char *part, *module = module_of(plan, tensor->name, &part);
        if (!module)
            return stk__out_of_memory(err), -1;
        bool is_bare = !strcmp(part, "running_mean") && part_index(plan, module, "weight") < 0;
        if (plan->is_used[i] || (strcmp(part, "weight") != 0 && !is_bare))
            continue;
        (*out)[n++] = (struct module){ module, kind_of(plan, module, tensor) };
    }
    if (n)
        qsort(*out, (size_t)n, sizeof **out, by_name);
    return n;
}

int stk__import_by_order(struct stk__import_plan *plan, struct stk_error *err)
{
    struct module *module;
    int n = list_modules(plan, &module, err), next[STK__MODULE_OTHER] = { 0 };
    if (n < 0)
        return STK_MEMORY;
    for (int i = 0; i < plan->model->n_nodes; i++) {
        const struct stk__model_node *node = &plan->model->node[i];
        enum stk__module_kind kind = stk__module_of(node);
        if (!node->n_weights || is_given(plan, node))
            continue;
        if (kind == STK__MODULE_OTHER) {
            stk__import_fault(plan, "PyTorch has no module like %s", node->name);
            continue;
        }
        int *at = &next[kind];
        while (*at < n && module[*at].kind != kind)
            ++*at;
        if (*at < n)
            give_module(plan, node, module[(*at)++].name);
        else
            stk__import_fault(plan, "no module is left for %s", node->name);
    }
    return STK_OK;
}
